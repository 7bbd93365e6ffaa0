use std::fmt::Write as _;

use goodput_scenario::{Plan, Scenario};

/// A scenario before it is written: what a variant of a case scales stands in numbers, the rest as
/// the text of a key. Times are seconds of scenario time.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Its place in the distribution.
    pub number: u64,
    /// The recipe that it came from.
    pub family: Family,
    /// The seed of its run.
    pub seed: u64,
    /// Offered requests a second from the start.
    pub rate: f64,
    /// The value of `load.arrivals`.
    pub arrivals: String,
    /// A rise (or fall) of the load that stays.
    pub raise: Option<Raise>,
    /// The keys of `[client]` but its layers.
    pub client: String,
    /// A deadline over all attempts.
    pub deadline: Option<f64>,
    /// The client's layers, outermost first.
    pub layers: Vec<Layer>,
    /// The tiers, outermost first.
    pub tiers: Vec<Tier>,
    /// What sets the run going, each after the one before it.
    pub triggers: Vec<Trigger>,
    /// A lever: how long after the trigger, and its keys.
    pub lever: Option<(f64, String)>,
    /// When the first trigger starts.
    pub start: f64,
    /// How long the run goes on after the trigger.
    pub tail: f64,
    /// `expect.hold`, in whole seconds.
    pub hold: f64,
    /// `expect.within`.
    pub within: f64,
    /// `expect.goodput_ratio`.
    pub ratio: f64,
}

/// What a case was made to be. A recipe aims; the counted truth decides what became of it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Family {
    /// Made to stay down.
    Metastable,
    /// Made to come back at once.
    Recovered,
    /// Made to come and go: long waits before a retry, and a bound on the queue.
    ComesAndGoes,
    /// Made to be offered more than is served.
    Overloaded,
    /// Made to come back late: all attempts together stay just below the capacity.
    Slow,
    /// Made to be untouched by its fault.
    Untouched,
    /// Drawn over all keys without an aim.
    Free,
}

impl Family {
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Metastable => "metastable",
            Self::Recovered => "recovered",
            Self::ComesAndGoes => "comes and goes",
            Self::Overloaded => "overloaded",
            Self::Slow => "slow",
            Self::Untouched => "untouched",
            Self::Free => "free",
        }
    }
}

/// A change of the load that stays.
#[derive(Clone, Copy, Debug)]
pub struct Raise {
    /// When, after the first trigger's start.
    pub after: f64,
    /// The new rate over the old one.
    pub factor: f64,
    /// How long it takes.
    pub over: f64,
}

/// A retry layer.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Its time-out; none for an outer layer without one.
    pub timeout: Option<f64>,
    /// Retries after the first try.
    pub retries: u64,
    /// The first wait.
    pub base: f64,
    /// By how much each wait is longer than the last.
    pub factor: f64,
    /// The longest wait.
    pub cap: f64,
    /// `backoff.jitter`.
    pub jitter: &'static str,
    /// Further lines, such as its budget.
    pub more: String,
}

/// A server.
#[derive(Clone, Debug)]
pub struct Tier {
    /// Its name.
    pub name: String,
    /// How many it serves at once.
    pub slots: u64,
    /// How many it serves a second; none for unlimited.
    pub capacity: Option<f64>,
    /// Further lines: service, queue, and what becomes of the abandoned.
    pub more: String,
    /// A gateway's layers.
    pub layers: Vec<Layer>,
}

/// A fault or a spike of the load.
#[derive(Clone, Debug)]
pub struct Trigger {
    /// How long after the end of the one before it (negative: before that end).
    pub gap: f64,
    /// How long it lasts.
    pub length: f64,
    /// What it is.
    pub kind: TriggerKind,
}

/// What a trigger is.
#[derive(Clone, Debug)]
pub enum TriggerKind {
    /// A fault, with its keys.
    Fault(String),
    /// A spike: the rate over the base rate, and how long it takes to rise and to fall.
    Spike(f64, f64),
    /// Two steps, up and back.
    Steps(f64),
}

/// How a run differs from its draft.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// By what every rate is multiplied.
    pub load: f64,
    /// By what the length of every trigger is multiplied.
    pub length: f64,
    /// What is added to the seed.
    pub seed: u64,
    /// Whether the triggers happen.
    pub trigger: bool,
    /// How many tails long the tail is.
    pub tails: f64,
}

impl Variant {
    /// The draft as it is.
    pub const PLAIN: Self = Self { load: 1.0, length: 1.0, seed: 0, trigger: true, tails: 1.0 };
}

impl Draft {
    /// When the first trigger starts and the last one ends.
    pub fn span(&self, length: f64) -> (f64, f64) {
        let spans = self.spans(length);
        let end = spans.iter().map(|(_, end)| *end).fold(self.start, f64::max);
        (self.start, end)
    }

    /// The run's length, in whole seconds.
    pub fn duration(&self, variant: &Variant) -> u64 {
        (self.span(variant.length).1 + self.tail * variant.tails).ceil() as u64
    }

    /// The most attempts of one request, over all layers of all tiers.
    pub fn attempts(&self) -> u64 {
        let layers = self.layers.iter().chain(self.tiers.iter().flat_map(|tier| &tier.layers));
        layers.map(|layer| layer.retries + 1).product()
    }

    /// The offered rate once all triggers are over.
    pub fn last_rate(&self) -> f64 {
        self.rate * self.raise.map_or(1.0, |raise| raise.factor)
    }

    /// The smallest capacity of a tier; infinite where all are unlimited.
    pub fn capacity(&self) -> f64 {
        self.tiers.iter().filter_map(|tier| tier.capacity).fold(f64::INFINITY, f64::min)
    }

    /// How long a request may live at the client: the time-outs and the longest waits of its
    /// layers, cut by an outer time-out and by the deadline.
    pub fn life(&self) -> f64 {
        let nested = self.layers.iter().rev().fold(0.0, |inner: f64, layer| {
            let one = match layer.timeout {
                Some(timeout) if inner > 0.0 => timeout.min(inner),
                Some(timeout) => timeout,
                None => inner,
            };
            one + layer.retries as f64 * (one + layer.cap)
        });
        self.deadline.map_or(nested, |deadline| deadline.min(nested))
    }

    /// The scenario file of a variant.
    pub fn toml(&self, variant: &Variant) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut text, variant);
        text
    }

    /// The scenario of a variant.
    ///
    /// # Errors
    ///
    /// Where the text is refused, with the problems; the distribution has no such case.
    pub fn scenario(&self, variant: &Variant) -> Result<Scenario, String> {
        let text = self.toml(variant);
        let plan = Plan::parse("case.toml", &text).map_err(|error| format!("{error}\n{text}"))?;
        Ok(plan.scenario)
    }

    fn spans(&self, length: f64) -> Vec<(f64, f64)> {
        let mut before: Option<(f64, f64)> = None;
        let spans = self.triggers.iter().map(|trigger| {
            let at = before.map_or(self.start, |(from, to)| (to + trigger.gap).max(from));
            let over = if let TriggerKind::Spike(_, over) = trigger.kind { over } else { 0.0 };
            let span = (at, at + (trigger.length * length).max(over) + over);
            before = Some(span);
            span
        });
        spans.collect()
    }

    fn write(&self, text: &mut String, variant: &Variant) -> std::fmt::Result {
        let rate = self.rate * variant.load;
        writeln!(text, "name = \"case-{}\"", self.number)?;
        writeln!(text, "description = \"{}\"", self.family.name())?;
        writeln!(text, "duration = \"{}s\"", self.duration(variant))?;
        writeln!(text, "seed = {}\n", self.seed + variant.seed)?;
        writeln!(text, "[load]\nrate = {rate:.4}\narrivals = {}", self.arrivals)?;
        self.write_changes(text, variant)?;
        writeln!(text, "\n[client]\n{}", self.client.trim_end())?;
        if let Some(deadline) = self.deadline {
            writeln!(text, "deadline = {}", time(deadline))?;
        }
        for layer in &self.layers {
            write_layer(text, "client.layer", layer)?;
        }
        for tier in &self.tiers {
            writeln!(text, "\n[[tier]]\nname = \"{}\"\nslots = {}", tier.name, tier.slots)?;
            if let Some(capacity) = tier.capacity {
                writeln!(text, "capacity = {capacity:.4}")?;
            }
            text.push_str(&tier.more);
            for layer in &tier.layers {
                write_layer(text, "tier.layer", layer)?;
            }
        }
        if variant.trigger {
            for (index, (trigger, (from, to))) in
                self.triggers.iter().zip(self.spans(variant.length)).enumerate()
            {
                if let TriggerKind::Fault(keys) = &trigger.kind {
                    let (at, length) = (time(from), time(to - from));
                    writeln!(text, "\n[[fault]]\nname = \"fault-{index}\"\nat = {at}")?;
                    writeln!(text, "for = {length}\n{}", keys.trim_end())?;
                }
            }
        }
        if let Some((after, keys)) = &self.lever {
            let at = time(self.span(variant.length).1 + after);
            writeln!(text, "\n[[lever]]\nat = {at}\n{}", keys.trim_end())?;
        }
        writeln!(text, "\n[expect]\ngoodput_ratio = {}", self.ratio)?;
        writeln!(text, "hold = {}\nwithin = {}", time(self.hold), time(self.within))
    }

    fn write_changes(&self, text: &mut String, variant: &Variant) -> std::fmt::Result {
        let rate = self.rate * variant.load;
        let mut changes = Vec::new();
        if variant.trigger {
            for (trigger, (from, to)) in self.triggers.iter().zip(self.spans(variant.length)) {
                match trigger.kind {
                    TriggerKind::Spike(factor, over) => changes.push((
                        from,
                        format!(
                            "rate = {:.4}\nover = {}\nfor = {}",
                            rate * factor,
                            time(over),
                            time(to - from - over)
                        ),
                    )),
                    TriggerKind::Steps(factor) => {
                        changes.push((from, format!("rate = {:.4}", rate * factor)));
                        changes.push((to, format!("rate = {rate:.4}")));
                    }
                    TriggerKind::Fault(_) => {}
                }
            }
        }
        if let Some(raise) = self.raise {
            let to = rate * raise.factor;
            let keys = format!("rate = {to:.4}\nover = {}", time(raise.over));
            changes.push((self.start + raise.after, keys));
        }
        changes.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        for (at, keys) in changes {
            writeln!(text, "\n[[load.change]]\nat = {}\n{keys}", time(at))?;
        }
        Ok(())
    }
}

fn write_layer(text: &mut String, list: &str, layer: &Layer) -> std::fmt::Result {
    writeln!(text, "\n[[{list}]]\nretries = {}", layer.retries)?;
    if let Some(timeout) = layer.timeout {
        writeln!(text, "timeout = {}", time(timeout))?;
    }
    let (base, cap) = (time(layer.base), time(layer.cap.max(layer.base)));
    writeln!(
        text,
        "backoff = {{ base = {base}, factor = {:.3}, cap = {cap}, jitter = \"{}\" }}",
        layer.factor, layer.jitter
    )?;
    text.push_str(&layer.more);
    Ok(())
}

/// A duration as a file has it, in whole milliseconds.
pub(crate) fn time(seconds: f64) -> String {
    format!("\"{}ms\"", (seconds * 1e3).round() as u64)
}
