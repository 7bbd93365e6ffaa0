//! Verdicts at the edges: systems that come and go, that have just drained, that cannot be metastable, that
//! are overloaded, and the right word for each.

use goodput_scenario::{Plan, Scenario};
use goodput_verdict::{Cause, Judgement, Verdict, judge};

use crate::support::log_of;

fn scenario(text: &str) -> Scenario {
    Plan::parse("edge.toml", text).unwrap_or_else(|error| panic!("{error}\n{text}")).scenario
}

fn verdict(text: &str, seed: u64) -> Judgement {
    let scenario = scenario(text);
    judge(&log_of(&scenario, seed), &scenario)
}

/// The verdicts of so many seeds, counted.
fn counted(text: &str, seeds: u64) -> std::collections::BTreeMap<&'static str, u64> {
    let scenario = scenario(text);
    let mut counts = std::collections::BTreeMap::new();
    for seed in 1..=seeds {
        let judgement = judge(&log_of(&scenario, seed), &scenario);
        *counts.entry(judgement.verdict.name()).or_insert(0) += 1;
    }
    counts
}

fn comes_and_goes(duration: u64) -> String {
    format!(
        "name = \"cycle\"\nduration = \"{duration}s\"\n[load]\nrate = 70\narrivals = \"constant\"\n\
         [[client.layer]]\ntimeout = \"1s\"\nretries = 1\n\
         backoff = {{ base = \"100s\", factor = 1, cap = \"100s\" }}\n\
         [[tier]]\nname = \"a\"\ncapacity = 100\nqueue_limit = 300\n\
         [[fault]]\nkind = \"stall\"\nat = \"60s\"\nfor = \"40s\"\n\
         [expect]\nhold = \"10s\"\nwithin = \"60s\"\n"
    )
}

#[test]
fn what_comes_and_goes_for_ever_is_unstable_however_long_it_is_watched() {
    for duration in [260, 340, 460, 500, 580, 660, 700, 1_000] {
        let judgement = verdict(&comes_and_goes(duration), 1);
        let expected: &[Verdict] = if duration < 460 {
            &[Verdict::Unstable, Verdict::Inconclusive]
        } else {
            &[Verdict::Unstable]
        };
        assert!(expected.contains(&judgement.verdict), "{duration} s: {}", judgement.summary);
    }
}

#[test]
fn a_backlog_that_has_just_emptied_is_not_metastable() {
    let text = |duration: u64| {
        format!(
            "name = \"drained\"\nduration = \"{duration}s\"\n[load]\nrate = 80\narrivals = \"constant\"\n\
             [[client.layer]]\ntimeout = \"500ms\"\nretries = 0\n\
             [[tier]]\nname = \"a\"\ncapacity = 100\n\
             [[fault]]\nkind = \"capacity\"\nto = 0.4\nat = \"60s\"\nfor = \"20s\"\n"
        )
    };
    let mut seen = Vec::new();
    for duration in 112..=180 {
        let judgement = verdict(&text(duration), 1);
        seen.push((duration, judgement.verdict.name()));
        let fits = match judgement.verdict {
            Verdict::SlowRecovery | Verdict::Inconclusive => duration < 170,
            Verdict::Recovered => true,
            Verdict::Steady | Verdict::Unstable | Verdict::Metastable | Verdict::NotRecovered => {
                false
            }
        };
        assert!(fits, "{duration} s: {}", judgement.summary);
    }
    assert_eq!(seen.last(), Some(&(180, "recovered")), "{seen:?}");
}

const SKEWED: &str = "{ kind = \"lognormal\", sigma = 1.0 }";

#[test]
fn without_retries_a_load_below_capacity_is_never_metastable() {
    for (rate, service) in
        [(46, "\"constant\""), (46, "\"exponential\""), (46, SKEWED), (48, SKEWED)]
    {
        let text = format!(
            "name = \"none\"\nduration = \"390s\"\n[load]\nrate = {rate}\narrivals = \"poisson\"\n\
             [[client.layer]]\ntimeout = \"2500ms\"\nretries = 0\n\
             [[tier]]\nname = \"a\"\nslots = 4\ncapacity = 50\nservice = {service}\n\
             [[fault]]\nkind = \"capacity\"\nto = 0.1\nat = \"40s\"\nfor = \"46s\"\n"
        );
        let counts = counted(&text, 60);
        assert!(!counts.contains_key("metastable"), "{rate}/s, {service}: {counts:?}");
    }
}

#[test]
fn a_few_per_cent_below_the_safe_load_no_run_is_metastable() {
    let text = |duration: u64| {
        format!(
            "name = \"below\"\nduration = \"{duration}s\"\n[load]\nrate = 24\narrivals = \"poisson\"\n\
             [[client.layer]]\ntimeout = \"5s\"\nretries = 3\n\
             [[tier]]\nname = \"a\"\ncapacity = 100\n\
             [[fault]]\nkind = \"stall\"\nat = \"60s\"\nfor = \"60s\"\n"
        )
    };
    for duration in [240, 400, 900] {
        let counts = counted(&text(duration), 20);
        assert!(!counts.contains_key("metastable"), "{duration} s: {counts:?}");
    }
}

#[test]
fn a_healthy_system_to_which_nothing_happens_neither_recovers_nor_fails() {
    let text = "name = \"quiet\"\nduration = \"270s\"\n[load]\nrate = 7\narrivals = \"poisson\"\n\
         [[client.layer]]\ntimeout = \"500ms\"\nretries = 0\n\
         [[tier]]\nname = \"a\"\nslots = 1\ncapacity = 10\n";
    let counts = counted(text, 100);
    assert!(!counts.contains_key("metastable") && !counts.contains_key("recovered"), "{counts:?}");
    assert!(counts.get("steady").copied().unwrap_or_default() >= 50, "{counts:?}");
}

#[test]
fn a_load_that_is_raised_above_capacity_for_good_is_overload() {
    let text = "name = \"overload\"\nduration = \"300s\"\n[load]\nrate = 30\narrivals = \"poisson\"\n\
         [[load.change]]\nat = \"60s\"\nrate = 39\n\
         [[client.layer]]\ntimeout = \"2s\"\nretries = 0\n\
         [[tier]]\nname = \"a\"\ncapacity = 35\n";
    let judgement = verdict(text, 1);
    assert_eq!(
        (judgement.verdict, judgement.cause),
        (Verdict::NotRecovered, Some(Cause::Overloaded)),
        "{}",
        judgement.summary
    );
    assert!(!judgement.summary.contains("trigger"), "{}", judgement.summary);
}

#[test]
fn a_spike_of_one_in_a_hundred_is_no_trigger() {
    let text = "name = \"spike\"\nduration = \"240s\"\n[load]\nrate = 80\narrivals = \"poisson\"\n\
         [[load.change]]\nat = \"60s\"\nrate = 80.8\nfor = \"20s\"\n\
         [[client.layer]]\ntimeout = \"5s\"\nretries = 3\n\
         [[tier]]\nname = \"a\"\ncapacity = 100\n";
    let judgement = verdict(text, 1);
    assert_eq!(judgement.verdict, Verdict::Inconclusive, "{}", judgement.summary);
    assert!(judgement.summary.contains("changed nothing"), "{}", judgement.summary);
}

#[test]
fn a_cut_that_leaves_more_than_is_offered_is_absorbed() {
    let text = "name = \"absorbed\"\nduration = \"240s\"\n[load]\nrate = 40\narrivals = \"poisson\"\n\
         [[client.layer]]\ntimeout = \"5s\"\nretries = 3\n\
         [[tier]]\nname = \"a\"\ncapacity = 100\n\
         [[fault]]\nkind = \"capacity\"\nto = 0.6\nat = \"60s\"\nfor = \"20s\"\n";
    let judgement = verdict(text, 1);
    assert_eq!(judgement.verdict, Verdict::Recovered, "{}", judgement.summary);
    assert_eq!(judgement.time_to_recover, Some(0.0));
    assert!(judgement.summary.contains("absorbed"), "{}", judgement.summary);
}

#[test]
fn a_slow_cut_that_raises_the_service_time_above_the_time_out_bites() {
    let text = "name = \"slow\"\nduration = \"240s\"\n[load]\nrate = 40\narrivals = \"poisson\"\n\
         [[client.layer]]\ntimeout = \"1s\"\nretries = 0\n\
         [[tier]]\nname = \"a\"\nslots = 100\ncapacity = 1000\n\
         [[fault]]\nkind = \"capacity\"\nto = 0.05\nat = \"60s\"\nfor = \"20s\"\n";
    let judgement = verdict(text, 1);
    assert_eq!(judgement.verdict, Verdict::Recovered, "{}", judgement.summary);
    assert!(!judgement.summary.contains("absorbed"), "{}", judgement.summary);
}

#[test]
fn a_fault_that_ends_between_two_seconds_is_judged() {
    for hundredths in [1_007, 1_033, 1_050, 1_099] {
        let text = format!(
            "name = \"fraction\"\nduration = \"145s\"\n[load]\nrate = 50\narrivals = \"poisson\"\n\
             [[client.layer]]\ntimeout = \"5s\"\nretries = 0\n\
             [[tier]]\nname = \"a\"\ncapacity = 100\n\
             [[fault]]\nkind = \"capacity\"\nto = 0.4\nat = \"60s\"\nfor = \"{}ms\"\n",
            hundredths * 10
        );
        let judgement = verdict(&text, 1);
        assert_eq!(judgement.verdict, Verdict::Recovered, "{hundredths}: {}", judgement.summary);
    }
}

#[test]
fn a_fault_of_half_a_second_is_seen_by_its_latency() {
    let text = "name = \"short\"\nduration = \"180s\"\n[load]\nrate = 50\narrivals = \"poisson\"\n\
         [[client.layer]]\ntimeout = \"1s\"\nretries = 0\n\
         [[tier]]\nname = \"a\"\nslots = 4\ncapacity = 160\n\
         [[fault]]\nkind = \"capacity\"\nto = 0.25\nat = \"60.2s\"\nfor = \"600ms\"\n";
    for seed in 1..=20 {
        let judgement = verdict(text, seed);
        assert_eq!(judgement.verdict, Verdict::Recovered, "{seed}: {}", judgement.summary);
    }
}

#[test]
fn what_has_room_again_and_no_backlog_has_recovered() {
    let lifo = "name = \"lifo\"\nduration = \"190.701s\"\nseed = 400842\n[load]\nrate = 39.112\n\
         arrivals = \"poisson\"\n[[client.layer]]\ntimeout = \"320ms\"\nretries = 2\n\
         backoff = { base = \"5s\", factor = 2, jitter = \"full\" }\n\
         [[tier]]\nname = \"a\"\nslots = 4\ncapacity = 50\nservice = { kind = \"lognormal\", sigma = 1.0 }\nqueue = \"lifo\"\n\
         on_disconnect = \"cancel\"\n\
         [[fault]]\nkind = \"capacity\"\nto = 0.353\nat = \"60s\"\nfor = \"10.701s\"\n\
         [expect]\nhold = \"10s\"\nwithin = \"120s\"\n";
    let patient = "name = \"patient\"\nduration = \"181.471s\"\nseed = 515376\n[load]\nrate = 7.315\n\
         arrivals = \"poisson\"\n[[client.layer]]\ntimeout = \"15s\"\nretries = 2\n\
         backoff = { base = \"1s\", factor = 2 }\nbudget = \"sre-ratio\"\n\
         [[tier]]\nname = \"a\"\nslots = 10\ncapacity = 10\nservice = { kind = \"lognormal\", sigma = 1.0 }\nqueue_limit = 451\n\
         drop_expired = true\n\
         [[fault]]\nkind = \"capacity\"\nto = 0.249\nat = \"60s\"\nfor = \"1.471s\"\n\
         [expect]\nhold = \"10s\"\nwithin = \"120s\"\n";
    for (text, seed) in [(lifo, 400_842), (patient, 515_376)] {
        let judgement = verdict(text, seed);
        assert_eq!(judgement.verdict, Verdict::Recovered, "{seed}: {}", judgement.summary);
    }
}

#[test]
fn goodput_is_not_back_before_its_cure() {
    let plan = Plan::parse("x.toml", goodput_scenario::builtin::STALL_AND_PUT_BACK.text).unwrap();
    let scenario = &plan.arm("shed-queue").unwrap().scenario;
    let (_, ended) = scenario.trigger_span().unwrap();
    let lever = scenario.levers.iter().map(|lever| lever.at).min().unwrap();
    let judgement = judge(&log_of(scenario, scenario.seed.0), scenario);
    let after = (lever.as_secs_f64() - ended.as_secs_f64()).floor();
    assert!(judgement.time_to_recover.is_some_and(|time| time >= after), "{judgement:#?}");
    assert!(judgement.since_lever.is_some_and(|time| time < 30.0), "{judgement:#?}");
}

#[test]
fn a_lasting_admission_is_judged_by_those_who_are_admitted() {
    let text = "name = \"admit\"\nduration = \"300s\"\n[load]\nrate = 80\narrivals = \"poisson\"\n\
         [[client.layer]]\ntimeout = \"2s\"\nretries = 0\n\
         [[tier]]\nname = \"a\"\ncapacity = 100\n\
         [[fault]]\nkind = \"capacity\"\nto = 0.4\nat = \"60s\"\nfor = \"20s\"\n\
         [[lever]]\nname = \"admit\"\nshare = 0.8\nat = \"90s\"\n";
    let judgement = verdict(text, 1);
    assert_eq!(judgement.verdict, Verdict::Recovered, "{}", judgement.summary);
    assert!(judgement.summary.contains("of what is admitted"), "{}", judgement.summary);
    assert!(judgement.notes.iter().any(|note| note.contains("turns users away")));
}
