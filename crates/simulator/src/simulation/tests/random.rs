//! Small scenarios at random: few seconds, low rates, and everything that a file can ask for.

use std::time::Duration;

use goodput_clock::{Rate, Ratio, Seed, Stream, Timestamp};
use goodput_policy::attempt::RetryOn;
use goodput_policy::backoff::{Backoff, Jitter};
use goodput_policy::budget::BudgetConfig;
use goodput_policy::fault::{CapacityMode, FaultKind};
use goodput_policy::lever::Lever;
use goodput_policy::limiter::{
    Capacity, Charge, LimiterConfig, LimiterPatch, OnDisconnect, QueueLimit, QueueOrder,
    ServiceTime,
};
use goodput_policy::retry::{BudgetScope, LayerConfig};
use goodput_scenario::{
    Arrivals, Plan, PlannedFault, PlannedLever, Protocol, RateChange, Scenario, Tier, builtin,
};

use crate::{Network, RunOptions};

/// The run of this number: always the same.
pub(super) fn random_options(seed: u64) -> RunOptions {
    let mut random = Random(Seed(seed).stream("random scenario"));
    let mean = random.millis(0, 20);
    let network = random.one_of([
        Network::LOOPBACK,
        Network::Constant(mean),
        Network::Lognormal { mean, sigma: 1.0 },
    ]);
    let scenario = random.scenario();
    RunOptions { seed: Seed(seed), network, ..RunOptions::new(scenario) }
}

struct Random(Stream);

impl Random {
    fn scenario(&mut self) -> Scenario {
        let plan = Plan::parse("steady.toml", builtin::STEADY.text).unwrap();
        let mut scenario = plan.scenario;
        scenario.duration = self.millis(1_500, 4_500);
        scenario.load.rate = self.rate(2, 60);
        let size = self.number(1, 8) as u32;
        scenario.load.arrivals =
            self.one_of([Arrivals::Constant, Arrivals::Poisson, Arrivals::Batch { size }]);
        scenario.load.changes = self.some(|random| RateChange {
            at: random.time(),
            rate: random.rate(2, 60),
            over: random.millis(0, 300),
            length: None,
        });
        scenario.client.clients = self.number(1, 4) as u32;
        scenario.client.protocol = self.one_of([Protocol::Http1, Protocol::Http2]);
        scenario.client.deadline = self.maybe(|random| random.millis(50, 2_000));
        scenario.client.layers = self.layers();
        scenario.tiers = self.tiers();
        let tier = scenario.tiers[self.number(0, scenario.tiers.len() as u64 - 1) as usize].clone();
        scenario.faults = self.some(|random| PlannedFault {
            name: "fault".to_owned(),
            tier: tier.name.clone(),
            kind: random.fault(),
            at: Timestamp::ZERO + random.millis(200, 700),
            length: random.millis(1, 700),
        });
        scenario.levers = self.some(|random| PlannedLever {
            lever: random.lever(),
            tier: Some(tier.name.clone()),
            at: random.time(),
        });
        scenario
    }

    fn tiers(&mut self) -> Vec<Tier> {
        let count = self.number(1, 3);
        (0..count)
            .map(|index| Tier {
                name: format!("tier-{index}"),
                limiter: self.limiter(),
                layers: if index + 1 < count { self.layers() } else { Vec::new() },
                orders: 10,
            })
            .collect()
    }

    fn limiter(&mut self) -> LimiterConfig {
        let limited = Capacity::Limited(self.rate(5, 80));
        let charge = self.one_of([Charge::ServiceStart, Charge::ServiceStart, Charge::Admission]);
        let queue = self.one_of([QueueOrder::Fifo, QueueOrder::Lifo]);
        let bound = QueueLimit::Bounded(self.number(0, 30) as u32);
        LimiterConfig {
            slots: self.number(1, 6) as u32,
            capacity: self.one_of([limited, limited, limited, Capacity::Unlimited]),
            service: self.one_of([
                ServiceTime::Constant,
                ServiceTime::Exponential,
                ServiceTime::Lognormal { sigma: 1.0 },
            ]),
            queue: if charge == Charge::Admission { QueueOrder::Fifo } else { queue },
            queue_limit: self.one_of([QueueLimit::Unbounded, bound]),
            drop_expired: self.coin(),
            expiry_margin: self.maybe(|random| random.millis(0, 100)),
            on_disconnect: self.one_of([OnDisconnect::Continue, OnDisconnect::Cancel]),
            charge,
        }
    }

    fn layers(&mut self) -> Vec<LayerConfig> {
        let count = self.number(1, 3);
        (0..count)
            .map(|index| {
                let innermost = index + 1 == count;
                let outer = self.maybe(|random| random.millis(100, 3_000));
                LayerConfig {
                    name: format!("layer-{index}"),
                    timeout: if innermost { Some(self.millis(1, 800)) } else { outer },
                    retries: self.number(0, 3) as u32,
                    backoff: self.backoff(),
                    retry_on: RetryOn::default(),
                    budget: self.budget(),
                    budget_scope: self.one_of([BudgetScope::Client, BudgetScope::Shared]),
                }
            })
            .collect()
    }

    fn backoff(&mut self) -> Backoff {
        let jitter = self.one_of([Jitter::None, Jitter::Full, Jitter::Equal, Jitter::Decorrelated]);
        Backoff { base: self.millis(0, 200), jitter, ..Backoff::default() }
    }

    fn budget(&mut self) -> BudgetConfig {
        let name = self.one_of(BudgetConfig::NAMES);
        let budget = name.parse().unwrap();
        self.one_of([BudgetConfig::Off, budget])
    }

    fn fault(&mut self) -> FaultKind {
        let to = self.share();
        let mode = self.one_of([CapacityMode::Slow, CapacityMode::Slots]);
        self.one_of([FaultKind::Capacity { to, mode }, FaultKind::Stall])
    }

    fn lever(&mut self) -> Lever {
        let patch = LimiterPatch {
            slots: self.maybe(|random| random.number(1, 8) as u32),
            capacity: self.maybe(|random| Capacity::Limited(random.rate(5, 80))),
            queue_limit: self.maybe(|random| QueueLimit::Bounded(random.number(0, 20) as u32)),
            drop_expired: self.maybe(Self::coin),
            on_disconnect: self
                .maybe(|random| random.one_of([OnDisconnect::Continue, OnDisconnect::Cancel])),
            queue: None,
        };
        match self.number(0, 6) {
            0 => Lever::ShedQueue,
            1 => Lever::Admit {
                share: self.share(),
                hold: Some(self.millis(0, 800)),
                ramp: self.millis(0, 500),
            },
            2 => Lever::Restart,
            3 => Lever::Limiter(patch),
            4 => Lever::Budget { layer: None, budget: self.budget() },
            5 => Lever::Retries { layer: None, retries: self.number(0, 3) as u32 },
            _ => Lever::Rate { rate: self.rate(2, 60) },
        }
    }

    fn time(&mut self) -> Timestamp {
        Timestamp::ZERO + self.millis(0, 3_000)
    }

    fn share(&mut self) -> Ratio {
        Ratio::new(self.number(1, 99) as f64 / 100.0).unwrap()
    }

    fn rate(&mut self, least: u64, most: u64) -> Rate {
        Rate::new(self.number(least, most) as f64).unwrap()
    }

    fn millis(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_millis(self.number(least, most))
    }

    /// A whole number, both ends included.
    fn number(&mut self, least: u64, most: u64) -> u64 {
        least + self.0.below(most - least + 1)
    }

    fn coin(&mut self) -> bool {
        self.number(0, 1) == 1
    }

    fn one_of<T: Copy, const N: usize>(&mut self, values: [T; N]) -> T {
        values[self.number(0, N as u64 - 1) as usize]
    }

    fn maybe<T>(&mut self, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.coin().then(|| value(self))
    }

    fn some<T>(&mut self, value: impl FnOnce(&mut Self) -> T) -> Vec<T> {
        self.maybe(value).into_iter().collect()
    }
}
