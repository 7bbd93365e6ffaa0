use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use goodput_clock::{Rate, Stream, text};
use serde::de::{Error, MapAccess, Unexpected, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::invalid::InvalidConfig;

/// How much a tier can serve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Capacity {
    /// Nothing is limited: every request is served at once, and there is no queue.
    Unlimited,
    /// So many requests per second with all slots busy.
    Limited(Rate),
}

impl Serialize for Capacity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unlimited => serializer.serialize_str("unlimited"),
            Self::Limited(rate) => rate.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Capacity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CapacityVisitor;
        impl Visitor<'_> for CapacityVisitor {
            type Value = Capacity;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a capacity in requests per second, such as 100, or \"unlimited\"")
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Capacity, E> {
                Rate::new(value).map(Capacity::Limited).map_err(|_| {
                    E::invalid_value(Unexpected::Other(&text::float_in_words(value)), &self)
                })
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Capacity, E> {
                Rate::new(value as f64)
                    .map(Capacity::Limited)
                    .map_err(|_| E::invalid_value(Unexpected::Signed(value), &self))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Capacity, E> {
                self.visit_f64(value as f64)
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<Capacity, E> {
                if value == "unlimited" {
                    return Ok(Capacity::Unlimited);
                }
                text::parse_rate(value).map(Capacity::Limited).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(CapacityVisitor)
    }
}

/// How long a request holds a slot; the mean is slots / capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ServiceTime {
    /// Always the mean.
    #[default]
    Constant,
    /// Exponentially distributed.
    Exponential,
    /// Log-normally distributed.
    Lognormal {
        /// The standard deviation of the logarithm, from 0.01 to 4.
        sigma: f64,
    },
}

impl ServiceTime {
    /// A draw with mean 1.
    pub(super) fn draw(self, random: &mut Stream) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Exponential => random.exponential(),
            Self::Lognormal { sigma } => random.log_normal(sigma),
        }
    }
}

impl<'de> Deserialize<'de> for ServiceTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The braces keep unknown keys out: a unit variant would let them pass.
        #[derive(Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
        enum Written {
            Constant {},
            Exponential {},
            Lognormal { sigma: f64 },
        }
        struct ServiceTimeVisitor;
        impl<'de> Visitor<'de> for ServiceTimeVisitor {
            type Value = ServiceTime;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "\"constant\", \"exponential\" or { kind = \"lognormal\", sigma = 1.0 }",
                )
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<ServiceTime, E> {
                match value {
                    "constant" => Ok(ServiceTime::Constant),
                    "exponential" => Ok(ServiceTime::Exponential),
                    _ => Err(E::invalid_value(Unexpected::Str(value), &self)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ServiceTime, A::Error> {
                match Written::deserialize(MapAccessDeserializer::new(map))? {
                    Written::Constant {} => Ok(ServiceTime::Constant),
                    Written::Exponential {} => Ok(ServiceTime::Exponential),
                    Written::Lognormal { sigma } if SIGMAS.contains(&sigma) => {
                        Ok(ServiceTime::Lognormal { sigma })
                    }
                    Written::Lognormal { sigma } => Err(A::Error::invalid_value(
                        Unexpected::Other(&text::float_in_words(sigma)),
                        &"a sigma from 0.01 to 4, such as 1.0",
                    )),
                }
            }
        }
        deserializer.deserialize_any(ServiceTimeVisitor)
    }
}

/// In what order waiting requests are served.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueOrder {
    /// The one that has waited longest first.
    #[default]
    Fifo,
    /// The one that came last first.
    Lifo,
}

/// How many requests may wait.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum QueueLimit {
    /// As many as come, up to the safety cap of [`QueueLimit::SAFETY_CAP`].
    #[default]
    Unbounded,
    /// At most so many; 0 means that nobody waits.
    Bounded(u32),
}

impl QueueLimit {
    /// What guards memory where the queue is unbounded.
    pub const SAFETY_CAP: u32 = 1_000_000;

    /// How many may wait.
    pub const fn get(self) -> u32 {
        match self {
            Self::Unbounded => Self::SAFETY_CAP,
            Self::Bounded(limit) => limit,
        }
    }
}

impl Serialize for QueueLimit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unbounded => serializer.serialize_str("unbounded"),
            Self::Bounded(limit) => serializer.serialize_u32(*limit),
        }
    }
}

impl<'de> Deserialize<'de> for QueueLimit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct QueueLimitVisitor;
        impl Visitor<'_> for QueueLimitVisitor {
            type Value = QueueLimit;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(
                    f,
                    "a number of requests from 0 to {}, such as 150, or \"unbounded\"",
                    QueueLimit::SAFETY_CAP
                )
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<QueueLimit, E> {
                match u32::try_from(value) {
                    Ok(limit) if limit <= QueueLimit::SAFETY_CAP => Ok(QueueLimit::Bounded(limit)),
                    _ => Err(E::invalid_value(Unexpected::Signed(value), &self)),
                }
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<QueueLimit, E> {
                self.visit_i64(i64::try_from(value).unwrap_or(i64::MAX))
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<QueueLimit, E> {
                match value {
                    "unbounded" => Ok(QueueLimit::Unbounded),
                    _ => Err(E::invalid_value(Unexpected::Str(value), &self)),
                }
            }
        }
        deserializer.deserialize_any(QueueLimitVisitor)
    }
}

/// What becomes of a request whose caller hangs up.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnDisconnect {
    /// The work goes on, as a real back end's does.
    #[default]
    Continue,
    /// It leaves the queue; what is in service is finished all the same.
    Cancel,
}

/// When the cost of a request is charged.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Charge {
    /// When its service starts.
    #[default]
    ServiceStart,
    /// On arrival: it reserves a slot's time, and keeps it whatever becomes of its caller.
    Admission,
}

/// What a tier's limiter is like.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LimiterConfig {
    /// How many requests are served at once, from 1 to [`LimiterConfig::MAX_SLOTS`].
    pub slots: u32,
    /// How many are served per second.
    pub capacity: Capacity,
    /// How service times are distributed.
    pub service: ServiceTime,
    /// In what order the queue is served.
    pub queue: QueueOrder,
    /// How long the queue may be.
    pub queue_limit: QueueLimit,
    /// Whether a request is dropped at dequeue whose remaining deadline is below the expected service
    /// time plus the margin.
    pub drop_expired: bool,
    /// That margin; none stands for one expected service time. Without a margin FIFO finishes work
    /// milliseconds before its deadline, and the answer comes too late.
    #[serde(with = "text::optional_duration")]
    pub expiry_margin: Option<Duration>,
    /// What becomes of a request whose caller hangs up.
    pub on_disconnect: OnDisconnect,
    /// When the cost is charged.
    pub charge: Charge,
}

impl Default for LimiterConfig {
    /// Ten slots, unlimited, and no defence.
    fn default() -> Self {
        Self {
            slots: 10,
            capacity: Capacity::Unlimited,
            service: ServiceTime::default(),
            queue: QueueOrder::default(),
            queue_limit: QueueLimit::default(),
            drop_expired: false,
            expiry_margin: None,
            on_disconnect: OnDisconnect::default(),
            charge: Charge::default(),
        }
    }
}

/// A change to a limiter; what is absent stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimiterPatch {
    /// See [`LimiterConfig::slots`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slots: Option<u32>,
    /// See [`LimiterConfig::capacity`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
    /// See [`LimiterConfig::queue`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueOrder>,
    /// See [`LimiterConfig::queue_limit`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_limit: Option<QueueLimit>,
    /// See [`LimiterConfig::drop_expired`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drop_expired: Option<bool>,
    /// See [`LimiterConfig::on_disconnect`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_disconnect: Option<OnDisconnect>,
}

impl LimiterConfig {
    /// The most slots.
    pub const MAX_SLOTS: u32 = 1_000_000;

    /// The configuration with the patch applied.
    ///
    /// # Errors
    ///
    /// Where the result would not [`validate`](Self::validate).
    pub fn patched(&self, patch: LimiterPatch) -> Result<Self, InvalidConfig> {
        let patched = Self {
            slots: patch.slots.unwrap_or(self.slots),
            capacity: patch.capacity.unwrap_or(self.capacity),
            queue: patch.queue.unwrap_or(self.queue),
            queue_limit: patch.queue_limit.unwrap_or(self.queue_limit),
            drop_expired: patch.drop_expired.unwrap_or(self.drop_expired),
            on_disconnect: patch.on_disconnect.unwrap_or(self.on_disconnect),
            ..self.clone()
        };
        patched.validate()?;
        Ok(patched)
    }

    /// Checks what the types cannot.
    ///
    /// # Errors
    ///
    /// Where there are no slots or more than a million, where a service would take longer than an
    /// hour (slots / capacity), where the margin is longer than a day, where sigma is outside its
    /// range, or where cost is charged at admission and the queue is LIFO: reserved time has an order
    /// already.
    pub fn validate(&self) -> Result<(), InvalidConfig> {
        validate_slots(self.slots)?;
        if let Capacity::Limited(rate) = self.capacity
            && f64::from(self.slots) / rate.per_second() > 3600.0
        {
            let problem = "is so low that one service (slots / capacity) takes above an hour";
            return Err(InvalidConfig { key: "capacity", problem });
        }
        if let ServiceTime::Lognormal { sigma } = self.service
            && !SIGMAS.contains(&sigma)
        {
            let problem = "must have a sigma from 0.01 to 4, such as 1.0";
            return Err(InvalidConfig { key: "service", problem });
        }
        if self.expiry_margin.is_some_and(|margin| margin > Duration::from_hours(24)) {
            let problem = "must be at most 24h, such as \"50ms\"";
            return Err(InvalidConfig { key: "expiry_margin", problem });
        }
        if self.charge == Charge::Admission && self.queue == QueueOrder::Lifo {
            let problem = "cannot be \"lifo\" where `charge = \"admission\"`";
            return Err(InvalidConfig { key: "queue", problem });
        }
        Ok(())
    }
}

impl LimiterPatch {
    /// The change that makes a limiter as `config` says, in everything that a patch can change.
    pub const fn to(config: &LimiterConfig) -> Self {
        Self {
            slots: Some(config.slots),
            capacity: Some(config.capacity),
            queue: Some(config.queue),
            queue_limit: Some(config.queue_limit),
            drop_expired: Some(config.drop_expired),
            on_disconnect: Some(config.on_disconnect),
        }
    }

    /// Checks what the types cannot, as far as that can be told without what is patched.
    ///
    /// # Errors
    ///
    /// Where it would set no slots or more than a million.
    pub fn validate(&self) -> Result<(), InvalidConfig> {
        self.slots.map_or(Ok(()), validate_slots)
    }
}

fn validate_slots(slots: u32) -> Result<(), InvalidConfig> {
    if (1..=LimiterConfig::MAX_SLOTS).contains(&slots) {
        return Ok(());
    }
    Err(InvalidConfig { key: "slots", problem: "must be from 1 to 1000000, such as 10" })
}

/// What sigma may be. Above 4 the mean rests on draws so rare that no run sees it.
const SIGMAS: RangeInclusive<f64> = 0.01..=4.0;
