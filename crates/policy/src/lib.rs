//! Every overload-control decision as a pure state machine.
//!
//! Nothing here reads a clock, takes a lock, logs or counts a metric. Each state-changing call is
//! told the time ([`goodput_clock::Timestamp`], scenario time) and returns facts, which the shell
//! that carries them out records. The network rig and the simulator run the same values.
//!
//! On the server's side stand [`edge`], [`limiter`] and [`fault`]; on the client's side [`retry`],
//! [`backoff`], [`budget`] and [`pool`]; [`deadline`] is what both say to each other on the wire, and
//! [`lever`] what a person can pull.

pub mod attempt;
pub mod backoff;
pub mod budget;
pub mod deadline;
pub mod edge;
pub mod fault;
pub mod invalid;
pub mod lever;
pub mod limiter;
pub mod pool;
pub mod retry;
