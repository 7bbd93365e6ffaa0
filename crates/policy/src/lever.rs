//! Levers: what a person can pull on a running system.

use std::time::Duration;

use goodput_clock::{Rate, Ratio, text};
use serde::{Deserialize, Serialize};

use crate::budget::BudgetConfig;
use crate::limiter::LimiterPatch;

/// An action on a running system, at the server or at the load generator.
///
/// The same shape serves a scenario's timeline and the control plane's JSON.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "lever", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Lever {
    /// Refuses everything that waits in the server's queue, once.
    ShedQueue,
    /// Admits only a share of the server's traffic, then ramps back to all of it.
    Admit {
        /// The share that is admitted.
        share: Ratio,
        /// How long the share holds; without it, until the lever is pulled again.
        #[serde(rename = "for", default, with = "text::optional_duration")]
        hold: Option<Duration>,
        /// How long the way back to all traffic takes, from the end of `for`. Default 0.
        #[serde(default, with = "text::duration")]
        ramp: Duration,
    },
    /// Drops the server's queue, the work in service and every connection, as the restart of a
    /// process does.
    Restart,
    /// Changes the server's limiter.
    Limiter(LimiterPatch),
    /// Puts a retry budget into a layer of the client's, or into all of them.
    Budget {
        /// The layer by name; without it, all.
        #[serde(default)]
        layer: Option<String>,
        /// The budget.
        budget: BudgetConfig,
    },
    /// Sets how often a layer of the client's retries; 0 switches retries off.
    Retries {
        /// The layer by name; without it, all.
        #[serde(default)]
        layer: Option<String>,
        /// Retries after the first try.
        retries: u32,
    },
    /// Changes the offered load.
    Rate {
        /// New requests per second.
        rate: Rate,
    },
}

/// Which process a lever acts on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LeverTarget {
    /// The server's control plane.
    Server,
    /// The load generator's control plane.
    LoadGenerator,
}

impl Lever {
    /// The names, in the order of their declaration.
    pub const NAMES: [&'static str; 7] =
        ["shed-queue", "admit", "restart", "limiter", "budget", "retries", "rate"];

    /// The lever's name in files and paths.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::ShedQueue => "shed-queue",
            Self::Admit { .. } => "admit",
            Self::Restart => "restart",
            Self::Limiter(_) => "limiter",
            Self::Budget { .. } => "budget",
            Self::Retries { .. } => "retries",
            Self::Rate { .. } => "rate",
        }
    }

    /// Where it acts.
    pub const fn target(&self) -> LeverTarget {
        match self {
            Self::ShedQueue | Self::Admit { .. } | Self::Restart | Self::Limiter(_) => {
                LeverTarget::Server
            }
            Self::Budget { .. } | Self::Retries { .. } | Self::Rate { .. } => {
                LeverTarget::LoadGenerator
            }
        }
    }
}
