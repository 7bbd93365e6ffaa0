use goodput_clock::{Rate, Ratio, Seed};
use goodput_policy::fault::{CapacityMode, FaultKind};
use goodput_runlog::Quantiles;
use goodput_scenario::Plan;

use super::*;

const HOLD: u64 = 10;

/// So many seconds of 40 requests of which `good` ended well and `open` have not ended.
fn cohorts(seconds: usize, good: u64, open: u64) -> Vec<Cohort> {
    let failed = 40 - good - open;
    vec![Cohort { arrived: 40, good, failed, turned_away: 0 }; seconds]
}

fn joined(parts: &[(usize, u64, u64)]) -> Vec<Cohort> {
    parts.iter().flat_map(|(seconds, good, open)| cohorts(*seconds, *good, *open)).collect()
}

fn part(parts: &[(usize, u64, u64)]) -> Option<Part> {
    unhealthy(&joined(parts), HOLD).map(|found| found.part)
}

#[test]
fn a_baseline_is_what_lies_between_the_warm_up_and_the_trigger() {
    let at = Timestamp::from_secs;
    assert_eq!(span(at(60), 10), 5..60);
    assert_eq!(span(Timestamp::from_nanos(12_900_000_000), 10), 2..12);
    assert_eq!(span(at(8), 10), 0..8);
}

#[test]
fn a_block_holds_a_hundred_requests_and_lasts_for_hold_at_least() {
    assert_eq!(block(&cohorts(55, 40, 0), HOLD), 10);
    let two_a_second = vec![Cohort { arrived: 2, good: 2, ..Cohort::default() }; 120];
    assert_eq!(block(&two_a_second, HOLD), 50);
    assert_eq!(block(&two_a_second[..30], HOLD), 30);
    assert_eq!(block(&[], HOLD), 0);
}

#[test]
fn what_fails_is_claimed_over_the_whole_or_over_its_end() {
    assert_eq!(part(&[(55, 40, 0)]), None);
    assert_eq!(part(&[(55, 0, 0)]), Some(Part::Whole));
    assert_eq!(part(&[(55, 35, 0)]), Some(Part::Whole));
    assert_eq!(part(&[(55, 39, 0)]), None);
    assert_eq!(part(&[(45, 40, 0), (10, 20, 0)]), Some(Part::Last));
    // It failed for a while and does not any more.
    assert_eq!(part(&[(20, 40, 0), (5, 0, 0), (30, 40, 0)]), None);
    assert_eq!(part(&[]), None);
}

#[test]
fn open_requests_count_as_good_and_hide_nothing_that_is_decided() {
    assert_eq!(part(&[(55, 0, 40)]), None);
    // Time-outs and backoffs of 27 s: half of the baseline is decided, and all of that failed.
    assert_eq!(part(&[(28, 0, 0), (27, 0, 40)]), Some(Part::Whole));
    assert_eq!(part(&[(28, 20, 0), (27, 20, 20)]), Some(Part::Whole));
    let found = unhealthy(&joined(&[(28, 0, 0), (27, 0, 40)]), HOLD).unwrap();
    assert!((found.share.value - 27.0 / 55.0).abs() < 1e-9, "{found:?}");
    assert_eq!((found.requests, found.seconds), (2_200, 0..55));
}

#[test]
fn noise_is_claimed_no_more_often_than_the_bounds_say() {
    let mut random = Seed(9).stream("gate");
    let mut claims = [0, 0];
    for seed in 0..2_000 {
        for (which, share) in [0.95, 0.97].into_iter().enumerate() {
            let share = Ratio::new(share).unwrap();
            let series: Vec<_> = (0..55)
                .map(|_| {
                    let good = (0..40).filter(|_| random.chance(share)).count() as u64;
                    cohorts(1, good, 0)[0]
                })
                .collect();
            claims[which] += usize::from(unhealthy(&series, HOLD).is_some());
        }
        assert!(claims[1] == 0, "seed {seed}");
    }
    // Exactly at the edge each of the looks may err in one of a hundred.
    assert!(claims[0] <= 60, "{claims:?} of 2000");
}

/// A run whose windows lack the last second, by (seconds, good by the second of ending), and its cohorts.
fn is_silent(good: &[(usize, u64)], cohorts: Vec<Cohort>, patience: usize) -> bool {
    let windows: Vec<_> = good
        .iter()
        .flat_map(|(seconds, good)| {
            vec![ClientWindow { good: *good, ..ClientWindow::default() }; *seconds]
        })
        .collect();
    let seen = Seen { windows: windows.iter().collect(), cohorts, ..Seen::default() };
    health::silent(&seen, 10, patience).is_some()
}

#[test]
fn a_baseline_from_which_nothing_comes_back_is_silent() {
    assert!(is_silent(&[(24, 0)], cohorts(25, 0, 40), 1));
    assert!(is_silent(&[(30, 40), (24, 0)], joined(&[(30, 40, 0), (25, 0, 40)]), 1));
    // The first to arrive were answered late, and the rest waits.
    assert!(is_silent(&[(5, 0), (8, 20), (11, 0)], joined(&[(4, 40, 0), (21, 0, 40)]), 1));
    // Answers take that long, or have just begun to come again, or nobody waits.
    assert!(!is_silent(&[(24, 0)], cohorts(25, 0, 40), 24));
    assert!(!is_silent(&[(30, 40), (24, 0)], joined(&[(31, 40, 0), (24, 0, 40)]), 1));
    assert!(!is_silent(&[(24, 0)], cohorts(25, 0, 0), 1));
    assert!(!is_silent(&[(24, 0)], vec![Cohort::default(); 25], 1));
    // A batch that has just arrived.
    let mut batches = vec![Cohort::default(); 60];
    batches[0] = Cohort { arrived: 500, good: 500, ..Cohort::default() };
    batches[59] = Cohort { arrived: 500, ..Cohort::default() };
    assert!(!is_silent(&[(1, 500), (58, 0)], batches, 1));
}

fn scenario(fault: &str) -> Scenario {
    let text = format!(
        "name = \"gate\"\nduration = \"200s\"\nload.rate = 40\n[[client.layer]]\ntimeout = \"1s\"\n\
         [[tier]]\nname = \"db\"\nslots = 4\ncapacity = 100\n{fault}"
    );
    Plan::parse("gate.toml", &text).unwrap_or_else(|error| panic!("{error}")).scenario
}

fn cut() -> Scenario {
    scenario(
        "[[fault]]\nname = \"cut\"\nkind = \"capacity\"\nto = 0.4\nat = \"60s\"\nfor = \"9s\"\n",
    )
}

fn tier() -> TierNow {
    TierNow {
        name: "db".to_owned(),
        capacity: Capacity::Limited(Rate::new(100.0).unwrap()),
        slots: 4,
        queued: 0,
        received: 2_400,
        answers: true,
    }
}

fn window(attempts: u64, outcomes: &[(&str, u64)]) -> ClientWindow {
    let outcomes = outcomes.iter().map(|(name, count)| ((*name).to_owned(), *count));
    ClientWindow { attempts, outcomes: outcomes.collect(), ..ClientWindow::default() }
}

/// A healthy minute, but for the tier.
fn reason(scenario: &Scenario, tier: TierNow) -> Option<String> {
    let window = window(40, &[("200", 40)]);
    let seen = Seen { cohorts: cohorts(60, 40, 0), windows: vec![&window; 60], tiers: vec![tier] };
    withhold(scenario, &seen)
}

#[test]
fn the_reason_says_what_failed_and_where_it_waits() {
    let windows = [
        window(40, &[("refused", 812), ("503", 4), ("204", 1)]),
        window(40, &[("timeout", 1_000), ("200", 3)]),
    ];
    let mut seen = Seen {
        cohorts: joined(&[(5, 40, 0), (55, 4, 0)]),
        windows: windows.iter().collect(),
        tiers: vec![TierNow { queued: 1_616, ..tier() }],
    };
    let said = withhold(&cut(), &seen).unwrap();
    assert_eq!(
        said,
        "the baseline is not healthy: 10.0 % of 2,200 requests from 5 s to 60 s ended well or are \
         still open, and 95 % are needed; failed attempts: 1,000 timed out, 812 refused, 4 × 503; \
         in queues: 1,616 at `db`"
    );
    seen.cohorts = joined(&[(50, 40, 0), (10, 10, 0)]);
    let said = withhold(&cut(), &seen).unwrap();
    assert!(said.contains("25.0 % of 400 requests from 50 s to 60 s, its end, ended"), "{said}");
    let mut short = cut();
    short.faults[0].at = Timestamp::from_secs(25);
    let quiet = ClientWindow::default();
    let windows = vec![&quiet; 25];
    let hangs = Seen { cohorts: cohorts(25, 0, 40), windows, ..Seen::default() };
    let said = withhold(&short, &hangs).unwrap();
    let why = "none ended well in the last 10 s, and 600 requests from before are still open";
    assert!(said.ends_with(why), "{said}");
}

#[test]
fn a_load_spike_is_a_trigger_that_can_always_act() {
    let spike = scenario("[[load.change]]\nat = \"60s\"\nrate = 90\nfor = \"9s\"\n");
    assert_eq!(reason(&spike, TierNow { received: 0, answers: false, ..tier() }), None);
    let seen = Seen { cohorts: cohorts(60, 0, 0), ..Seen::default() };
    assert!(withhold(&spike, &seen).is_some());
    assert_eq!(withhold(&scenario(""), &seen), None, "without a trigger there is nothing to keep");
}

#[test]
fn a_fault_that_cannot_act_is_told_by_name() {
    assert_eq!(reason(&cut(), tier()), None);
    let cases = [
        (
            TierNow { capacity: Capacity::Unlimited, ..tier() },
            "at tier `db` would change nothing: the capacity is unlimited",
        ),
        (
            TierNow { received: 0, ..tier() },
            "beside the road: tier `db` has received none of 2,400",
        ),
        (TierNow { answers: false, ..tier() }, "the control plane of tier `db` does not answer"),
    ];
    for (tier, expected) in cases {
        let said = reason(&cut(), tier).unwrap();
        assert!(said.starts_with("the fault `cut` ") && said.contains(expected), "{said}");
    }
    let with = |kind| {
        let mut scenario = cut();
        scenario.faults[0].kind = kind;
        scenario
    };
    let to = |to, mode| FaultKind::capacity(Ratio::new(to).unwrap(), mode).unwrap();
    let one = TierNow { slots: 1, ..tier() };
    let said = reason(&with(to(0.05, CapacityMode::Slots)), one).unwrap();
    assert!(said.contains("at tier `db` would take no slot away: 5% of the 1 at work"), "{said}");
    // More than is offered is left, and each service takes longer all the same.
    assert_eq!(reason(&with(to(0.99, CapacityMode::Slow)), tier()), None);
    assert_eq!(
        reason(&with(FaultKind::Stall), TierNow { capacity: Capacity::Unlimited, ..tier() }),
        None
    );
}

#[test]
fn only_what_begins_the_trigger_is_asked_whether_it_can_act() {
    let mut scenario = cut();
    let later = scenario.faults[0].clone();
    scenario.faults.push(goodput_scenario::PlannedFault {
        kind: FaultKind::capacity(Ratio::ONE, CapacityMode::Slow).unwrap(),
        at: Timestamp::from_secs(90),
        ..later
    });
    assert_eq!(reason(&scenario, tier()), None);
}

#[test]
fn answers_may_take_as_long_as_one_took_or_some_services() {
    let mut scenario = cut();
    assert_eq!(health::patience(&scenario, &[]), 1);
    scenario.tiers[0].limiter.capacity = Capacity::Limited(Rate::new(0.2).unwrap());
    assert_eq!(health::patience(&scenario, &[]), 120);
    let mut slow = window(40, &[]);
    slow.latency = Quantiles { max: 200.5, ..Quantiles::default() };
    assert_eq!(health::patience(&scenario, &[&slow]), 201);
}
