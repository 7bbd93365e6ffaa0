use std::time::Duration;

use goodput_clock::{Rate, Ratio, Seed, Timestamp, text};
use goodput_policy::fault::FaultKind;
use goodput_policy::lever::Lever;
use goodput_policy::limiter::LimiterConfig;
use goodput_policy::pool::PoolOrder;
use goodput_policy::retry::LayerConfig;
use serde::Serialize;

use crate::error::UnknownArm;

/// A scenario file, read and resolved.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// The scenario as written above the arms.
    pub scenario: Scenario,
    /// The variants, in the order of the file.
    pub arms: Vec<Arm>,
}

impl Plan {
    /// The arm of that name.
    ///
    /// # Errors
    ///
    /// Where there is none, with the names that there are.
    pub fn arm(&self, name: &str) -> Result<&Arm, UnknownArm> {
        self.arms.iter().find(|arm| arm.name == name).ok_or_else(|| UnknownArm {
            scenario: self.scenario.name.clone(),
            arm: name.to_owned(),
            arms: self.arms.iter().map(|arm| arm.name.clone()).collect(),
        })
    }
}

/// One variant of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Arm {
    /// Its name, unique in the file.
    pub name: String,
    /// What it shows, for the reports.
    pub description: String,
    /// Whether it must fail, or the comparison is void.
    pub control: bool,
    /// The scenario with what the arm sets.
    pub scenario: Scenario,
}

/// One run, resolved: what an engine carries out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scenario {
    /// The scenario's name.
    pub name: String,
    /// What it shows, for the reports.
    pub description: String,
    /// How long arrivals go on.
    #[serde(with = "text::duration")]
    pub duration: Duration,
    /// Where randomness comes from, unless the command names another seed.
    pub seed: Seed,
    /// When new requests arrive.
    pub load: Load,
    /// Who sends them, and how they are retried.
    pub client: Client,
    /// The servers, outermost first; the last one is the order-status server, the others are gateways.
    pub tiers: Vec<Tier>,
    /// What is injected, by start.
    pub faults: Vec<PlannedFault>,
    /// What a person would do, by time.
    pub levers: Vec<PlannedLever>,
    /// What the run is judged by.
    pub expect: Expectations,
}

/// When new requests arrive, open loop.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Load {
    /// New requests per second from the start.
    pub rate: Rate,
    /// How arrivals are spread.
    pub arrivals: Arrivals,
    /// Changes of the rate, by time.
    pub changes: Vec<RateChange>,
    /// What each request asks for.
    pub request: RequestTemplate,
}

/// How arrivals are spread over time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Arrivals {
    /// At equal distances.
    Constant,
    /// As a Poisson process.
    Poisson,
    /// So many at once, at equal distances.
    Batch {
        /// Requests in a batch, from 1 to [`Arrivals::LARGEST_BATCH`].
        size: u32,
    },
}

impl Arrivals {
    /// The most requests that arrive at once.
    pub const LARGEST_BATCH: u32 = 100_000;

    /// Batches of that size; none where it is out of range.
    pub fn batch(size: u32) -> Option<Self> {
        (1..=Self::LARGEST_BATCH).contains(&size).then_some(Self::Batch { size })
    }
}

/// The offered load from a moment on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateChange {
    /// When the change begins.
    pub at: Timestamp,
    /// The new rate.
    pub rate: Rate,
    /// Over how long the rate moves there in a straight line; 0 for a step.
    #[serde(with = "text::duration")]
    pub over: Duration,
    /// For a spike: how long after `at` the rate begins to move back to what it was, again over `over`.
    #[serde(with = "text::optional_duration")]
    pub length: Option<Duration>,
}

impl RateChange {
    /// For a spike: when it starts, and when the rate is back.
    pub fn spike(&self) -> Option<(Timestamp, Timestamp)> {
        let length = self.length?;
        Some((self.at, self.at + length + self.over))
    }

    /// When the rate has come to rest.
    pub fn ends(&self) -> Timestamp {
        self.spike().map_or(self.at + self.over, |(_, end)| end)
    }
}

/// What each request asks for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RequestTemplate {
    /// The method, such as `GET`.
    pub method: String,
    /// The path; `{order}` stands for an order id drawn from the order book.
    pub path: String,
    /// Additional headers.
    pub headers: Vec<(String, String)>,
    /// The body, empty by default.
    pub body: String,
    /// How many order ids `{order}` is drawn from: `1..=orders`.
    pub orders: u32,
}

/// Which protocol the client speaks.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, serde::Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// HTTP/1.1, one request at a time on a connection.
    #[default]
    #[serde(rename = "http/1.1")]
    Http1,
    /// HTTP/2 with prior knowledge.
    #[serde(rename = "http/2")]
    Http2,
}

/// The client's side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Client {
    /// Independent instances, each with its own pool and budgets; arrivals are dealt to them in turn.
    pub clients: u32,
    /// The protocol.
    pub protocol: Protocol,
    /// A deadline over all attempts of a request.
    #[serde(with = "text::optional_duration")]
    pub deadline: Option<Duration>,
    /// The retry layers, outermost first; the innermost has a time-out.
    pub layers: Vec<LayerConfig>,
    /// In what order idle connections are reused.
    pub pool: PoolOrder,
    /// The most open connections of all instances together.
    pub max_connections: u32,
    /// The most new connections per second of all instances together.
    pub connect_rate: Rate,
}

impl Client {
    /// The most connections that its pools may be allowed.
    pub const MOST_CONNECTIONS: u32 = 1_000_000;
}

/// One server.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tier {
    /// Its name, unique among the tiers.
    pub name: String,
    /// Its limiter.
    pub limiter: LimiterConfig,
    /// A gateway's retry layers towards the next tier; empty for the last tier.
    pub layers: Vec<LayerConfig>,
    /// How many orders the order book holds, at most [`Tier::MAX_ORDERS`]; only the last tier has one.
    pub orders: u32,
}

impl Tier {
    /// The most orders of an order book.
    pub const MAX_ORDERS: u32 = 10_000_000;
}

/// A fault on the timeline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedFault {
    /// Its name, unique among those that overlap.
    pub name: String,
    /// Which tier it hits.
    pub tier: String,
    /// What it does.
    pub kind: FaultKind,
    /// When it starts.
    pub at: Timestamp,
    /// How long it lasts.
    #[serde(with = "text::duration")]
    pub length: Duration,
}

impl PlannedFault {
    /// When it ends.
    pub fn ends(&self) -> Timestamp {
        self.at + self.length
    }
}

/// A lever on the timeline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedLever {
    /// What is pulled.
    pub lever: Lever,
    /// At which tier, for levers of a server.
    pub tier: Option<String>,
    /// When.
    pub at: Timestamp,
}

impl PlannedLever {
    /// The new offered load, where it changes that.
    pub const fn rate(&self) -> Option<Rate> {
        if let Lever::Rate { rate } = self.lever { Some(rate) } else { None }
    }
}

/// Which verdict a scenario or an arm expects.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectedVerdict {
    /// No fault, and goodput stayed in its band.
    Steady,
    /// Goodput came back in time and stayed.
    Recovered,
    /// It did not come back in time, but the backlog falls.
    SlowRecovery,
    /// It comes and goes.
    Unstable,
    /// It stays down although the fault is gone, and sustains itself.
    Metastable,
    /// It stays down for another reason: overload, a server that is down or damaged, or one that is not
    /// seen.
    NotRecovered,
}

/// What a run is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Expectations {
    /// The verdict that holds the expectation.
    pub verdict: ExpectedVerdict,
    /// Good ÷ offered over a sliding window of length `hold`, relative to the same before the first
    /// fault, that counts as back.
    pub goodput_ratio: Ratio,
    /// The length of that window.
    #[serde(with = "text::duration")]
    pub hold: Duration,
    /// How long after the end of the last fault goodput may take to be back.
    #[serde(with = "text::duration")]
    pub within: Duration,
}

impl Scenario {
    /// The smallest time-out of an attempt.
    pub fn smallest_timeout(&self) -> Duration {
        let timeouts = self.client.layers.iter().filter_map(|layer| layer.timeout);
        timeouts.min().unwrap_or(Duration::MAX)
    }

    /// The most attempts that one request can make at the client: Π(R + 1), saturating.
    pub fn max_attempts(&self) -> u64 {
        max_attempts(&self.client.layers)
    }

    /// The highest rate that the load or a lever on the timeline asks for.
    pub fn peak_rate(&self) -> Rate {
        let levers = self.levers.iter().filter_map(PlannedLever::rate);
        levers.fold(self.load.peak_rate(), |peak, rate| if rate > peak { rate } else { peak })
    }

    /// The connections, and the new ones per second, that `rate` requests a second with so many
    /// attempts each can ask for at the worst, with room for half as many more.
    pub fn room_for(&self, rate: f64, attempts: f64) -> (u32, Rate) {
        let attempts = ROOM * rate * attempts;
        let connections = (attempts * self.smallest_timeout().as_secs_f64()).ceil() as u32;
        let connect_rate = Rate::new(attempts.clamp(1.0, Rate::MAX));
        (
            connections.clamp(1, Client::MOST_CONNECTIONS),
            connect_rate.unwrap_or(self.client.connect_rate),
        )
    }

    /// When the first trigger (a fault, or a spike of the load) starts and the last one ends.
    pub fn trigger_span(&self) -> Option<(Timestamp, Timestamp)> {
        trigger_span(&self.load, &self.faults, &self.levers)
    }

    /// When each spike of the load starts and is over: those that are written as such, and the times
    /// at which steps or `rate` levers put the load above that of the start and back. A load that
    /// stays up is no trigger but another load.
    pub fn load_spikes(&self) -> Vec<(Timestamp, Timestamp)> {
        load_spikes(&self.load, &self.levers)
    }

    /// When the first fault starts and the last one ends.
    pub fn fault_span(&self) -> Option<(Timestamp, Timestamp)> {
        let start = self.faults.iter().map(|fault| fault.at).min()?;
        let end = self.faults.iter().map(PlannedFault::ends).max()?;
        Some((start, end))
    }
}

/// The most attempts that one call through these layers can make: Π(R + 1), saturating.
pub(crate) fn max_attempts(layers: &[LayerConfig]) -> u64 {
    layers.iter().fold(1, |product, layer| product.saturating_mul(u64::from(layer.retries) + 1))
}

/// See [`Scenario::trigger_span`].
pub(crate) fn trigger_span(
    load: &Load,
    faults: &[PlannedFault],
    levers: &[PlannedLever],
) -> Option<(Timestamp, Timestamp)> {
    let faults = faults.iter().map(|fault| (fault.at, fault.ends()));
    let triggers = faults.chain(load_spikes(load, levers));
    triggers.reduce(|(start, end), (from, to)| (start.min(from), end.max(to)))
}

fn load_spikes(load: &Load, levers: &[PlannedLever]) -> Vec<(Timestamp, Timestamp)> {
    let calm = load.rate.per_second() * 1.01;
    let steps = load.changes.iter().filter(|change| change.length.is_none());
    let steps = steps.map(|change| (change.at, change.rate, change.ends()));
    let levers = levers.iter().filter_map(|lever| Some((lever.at, lever.rate()?, lever.at)));
    let mut moves: Vec<_> = steps.chain(levers).collect();
    moves.sort_by_key(|(at, ..)| *at);
    let mut spikes: Vec<_> = load.changes.iter().filter_map(RateChange::spike).collect();
    let mut began = None;
    for (at, rate, done) in moves {
        if rate.per_second() > calm {
            began.get_or_insert(at);
        } else if let Some(from) = began.take() {
            spikes.push((from, done));
        }
    }
    spikes
}

/// By how much limits of connections exceed the worst that can be asked of them.
const ROOM: f64 = 1.5;
