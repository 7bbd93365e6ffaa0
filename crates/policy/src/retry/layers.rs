//! What the requests of one client side share: the layers, their budgets and their counters.

use std::ops::RangeInclusive;
use std::time::Duration;

use goodput_clock::{Stream, Timestamp, text};
use serde::{Deserialize, Serialize};

use super::StopReason;
use crate::attempt::{FailureClass, RetryOn};
use crate::backoff::Backoff;
use crate::budget::{Budget, BudgetConfig};
use crate::invalid::InvalidConfig;
use crate::lever::Lever;

/// Who shares one retry budget.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BudgetScope {
    /// Each client instance has its own.
    #[default]
    Client,
    /// One for all instances.
    Shared,
}

/// One place that retries.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerConfig {
    /// The layer's name, unique among the layers of a client.
    pub name: String,
    /// How long one try may take, from 1 µs to 24 h; only an outer layer can do without.
    #[serde(with = "text::optional_duration")]
    pub timeout: Option<Duration>,
    /// Retries after the first try, at most [`MAX_RETRIES`].
    pub retries: u32,
    /// How long to wait before a retry.
    pub backoff: Backoff,
    /// Which failures are retried.
    pub retry_on: RetryOn,
    /// How many retries the layer may send in all.
    pub budget: BudgetConfig,
    /// Who shares the budget.
    pub budget_scope: BudgetScope,
}

/// What a layer has done, cumulated over all requests.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct LayerCounters {
    /// Tries that were a request's first at this layer (once per call of the layer).
    pub first: u64,
    /// Tries that were retries.
    pub retries: u64,
    /// Tries that succeeded.
    pub succeeded: u64,
    /// Tries that failed, by [`FailureClass`].
    pub failed: [u64; FailureClass::ALL.len()],
    /// Tries that an outer layer's time-out cut off.
    pub cut: u64,
    /// Failures after which the layer did not retry, by [`StopReason`].
    pub stopped: [u64; StopReason::ALL.len()],
}

impl LayerConfig {
    /// Checks what the types cannot.
    ///
    /// # Errors
    ///
    /// Where a value is outside the range that its documentation names.
    pub fn validate(&self) -> Result<(), InvalidConfig> {
        if self.timeout.is_some_and(|timeout| !TIMEOUTS.contains(&timeout)) {
            let problem = "must be from 1us to 24h, such as \"5s\"";
            return Err(InvalidConfig { key: "timeout", problem });
        }
        validate_retries(self.retries)?;
        self.backoff.validate()?;
        self.budget.validate()
    }
}

/// Checks a number of retries.
///
/// # Errors
///
/// Where it is above [`MAX_RETRIES`].
pub fn validate_retries(retries: u32) -> Result<(), InvalidConfig> {
    if retries <= MAX_RETRIES {
        return Ok(());
    }
    Err(InvalidConfig { key: "retries", problem: "must be from 0 to 100, such as 3" })
}

/// What all requests of a client side share: its layers, their budgets and counters.
#[derive(Debug)]
pub struct Layers {
    pub(super) configs: Vec<LayerConfig>,
    /// By client and layer; a shared budget stands with client 0.
    budgets: Vec<Budget>,
    pub(super) counters: Vec<LayerCounters>,
    pub(super) random: Stream,
}

impl Layers {
    /// The layers, outermost first, of `clients` independent instances.
    ///
    /// # Panics
    ///
    /// Where there is no layer, no client, or the innermost layer has no time-out.
    pub fn new(configs: Vec<LayerConfig>, clients: u32, random: Stream) -> Self {
        assert!(clients > 0, "at least one client");
        assert!(
            configs.last().is_some_and(|innermost| innermost.timeout.is_some()),
            "the innermost layer needs a time-out"
        );
        let budgets = (0..clients)
            .flat_map(|_| configs.iter().map(|config| Budget::new(config.budget)))
            .collect();
        let counters = vec![LayerCounters::default(); configs.len()];
        Self { configs, budgets, counters, random }
    }

    /// Pulls the lever `budget` or `retries`, and says what it did.
    ///
    /// # Errors
    ///
    /// Where it names a layer that is not there, or is a lever of something else.
    pub fn pull(&mut self, lever: &Lever) -> Result<String, String> {
        if !self.would_change(lever) {
            return Ok(lever.found_nothing());
        }
        let (layer, found) = match lever {
            Lever::Budget { layer, budget } => (layer, self.set_budget(layer.as_deref(), *budget)),
            Lever::Retries { layer, retries } => {
                (layer, self.set_retries(layer.as_deref(), *retries))
            }
            Lever::ShedQueue
            | Lever::Admit { .. }
            | Lever::Restart
            | Lever::Limiter(_)
            | Lever::Rate { .. } => {
                return Err(format!("the lever `{}` acts on no retry layer", lever.name()));
            }
        };
        if found {
            return Ok(lever.did(0, 0));
        }
        let names: Vec<_> = self.configs.iter().map(|layer| format!("`{}`", layer.name)).collect();
        let layer = layer.as_deref().unwrap_or_default();
        Err(format!("there is no layer `{layer}`; there is {}", names.join(", ")))
    }

    /// Whether the lever finds a layer that is not as it would have it. A layer that is not there and a
    /// lever of something else are found out later.
    fn would_change(&self, lever: &Lever) -> bool {
        let (layer, is_so): (_, &dyn Fn(&LayerConfig) -> bool) = match lever {
            Lever::Budget { layer, budget } => (layer, &|config| config.budget == *budget),
            Lever::Retries { layer, retries } => (layer, &|config| config.retries == *retries),
            Lever::ShedQueue
            | Lever::Admit { .. }
            | Lever::Restart
            | Lever::Limiter(_)
            | Lever::Rate { .. } => return true,
        };
        let mut named = self.configs.iter().filter(|config| is_named(config, layer.as_deref()));
        let none = named.clone().next().is_none();
        none || !named.all(is_so)
    }

    /// Sets how often a layer retries, or all of them where `layer` is none; false where no layer has
    /// that name.
    pub fn set_retries(&mut self, layer: Option<&str>, retries: u32) -> bool {
        let mut found = false;
        for config in self.configs.iter_mut().filter(|config| is_named(config, layer)) {
            config.retries = retries;
            found = true;
        }
        found
    }

    /// Puts a fresh budget into a layer, or into all of them where `layer` is none; false where no
    /// layer has that name.
    pub fn set_budget(&mut self, layer: Option<&str>, budget: BudgetConfig) -> bool {
        let count = self.configs.len();
        let mut found = false;
        for (index, config) in self.configs.iter_mut().enumerate() {
            if is_named(config, layer) {
                config.budget = budget;
                self.budgets.iter_mut().skip(index).step_by(count).for_each(|slot| {
                    *slot = Budget::new(budget);
                });
                found = true;
            }
        }
        found
    }

    /// The layers, outermost first.
    pub fn configs(&self) -> &[LayerConfig] {
        &self.configs
    }

    /// What each layer has done, outermost first.
    pub fn counters(&self) -> &[LayerCounters] {
        &self.counters
    }

    /// Retries that all budgets of a layer would allow now; infinite where it has none.
    pub fn tokens(&self, now: Timestamp, layer: usize) -> f64 {
        let step = self.configs.len();
        let all = self.budgets.iter().skip(layer).step_by(step);
        match self.configs[layer].budget_scope {
            BudgetScope::Client => all.map(|budget| budget.tokens(now)).sum(),
            BudgetScope::Shared => self.budgets[layer].tokens(now),
        }
    }

    /// The most attempts that one request can make: Π(R + 1), saturating.
    pub fn max_attempts(&self) -> u64 {
        self.configs
            .iter()
            .fold(1, |product, config| product.saturating_mul(u64::from(config.retries) + 1))
    }

    /// The most attempts per request that limits and budgets allow in the long run, while the server
    /// stays overloaded, at so many requests per second: the amplification k of `C_stable` = C / k.
    ///
    /// # Source
    ///
    /// Huang and others, "Metastable Failures in the Wild", OSDI 2022, theorem 2.
    pub fn sustained_attempts(&self, requests_per_second: f64) -> f64 {
        let instances = u32::try_from(self.budgets.len() / self.configs.len()).unwrap_or(u32::MAX);
        self.configs.iter().fold(1.0, |product, config| {
            let instances = match config.budget_scope {
                BudgetScope::Client => instances,
                BudgetScope::Shared => 1,
            };
            let calls = requests_per_second * product;
            product * (1.0 + config.budget.sustained_retries(config.retries, calls, instances))
        })
    }

    pub(super) fn budget(&mut self, client: u32, layer: usize) -> &mut Budget {
        let client = match self.configs[layer].budget_scope {
            BudgetScope::Client => client as usize,
            BudgetScope::Shared => 0,
        };
        &mut self.budgets[client * self.configs.len() + layer]
    }
}

fn is_named(config: &LayerConfig, name: Option<&str>) -> bool {
    name.is_none_or(|name| config.name == name)
}

/// The most retries that a layer can be told to make.
pub const MAX_RETRIES: u32 = 100;

/// Down to microseconds, since at a hundred times the speed wall time is a hundredth of scenario time.
const TIMEOUTS: RangeInclusive<Duration> = Duration::from_micros(1)..=Duration::from_hours(24);
