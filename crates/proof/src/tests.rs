use std::collections::BTreeMap;

use goodput_clock::Seed;
use goodput_scenario::{Arrivals, Plan};

use crate::counting::{Class, Cohorts, course};
use crate::measure::simulate;
use crate::{
    Draft, Family, Miss, Sockets, Table, Variant, can_be_cut, distribution, measure, prefix,
};

fn cases(numbers: std::ops::Range<u64>) -> impl Iterator<Item = Draft> {
    numbers.map(|number| distribution::case(Seed(1), number))
}

/// Cases that are cheap to run: few requests, but of every recipe.
fn cheap(numbers: std::ops::Range<u64>) -> impl Iterator<Item = Draft> {
    let requests = |draft: &Draft| {
        let seconds = draft.span(1.0).1 + 10.0 * draft.tail;
        seconds * draft.rate * draft.attempts() as f64
    };
    cases(numbers).filter(move |draft| requests(draft) < 50_000.0)
}

#[test]
fn every_case_is_a_scenario_and_so_is_every_variant_of_it() {
    let variants = [
        Variant::PLAIN,
        Variant { trigger: false, ..Variant::PLAIN },
        Variant { length: 1.05, tails: 10.0, ..Variant::PLAIN },
        Variant { length: 0.95, load: 0.97, seed: 2, ..Variant::PLAIN },
    ];
    for draft in cases(0..1_000) {
        for variant in &variants {
            if let Err(problem) = draft.scenario(variant) {
                panic!("case {}: {problem}", draft.number);
            }
        }
    }
}

#[test]
fn six_recipes_have_a_tenth_each_and_the_free_have_four() {
    let mut counts = BTreeMap::new();
    for draft in cases(0..1_000) {
        *counts.entry(draft.family).or_insert(0) += 1;
    }
    assert_eq!(counts.remove(&Family::Free), Some(400));
    assert_eq!(counts.len(), 6);
    assert!(counts.values().all(|count| *count == 100), "{counts:?}");
}

#[test]
fn every_kind_of_everything_is_drawn() {
    let all: String = cases(0..1_000).map(|draft| draft.toml(&Variant::PLAIN)).collect();
    for word in [
        "arrivals = \"constant\"",
        "arrivals = \"poisson\"",
        "kind = \"batch\"",
        "[[load.change]]",
        "over = \"5000ms\"",
        "protocol = \"http/2\"",
        "deadline = ",
        "pool = \"fifo\"",
        "pool = \"least-loaded\"",
        "jitter = \"none\"",
        "jitter = \"full\"",
        "jitter = \"equal\"",
        "jitter = \"decorrelated\"",
        "sre-ratio",
        "finagle",
        "token-bucket",
        "grpc-throttle",
        "aws-quota",
        "budget_scope = \"shared\"",
        "budget_scope = \"client\"",
        "credit = \"success\"",
        "retry_on = ",
        "[[tier.layer]]",
        "service = \"constant\"",
        "service = \"exponential\"",
        "lognormal",
        "queue = \"lifo\"",
        "queue_limit = ",
        "drop_expired = true",
        "expiry_margin",
        "on_disconnect = \"cancel\"",
        "charge = \"admission\"",
        "kind = \"stall\"",
        "mode = \"slow\"",
        "mode = \"slots\"",
        "fault-2",
        "tier = \"gateway-0\"",
        "name = \"shed-queue\"",
        "name = \"restart\"",
        "name = \"limiter\"",
        "name = \"budget\"",
        "name = \"retries\"",
        "name = \"rate\"",
        "name = \"admit\"",
    ] {
        assert!(all.contains(word), "no case has `{word}`");
    }
}

#[test]
fn rates_and_lengths_of_faults_fill_their_ranges() {
    let rates: Vec<f64> = cases(0..1_000).map(|draft| draft.rate).collect();
    assert!(rates.iter().any(|rate| *rate < 3.0) && rates.iter().any(|rate| *rate > 400.0));
    assert!(rates.iter().all(|rate| (2.0..=500.0).contains(rate)));
    let lengths: Vec<f64> =
        cases(0..1_000).flat_map(|draft| draft.triggers.into_iter().map(|t| t.length)).collect();
    assert!(lengths.iter().any(|length| *length < 0.2));
    assert!(lengths.iter().any(|length| *length > 400.0));
    assert!(lengths.iter().all(|length| (0.1..=600.0).contains(length)));
}

#[test]
fn a_prefix_of_a_long_log_is_the_log_of_a_shorter_run() {
    let (mut compared, mut batches) = (0, 0);
    for draft in cheap(0..200).take(40) {
        let long = draft.scenario(&Variant { tails: 10.0, ..Variant::PLAIN }).unwrap();
        if !can_be_cut(&long) {
            continue;
        }
        let whole = simulate(&long);
        for tails in [1.0, 2.5] {
            let short = draft.scenario(&Variant { tails, ..Variant::PLAIN }).unwrap();
            let run = simulate(&short);
            let cut = prefix(&whole, short.duration.as_secs());
            assert_eq!(cut.windows, run.windows, "case {}, {tails} tails", draft.number);
            assert_eq!(cut.events, run.events, "case {}, {tails} tails", draft.number);
            assert_eq!(cut.integrity.offered, run.integrity.offered, "case {}", draft.number);
        }
        compared += 1;
        batches += u32::from(matches!(long.load.arrivals, Arrivals::Batch { .. }));
    }
    assert!(compared >= 25 && batches >= 2, "{compared} compared, {batches} with batches");
}

/// The course of shares in blocks of 10 s after a trigger's end at 0, against an edge of 0.95.
fn counted(shares: &[f64]) -> crate::counting::Course {
    let seconds = shares.iter().flat_map(|share| [(100, (share * 100.0).round() as u64); 10]);
    course(&Cohorts::from_counts(seconds), 0, 10, 0.95)
}

#[test]
fn counting_tells_a_return_from_a_cycle_and_from_an_end() {
    let class = |shares: &[f64]| counted(shares).class.unwrap();
    assert_eq!(class(&[0.0, 0.2, 1.0, 1.0, 1.0, 1.0]), Class::Returns);
    assert_eq!(class(&[0.0; 6]), Class::Down);
    // A block in the band is not a return.
    assert_eq!(class(&[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), Class::Down);
    // Back, and down for good.
    assert_eq!(class(&[1.0, 1.0, 1.0, 0.0, 0.0, 0.0]), Class::Down);
    // For good in the band's shadow.
    assert_eq!(class(&[0.93; 8]), Class::Down);
    let cycle = [0.0, 0.0, 1.0, 1.0, 1.0].repeat(4);
    assert_eq!(class(&cycle), Class::ComesAndGoes);
    // The same cycle that ends, and is over for longer than it ever was before.
    let over = [cycle, vec![1.0; 8]].concat();
    assert_eq!(class(&over), Class::Returns);
}

#[test]
fn dips_that_are_short_or_shallow_are_no_collapse() {
    let short = counted(&[1.0, 1.0, 1.0, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    let shallow = counted(&[1.0, 1.0, 1.0, 0.9, 0.9, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    for course in [short, shallow] {
        assert_eq!((course.class, course.collapses.len()), (Some(Class::Returns), 0));
    }
    let deep = counted(&[1.0, 1.0, 1.0, 0.8, 0.8, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    assert_eq!(deep.collapses, [(30, 50)]);
}

#[test]
fn what_a_verdict_may_not_say_hangs_on_what_comes_after_it() {
    let late = counted(&[0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]);
    assert!(late.comes_back_after(30), "metastable at 30 s is false");
    assert!(late.goes_down_after(30), "recovered at 30 s is false");
    assert!(!late.goes_down_after(70));
    let lost = counted(&[1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
    assert!(lost.goes_down_after(30), "it is lost later");
    assert!(!lost.comes_back_after(60), "metastable at 60 s is true");
}

/// A sample of the proof: no verdict is false, and a recipe mostly makes what it was made for.
#[test]
fn sixty_cases_have_no_false_verdict() {
    let mut hits: BTreeMap<(Family, Class), u32> = BTreeMap::new();
    let mut all: BTreeMap<Family, u32> = BTreeMap::new();
    let outcomes: Vec<_> =
        cheap(0..400).take(60).map(|draft| measure(&draft, false).unwrap()).collect();
    for outcome in &outcomes {
        *hits.entry((outcome.family, outcome.class)).or_default() += 1;
        *all.entry(outcome.family).or_default() += 1;
    }
    for (family, class) in [
        (Family::Metastable, Class::Down),
        (Family::Recovered, Class::Returns),
        (Family::Overloaded, Class::FallsByItself),
        (Family::Untouched, Class::Returns),
    ] {
        let (hit, of) = (hits.get(&(family, class)).copied().unwrap_or_default(), all[&family]);
        assert!(3 * hit >= 2 * of, "{}: {hit} of {of} are {}", family.name(), class.name());
    }
    let table = Table::new(outcomes);
    for miss in [Miss::FalseRecovered, Miss::FalseMetastable, Miss::FalseSteady] {
        assert_eq!(table.misses(miss), 0, "{}\n{}", miss.name(), table.markdown());
    }
    assert_eq!((table.flips(), table.broken()), (0, 0), "{}", table.markdown());
    let (held_back, due) = table.inconclusive();
    assert!(due > 150 && 20 * held_back <= due, "{held_back} of {due} are inconclusive");
}

#[test]
fn a_case_repeats_and_can_be_saved() {
    let draft = cheap(0..100).next().unwrap();
    let text = draft.toml(&Variant::PLAIN);
    let plan = Plan::parse("case.toml", &text).unwrap();
    assert_eq!(plan.scenario, draft.scenario(&Variant::PLAIN).unwrap());
    let (first, second) = (measure(&draft, false).unwrap(), measure(&draft, false).unwrap());
    assert_eq!((first.line(), first.course), (second.line(), second.course));
}

#[test]
fn sockets_carry_what_is_neither_too_much_nor_too_quick_nor_too_long() {
    let sockets = Sockets { speed: 10.0 };
    let carried: Vec<Draft> = cases(0..100).filter(|draft| sockets.carry(draft)).collect();
    assert!((20..80).contains(&carried.len()), "{} of 100", carried.len());
    for draft in carried {
        let with = |change: &dyn Fn(&mut Draft)| {
            let mut draft = draft.clone();
            change(&mut draft);
            sockets.carry(&draft)
        };
        assert!(!with(&|draft| draft.rate = 301.0), "case {}", draft.number);
        assert!(!with(&|draft| draft.deadline = Some(0.49)), "case {}", draft.number);
        assert!(!with(&|draft| draft.tail = 600.0), "case {}", draft.number);
    }
}
