//! Reference numbers G: what budgets allow a fleet in which every attempt fails.

use std::time::Duration;

use goodput_clock::{Ratio, Timestamp};
use goodput_policy::budget::{BudgetConfig, Credit, Finagle};
use goodput_policy::lever::Lever;
use goodput_policy::limiter::Capacity;
use goodput_scenario::{PlannedLever, Scenario};

use crate::support::{headline, log_of, with_rate};

/// 1,000 requests a second of so many clients, whose attempts are all refused from 5 s on.
fn refused(budget: BudgetConfig, clients: u32) -> Scenario {
    let mut scenario = with_rate(headline(), 1000.0);
    scenario.faults.clear();
    scenario.duration = Duration::from_mins(1);
    scenario.tiers[0].limiter.capacity = Capacity::Unlimited;
    scenario.client.clients = clients;
    scenario.client.layers[0].budget = budget;
    scenario.client.layers[0].backoff.base = Duration::ZERO;
    let lever = Lever::Admit { share: Ratio::ZERO, hold: None, ramp: Duration::ZERO };
    scenario.levers = vec![PlannedLever { lever, tier: None, at: Timestamp::from_secs(5) }];
    scenario
}

/// Retries per request over the last 20 s.
fn retries_per_request(budget: BudgetConfig, clients: u32) -> f64 {
    let log = log_of(&refused(budget, clients), 1);
    let last = log.windows.iter().filter(|window| window.second >= 40);
    let (retries, offered) = last.fold((0, 0), |(retries, offered), window| {
        (retries + window.client.retries, offered + window.client.offered)
    });
    retries as f64 / offered as f64
}

#[test]
fn floors_add_up_in_a_fleet_and_shares_do_not() {
    let per_success = Finagle { credit: Credit::Success, ..Finagle::default() };
    let named = |name: &str| name.parse::<BudgetConfig>().unwrap();
    let mut wrong = Vec::new();
    for (name, budget, expected) in [
        ("none", BudgetConfig::Off, [3.0, 3.0]),
        ("Finagle per request", named("finagle"), [0.21, 1.20]),
        ("Finagle per success", BudgetConfig::Finagle(per_success), [0.01, 1.0]),
        ("gRPC throttle", named("grpc-throttle"), [0.0, 0.0]),
        ("AWS quota", named("aws-quota"), [0.0, 0.0]),
        ("SRE 10 %", named("sre-ratio"), [0.105, 0.105]),
    ] {
        for (clients, expected) in [1, 100].into_iter().zip(expected) {
            let found = retries_per_request(budget, clients);
            if (found - expected).abs() > 0.011 {
                wrong.push((name, clients, expected, found));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
