//! A run as series of figures over time, ready to be drawn.

use std::collections::BTreeSet;

use goodput_runlog::{Event, EventKind, Quantiles, RunLog, TierWindow, Window};
use goodput_scenario::Scenario;

use super::chart::{Draw, Series, Timeline};
use super::labels::Mark;
use crate::fold;

/// A run as series of figures over time.
#[derive(Debug)]
pub(super) struct Track {
    /// Time, faults and levers.
    pub(super) timeline: Timeline,
    /// The smallest time-out in seconds, where there is one.
    pub(super) timeout: Option<f64>,
    /// The tiers that were seen, outermost first.
    pub(super) tiers: Vec<String>,
    points: Vec<Window>,
    /// Windows that went into each point; the last may hold fewer.
    widths: Vec<f64>,
}

impl Track {
    /// The track of a run; `run` is the number of its data set on the page.
    pub(super) fn new(run: usize, log: &RunLog, scenario: &Scenario) -> Self {
        let per_point = fold::windows_per_point(log.windows.len());
        let points = fold::fold(&log.windows, per_point);
        let widths = log.windows.chunks(per_point).map(|chunk| chunk.len() as f64).collect();
        let mut tiers: Vec<String> = Vec::new();
        for tier in points.iter().flat_map(|point| &point.tiers) {
            if !tiers.contains(&tier.name) {
                tiers.push(tier.name.clone());
            }
        }
        let timeout = scenario.smallest_timeout().as_secs_f64();
        Self {
            timeline: Timeline {
                run,
                points: points.len(),
                step: per_point as f64,
                marks: marks(log),
            },
            timeout: (timeout < 1e9).then_some(timeout),
            tiers,
            points,
            widths,
        }
    }

    /// A figure of the client per second.
    pub(super) fn client_rate(
        &self,
        count: impl Fn(&goodput_runlog::ClientWindow) -> u64,
    ) -> Vec<f64> {
        let points = self.points.iter().zip(&self.widths);
        points.map(|(point, width)| count(&point.client) as f64 / width).collect()
    }

    /// A figure of the client as it stands at the end of each point.
    pub(super) fn client(&self, figure: impl Fn(&goodput_runlog::ClientWindow) -> f64) -> Vec<f64> {
        self.points.iter().map(|point| figure(&point.client)).collect()
    }

    /// A figure of a tier, from its window and the seconds that it covers; a gap where it was not
    /// seen.
    pub(super) fn tier(&self, name: &str, figure: impl Fn(&TierWindow, f64) -> f64) -> Vec<f64> {
        let points = self.points.iter().zip(&self.widths);
        points
            .map(|(point, width)| {
                let tier = point.tiers.iter().find(|tier| tier.name == name);
                tier.map_or(f64::NAN, |tier| figure(tier, *width))
            })
            .collect()
    }

    /// Every class of failed requests that was seen.
    pub(super) fn failure_classes(&self) -> BTreeSet<&str> {
        self.points
            .iter()
            .flat_map(|point| point.client.failed.keys().map(String::as_str))
            .collect()
    }

    /// Every way in which attempts ended: a status, or what the transport said.
    pub(super) fn outcomes(&self) -> BTreeSet<&str> {
        let clients = self.points.iter().map(|point| &point.client);
        clients.flat_map(|client| client.outcomes.keys().map(String::as_str)).collect()
    }

    /// Every reason for which a tier refused or dropped.
    pub(super) fn refusal_reasons(&self, tier: &str) -> BTreeSet<&str> {
        let tiers = self.points.iter().flat_map(|point| &point.tiers);
        let tiers = tiers.filter(|seen| seen.name == tier);
        tiers.flat_map(|seen| seen.refused.keys().map(String::as_str)).collect()
    }

    /// Every reason for which a retry was not sent.
    pub(super) fn suppression_reasons(&self) -> BTreeSet<&str> {
        let clients = self.points.iter().map(|point| &point.client);
        clients.flat_map(|client| client.suppressed.keys().map(String::as_str)).collect()
    }

    /// Goodput, throughput and offered load: the three lines that tell the story.
    pub(super) fn story(&self) -> Vec<Series> {
        let mut series = vec![
            series("goodput", "goodput", "s-good", Draw::Area, self.client_rate(|c| c.good)),
            series(
                "offered",
                "offered load",
                "s-offered",
                Draw::Dashed,
                self.client_rate(|c| c.offered),
            ),
        ];
        if let Some(tier) = self.tiers.last() {
            let served = self.tier(tier, |tier, width| tier.served as f64 / width);
            series.insert(
                1,
                self::series("throughput", "throughput", "s-served", Draw::Line, served),
            );
        }
        series
    }

    /// Attempts sent per request offered.
    pub(super) fn attempts_per_request(&self) -> Vec<f64> {
        self.client(|client| match client.offered {
            0 => f64::NAN,
            offered => client.attempts as f64 / offered as f64,
        })
    }
}

/// A quantile that leaves a gap where nothing was seen.
pub(super) fn seen(quantiles: Quantiles, value: f64) -> f64 {
    if quantiles.count == 0 { f64::NAN } else { value }
}

/// A series.
pub(super) fn series(
    key: impl Into<String>,
    name: impl Into<String>,
    ink: &'static str,
    draw: Draw,
    values: Vec<f64>,
) -> Series {
    Series { key: key.into(), name: name.into(), ink, draw, values }
}

/// Faults from start to end as they were read back, and levers.
fn marks(log: &RunLog) -> Vec<Mark> {
    let end_of_run = log.windows.last().map_or(0.0, |window| window.second as f64 + 1.0);
    let mut marks = Vec::new();
    for (index, event) in log.events.iter().enumerate() {
        let start = event.at.as_secs_f64();
        match &event.kind {
            EventKind::FaultStarted { name, tier, what } => {
                let ends = |later: &&Event| {
                    matches!(&later.kind, EventKind::FaultEnded { name: n, tier: t }
                        if n == name && t == tier)
                };
                let ended = log.events[index..].iter().find(ends);
                let end = ended.map(|later| later.at.as_secs_f64());
                let label = shortened(what);
                marks.push(Mark { start, end: Some(end.unwrap_or(end_of_run)), label });
            }
            EventKind::LeverPulled { lever, .. } => {
                marks.push(Mark { start, end: None, label: shortened(lever) });
            }
            EventKind::ByOthers { what, .. } => {
                marks.push(Mark { start, end: None, label: shortened(what) });
            }
            EventKind::ServerRestarted { tier } => {
                marks.push(Mark {
                    start,
                    end: None,
                    label: shortened(&format!("{tier} restarted")),
                });
            }
            EventKind::TriggerWithheld { .. } => {
                marks.push(Mark { start, end: None, label: "trigger withheld".to_owned() });
            }
            EventKind::FaultEnded { .. } | EventKind::Doubt { .. } => {}
        }
    }
    marks
}

/// At most 28 characters of a label, where possible what stands before a comma.
fn shortened(text: &str) -> String {
    const MOST: usize = 28;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    if let Some((head, _)) = text.split_once(", ").filter(|(head, _)| head.chars().count() <= MOST)
    {
        return head.to_owned();
    }
    let mut short: String = text.chars().take(MOST - 1).collect();
    short.push('…');
    short
}
