//! The file as it is written, section by section.
//!
//! Every key is optional here, so that one missing or mistaken key hides no other: what must be
//! there is asked for where it is resolved.

use std::time::Duration;

use goodput_clock::{Rate, Ratio, text};
use goodput_policy::attempt::FailureClass;
use goodput_policy::backoff::Backoff;
use goodput_policy::budget::BudgetConfig;
use goodput_policy::fault::CapacityMode;
use goodput_policy::limiter::{
    Capacity, Charge, OnDisconnect, QueueLimit, QueueOrder, ServiceTime,
};
use goodput_policy::pool::PoolOrder;
use goodput_policy::retry::BudgetScope;
use serde::Deserialize;

use super::values::{FaultName, LayerTimeout};
use crate::model::{Arrivals, ExpectedVerdict, Protocol};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Head {
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
    #[serde(with = "text::optional_duration")]
    pub(crate) duration: Option<Duration>,
    pub(crate) seed: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Load {
    pub(crate) rate: Option<Rate>,
    #[serde(with = "super::values::optional_arrivals")]
    pub(crate) arrivals: Option<Arrivals>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Change {
    #[serde(with = "text::optional_duration")]
    pub(crate) at: Option<Duration>,
    pub(crate) rate: Option<Rate>,
    #[serde(with = "text::optional_duration")]
    pub(crate) over: Option<Duration>,
    #[serde(rename = "for", with = "text::optional_duration")]
    pub(crate) length: Option<Duration>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Request {
    pub(crate) method: Option<String>,
    pub(crate) path: Option<String>,
    pub(crate) headers: Option<std::collections::BTreeMap<String, String>>,
    pub(crate) body: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Client {
    pub(crate) clients: Option<i64>,
    pub(crate) protocol: Option<Protocol>,
    #[serde(with = "text::optional_duration")]
    pub(crate) deadline: Option<Duration>,
    pub(crate) pool: Option<PoolOrder>,
    pub(crate) max_connections: Option<i64>,
    pub(crate) connect_rate: Option<Rate>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Layer {
    pub(crate) name: Option<String>,
    pub(crate) timeout: Option<LayerTimeout>,
    pub(crate) retries: Option<i64>,
    pub(crate) backoff: Option<Backoff>,
    pub(crate) retry_on: Option<Vec<FailureClass>>,
    pub(crate) budget: Option<BudgetConfig>,
    pub(crate) budget_scope: Option<BudgetScope>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Tier {
    pub(crate) name: Option<String>,
    pub(crate) slots: Option<i64>,
    pub(crate) capacity: Option<Capacity>,
    pub(crate) service: Option<ServiceTime>,
    pub(crate) queue: Option<QueueOrder>,
    pub(crate) queue_limit: Option<QueueLimit>,
    pub(crate) drop_expired: Option<bool>,
    #[serde(with = "text::optional_duration")]
    pub(crate) expiry_margin: Option<Duration>,
    pub(crate) on_disconnect: Option<OnDisconnect>,
    pub(crate) charge: Option<Charge>,
    pub(crate) orders: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Fault {
    pub(crate) name: Option<String>,
    pub(crate) kind: Option<FaultName>,
    pub(crate) tier: Option<String>,
    pub(crate) to: Option<Ratio>,
    pub(crate) mode: Option<CapacityMode>,
    #[serde(with = "text::optional_duration")]
    pub(crate) at: Option<Duration>,
    #[serde(rename = "for", with = "text::optional_duration")]
    pub(crate) length: Option<Duration>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Lever {
    pub(crate) name: Option<String>,
    #[serde(with = "text::optional_duration")]
    pub(crate) at: Option<Duration>,
    pub(crate) tier: Option<String>,
    pub(crate) share: Option<Ratio>,
    #[serde(rename = "for", with = "text::optional_duration")]
    pub(crate) hold: Option<Duration>,
    #[serde(with = "text::optional_duration")]
    pub(crate) ramp: Option<Duration>,
    pub(crate) layer: Option<String>,
    pub(crate) budget: Option<BudgetConfig>,
    pub(crate) retries: Option<i64>,
    pub(crate) rate: Option<Rate>,
    pub(crate) slots: Option<i64>,
    pub(crate) capacity: Option<Capacity>,
    pub(crate) queue: Option<QueueOrder>,
    pub(crate) queue_limit: Option<QueueLimit>,
    pub(crate) drop_expired: Option<bool>,
    pub(crate) on_disconnect: Option<OnDisconnect>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Expect {
    pub(crate) verdict: Option<ExpectedVerdict>,
    pub(crate) goodput_ratio: Option<Ratio>,
    #[serde(with = "text::optional_duration")]
    pub(crate) hold: Option<Duration>,
    #[serde(with = "text::optional_duration")]
    pub(crate) within: Option<Duration>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Arm {
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) control: Option<bool>,
}
