//! A server and a load generator that only remember what they are told, and raw HTTP.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use goodput_clock::Rate;
use goodput_control::api::{FaultView, LoadState, ServerCounters, ServerState, limiter_view};
use goodput_control::{
    Audit, ControlClient, Guard, Listener, LoadControl, ServerControl, load_plane, server_plane,
};
use goodput_policy::fault::Effect;
use goodput_policy::lever::Lever;
use goodput_policy::limiter::{Capacity, LimiterConfig, LimiterPatch};

/// A server whose limiter is a configuration and an effect.
pub(crate) struct TestServer {
    pub(crate) inner: Mutex<(LimiterConfig, Effect, f64)>,
}

impl TestServer {
    fn start_config() -> LimiterConfig {
        let capacity = Capacity::Limited(Rate::new(100.0).unwrap());
        LimiterConfig { capacity, ..LimiterConfig::default() }
    }

    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { inner: Mutex::new((Self::start_config(), Effect::NONE, 1.0)) })
    }
}

impl ServerControl for TestServer {
    fn state(&self, faults: Vec<FaultView>) -> ServerState {
        let (config, effect, admitted) = self.inner.lock().unwrap().clone();
        let capacity = match config.capacity {
            Capacity::Unlimited => None,
            Capacity::Limited(_) if effect.stalled => Some(0.0),
            Capacity::Limited(rate) => Some(rate.per_second() * effect.speed * effect.slots),
        };
        ServerState {
            role: "order-status".to_owned(),
            version: "test".to_owned(),
            instance: "test".to_owned(),
            restarts: 0,
            uptime: 1.0,
            speed: 1.0,
            memory: 0,
            limiter: limiter_view(&config),
            layers: Vec::new(),
            slots: config.slots,
            capacity,
            admitted,
            queued: 0,
            in_service: 0,
            oldest_age: 0.0,
            counters: ServerCounters::default(),
            queue_delay: Vec::new(),
            faults,
        }
    }

    fn metrics(&self) -> String {
        let (_, effect, _) = self.inner.lock().unwrap().clone();
        format!("rig_stalled {}\n", u8::from(effect.stalled))
    }

    fn set_effect(&self, effect: Effect) {
        self.inner.lock().unwrap().1 = effect;
    }

    fn patch_limiter(&self, patch: LimiterPatch) -> Result<(), String> {
        let mut inner = self.inner.lock().unwrap();
        inner.0 = inner.0.patched(patch).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn pull(&self, lever: &Lever) -> Result<String, String> {
        if let Lever::Limiter(patch) = lever {
            self.patch_limiter(*patch)?;
        }
        if let Lever::Admit { share, .. } = lever {
            self.inner.lock().unwrap().2 = share.get();
        }
        Ok(format!("pulled {}", lever.name()))
    }

    fn reset(&self) {
        let mut inner = self.inner.lock().unwrap();
        (inner.0, inner.2) = (Self::start_config(), 1.0);
    }
}

/// A load generator that is a rate.
pub(crate) struct TestLoad(Mutex<(f64, bool)>);

impl LoadControl for TestLoad {
    fn state(&self) -> LoadState {
        let (rate, halted) = *self.0.lock().unwrap();
        LoadState {
            version: "test".to_owned(),
            scenario: "test".to_owned(),
            target: "nowhere".to_owned(),
            elapsed: 0.0,
            speed: 1.0,
            rate,
            halted,
            layers: Vec::new(),
            layer_counters: Vec::new(),
            offered: 0,
            good: 0,
            in_flight: 0,
            connections: 0,
        }
    }

    fn metrics(&self) -> String {
        String::new()
    }

    fn pull(&self, lever: &Lever) -> Result<String, String> {
        if let Lever::Rate { rate } = lever {
            self.0.lock().unwrap().0 = rate.per_second();
            return Ok(format!("rate is {rate}"));
        }
        if let Lever::Retries { layer: Some(layer), .. } = lever {
            return Err(format!("no layer named `{layer}`"));
        }
        Ok(String::new())
    }

    fn halt(&self) {
        self.0.lock().unwrap().1 = true;
    }

    fn resume(&self) {
        self.0.lock().unwrap().1 = false;
    }

    fn reset(&self) {
        *self.0.lock().unwrap() = (80.0, false);
    }
}

/// A listener with what stands behind it.
pub(crate) struct Rig {
    pub(crate) server: Arc<TestServer>,
    pub(crate) audit: Audit,
    pub(crate) listener: Listener,
}

pub(crate) fn any_port() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

pub(crate) fn server_with(guard: Guard) -> Rig {
    let (server, audit) = (TestServer::new(), Audit::memory());
    let control: Arc<dyn ServerControl> = Arc::<TestServer>::clone(&server);
    let plane = server_plane(control, audit.clone());
    let listener = Listener::start(any_port(), guard, plane).unwrap();
    Rig { server, audit, listener }
}

pub(crate) fn server() -> Rig {
    server_with(Guard::loopback())
}

pub(crate) fn load() -> (Listener, Audit) {
    let audit = Audit::memory();
    let plane = load_plane(Arc::new(TestLoad(Mutex::new((80.0, false)))), audit.clone());
    (Listener::start(any_port(), Guard::loopback(), plane).unwrap(), audit)
}

pub(crate) fn client(addr: SocketAddr) -> ControlClient {
    ControlClient::new(&addr.to_string(), None).unwrap()
}

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Sends bytes as they are and reads the answer to its end.
pub(crate) fn raw(addr: SocketAddr, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    // A server that refuses a body early may close before it is all sent.
    let _ = stream.write_all(request.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or_else(|| panic!("no answer: {answer:?}")), answer)
}

/// A request with the headers that a client sends, and more.
pub(crate) fn ask(
    addr: SocketAddr,
    method: &str,
    path: &str,
    headers: &[&str],
    body: &str,
) -> (u16, String) {
    let mut head = vec![format!("{method} {path} HTTP/1.1"), "Connection: close".to_owned()];
    if !headers.iter().any(|header| header.to_ascii_lowercase().starts_with("host:")) {
        head.push(format!("Host: {addr}"));
    }
    head.extend(headers.iter().map(|header| (*header).to_owned()));
    if !body.is_empty() {
        head.push(format!("Content-Length: {}", body.len()));
    }
    raw(addr, &format!("{}\r\n\r\n{body}", head.join("\r\n")))
}

/// The same with a JSON body.
pub(crate) fn ask_json(addr: SocketAddr, method: &str, path: &str, body: &str) -> (u16, String) {
    ask(addr, method, path, &["Content-Type: application/json"], body)
}

/// The JSON body of an answer.
pub(crate) fn json(answer: &str) -> serde_json::Value {
    let body = answer.split_once("\r\n\r\n").expect("an answer has a body").1;
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error} in {answer:?}"))
}
