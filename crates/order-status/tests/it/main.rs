//! The server over real sockets on loopback.

#![expect(clippy::unwrap_used, reason = "the helpers are part of the tests")]
#![expect(clippy::float_cmp, reason = "counts and settings are exact in floating point")]

mod common;
mod data_plane;
mod faults;
mod gateway;
mod http2;
