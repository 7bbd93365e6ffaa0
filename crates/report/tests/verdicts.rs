//! Every verdict is told in words, signs and figures of its own, in every form of a report.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod support;

use std::collections::BTreeMap;

use goodput_experiment::compare_judged;
use goodput_report::{CriterionOutcome, Report, TextStyle};
use goodput_runlog::{Ending, Integrity, RunLog};
use goodput_scenario::{ExpectedVerdict, Scenario};
use goodput_verdict::{
    Baseline, Cause, Doubt, DoubtKind, Effect, Interval, Judgement, Span, Stretch, Sustaining,
    Verdict,
};

/// A judgement of this verdict and nothing else.
fn bare(verdict: Verdict, cause: Option<Cause>) -> Judgement {
    let trigger = Some(Span { from: 60.0, to: 80.0 });
    Judgement { verdict, cause, trigger, summary: "as it was".to_owned(), ..Judgement::default() }
}

/// A judgement that tells everything that one can tell.
fn full() -> Judgement {
    Judgement {
        notes: vec!["goodput dipped to 93 % for 4 s".to_owned()],
        time_to_recover: Some(11.0),
        time_to_recover_most: Some(14.0),
        since_lever: Some(4.0),
        time_left: Some(Interval { value: 40.0, low: 20.0, high: Some(90.0) }),
        share: Some(Interval { value: 0.931, low: 0.9, high: Some(0.95) }),
        stretches: vec![Stretch { from: 100.0, to: 130.0, share: 0.12 }],
        sustaining: vec![Sustaining {
            effect: Effect::Amplification,
            text: "3.9 attempts a request, 1.0 before".to_owned(),
        }],
        run_longer: Some(119.2),
        outcomes: BTreeMap::from([("200".to_owned(), 4_812), ("timeout".to_owned(), 88)]),
        ..bare(Verdict::SlowRecovery, None)
    }
}

fn criterion(
    scenario: &Scenario,
    log: &RunLog,
    judgement: &Judgement,
    id: &str,
) -> (CriterionOutcome, String) {
    let result = Report::run(scenario, log, judgement).to_result();
    let found = result.runs[0].criteria.iter().find(|criterion| criterion.id == id);
    found.map(|criterion| (criterion.outcome, criterion.text.clone())).unwrap()
}

#[test]
fn every_verdict_has_a_word_a_sign_and_a_colour_of_its_own() {
    let (scenario, log) = support::naive();
    let (mut heads, mut colours, mut glyphs) = (Vec::new(), Vec::new(), Vec::new());
    for verdict in Verdict::ALL {
        let judgement = bare(verdict, None);
        let report = Report::run(&scenario, &log, &judgement);
        let text = report.to_text(TextStyle::default());
        let (sign, word) = text.split_once(' ').unwrap();
        assert!(
            word.starts_with(&format!("{}  as it was\n", verdict.name().to_uppercase())),
            "{text}"
        );
        heads.push(sign.to_owned());
        let coloured = report.to_text(TextStyle { colour: true });
        colours.push(coloured.split_once('m').unwrap().0.to_owned());
        let html = report.to_html();
        assert!(html.contains(&format!("class=\"card verdict {}\"", verdict.name())), "{verdict}");
        assert!(html.contains(&format!(".{}", verdict.name())), "no colour for {verdict}");
        let glyph = html.split("class=\"glyph\"").nth(1).unwrap();
        glyphs.push(glyph.split("</svg>").next().unwrap().to_owned());
    }
    for mut signs in [heads, colours, glyphs] {
        signs.sort();
        signs.dedup();
        assert_eq!(signs.len(), Verdict::ALL.len(), "{signs:?}");
    }
}

#[test]
fn a_cause_stands_beside_its_verdict_in_every_form() {
    let (scenario, log) = support::naive();
    for cause in [Cause::Overloaded, Cause::Down, Cause::Damaged, Cause::Unknown] {
        let judgement = bare(Verdict::NotRecovered, Some(cause));
        let report = Report::run(&scenario, &log, &judgement);
        let text = report.to_text(TextStyle::default());
        let head = format!("! NOT-RECOVERED: {}  ", cause.name().to_uppercase());
        assert!(text.starts_with(&head), "{text}");
        assert!(report.to_html().contains(&format!("Not recovered: {cause}")), "{cause}");
        assert_eq!(report.to_result().runs[0].cause, Some(cause));
        let junit = report.to_junit().unwrap();
        assert!(junit.contains(&format!("not-recovered: {cause}, expected metastable")), "{junit}");
        assert!(junit.contains(&format!("name=\"cause\" value=\"{cause}\"")), "{junit}");
    }
}

#[test]
fn a_comparison_names_each_arms_verdict_with_its_cause() {
    let compared = support::compared();
    let mut judgements: Vec<_> =
        compared.comparison.rows.iter().map(|row| row.judgement.clone()).collect();
    judgements[1] = Judgement { run_longer: Some(30.0), ..bare(Verdict::Unstable, None) };
    judgements[2] = bare(Verdict::NotRecovered, Some(Cause::Damaged));
    let comparison = compare_judged(&compared.finished, judgements);
    let report = Report::comparison(&comparison, &compared.finished, support::COMPARE);
    let text = report.to_text(TextStyle::default());
    assert!(text.contains("comes and goes  unstable ✗ expected "), "{text}");
    assert!(text.contains("not-recovered: damaged ✗ expected "), "{text}");
    let arm = &compared.plan.arms[1].name;
    assert!(text.contains(&format!("? {arm}: run 30 s longer")), "{text}");
    let html = report.to_html();
    for part in ["</svg>unstable</span>", "</svg>not-recovered: damaged</span>"] {
        assert!(html.contains(part), "no `{part}`");
    }
}

#[test]
fn all_that_a_judgement_tells_is_in_text_page_and_json() {
    let (scenario, log) = support::naive();
    let judgement = full();
    let report = Report::run(&scenario, &log, &judgement);
    let (text, html) = (report.to_text(TextStyle::default()), report.to_html());
    for part in [
        "goodput dipped to 93 % for 4 s",
        "93 % (90 % to 95 %)",
        "11 s, by 14 s at the latest",
        "40 s after the run's end (20 s to 90 s)",
        "100 s to 130 s (12 % good)",
        "amplification: 3.9 attempts a request, 1.0 before",
        "200 × 4,812 · timeout × 88",
        "run 120 s longer",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
        assert!(html.contains(part), "no `{part}` in the page");
    }
    assert!(text.contains("since the last lever"), "{text}");
    let result = &report.to_result().runs[0];
    assert_eq!(result.notes, judgement.notes);
    assert_eq!((result.time_to_recover_most, result.since_lever), (Some(14.0), Some(4.0)));
    assert_eq!((result.share, result.time_left), (judgement.share, judgement.time_left));
    assert_eq!(result.stretches, judgement.stretches);
    assert_eq!(result.sustaining, judgement.sustaining);
    assert_eq!((result.run_longer, &result.outcomes), (Some(119.2), &judgement.outcomes));
}

#[test]
fn how_attempts_ended_is_drawn_and_counted_from_the_run_log() {
    let (scenario, mut log) = support::naive();
    for window in &mut log.windows {
        window.client.outcomes =
            BTreeMap::from([("429".to_owned(), 3), ("502 upstream-refused".to_owned(), 1)]);
    }
    let judgement = bare(Verdict::Metastable, None);
    let html = Report::run(&scenario, &log, &judgement).to_html();
    assert!(html.contains("How attempts ended"));
    let count = 3 * log.windows.len();
    assert!(html.contains(&format!("<th scope=\"row\">429</th><td class=\"n\">{count}</td>")));
    log.windows.iter_mut().for_each(|window| window.client.outcomes.clear());
    let html = Report::run(&scenario, &log, &judgement).to_html();
    assert!(!html.contains("How attempts ended"), "a log that does not say it");
}

#[test]
fn goodput_that_was_lost_again_after_its_time_has_not_recovered_within_it() {
    let (mut scenario, log) = support::naive();
    scenario.expect.verdict = ExpectedVerdict::Recovered;
    let within = scenario.expect.within.as_secs_f64();
    let of = |relapsed, settled| {
        let judgement = Judgement {
            time_to_recover: Some(3.0),
            relapsed,
            settled,
            ..bare(Verdict::Recovered, None)
        };
        criterion(&scenario, &log, &judgement, "recovered-within")
    };
    assert_eq!(of(None, Some(3.0)).0, CriterionOutcome::Met);
    assert_eq!(of(Some(10.0), Some(20.0)).0, CriterionOutcome::Met);
    let (outcome, text) = of(Some(10.0), None);
    assert_eq!(outcome, CriterionOutcome::NotMet);
    assert!(text.contains("back after 3 s; lost again by 10 s; it must"), "{text}");
    assert_eq!(of(Some(within + 1.0), Some(within + 9.0)).0, CriterionOutcome::NotMet);
}

#[test]
fn what_was_not_seen_is_skipped_and_not_met() {
    let (scenario, mut log) = support::naive();
    let judgement = bare(Verdict::Metastable, None);
    let of_server = ["server-kept-running", "load-reconciled", "nobody-else"];
    for id in of_server {
        assert_eq!(criterion(&scenario, &log, &judgement, id).0, CriterionOutcome::Met, "{id}");
    }
    log.windows.iter_mut().for_each(|window| window.tiers.clear());
    for id in of_server {
        let (outcome, text) = criterion(&scenario, &log, &judgement, id);
        assert_eq!(outcome, CriterionOutcome::Skipped, "{id}");
        assert!(text.contains("no view"), "{text}");
    }
    // No baseline, no trigger.
    for id in ["baseline-healthy", "fault-bit", "faults-reverted"] {
        let (outcome, _) = criterion(&scenario, &log, &judgement, id);
        assert_eq!(outcome, CriterionOutcome::Skipped, "{id}");
    }
    let empty = RunLog { windows: Vec::new(), integrity: Integrity::default(), ..log };
    for id in ["offered-on-schedule", "requests-sent", "generator-punctual", "trigger-put-in"] {
        let (outcome, _) = criterion(&scenario, &empty, &judgement, id);
        assert_eq!(outcome, CriterionOutcome::Skipped, "{id}");
    }
}

#[test]
fn a_server_that_went_out_of_sight_is_not_told_to_have_kept_running() {
    let (scenario, mut log) = support::naive();
    let last = log.windows.len() - 7;
    log.windows[last..].iter_mut().for_each(|window| window.tiers.clear());
    let of = |judgement: Judgement| criterion(&scenario, &log, &judgement, "server-kept-running");
    let (outcome, text) = of(bare(Verdict::Metastable, None));
    assert_eq!(outcome, CriterionOutcome::Skipped);
    assert!(text.contains(&format!("in 7 of {} s", log.windows.len())), "{text}");
    let (outcome, text) = of(bare(Verdict::NotRecovered, Some(Cause::Down)));
    assert_eq!(outcome, CriterionOutcome::NotMet);
    assert!(text.contains("nobody answers"), "{text}");
}

#[test]
fn every_doubt_makes_one_criterion_untrusted() {
    use DoubtKind::{
        BaselineNotHealthy, ByOthers, CapacityNotRestored, Engine, FaultDidNotBite,
        FaultUnreverted, ForeignLoad, GeneratorLate, Interrupted, MissingWindows,
        OfferedOffSchedule, PastTheTier, ServerRestarted, TooFewSamples, TooShort, Unsent,
        Withheld,
    };
    let (scenario, log) = support::naive();
    for kind in [
        BaselineNotHealthy,
        ByOthers,
        CapacityNotRestored,
        Engine,
        FaultDidNotBite,
        FaultUnreverted,
        ForeignLoad,
        GeneratorLate,
        Interrupted,
        MissingWindows,
        OfferedOffSchedule,
        PastTheTier,
        ServerRestarted,
        TooFewSamples,
        TooShort,
        Unsent,
        Withheld,
    ] {
        let doubts = vec![Doubt { kind, text: "for a reason".to_owned() }];
        let judgement = Judgement { doubts, ..bare(Verdict::Inconclusive, None) };
        let result = Report::run(&scenario, &log, &judgement).to_result();
        let untrusted = result.runs[0].criteria.iter().filter(|criterion| {
            criterion.outcome == CriterionOutcome::Untrusted && criterion.text == "for a reason"
        });
        assert_eq!(untrusted.count(), 1, "{kind:?}");
    }
}

#[test]
fn a_run_whose_trigger_was_withheld_says_so_and_claims_nothing_of_the_fault() {
    let (scenario, mut log) = support::naive();
    log.ending = Ending::Withheld;
    log.windows.truncate(60);
    let text = "the trigger was withheld: goodput was 0/s of 80/s".to_owned();
    let doubts = vec![Doubt { kind: DoubtKind::Withheld, text: text.clone() }];
    let judgement = Judgement { doubts, ..Judgement::default() };
    let of = |id| criterion(&scenario, &log, &judgement, id);
    assert_eq!(of("trigger-put-in"), (CriterionOutcome::Untrusted, text));
    assert_eq!(of("fault-bit").0, CriterionOutcome::Skipped);
    assert_eq!(of("faults-reverted").0, CriterionOutcome::Skipped);
    assert!(of("run-completed").1.contains("ended before its trigger, after 60 s"));
    assert_eq!(of("baseline-healthy").0, CriterionOutcome::Skipped);
    assert_eq!(of("long-enough").0, CriterionOutcome::Skipped);
    let span = Span { from: 5.0, to: 59.0 };
    let baseline = Baseline { span, offered: 80.0, goodput: 40.0, ratio: 0.5 };
    let judgement = Judgement { baseline: Some(baseline), ..judgement };
    let (outcome, text) = criterion(&scenario, &log, &judgement, "baseline-healthy");
    assert_eq!(outcome, CriterionOutcome::Untrusted);
    assert!(text.starts_with("50 % of 80/s offered were good"), "{text}");
}

#[test]
fn a_run_that_is_too_short_says_by_how_much() {
    let (scenario, log) = support::naive();
    let judgement = Judgement { run_longer: Some(60.0), ..bare(Verdict::Inconclusive, None) };
    let (outcome, text) = criterion(&scenario, &log, &judgement, "long-enough");
    assert_eq!((outcome, text.as_str()), (CriterionOutcome::Untrusted, "run 60 s longer"));
}
