//! Questions over many runs. An engine is only a function here, from a scenario to its run log.

mod compare;

pub use compare::{Comparison, FinishedArm, GoodputByPhase, Row, compare, compare_finished};
