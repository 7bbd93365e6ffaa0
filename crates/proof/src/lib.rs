//! Measures the judge: random scenarios, their truth by plain counting, and the table of both.
//!
//! A case is drawn from a written [`distribution`] and run in virtual time for ten of its tails,
//! and once more without its trigger. [`counting`] says what became of it; [`measure()`] has the
//! judge say the same of five lengths of that log, and asks how near a boundary is. [`Table`] adds
//! cases up.

pub mod counting;
pub mod distribution;
mod draft;
mod draw;
mod families;
pub mod grid;
mod measure;
mod miss;
mod prefix;
mod sockets;
mod table;

pub use draft::{Draft, Family, Layer, Raise, Tier, Trigger, TriggerKind, Variant};
pub use measure::{EDGE, Outcome, Said, TAILS, measure};
pub use miss::Miss;
pub use prefix::{can_be_cut, prefix};
pub use sockets::Sockets;
pub use table::Table;

#[cfg(test)]
mod tests;
