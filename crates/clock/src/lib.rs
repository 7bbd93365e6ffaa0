//! Scenario time, rates, ratios, seeds, and the scale between scenario time and wall time.
//!
//! Everything in this crate is a value. It reads no clock and holds no global state, so that the
//! same policies can run in virtual time and on real sockets. A [`Timestamp`] is minted only by an
//! engine: by the rig from a monotonic clock through a [`Scale`], by a simulator from its queue.

mod quantity;
mod scale;
mod seed;
pub mod text;
mod timestamp;

pub use quantity::{RangeError, Rate, Ratio};
pub use scale::Scale;
pub use seed::{Seed, Stream};
pub use timestamp::Timestamp;
