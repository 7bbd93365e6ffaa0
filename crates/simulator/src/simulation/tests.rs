//! Invariants, looked at after every event of small random scenarios.

mod random;

use goodput_policy::fault::Effect;
use goodput_policy::limiter::{Capacity, Refusal};
use goodput_policy::retry::LayerCounters;
use goodput_scenario::{Plan, builtin};

use super::*;
use random::random_options;

/// What the tiers of a run counted in the windows that have ended, and the most slots there were.
#[derive(Default)]
struct Before {
    received: u64,
    settled: u64,
    served: u64,
    slots: u32,
}

/// Everything that holds at every moment of a run.
struct Invariants {
    tiers: Vec<Before>,
    now: Timestamp,
    /// The most retries that each of the load's layers has had.
    retries: Vec<u32>,
}

impl Invariants {
    fn new(run: &Simulation<'_>) -> Self {
        let tiers = run.tiers.iter().map(|_| Before::default()).collect();
        let retries = vec![0; run.callers[0].layers.configs().len()];
        Self { tiers, now: Timestamp::ZERO, retries }
    }

    /// Looks at a run between two events; `window` says that the event was the end of a window.
    fn hold(&mut self, run: &Simulation<'_>, window: bool) {
        assert!(run.now >= self.now, "time goes on");
        self.now = run.now;
        let load = &run.callers[0];
        let in_flight = load.calls.len() as u64;
        assert_eq!(run.recorder.requests_in_flight(), in_flight, "requests are conserved");
        assert_eq!(run.recorder.offered_total(), run.issued());
        // What arrives while the run is only watched makes attempts too.
        let mut bound = run.arrivals();
        for (config, most) in load.layers.configs().iter().zip(&mut self.retries) {
            // A lever may have lowered them while requests were under way.
            *most = config.retries.max(*most);
            bound *= u64::from(*most) + 1;
        }
        let sent = load.layers.counters().last().map(sent).unwrap_or_default();
        assert!(sent <= bound, "a request makes at most Π(R + 1) attempts");
        for (level, before) in self.tiers.iter_mut().enumerate() {
            if window {
                let Some(last) = run.ledger.tier_windows.back() else { continue };
                let ended = &last[level];
                before.received += ended.received;
                before.served += ended.served;
                before.settled += ended.served
                    + ended.refused.values().sum::<u64>()
                    + ended.cancelled
                    + ended.errors;
            }
            before.hold(run, level);
            hold_capacity(run, level);
        }
        run.callers[1..].iter().for_each(hold_attempts);
        let served = self.tiers[0].served + run.tiers[0].counts.served;
        assert!(run.recorder.good_total() <= served, "goodput is at most throughput");
    }
}

impl Before {
    fn hold(&mut self, run: &Simulation<'_>, level: usize) {
        let tier = &run.tiers[level];
        let limiter = &tier.limiter;
        self.slots = self.slots.max(limiter.slots());
        if limiter.config().capacity != Capacity::Unlimited {
            let busy = limiter.in_service();
            assert!(busy <= self.slots as usize, "{busy} busy of {} slots", self.slots);
        }
        if let Some(next) = run.callers.get(level + 1) {
            assert_eq!(tier.forwarded.len(), next.calls.len(), "each gateway call has a caller");
        }
        let counts = &tier.counts;
        let settled = counts.served
            + counts.refused.iter().sum::<u64>()
            + counts.upstream_overloaded
            + counts.upstream_expired
            + counts.cancelled
            + counts.errors;
        let inside = limiter.queued() + limiter.in_service() + tier.forwarded.len();
        assert_eq!(
            self.received + counts.received,
            self.settled + settled + inside as u64,
            "attempts are conserved at {}",
            tier.name
        );
    }
}

/// A tier that no fault has hit yet, or whose faults are over, has the capacity of its limiter.
fn hold_capacity(run: &Simulation<'_>, level: usize) {
    let tier = &run.tiers[level];
    let faults = run.options.scenario.faults.iter().filter(|fault| fault.tier == tier.name);
    // At the very moment of its start or end a fault's turn may be yet to come.
    if faults.clone().any(|fault| fault.at <= run.now && run.now <= fault.ends()) {
        return;
    }
    assert_eq!(tier.limiter.effect(), Effect::NONE, "no fault is in force at {}", tier.name);
    if let Capacity::Limited(rate) = tier.limiter.config().capacity {
        let capacity = tier.limiter.capacity();
        assert!((capacity - rate.per_second()).abs() < 1e-9, "{capacity} of {rate}");
    }
}

/// A call of a gateway makes at most Π(R + 1) attempts; no lever changes its retries.
fn hold_attempts(gateway: &Caller) {
    let counters = gateway.layers.counters();
    let calls = counters.first().map(|outermost| outermost.first).unwrap_or_default();
    let factor: u64 = gateway.layers.configs().iter().map(|c| u64::from(c.retries) + 1).product();
    let attempts = counters.last().map(sent).unwrap_or_default();
    assert!(attempts <= calls * factor, "{attempts} attempts of {calls} calls");
}

/// Attempts on the wire, by the counters of the innermost layer.
fn sent(counters: &LayerCounters) -> u64 {
    counters.first + counters.retries
}

/// Carries a run out and looks at it after every event; returns how many there were.
fn look_at(options: &RunOptions) -> u64 {
    let mut run = Simulation::new(options);
    let mut invariants = Invariants::new(&run);
    let mut steps = 0;
    while let Some(window) = run.step(&mut ()) {
        invariants.hold(&run, window);
        steps += 1;
        if steps % 64 == 0 {
            let attempts = run.callers[0].calls.attempts() as u64;
            assert_eq!(run.recorder.attempts_in_flight(), attempts);
        }
    }
    assert!(run.tiers.iter().all(|tier| tier.limiter.effect() == Effect::NONE), "faults end");
    steps
}

#[test]
fn the_invariants_hold_after_every_event_of_every_built_in_scenario() {
    for builtin in builtin::ALL {
        let plan = Plan::parse(builtin.file, builtin.text).unwrap();
        let arms = plan.arms.into_iter().map(|arm| arm.scenario);
        for scenario in std::iter::once(plan.scenario).chain(arms) {
            let limiter = scenario.tiers[0].limiter.clone();
            let options = RunOptions::new(scenario);
            assert!(look_at(&options) > 5_000);
            let mut run = Simulation::new(&options);
            while run.step(&mut ()).is_some() {}
            let Capacity::Limited(rate) = limiter.capacity else { panic!("it is limited") };
            let capacity = run.tiers[0].limiter.capacity();
            assert!((capacity - rate.per_second()).abs() < 1e-9, "capacity is back: {capacity}");
        }
    }
}

#[test]
fn the_invariants_hold_after_every_event_of_ten_thousand_random_scenarios() {
    let mut steps = 0;
    for seed in 0..10_000 {
        let options = random_options(seed);
        let held = std::panic::catch_unwind(|| look_at(&options));
        assert!(held.is_ok(), "seed {seed}: {:#?}", options.scenario);
        steps += held.unwrap_or_default();
    }
    assert!(steps > 1_000_000, "{steps}");
}

#[test]
fn equal_seeds_give_equal_logs_of_random_scenarios() {
    for seed in 0..200 {
        let options = random_options(seed);
        let log = || crate::run(&options, &mut (), &mut |_| None, &Cancel::new());
        assert_eq!(log().to_json().unwrap(), log().to_json().unwrap(), "seed {seed}");
    }
}

#[test]
fn memory_holds_what_is_in_flight_and_not_what_has_passed() {
    let plan = Plan::parse("steady.toml", builtin::STEADY.text).unwrap();
    let mut scenario = plan.scenario;
    scenario.duration = Duration::from_mins(20);
    let options = RunOptions::new(scenario);
    let mut run = Simulation::new(&options);
    while run.step(&mut ()).is_some() {
        // Time-outs of the last 5 s, answered or not, and what else waits.
        let due = run.timeouts.len() + run.waits.len() + run.wire.len();
        assert!(due < 80 * 5 * 3 / 2, "{due} at {}", run.now);
        assert!(run.callers[0].calls.len() < 80, "{}", run.callers[0].calls.len());
    }
    assert!(run.events() > 80 * 1_200 * 4);
}

#[test]
fn a_restart_drops_what_is_inside_and_its_callers_see_a_broken_connection() {
    let plan = Plan::parse("steady.toml", builtin::STEADY.text).unwrap();
    let options = RunOptions::new(plan.scenario);
    let mut run = Simulation::new(&options);
    let at = Timestamp::from_secs(30) + Duration::from_millis(500);
    while run.now < at && run.step(&mut ()).is_some() {}
    let inside = run.tiers[0].limiter.queued() + run.tiers[0].limiter.in_service();
    run.pull_by_hand(&Lever::Restart, &mut ());
    assert!(inside > 0 && run.tiers[0].limiter.in_service() == 0);
    assert_eq!(run.tiers[0].counts.refused[Refusal::Restart as usize], inside as u64);
    while run.now < at + Duration::from_secs(4) && run.step(&mut ()).is_some() {}
    let connect = FailureClass::Connect as usize;
    assert_eq!(run.callers[0].layers.counters()[0].failed[connect], inside as u64);
}
