//! How a budget is written: as a name that stands for its defaults, or as a table.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use goodput_clock::{Ratio, text};
use serde::de::{Error, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize};

use super::{AwsQuota, Finagle, GrpcThrottle, SreRatio, TokenBucket};
use crate::invalid::InvalidConfig;

/// Which budget a layer has.
///
/// Written as a name, which stands for its defaults (`"sre-ratio"`), or as a table in which absent
/// keys take their defaults (`{ kind = "finagle", credit = "success" }`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum BudgetConfig {
    /// No budget: every retry is allowed.
    #[default]
    Off,
    /// Retries are a bounded share of requests, without a floor.
    SreRatio(SreRatio),
    /// A token bucket whose tokens expire, with a floor.
    Finagle(Finagle),
    /// A bucket that successes fill and retries drain.
    TokenBucket(TokenBucket),
    /// Failures close it, successes open it.
    GrpcThrottle(GrpcThrottle),
    /// A quota that retries use up and successes restore.
    AwsQuota(AwsQuota),
}

impl BudgetConfig {
    /// The names, in the order of their declaration.
    pub const NAMES: [&'static str; 6] =
        ["off", "sre-ratio", "finagle", "token-bucket", "grpc-throttle", "aws-quota"];

    /// The name in files and on command lines.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::SreRatio(_) => "sre-ratio",
            Self::Finagle(_) => "finagle",
            Self::TokenBucket(_) => "token-bucket",
            Self::GrpcThrottle(_) => "grpc-throttle",
            Self::AwsQuota(_) => "aws-quota",
        }
    }

    /// The most retries per call that fail for nothing in the long run: what a layer with this budget
    /// and `retries` can add to the load of a server that stays overloaded. `calls` is the calls of
    /// the layer per second, over all `instances` that have a budget of their own.
    ///
    /// A budget that successes fill lets fewer through the less succeeds; counted is the most. What a
    /// bucket holds at first is not counted, since it is spent once.
    pub fn sustained_retries(&self, retries: u32, calls: f64, instances: u32) -> f64 {
        let allowed = match self {
            Self::Off => f64::INFINITY,
            Self::SreRatio(config) => config.ratio.get(),
            Self::Finagle(config) => {
                let floor = config.min_per_second * f64::from(instances);
                // Without calls there is nothing to bound.
                let floor = if floor > 0.0 { floor / calls.max(f64::MIN_POSITIVE) } else { 0.0 };
                config.ratio.get() + floor
            }
            Self::TokenBucket(config) => config.ratio.get(),
            Self::GrpcThrottle(config) => config.token_ratio.get(),
            Self::AwsQuota(config) => {
                1.0 / f64::from(config.timeout_cost.unwrap_or(config.cost).min(config.cost))
            }
        };
        allowed.min(f64::from(retries))
    }

    /// Checks what the types cannot. What has been deserialised has been checked.
    ///
    /// # Errors
    ///
    /// Where a value is outside the range that its documentation names.
    pub fn validate(&self) -> Result<(), InvalidConfig> {
        match self {
            Self::Off => Ok(()),
            Self::SreRatio(config) => config.validate(),
            Self::Finagle(config) => config.validate(),
            Self::TokenBucket(config) => config.validate(),
            Self::GrpcThrottle(config) => config.validate(),
            Self::AwsQuota(config) => config.validate(),
        }
    }
}

/// As it is written on a command line: its name, and each of its figures.
impl fmt::Display for BudgetConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Off => Ok(()),
            Self::SreRatio(SreRatio { ratio, window }) => {
                write!(f, ",ratio={},window={}", ratio.get(), text::format_duration(*window))
            }
            Self::Finagle(Finagle { ratio, min_per_second, window, credit }) => write!(
                f,
                ",ratio={},min_per_second={min_per_second},window={},credit={}",
                ratio.get(),
                text::format_duration(*window),
                credit.name()
            ),
            Self::TokenBucket(TokenBucket { ratio, max }) => {
                write!(f, ",ratio={},max={max}", ratio.get())
            }
            Self::GrpcThrottle(GrpcThrottle { max_tokens, token_ratio }) => {
                write!(f, ",max_tokens={max_tokens},token_ratio={}", token_ratio.get())
            }
            Self::AwsQuota(AwsQuota { capacity, cost, timeout_cost }) => {
                write!(f, ",capacity={capacity},cost={cost}")?;
                timeout_cost.map_or(Ok(()), |cost| write!(f, ",timeout_cost={cost}"))
            }
        }
    }
}

/// A name that no budget has.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("unknown budget `{0}`; write {EXAMPLE}")]
pub struct UnknownBudget(String);

/// Reads a name, which stands for the budget's defaults.
impl FromStr for BudgetConfig {
    type Err = UnknownBudget;

    fn from_str(name: &str) -> Result<Self, UnknownBudget> {
        Ok(match name {
            "off" => Self::Off,
            "sre-ratio" => Self::SreRatio(SreRatio::default()),
            "finagle" => Self::Finagle(Finagle::default()),
            "token-bucket" => Self::TokenBucket(TokenBucket::default()),
            "grpc-throttle" => Self::GrpcThrottle(GrpcThrottle::default()),
            "aws-quota" => Self::AwsQuota(AwsQuota::default()),
            _ => return Err(UnknownBudget(name.chars().take(64).collect())),
        })
    }
}

impl<'de> Deserialize<'de> for BudgetConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BudgetVisitor)
    }
}

struct BudgetVisitor;

impl<'de> Visitor<'de> for BudgetVisitor {
    type Value = BudgetConfig;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a budget: {EXAMPLE}")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<BudgetConfig, E> {
        name.parse().map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<BudgetConfig, A::Error> {
        let hint = |problem: &dyn fmt::Display| {
            A::Error::custom(format_args!("{problem}; write {EXAMPLE}"))
        };
        let config = match Written::deserialize(MapAccessDeserializer::new(map)) {
            Ok(Written::Off {}) => BudgetConfig::Off,
            Ok(Written::SreRatio(config)) => BudgetConfig::SreRatio(config),
            Ok(Written::Finagle(config)) => BudgetConfig::Finagle(config),
            Ok(Written::TokenBucket(config)) => BudgetConfig::TokenBucket(config),
            Ok(Written::GrpcThrottle(config)) => BudgetConfig::GrpcThrottle(config),
            Ok(Written::AwsQuota(config)) => BudgetConfig::AwsQuota(config),
            Err(error) => return Err(hint(&text::type_in_words(error.to_string().trim_end()))),
        };
        config.validate().map_err(|error| hint(&error))?;
        Ok(config)
    }
}

/// The form of a table. `Off` has braces since a unit variant would let unknown keys pass.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Written {
    Off {},
    SreRatio(SreRatio),
    Finagle(Finagle),
    TokenBucket(TokenBucket),
    GrpcThrottle(GrpcThrottle),
    AwsQuota(AwsQuota),
}

pub(super) fn window_in_range(window: Duration) -> Result<(), InvalidConfig> {
    if (Duration::from_millis(1)..=Duration::from_hours(1)).contains(&window) {
        return Ok(());
    }
    Err(InvalidConfig { key: "window", problem: "must be from 1 ms to 1 h, such as \"10s\"" })
}

/// A number of retries or tokens in millionths.
pub(super) const fn micros(count: f64) -> i64 {
    (count * MICRO as f64).round() as i64
}

const fn ratio(value: f64) -> Ratio {
    match Ratio::new(value) {
        Ok(ratio) => ratio,
        Err(_) => Ratio::ZERO,
    }
}

pub(super) const TENTH: Ratio = ratio(0.1);
pub(super) const FIFTH: Ratio = ratio(0.2);

/// A whole retry or token in millionths.
pub(super) const MICRO: i64 = 1_000_000;

const EXAMPLE: &str = "\"off\", \"sre-ratio\", \"finagle\", \"token-bucket\", \
     \"grpc-throttle\", \"aws-quota\", or a table such as { kind = \"sre-ratio\", ratio = 0.1, \
     window = \"10s\" }";
