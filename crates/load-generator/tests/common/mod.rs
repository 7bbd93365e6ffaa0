//! A small scenario to start from.

use std::time::Duration;

use goodput_clock::{Rate, Ratio, Scale, Seed};
use goodput_load_generator::GeneratorConfig;
use goodput_policy::attempt::RetryOn;
use goodput_policy::backoff::Backoff;
use goodput_policy::budget::BudgetConfig;
use goodput_policy::pool::PoolOrder;
use goodput_policy::retry::{BudgetScope, LayerConfig};
use goodput_scenario::{
    Arrivals, Client, Expectations, ExpectedVerdict, Load, Protocol, RequestTemplate, Scenario,
};
use goodput_test_support::PathServer;

pub(crate) fn layer(name: &str, timeout: Option<Duration>, retries: u32) -> LayerConfig {
    LayerConfig {
        name: name.to_owned(),
        timeout,
        retries,
        backoff: Backoff { base: Duration::from_millis(20), ..Backoff::default() },
        retry_on: RetryOn::default(),
        budget: BudgetConfig::Off,
        budget_scope: BudgetScope::Client,
    }
}

/// `rate` requests per second for `seconds`, without retries.
pub(crate) fn scenario(rate: f64, seconds: f64, path: &str) -> Scenario {
    Scenario {
        name: "test".to_owned(),
        description: String::new(),
        duration: Duration::from_secs_f64(seconds),
        seed: Seed(7),
        load: Load {
            rate: Rate::new(rate).unwrap(),
            arrivals: Arrivals::Poisson,
            changes: Vec::new(),
            request: RequestTemplate {
                method: "GET".to_owned(),
                path: path.to_owned(),
                headers: Vec::new(),
                body: String::new(),
                orders: 100,
            },
        },
        client: Client {
            clients: 1,
            protocol: Protocol::Http1,
            deadline: None,
            layers: vec![layer("client", Some(Duration::from_secs(10)), 0)],
            pool: PoolOrder::Lifo,
            max_connections: 10_000,
            connect_rate: Rate::new(1e5).unwrap(),
        },
        tiers: Vec::new(),
        faults: Vec::new(),
        levers: Vec::new(),
        expect: Expectations {
            verdict: ExpectedVerdict::Steady,
            goodput_ratio: Ratio::ONE,
            hold: Duration::from_secs(1),
            within: Duration::from_secs(1),
        },
    }
}

pub(crate) fn config(scenario: Scenario, server: &PathServer, speed: f64) -> GeneratorConfig {
    GeneratorConfig {
        scale: Scale::new(speed).unwrap(),
        ..GeneratorConfig::new(scenario, server.url())
    }
}
