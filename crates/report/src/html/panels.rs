//! Which charts a run has, and how each is to be read.

use goodput_verdict::limits::LATE;

use super::axis::Axis;
use super::chart::{Chart, Draw, Series, Size, Unit};
use super::track::{Track, seen, series};

/// The scales that small multiples share, so that arms can be compared by eye.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scales {
    /// Of goodput, throughput and offered load.
    pub(super) rate: Axis,
    /// Of attempts per request.
    pub(super) attempts: Axis,
    /// Of delays.
    pub(super) delay: Axis,
}

impl Scales {
    /// The smallest scales that hold all of these runs.
    pub(super) fn of(tracks: &[Track]) -> Self {
        let rate = tracks.iter().flat_map(Track::story).map(|s| largest(&s.values));
        let attempts = tracks.iter().map(|track| largest(&track.attempts_per_request()));
        let delays = tracks.iter().map(|track| {
            let delays = track.tiers.iter().flat_map(|tier| queue_delay(track, tier));
            delays.map(|s| largest(&s.values)).fold(0.0, f64::max)
        });
        let timeout = tracks.iter().filter_map(|track| track.timeout).fold(0.0, f64::max);
        Self {
            rate: Axis::linear(rate.fold(0.0, f64::max)),
            attempts: Axis::linear(attempts.fold(1.0, f64::max)),
            delay: Axis::log(1e-3, delays.fold(timeout.max(0.1), f64::max)),
        }
    }
}

/// Every chart of a run, the one that tells the story first.
pub(super) fn full(track: &Track, scales: Scales) -> Vec<Chart<'_>> {
    let draft = Draft { track, scales, size: Size::Half };
    let mut charts = vec![Draft { size: Size::Hero, ..draft }.story(), draft.attempts()];
    for tier in &track.tiers {
        charts.push(draft.delay(tier));
        charts.push(draft.slots(tier));
    }
    charts.push(draft.outcomes());
    charts.extend(draft.answers());
    charts.extend([draft.latency(), draft.backlog()]);
    charts.extend(draft.refusals());
    charts.extend([draft.connections(), draft.send_lag()]);
    charts
}

/// The four charts by which arms are compared.
pub(super) fn small(track: &Track, scales: Scales) -> Vec<Chart<'_>> {
    let draft = Draft { track, scales, size: Size::Small };
    let mut charts = vec![draft.story(), draft.attempts()];
    if let Some(tier) = track.tiers.last() {
        charts.push(draft.delay(tier));
        charts.push(draft.slots(tier));
    }
    charts
}

#[derive(Clone, Copy)]
struct Draft<'a> {
    track: &'a Track,
    scales: Scales,
    size: Size,
}

impl<'a> Draft<'a> {
    fn chart(&self, key: &str, title: impl Into<String>, unit: Unit, axis: Axis) -> Chart<'a> {
        let size = if self.size == Size::Small { "small" } else { "full" };
        Chart {
            id: format!("r{}-{size}-{key}", self.track.timeline.run),
            title: title.into(),
            note: String::new(),
            unit,
            axis,
            series: Vec::new(),
            levels: Vec::new(),
            timeline: &self.track.timeline,
            size: self.size,
        }
    }

    /// The tier's name where there is more than one to tell apart.
    fn of_tier(&self, title: &str, tier: &str) -> String {
        if self.track.tiers.len() > 1 { format!("{title}: {tier}") } else { title.to_owned() }
    }

    fn story(&self) -> Chart<'a> {
        let title = match self.size {
            Size::Small => "Requests per second",
            Size::Hero | Size::Half => "Goodput, throughput and offered load, per second",
        };
        Chart {
            series: self.track.story(),
            note: self.note(
                "Where throughput stays up and goodput does not, the server works for callers who \
                 have gone.",
            ),
            ..self.chart("story", title, Unit::Number, self.scales.rate)
        }
    }

    fn attempts(&self) -> Chart<'a> {
        let values = self.track.attempts_per_request();
        Chart {
            series: vec![series("apr", "attempts", "s-attempts", Draw::Area, values)],
            note: self
                .note("Attempts sent in a second per request offered in it; 1 is no retries."),
            ..self.chart("attempts", "Attempts per request", Unit::Number, self.scales.attempts)
        }
    }

    fn delay(&self, tier: &str) -> Chart<'a> {
        let mut chart = Chart {
            series: queue_delay(self.track, tier),
            note: self.note(
                "From arrival to the start of service, or to a refusal after waiting. Above the time-out every \
                 answer comes too late.",
            ),
            ..self.chart(
                &format!("delay-{tier}"),
                self.of_tier("Queue delay", tier),
                Unit::Seconds,
                self.scales.delay,
            )
        };
        chart.levels.extend(self.track.timeout.map(|timeout| (timeout, "time-out".to_owned())));
        chart
    }

    fn slots(&self, tier: &str) -> Chart<'a> {
        let share = |busy: f64, slots: u32, width: f64| match slots {
            0 => f64::NAN,
            slots => busy / (f64::from(slots) * width),
        };
        let useful = self.track.tier(tier, |t, width| share(t.busy_useful, t.slots, width));
        let wasted = self.track.tier(tier, |t, width| share(t.busy_wasted, t.slots, width));
        Chart {
            series: vec![
                series(format!("useful-{tier}"), "useful work", "s-good", Draw::Stack, useful),
                series(format!("wasted-{tier}"), "wasted work", "s-wasted", Draw::Stack, wasted),
            ],
            note: self.note(
                "Busy slot time as a share of all slot time. Wasted work is done for callers who \
                 had gone.",
            ),
            ..self.chart(
                &format!("slots-{tier}"),
                self.of_tier("Utilisation and wasted work", tier),
                Unit::Percent,
                Axis::Linear { max: 1.0, step: 0.25 },
            )
        }
    }

    fn outcomes(&self) -> Chart<'a> {
        let track = self.track;
        let good = track.client_rate(|client| client.good);
        let mut stack = vec![series("good", "good", "s-good", Draw::Stack, good)];
        stack.push(series("late", "late", "s-late", Draw::Stack, track.client_rate(|c| c.late)));
        for class in track.failure_classes() {
            let values = track.client_rate(|c| c.failed.get(class).copied().unwrap_or(0));
            stack.push(series(
                format!("failed-{class}"),
                class,
                ink_of(class),
                Draw::Stack,
                values,
            ));
        }
        let unsent = track.client_rate(|client| client.unsent);
        stack.push(series("unsent", "no connection", "s-unsent", Draw::Stack, unsent));
        stack.retain(|s| s.key == "good" || s.values.iter().any(|value| *value > 0.0));
        Chart {
            axis: Axis::linear(highest_stack(&stack)),
            series: stack,
            note: self.note(
                "Requests as they end, per second: good, or failed by the class of the last attempt.",
            ),
            ..self.chart("outcomes", "Outcomes", Unit::Number, self.scales.rate)
        }
    }

    /// How attempts ended, by status; absent in a log that does not say.
    fn answers(&self) -> Option<Chart<'a>> {
        let track = self.track;
        let stack: Vec<_> = track
            .outcomes()
            .into_iter()
            .map(|name| {
                let values = track.client_rate(|c| c.outcomes.get(name).copied().unwrap_or(0));
                series(format!("ended-{name}"), name, ink_of_outcome(name), Draw::Stack, values)
            })
            .collect();
        (!stack.is_empty()).then(|| Chart {
            axis: Axis::linear(highest_stack(&stack)),
            series: stack,
            note: self.note(
                "Attempts as they end, per second: by the status of the answer, or by what the \
                 transport said where there was none.",
            ),
            ..self.chart("answers", "How attempts ended", Unit::Number, self.scales.rate)
        })
    }

    fn latency(&self) -> Chart<'a> {
        let p50 = self.track.client(|client| seen(client.latency, client.latency.p50));
        let p99 = self.track.client(|client| seen(client.latency, client.latency.p99));
        let mut chart = Chart {
            axis: Axis::log(1e-3, largest(&p99).max(self.track.timeout.unwrap_or(0.1))),
            series: vec![
                series("latency-p99", "p99", "s-p99", Draw::Line, p99),
                series("latency-p50", "p50", "s-p50", Draw::Line, p50),
            ],
            note: self.note(
                "Of good requests, from the intended send time; retries and waits are within. A gap \
                 means that none was good.",
            ),
            ..self.chart("latency", "Latency", Unit::Seconds, self.scales.delay)
        };
        chart.levels.extend(self.track.timeout.map(|timeout| (timeout, "time-out".to_owned())));
        chart
    }

    fn backlog(&self) -> Chart<'a> {
        let track = self.track;
        let mut lines = vec![
            series(
                "in-flight",
                "attempts out",
                "s-attempts",
                Draw::Line,
                track.client(|client| client.attempts_in_flight as f64),
            ),
            series(
                "open",
                "requests open",
                "s-offered",
                Draw::Dashed,
                track.client(|client| client.requests_in_flight as f64),
            ),
        ];
        for (index, tier) in track.tiers.iter().enumerate() {
            let name = self.of_tier("queue", tier);
            let ink = if index + 1 == track.tiers.len() { "s-served" } else { "s-p50" };
            let queued = track.tier(tier, |tier, _| tier.queued as f64);
            lines.insert(0, series(format!("queued-{tier}"), name, ink, Draw::Line, queued));
        }
        let most = lines.iter().map(|line| largest(&line.values)).fold(1.0, f64::max);
        Chart {
            axis: Axis::linear(most),
            series: lines,
            note: self.note(
                "Attempts that wait in the queue, attempts that a client waits for, and requests \
                 without an end yet.",
            ),
            ..self.chart("backlog", "Backlog", Unit::Number, self.scales.rate)
        }
    }

    /// What servers refused or dropped and what budgets held back; absent where nothing was.
    fn refusals(&self) -> Option<Chart<'a>> {
        let track = self.track;
        let mut stack = Vec::new();
        for tier in &track.tiers {
            for (index, reason) in track.refusal_reasons(tier).into_iter().enumerate() {
                let refused = track.tier(tier, |tier, width| {
                    tier.refused.get(reason).copied().unwrap_or(0) as f64 / width
                });
                let name = self.of_tier(reason, tier);
                let key = format!("refused-{tier}-{reason}");
                stack.push(series(key, name, REFUSAL_INKS[index % 3], Draw::Stack, refused));
            }
        }
        for (index, reason) in track.suppression_reasons().into_iter().enumerate() {
            let held = track.client_rate(|c| c.suppressed.get(reason).copied().unwrap_or(0));
            let name = format!("not retried: {reason}");
            let ink = SUPPRESSION_INKS[index % 3];
            stack.push(series(format!("suppressed-{reason}"), name, ink, Draw::Stack, held));
        }
        stack.retain(|s| s.values.iter().any(|value| *value > 0.0));
        if stack.is_empty() {
            return None;
        }
        Some(Chart {
            axis: Axis::linear(highest_stack(&stack)),
            series: stack,
            note: self.note(
                "Attempts per second that a server refused or dropped, and retries that a client \
                 did not send, by reason.",
            ),
            ..self.chart(
                "refusals",
                "Refused, dropped and not retried",
                Unit::Number,
                self.scales.rate,
            )
        })
    }

    fn connections(&self) -> Chart<'a> {
        let open = self.track.client(|client| client.connections as f64);
        let new = self.track.client_rate(|client| client.connects);
        Chart {
            axis: Axis::linear(largest(&open).max(largest(&new)).max(1.0)),
            series: vec![
                series("connections", "open", "s-served", Draw::Line, open),
                series("connects", "new a second", "s-wasted", Draw::Line, new),
            ],
            note: self.note("Connections that are open, and connections opened per second."),
            ..self.chart("connections", "Connections", Unit::Number, self.scales.rate)
        }
    }

    fn send_lag(&self) -> Chart<'a> {
        let p50 = self.track.client(|client| seen(client.send_lag, client.send_lag.p50));
        let p99 = self.track.client(|client| seen(client.send_lag, client.send_lag.p99));
        let limit = self.track.timeout.map(|timeout| timeout * LATE);
        let mut chart = Chart {
            axis: Axis::log(1e-4, largest(&p99).max(limit.unwrap_or(0.1))),
            series: vec![
                series("lag-p99", "p99", "s-p99", Draw::Line, p99),
                series("lag-p50", "p50", "s-p50", Draw::Line, p50),
            ],
            note: self.note(
                "How late the generator sent, in scenario time. Above a tenth of the time-out the \
                 measurement is not trusted.",
            ),
            ..self.chart(
                "lag",
                "Send lag: health of the measurement",
                Unit::Seconds,
                self.scales.delay,
            )
        };
        chart.levels.extend(limit.map(|limit| (limit, "limit".to_owned())));
        chart
    }

    fn note(&self, text: &str) -> String {
        if self.size == Size::Small { String::new() } else { text.to_owned() }
    }
}

/// The quantiles of a tier's queue delay.
fn queue_delay(track: &Track, tier: &str) -> Vec<Series> {
    let p99 = track.tier(tier, |tier, _| seen(tier.queue_delay, tier.queue_delay.p99));
    let p50 = track.tier(tier, |tier, _| seen(tier.queue_delay, tier.queue_delay.p50));
    vec![
        series(format!("delay-p99-{tier}"), "p99", "s-p99", Draw::Line, p99),
        series(format!("delay-p50-{tier}"), "p50", "s-p50", Draw::Line, p50),
    ]
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().filter(|value| value.is_finite()).fold(0.0, f64::max)
}

fn highest_stack(stack: &[Series]) -> f64 {
    let points = stack.first().map_or(0, |series| series.values.len());
    (0..points)
        .map(|index| stack.iter().map(|s| s.values[index]).filter(|v| v.is_finite()).sum())
        .fold(1.0, f64::max)
}

fn ink_of(class: &str) -> &'static str {
    match class {
        "timeout" => "s-wasted",
        "connect" => "s-connect",
        "overloaded" => "s-overloaded",
        "expired" => "s-expired",
        _ => "s-error",
    }
}

fn ink_of_outcome(name: &str) -> &'static str {
    match name {
        "timeout" => "s-wasted",
        "503" | "429" => "s-overloaded",
        "504" => "s-expired",
        name if name.starts_with('2') => "s-good",
        name if name.starts_with(|first: char| first.is_ascii_digit()) => "s-error",
        _ => "s-connect",
    }
}

const REFUSAL_INKS: [&str; 3] = ["s-overloaded", "s-expired", "s-connect"];
const SUPPRESSION_INKS: [&str; 3] = ["s-late", "s-offered", "s-error"];
