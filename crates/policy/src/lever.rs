//! Levers: what a person can pull on a running system.

use std::time::Duration;

use goodput_clock::{Rate, Ratio, text};
use serde::{Deserialize, Serialize};

use crate::budget::BudgetConfig;
use crate::invalid::{InvalidConfig, no_keys};
use crate::limiter::LimiterPatch;
use crate::retry::validate_retries;

/// An action on a running system, at the server or at the load generator.
///
/// The same shape serves a scenario's timeline and the control plane's JSON.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "lever", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Lever {
    /// Refuses everything that waits in the server's queue, once.
    #[serde(deserialize_with = "no_keys")]
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
    #[serde(deserialize_with = "no_keys")]
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

    /// What it turns and leaves so, as keys of what it acts on: those of a limiter that it changes, the
    /// share that is `admitted`, a layer's `budget` or `retries`, the load's `rate`. None where it acts
    /// once and is over.
    pub fn keys(&self) -> Vec<&'static str> {
        match self {
            Self::ShedQueue | Self::Restart => Vec::new(),
            Self::Admit { .. } => vec!["admitted"],
            Self::Limiter(patch) => patch.keys(),
            Self::Budget { .. } => vec!["budget"],
            Self::Retries { .. } => vec!["retries"],
            Self::Rate { .. } => vec!["rate"],
        }
    }

    /// What it did once it was pulled, in words. `requests` were refused or dropped by it, and
    /// `connections` were dropped.
    pub fn did(&self, requests: usize, connections: usize) -> String {
        match self {
            Self::ShedQueue if requests == 0 => format!("{NOTHING}nobody waits in the queue"),
            Self::ShedQueue => format!("refused {requests} requests"),
            Self::Admit { share, .. } => format!("admits {share} of the traffic"),
            Self::Restart => {
                format!("dropped {requests} requests and {connections} connections")
            }
            Self::Limiter(patch) => format!("the limiter now has {}", patch.in_words()),
            Self::Budget { layer, budget } => {
                format!("budget is now {budget} at {}", at(layer.as_deref()))
            }
            Self::Retries { layer, retries } => {
                format!("retries are now {retries} at {}", at(layer.as_deref()))
            }
            Self::Rate { rate } => format!("rate is now {rate}"),
        }
    }

    /// What it says where everything is as it would have it already.
    pub fn found_nothing(&self) -> String {
        let found = match self {
            Self::ShedQueue => return self.did(0, 0),
            Self::Restart | Self::Rate { .. } => "it is so already".to_owned(),
            Self::Admit { share, .. } => format!("{share} of the traffic is admitted already"),
            Self::Limiter(_) => "the limiter is so already".to_owned(),
            Self::Budget { layer, budget } => {
                format!("the budget is {budget} at {} already", at(layer.as_deref()))
            }
            Self::Retries { layer, retries } => {
                format!("retries are {retries} at {} already", at(layer.as_deref()))
            }
        };
        format!("{NOTHING}{found}")
    }

    /// Checks what the types cannot.
    ///
    /// # Errors
    ///
    /// Where a value is out of range: a share that holds for no time, a ramp without an end to start
    /// from, an empty change of the limiter, too many retries, or what the patch or the budget itself
    /// refuses.
    pub fn validate(&self) -> Result<(), InvalidConfig> {
        let longest = Duration::from_hours(24);
        match self {
            Self::Admit { hold, .. }
                if hold.is_some_and(|hold| hold.is_zero() || hold > longest) =>
            {
                let problem = "must be above 0 and at most 24h, such as \"20s\"";
                Err(InvalidConfig { key: "for", problem })
            }
            Self::Admit { ramp, .. } if *ramp > longest => {
                let problem = "must be at most 24h, such as \"30s\"";
                Err(InvalidConfig { key: "ramp", problem })
            }
            Self::Admit { hold: None, ramp, .. } if !ramp.is_zero() => {
                let problem = "starts at the end of `for`, which is absent; write for = \"20s\"";
                Err(InvalidConfig { key: "ramp", problem })
            }
            Self::Limiter(patch) if *patch == LimiterPatch::default() => {
                let problem = "changes nothing; write a key of it, such as queue_limit = 150";
                Err(InvalidConfig { key: "limiter", problem })
            }
            Self::Limiter(patch) => patch.validate(),
            Self::Budget { budget, .. } => budget.validate(),
            Self::Retries { retries, .. } => validate_retries(*retries),
            Self::ShedQueue | Self::Admit { .. } | Self::Restart | Self::Rate { .. } => Ok(()),
        }
    }
}

fn at(layer: Option<&str>) -> String {
    layer.map_or_else(|| "all layers".to_owned(), |name| format!("layer `{name}`"))
}

/// How what a lever says begins where it changed nothing.
pub const NOTHING: &str = "nothing to change: ";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{CapacityMode, FaultKind};

    fn lever(json: &str) -> Result<Lever, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn unknown_keys_are_refused_for_levers_and_faults_without_keys_too() {
        assert_eq!(lever(r#"{"lever":"shed-queue"}"#), Ok(Lever::ShedQueue));
        assert_eq!(lever(r#"{"lever":"restart"}"#), Ok(Lever::Restart));
        for name in Lever::NAMES {
            let error = lever(&format!(r#"{{"lever":"{name}","sahre":1}}"#)).unwrap_err();
            assert!(error.contains("sahre") || error.contains("missing"), "{error}");
        }
        let fault = |json| serde_json::from_str::<FaultKind>(json);
        assert_eq!(fault(r#"{"kind":"stall"}"#).unwrap(), FaultKind::Stall);
        let error = fault(r#"{"kind":"stall","to":0.4}"#).unwrap_err().to_string();
        assert!(error.contains("`to`"), "{error}");
    }

    #[test]
    fn levers_read_back_as_they_are_written() {
        for json in [
            r#"{"lever":"shed-queue"}"#,
            r#"{"lever":"admit","share":0.5,"for":"20s","ramp":"30s"}"#,
            r#"{"lever":"restart"}"#,
            r#"{"lever":"limiter","queue_limit":150}"#,
            r#"{"lever":"budget","layer":null,"budget":{"kind":"sre-ratio","ratio":0.1,"window":"10s"}}"#,
            r#"{"lever":"retries","layer":"client","retries":0}"#,
            r#"{"lever":"rate","rate":40.0}"#,
        ] {
            let read = lever(json).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), json);
            assert_eq!(read.validate(), Ok(()));
        }
    }

    #[test]
    fn a_lever_that_changes_nothing_says_so() {
        assert_eq!(Lever::ShedQueue.did(0, 0), "nothing to change: nobody waits in the queue");
        assert_eq!(Lever::ShedQueue.did(3, 0), "refused 3 requests");
        for (json, found) in [
            (r#"{"lever":"admit","share":1}"#, "100% of the traffic is admitted already"),
            (r#"{"lever":"limiter","slots":1}"#, "the limiter is so already"),
            (r#"{"lever":"retries","retries":3}"#, "retries are 3 at all layers already"),
            (
                r#"{"lever":"budget","layer":"a","budget":"off"}"#,
                "the budget is off at layer `a` already",
            ),
        ] {
            let said = lever(json).unwrap().found_nothing();
            assert_eq!(said, format!("{NOTHING}{found}"), "{json}");
        }
    }

    #[test]
    fn what_is_out_of_range_is_refused_by_its_key() {
        for (json, key) in [
            (r#"{"lever":"admit","share":0.5,"for":"25h"}"#, "for"),
            (r#"{"lever":"admit","share":0.5,"for":"0s"}"#, "for"),
            (r#"{"lever":"admit","share":0.5,"for":"1s","ramp":"25h"}"#, "ramp"),
            (r#"{"lever":"admit","share":0.5,"ramp":"1s"}"#, "ramp"),
            (r#"{"lever":"limiter"}"#, "limiter"),
            (r#"{"lever":"limiter","slots":0}"#, "slots"),
            (r#"{"lever":"retries","retries":101}"#, "retries"),
        ] {
            assert_eq!(lever(json).unwrap().validate().unwrap_err().key, key, "{json}");
        }
        let nothing_left = FaultKind::capacity(Ratio::ZERO, CapacityMode::Slow).unwrap_err();
        assert!(nothing_left.to_string().contains("stall"), "{nothing_left}");
    }
}
