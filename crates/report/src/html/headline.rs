//! The verdict, in one look.

use goodput_runlog::Figures;
use goodput_verdict::{Cause, Judgement, Verdict, named};
use maud::{Markup, html};

use crate::report::ReportedRun;
use crate::{format, told};

/// The verdict of a run in words, and whether it was expected.
pub(super) fn verdict(run: &ReportedRun<'_>) -> Markup {
    let judgement = run.judgement;
    html! {
        section.card.verdict.(judgement.verdict.name()) {
            p.word {
                (glyph(judgement.verdict)) (title(judgement.verdict))
                @if let Some(cause) = judgement.cause { ": " (cause) }
            }
            p.says { (judgement.summary) }
            @if !judgement.doubts.is_empty() {
                ul.doubts {
                    @for doubt in &judgement.doubts { li { (doubt.text) } }
                }
            }
            (notes(judgement))
            p.held { (expectation(run)) }
        }
    }
}

/// What is told beside the verdict, and how much longer the run has to be to tell more.
pub(super) fn notes(judgement: &Judgement) -> Markup {
    html! {
        @if !judgement.notes.is_empty() || judgement.run_longer.is_some() {
            ul.notes {
                @for note in &judgement.notes { li { (note) } }
                @if let Some(seconds) = judgement.run_longer {
                    li { "To tell more: " (told::longer(seconds)) "." }
                }
            }
        }
    }
}

/// The figures that tell most, side by side.
pub(super) fn tiles(judgement: &Judgement) -> Markup {
    let phases = &judgement.phases;
    let rate = |figures: Option<Figures>| figures.map(|f| format::number(f.goodput));
    let end = |of: fn(&Figures) -> Option<f64>| phases.end.as_ref().and_then(of);
    let delay = phases.after.and_then(|after| after.queue_delay_peak);
    html! {
        dl.card.tiles {
            (tile("Goodput before", rate(phases.before).as_deref(), "/s"))
            @if judgement.trigger.is_some() { (tile("during the trigger", rate(phases.during).as_deref(), "/s")) }
            (tile("in the end", rate(phases.end).as_deref(), "/s"))
            (tile("Throughput in the end", end(|f| f.throughput).map(format::number).as_deref(), "/s"))
            (tile("Attempts per request", end(|f| f.attempts_per_request).map(format::number).as_deref(), ""))
            (tile("Wasted work", end(|f| f.wasted_share).map(format::percent).as_deref(), ""))
            (tile("Longest queue delay after", delay.map(format::seconds).as_deref(), ""))
            @if let Some(share) = judgement.share {
                (tile("Good in the end", Some(format::percent(share.value)).as_deref(), ""))
            }
            @if let Some(seconds) = judgement.since_lever {
                (tile("Since the last lever", Some(format::moment(seconds)).as_deref(), ""))
            }
            @if judgement.trigger.is_some() {
                (tile("Time to recover", Some(told::short_time_to_recover(judgement)).as_deref(), ""))
            }
        }
    }
}

/// A verdict's name and cause with its glyph and its colour.
pub(super) fn chip(verdict: Verdict, cause: Option<Cause>) -> Markup {
    html! { span.chip.(verdict.name()) { (glyph(verdict)) (named(verdict, cause)) } }
}

/// Whether the verdict was expected, in a sentence.
fn expectation(run: &ReportedRun<'_>) -> String {
    let expected = Verdict::from(run.scenario.expect.verdict);
    let verdict = run.judgement.verdict;
    let mut text = if verdict == Verdict::Inconclusive {
        format!("Expected {expected}; a run that cannot be trusted holds nothing.")
    } else if run.held() {
        format!("Expected {expected}: the expectation holds.")
    } else {
        format!("Expected {expected}: the expectation does not hold.")
    };
    if run.control {
        text.push_str(" This is the control, which must fail.");
    }
    text
}

fn tile(name: &str, value: Option<&str>, unit: &str) -> Markup {
    html! {
        div.tile {
            dt { (name) }
            dd { (value.unwrap_or("–")) @if value.is_some() { small { (unit) } } }
        }
    }
}

const fn title(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Steady => "Steady",
        Verdict::Recovered => "Recovered",
        Verdict::SlowRecovery => "Slow recovery",
        Verdict::Unstable => "Unstable",
        Verdict::Metastable => "Metastable",
        Verdict::NotRecovered => "Not recovered",
        Verdict::Inconclusive => "Inconclusive",
    }
}

/// A shape a verdict, so that none is told by colour alone.
fn glyph(verdict: Verdict) -> Markup {
    let path = match verdict {
        Verdict::Steady => "M5 12h14",
        Verdict::Recovered => "M5.5 12.5l4.5 4.5L18.5 7.5",
        Verdict::SlowRecovery => "M12 6.5v6l4 2.5",
        Verdict::Unstable => "M4 12l4-5 4 10 4-10 4 5",
        Verdict::Metastable => "M7 7l10 10M17 7L7 17",
        Verdict::NotRecovered => "M12 6v7M12 16.6v.8",
        Verdict::Inconclusive => "M9 9.2a3 3 0 1 1 4.4 2.7c-1 .6-1.4 1.2-1.4 2.3M12 17.4v.1",
    };
    html! {
        svg.glyph viewBox="0 0 24 24" aria-hidden="true" {
            circle cx="12" cy="12" r="10.4" {}
            path d=(path) {}
        }
    }
}
