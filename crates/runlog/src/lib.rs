//! What a run saw: windows of one second of scenario time, histograms and events.
//!
//! An engine folds a run into a [`RunLog`] while it goes on, so that memory is bounded whatever the
//! rate. Verdicts and reports read nothing else.

mod model;

pub use model::{
    ClientWindow, Ending, EngineKind, Event, EventKind, Integrity, Meta, Quantiles, RunLog,
    TierWindow, Totals, Window,
};
