//! Plays faults and levers against control planes, and holds the leases of faults.
//!
//! A fault is never left to itself: it stands for as long as somebody renews its lease, the server
//! keeps that lease, and whoever began it ends it and reads back that it has ended. [`hold()`] does
//! so for one fault, [`Timeline`] for all that a scenario asks for, and [`Injector`] is a process
//! with an API of its own. A revert is never skipped, however often it is interrupted; one that
//! cannot be confirmed is reported as such.

mod command;
mod event;
mod hold;
mod play;
mod process;
mod run_lease;
mod stop;
mod targets;
mod terms;
mod timeline;

pub use command::{CommandError, clear, detach, list, reset};
pub use event::{InjectorEvent, InjectorEventKind};
pub use hold::{HoldEnd, HoldError, HoldRequest, Seen, hold};
pub use play::{PlayFailure, PlayReport};
pub use process::{Injector, InjectorConfig};
pub use run_lease::{LeaseError, LostLease, RunLeases};
pub use stop::Stop;
pub use targets::{LoadTarget, MissingTarget, Targets};
pub use terms::{InvalidTerms, LeaseTerms};
pub use timeline::{PlayOptions, Playing, StartPlayError, Timeline};
