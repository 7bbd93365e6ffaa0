//! What tests of several crates share: scenarios, turns, waiting with a bound, servers that remember
//! what they are told or asked, a wire that can be cut, and peers that misbehave. Only tests depend on
//! it.

mod path_server;
mod peers;
mod told_server;
mod wire;

use std::net::{SocketAddr, TcpListener};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use path_server::{PathServer, Seen};
pub use peers::{Peer, garbage, listen, reset, silence};
pub use told_server::{Told, ToldServer, client};
pub use wire::Wire;

/// A cut of 5 s that is absorbed, 40 s in all.
pub const SHORT_CUT: &str = r#"
name = "short-cut"
duration = "40s"
[load]
rate = 80
arrivals = "constant"
[client]
[[client.layer]]
timeout = "5s"
[[tier]]
name = "order-status"
slots = 10
capacity = 100
[[fault]]
name = "cut"
kind = "capacity"
to = 0.4
at = "15s"
for = "5s"
[expect]
hold = "5s"
within = "15s"
"#;

/// Nothing happens for 20 s.
pub const CALM: &str = r#"
name = "calm"
duration = "20s"
[load]
rate = 40
arrivals = "constant"
[client]
[[client.layer]]
timeout = "2s"
[[tier]]
name = "order-status"
slots = 10
capacity = 100
[expect]
hold = "5s"
"#;

/// Holds back whoever else asks for a turn in this process: two runs at once would disturb each other.
pub fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    // A test that failed leaves nothing behind that another could stumble over.
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Any free port of loopback.
pub fn any_port() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// An address of loopback that nobody listens at.
///
/// # Panics
///
/// Where there is no free port.
pub fn nobody() -> SocketAddr {
    let listener = TcpListener::bind(any_port()).expect("loopback has a free port");
    listener.local_addr().expect("a listener has an address")
}

/// Waits until `met`, and says how long that took.
///
/// # Panics
///
/// Where it takes more than 20 s.
#[track_caller]
pub fn wait_for(what: &str, mut met: impl FnMut() -> bool) -> Duration {
    let began = Instant::now();
    while !met() {
        assert!(began.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(LOOK);
    }
    began.elapsed()
}

/// As [`wait_for`], for a task of a runtime.
///
/// # Panics
///
/// As [`wait_for`].
pub async fn eventually(what: &str, met: impl Fn() -> bool) {
    let began = Instant::now();
    while !met() {
        assert!(began.elapsed() < PATIENCE, "never: {what}");
        tokio::time::sleep(LOOK).await;
    }
}

/// Waits for a future on a runtime of its own.
///
/// # Panics
///
/// Where no runtime can be made, or inside one.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("the system has a runtime").block_on(future)
}

const PATIENCE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(2);
