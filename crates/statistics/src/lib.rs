//! What can be claimed of a noisy series: intervals of shares and means, and whether a series falls.
//!
//! A claim here is one-sided and made at [`CONFIDENCE`]: "at most" and "at least" each err in one of a
//! hundred cases. What is served at one moment hangs on what was served at the moment before, so that
//! single counts are no independent samples: [`share`] and [`mean`] average them over batches first, and [`trend()`]
//! corrects for what is left.

mod batch;
mod student;
mod trend;
mod wilson;

pub use batch::{BATCHES_LEAST, BATCHES_MOST, mean, share};
pub use trend::{Trend, trend};
pub use wilson::{wilson, wilson_at};

/// How sure a one-sided claim is.
pub const CONFIDENCE: f64 = 0.99;

/// The quantile of the normal distribution at [`CONFIDENCE`].
pub const Z: f64 = 2.326_347_874_040_841;

/// A figure, with the bounds below and above which it can be claimed not to lie.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounds {
    /// The figure.
    pub value: f64,
    /// Its lower bound.
    pub low: f64,
    /// Its upper bound.
    pub high: f64,
}
