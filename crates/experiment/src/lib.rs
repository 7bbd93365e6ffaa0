//! Questions over many runs. An engine is only a function here: from a scenario to its run log, or
//! from a batch of trials to what each came to.

mod boundary;
mod compare;
mod contour;
mod curve;
mod drill;
mod hysteresis;
mod map;
mod outcome;

pub use boundary::{Boundary, Forms, Measured, Measurement, commonest, confirmation};
pub use compare::{
    Comparison, FinishedArm, GoodputByPhase, Row, compare, compare_finished, compare_judged,
};
pub use contour::{Segments, zero_line};
pub use curve::{Band, Curve, Flip, Point, Search, Trial, trace};
pub use drill::{
    Action, Drill, DrillError, DrillRow, EngineFn, Sought, Terms, Unit, Without, drill_action,
    without_action,
};
pub use goodput_statistics::wilson;
pub use hysteresis::{Between, Hysteresis, Ladder, LadderError, Walk, WalkedLoad, Way, walked};
pub use map::{Axis, Cell, Confirmed, Line, Map, beside_the_boundary, lines};
pub use outcome::{Outcome, Side};
