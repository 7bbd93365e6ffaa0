//! How fast virtual time goes: `cargo bench -p goodput-simulator [-- PART-OF-A-NAME]`, on a quiet
//! machine. It uses one core, and where the system tells it counts the time on that core.
#![expect(clippy::disallowed_types, reason = "a measurement needs a clock")]
#![expect(clippy::print_stdout, reason = "it prints what it measured")]

use std::time::{Duration, Instant};

use goodput_clock::Rate;
use goodput_policy::limiter::Capacity;
use goodput_runlog::Cancel;
use goodput_scenario::{Plan, Scenario, builtin};
use goodput_simulator::{RunOptions, run_counted};

fn main() {
    println!(
        "{:<34} {:>11} {:>9} {:>13} {:>12}",
        "run", "events", "ms", "events a s", "x real time"
    );
    let plan = plan(builtin::DATABASE_FAILOVER);
    for arm in ["naive", "retry-budget", "drop-expired", "bounded-queue"] {
        let scenario = plan.as_ref().and_then(|plan| plan.arm(arm).ok());
        if let Some(arm) = scenario {
            measure(&format!("database-failover {}", arm.name), &arm.scenario);
        }
    }
    // A healthy service at other rates, for 20 s to two minutes.
    let Some(plan) = self::plan(builtin::STEADY) else { return };
    for rate in [1e3, 1e4, 1e5, 1e6] {
        let mut scenario = plan.scenario.clone();
        let Ok((load, capacity)) =
            Rate::new(rate).and_then(|load| Ok((load, Rate::new(rate * 1.25)?)))
        else {
            continue;
        };
        scenario.load.rate = load;
        scenario.tiers[0].limiter.capacity = Capacity::Limited(capacity);
        scenario.duration = Duration::from_secs((1e7 / rate).clamp(20.0, 120.0) as u64);
        measure(&format!("steady at {rate} requests a second"), &scenario);
    }
}

fn plan(builtin: builtin::Builtin) -> Option<Plan> {
    Plan::parse(builtin.file, builtin.text).ok()
}

/// Runs a scenario for at least a second, and prints the quickest of its runs.
fn measure(name: &str, scenario: &Scenario) {
    if std::env::args().skip(1).any(|part| !part.starts_with('-') && !name.contains(&part)) {
        return;
    }
    let options = RunOptions::new(scenario.clone());
    let (mut best, mut events, mut goodput) = (Duration::MAX, 0, 0.0);
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(1) {
        let start = on_core(began);
        let (log, count) = run_counted(&options, &mut (), &mut |_| None, &Cancel::new());
        (best, events) = (best.min(on_core(began).saturating_sub(start)), count);
        let last = log.windows.iter().rev().take(LAST);
        goodput = last.map(|window| window.client.good).sum::<u64>() as f64 / LAST as f64;
    }
    let seconds = best.as_secs_f64();
    println!(
        "{name:<34} {events:>11} {:>9.2} {:>13.0} {:>12.0} {goodput:>12.1}",
        seconds * 1e3,
        events as f64 / seconds,
        scenario.duration.as_secs_f64() / seconds
    );
}

/// How long this thread has had a core, or wall time where the system does not say.
fn on_core(began: Instant) -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = told.split(' ').next().and_then(|nanos| nanos.parse().ok());
    nanos.map_or_else(|| began.elapsed(), Duration::from_nanos)
}

/// Over how many seconds at the end goodput is given.
const LAST: usize = 20;
