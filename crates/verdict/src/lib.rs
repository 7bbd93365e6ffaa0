//! Says what a run log shows: whether goodput came back after the fault.
//!
//! [`judge()`] is a pure function of a run log and the scenario that it came from, so that a saved run
//! can be judged again. [`Exit`] turns judgements into the exit code of a command.

mod bottleneck;
mod cause;
mod convergence;
mod course;
mod doubts;
mod evidence;
mod exit;
mod frame;
mod generator;
mod judge;
mod lengths;
pub mod limits;
mod load;
mod model;
mod name;
mod series;
mod sustaining;
mod trigger;
mod twin;
mod words;

pub use exit::{Exit, holds};
pub use generator::generator_doubts;
pub use judge::judge;
pub use lengths::lengths;
pub use model::{
    Baseline, Cause, Doubt, DoubtKind, Effect, Evidence, Interval, Judgement, PhaseFigures, Rule,
    Span, Stretch, Sustaining, Verdict,
};
pub use name::named;
pub use twin::beside_twin;
