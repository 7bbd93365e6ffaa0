//! Carries retry layers out over a pinned connection pool.
//!
//! [`Client`] drives [`goodput_policy::retry::Call`] over `hyper::client::conn`. It holds one state
//! machine ([`Client::send`], [`Client::call`], [`Client::on_wakeup`] enter it) and one task a
//! connection; a request in flight is an entry in a slab, not a task, and a time-out is an entry in
//! a queue, not a timer. So memory is bounded by rate × (time-out + backoff), and a request costs
//! one write, one read and two polls of its connection's task.
//!
//! Nothing is retried behind the layers' back. What happens is told to an [`Observer`]; this crate
//! neither logs nor counts.
//!
//! [`WallClock`] and [`Alarm`] are the edge between scenario time and wall time, for whoever needs a
//! wake-up that is precise to tens of microseconds.

mod alarm;
mod client;
mod clock;
mod config;
mod connection;
mod core;
mod layer_metrics;
mod observer;
mod pool;
mod process;
mod request;
mod timers;

pub use alarm::Alarm;
pub use client::{Client, ClientStatus};
pub use clock::WallClock;
pub use config::{ClientConfig, Protocol, Target, TargetError};
pub use layer_metrics::{LayerMetrics, registered};
pub use observer::{AttemptEnd, Observer, RequestEnd, Unobserved};
pub use process::{peak_memory, raise_file_limit, resident_memory};
pub use request::{Answer, CallEnd, Request};
