//! A server that feels faults, and faults to hold there.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use goodput_control::api::{Cause, FaultView, ServerCounters, ServerState, limiter_view};
use goodput_control::{Audit, ControlClient, Guard, Listener, ServerControl, server_plane};
use goodput_fault_injector::{HoldRequest, LeaseTerms};
use goodput_policy::fault::{Effect, FaultKind};
use goodput_policy::lever::Lever;
use goodput_policy::limiter::{LimiterConfig, LimiterPatch};
use goodput_test_support::any_port;

/// What the server has felt and done, with times.
#[derive(Default)]
pub(crate) struct Felt {
    pub(crate) effects: Vec<(Instant, Effect)>,
    pub(crate) levers: Vec<(Instant, Lever)>,
    pub(crate) resets: u32,
}

pub(crate) struct Server {
    felt: Arc<Mutex<Felt>>,
    pub(crate) audit: Audit,
    listener: Listener,
}

struct Feeling(Arc<Mutex<Felt>>);

impl ServerControl for Feeling {
    fn state(&self, faults: Vec<FaultView>) -> ServerState {
        let effect = effect(&self.0.lock().unwrap());
        ServerState {
            role: "order-status".to_owned(),
            version: "test".to_owned(),
            instance: "test".to_owned(),
            restarts: 0,
            uptime: 1.0,
            speed: 1.0,
            memory: 0,
            limiter: limiter_view(&LimiterConfig::default()),
            layers: Vec::new(),
            slots: 10,
            capacity: Some(if effect.stalled { 0.0 } else { 100.0 * effect.speed }),
            admitted: 1.0,
            queued: 0,
            in_service: 0,
            oldest_age: 0.0,
            counters: ServerCounters::default(),
            queue_delay: Vec::new(),
            faults,
        }
    }

    fn metrics(&self) -> String {
        String::new()
    }

    fn set_effect(&self, effect: Effect) {
        self.0.lock().unwrap().effects.push((Instant::now(), effect));
    }

    fn patch_limiter(&self, _patch: LimiterPatch) -> Result<(), String> {
        Ok(())
    }

    fn pull(&self, lever: &Lever) -> Result<String, String> {
        self.0.lock().unwrap().levers.push((Instant::now(), lever.clone()));
        Ok(format!("pulled {}", lever.name()))
    }

    fn reset(&self) {
        self.0.lock().unwrap().resets += 1;
    }
}

fn effect(felt: &Felt) -> Effect {
    felt.effects.last().map_or(Effect::NONE, |(_, effect)| *effect)
}

impl Server {
    pub(crate) fn start() -> Self {
        let felt = Arc::new(Mutex::new(Felt::default()));
        let audit = Audit::memory();
        let plane = server_plane(Arc::new(Feeling(Arc::clone(&felt))), audit.clone());
        let listener = Listener::start(any_port(), Guard::loopback(), plane).unwrap();
        Self { felt, audit, listener }
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        self.listener.addr()
    }

    pub(crate) fn client(&self) -> ControlClient {
        client(self.addr())
    }

    pub(crate) fn felt<T>(&self, look: impl FnOnce(&Felt) -> T) -> T {
        look(&self.felt.lock().unwrap())
    }

    /// Whether a fault is felt, without a word to the control plane.
    pub(crate) fn is_hurt(&self) -> bool {
        self.felt(|felt| effect(felt) != Effect::NONE)
    }

    /// For how long the first fault was felt.
    pub(crate) fn first_fault(&self) -> (Instant, Duration) {
        self.felt(|felt| {
            let began = felt.effects.iter().find(|(_, e)| *e != Effect::NONE).unwrap().0;
            let ended = felt.effects.iter().find(|(at, e)| *at > began && *e == Effect::NONE);
            (began, ended.unwrap().0 - began)
        })
    }
}

pub(crate) fn client(addr: SocketAddr) -> ControlClient {
    ControlClient::new(&addr.to_string(), None).unwrap()
}

pub(crate) fn cause() -> Cause {
    Cause::new("test", "to see")
}

pub(crate) fn short_terms() -> LeaseTerms {
    LeaseTerms::new(Duration::from_secs(1), Duration::from_millis(200)).unwrap()
}

pub(crate) fn stall(name: &str, length: Duration) -> HoldRequest {
    HoldRequest {
        name: name.to_owned(),
        kind: FaultKind::Stall,
        ends: Instant::now() + length,
        terms: short_terms(),
        cause: cause(),
    }
}

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
