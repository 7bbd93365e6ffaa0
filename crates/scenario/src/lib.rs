//! The scenario file, and what it resolves to.
//!
//! A file is read into a [`Plan`]: the scenario as written above its arms, and one [`Scenario`] an
//! arm. Everything in a [`Scenario`] is resolved, checked and typed; both engines run it as it is.

pub mod builtin;
pub mod closed_form;
mod error;
mod life;
mod model;
pub mod numbers;
mod parse;
mod resolve;
pub mod schedule;
mod twin;

pub use error::{Problem, ScenarioError, UnknownArm};
pub use model::{
    Arm, Arrivals, Client, Expectations, ExpectedVerdict, Load, Plan, PlannedFault, PlannedLever,
    Protocol, RateChange, RequestTemplate, Scenario, Tier,
};
pub use parse::{Ignored, ignored_by_the_simulator};
