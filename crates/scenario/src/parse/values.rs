use std::fmt;
use std::time::Duration;

use goodput_clock::text;
use serde::de::{Error, MapAccess, Unexpected, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer};

use crate::model::Arrivals;

/// A layer's time-out: a duration, or `"off"`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LayerTimeout {
    Off,
    After(Duration),
}

impl<'de> Deserialize<'de> for LayerTimeout {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TimeoutVisitor;
        impl Visitor<'_> for TimeoutVisitor {
            type Value = LayerTimeout;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration with its unit, such as \"5s\", or \"off\"")
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<LayerTimeout, E> {
                if value == "off" {
                    return Ok(LayerTimeout::Off);
                }
                text::parse_duration(value).map(LayerTimeout::After).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(TimeoutVisitor)
    }
}

/// What a fault is called in a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FaultName {
    Capacity,
    Stall,
}

impl FaultName {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Capacity => "capacity",
            Self::Stall => "stall",
        }
    }
}

/// Reads `"constant"`, `"poisson"` or `{ kind = "batch", size = 20 }`.
pub(crate) mod optional_arrivals {
    use super::{Arrivals, Deserialize, Deserializer, Written};

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Arrivals>, D::Error> {
        Ok(Option::<Written>::deserialize(deserializer)?.map(|written| written.0))
    }
}

pub(crate) struct Written(Arrivals);

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ArrivalsVisitor)
    }
}

struct ArrivalsVisitor;

impl<'de> Visitor<'de> for ArrivalsVisitor {
    type Value = Written;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"constant\", \"poisson\" or { kind = \"batch\", size = 20 }")
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Written, E> {
        match value {
            "constant" => Ok(Written(Arrivals::Constant)),
            "poisson" => Ok(Written(Arrivals::Poisson)),
            _ => Err(E::invalid_value(Unexpected::Str(value), &self)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Written, A::Error> {
        let batch = Batch::deserialize(MapAccessDeserializer::new(map))?;
        let arrivals = u32::try_from(batch.size).ok().and_then(Arrivals::batch);
        arrivals.map(Written).ok_or_else(|| {
            let expected = format!("a batch of 1 to {} requests", Arrivals::LARGEST_BATCH);
            A::Error::invalid_value(Unexpected::Signed(batch.size), &expected.as_str())
        })
    }
}

/// A table form of the arrivals.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Batch {
    #[expect(dead_code, reason = "its type is all that it says")]
    kind: BatchKind,
    size: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum BatchKind {
    Batch,
}
