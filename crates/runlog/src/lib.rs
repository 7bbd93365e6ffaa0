//! What a run saw: windows of one second of scenario time, histograms and events.
//!
//! An engine folds a run into a [`RunLog`] while it goes on, so that memory is bounded whatever the
//! rate: [`ClientRecorder`] folds what the load generator does, [`TierSampler`] the counters of a
//! server. Verdicts and reports read nothing but the log.

mod check;
mod client_recorder;
mod cohorts;
mod figures;
mod histogram;
mod json;
mod model;
mod observe;
mod outcomes;
mod tier_sampler;

pub use client_recorder::{ClientRecorder, Recorded, RequestEnd, RequestEnded};
pub use figures::Figures;
pub use histogram::{Histogram, bucket_quantile, bucket_quantiles};
pub use json::RunLogError;
pub use model::{
    ClientWindow, Cohort, Ending, EngineKind, Event, EventKind, Integrity, Meta, Quantiles, RunLog,
    TierWindow, Totals, Window,
};
pub use observe::{Cancel, Observer};
pub use outcomes::{OutcomeKey, outcomes_in_words};
pub use tier_sampler::{Restarted, TierSample, TierSampler};
