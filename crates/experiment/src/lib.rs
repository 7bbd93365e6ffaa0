//! Questions over many runs. An engine is only a function here, from a scenario to its run log.

mod compare;
mod drill;
mod hysteresis;

pub use compare::{
    Comparison, FinishedArm, GoodputByPhase, Row, compare, compare_finished, compare_judged,
};
pub use drill::{
    Action, Drill, DrillError, DrillRow, EngineFn, Sought, Terms, Unit, Without, drill_action,
    without_action,
};
pub use hysteresis::{Between, Hysteresis, Ladder, LadderError, Walk, WalkedLoad, Way, walked};
