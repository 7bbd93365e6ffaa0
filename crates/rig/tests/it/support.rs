//! Scenarios, runs that take turns, servers, and a wire that can be cut.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use goodput_clock::Scale;
use goodput_control::api::ServerState;
use goodput_control::{Audit, ControlClient};
use goodput_order_status::{Server, ServerConfig};
use goodput_policy::lever::Lever;
use goodput_rig::{Remote, RemoteTier, RigError, RunOptions, Target, run};
use goodput_runlog::{Cancel, Event, EventKind, Observer, RunLog, Window};
use goodput_scenario::{Plan, Scenario};
use goodput_verdict::{DoubtKind, Exit, Judgement, judge};

/// A cut of 5 s that is absorbed, 40 s in all.
pub(crate) const SHORT_CUT: &str = r#"
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
pub(crate) const CALM: &str = r#"
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

/// Holds back every other run of this process.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    // A test that failed leaves nothing behind that another could stumble over.
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn scenario(text: &str) -> Scenario {
    Plan::parse("test.toml", text).unwrap_or_else(|error| panic!("{error}")).scenario
}

pub(crate) fn options(scenario: &Scenario, speed: f64, target: Target) -> RunOptions {
    RunOptions {
        scenario: scenario.clone(),
        arm: None,
        seed: scenario.seed,
        scale: Scale::new(speed).unwrap(),
        command: "a test".to_owned(),
        target,
        audit: Audit::memory(),
        load_control: None,
    }
}

/// A run and what its observer saw of it.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) log: RunLog,
    pub(crate) windows: Vec<Window>,
    pub(crate) events: Vec<Event>,
    pub(crate) judgement: Judgement,
    expect: goodput_scenario::Expectations,
}

impl Ran {
    pub(crate) fn exit(&self) -> u8 {
        Exit::of(&self.judgement, &self.expect, false).code()
    }

    pub(crate) fn control_exit(&self) -> u8 {
        Exit::of(&self.judgement, &self.expect, true).code()
    }

    /// The text of the first doubt of this kind.
    pub(crate) fn doubt(&self, kind: DoubtKind) -> Option<&str> {
        let doubts = &self.judgement.doubts;
        doubts.iter().find(|doubt| doubt.kind == kind).map(|doubt| doubt.text.as_str())
    }

    /// When what `is` names happened, in seconds.
    pub(crate) fn when(&self, is: impl Fn(&EventKind) -> bool) -> Option<f64> {
        let event = self.log.events.iter().find(|event| is(&event.kind));
        event.map(|event| event.at.as_secs_f64())
    }
}

struct Watcher<F> {
    windows: Vec<Window>,
    events: Vec<Event>,
    act: F,
}

impl<F: FnMut(u64)> Observer for Watcher<F> {
    fn on_window(&mut self, window: &Window) {
        self.windows.push(window.clone());
        (self.act)(window.second);
    }

    fn on_event(&mut self, event: &Event) {
        self.events.push(event.clone());
    }
}

/// Runs, and calls `act` with the second of each window that has come in.
pub(crate) fn try_run(
    options: RunOptions,
    mut act: impl FnMut(u64, &Sender<Lever>, &Cancel),
) -> Result<Ran, RigError> {
    let scenario = options.scenario.clone();
    let ((levers, pulled), cancel) = (channel(), Cancel::new());
    let act = |second| act(second, &levers, &cancel);
    let mut watcher = Watcher { windows: Vec::new(), events: Vec::new(), act };
    let log = run(options, &mut watcher, pulled, cancel.clone())?;
    let judgement = judge(&log, &scenario);
    let Watcher { windows, events, .. } = watcher;
    Ok(Ran { log, windows, events, judgement, expect: scenario.expect })
}

pub(crate) fn run_with(options: RunOptions, act: impl FnMut(u64, &Sender<Lever>, &Cancel)) -> Ran {
    try_run(options, act).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs on loopback; at a third of the speed, and at a tenth, where the run says of itself that the
/// machine is too busy for more.
pub(crate) fn run_trusted(scenario: &Scenario, speed: f64) -> Ran {
    for speed in [speed, speed / 3.0] {
        let ran = run_with(options(scenario, speed, Target::Loopback), |_, _, _| {});
        let late = ran.doubt(DoubtKind::GeneratorLate).or(ran.doubt(DoubtKind::Unsent));
        let Some(late) = late else { return ran };
        println!("too busy for speed {speed}: {late}");
    }
    run_with(options(scenario, speed / 10.0, Target::Loopback), |_, _, _| {})
}

/// A server as a scenario's last tier asks for, in this process.
pub(crate) fn server(scenario: &Scenario, speed: f64) -> Server {
    Server::start(config(scenario, speed)).unwrap()
}

pub(crate) fn config(scenario: &Scenario, speed: f64) -> ServerConfig {
    ServerConfig {
        limiter: scenario.tiers.last().unwrap().limiter.clone(),
        scale: Scale::new(speed).unwrap(),
        ..ServerConfig::default()
    }
}

/// One tier `order-status` that runs elsewhere.
pub(crate) fn remote(data: SocketAddr, control: Option<SocketAddr>) -> Target {
    let tier = |control| RemoteTier {
        name: "order-status".to_owned(),
        control: format!("http://{control}"),
    };
    Target::Remote(Remote {
        url: format!("http://{data}"),
        tiers: control.map(tier).into_iter().collect(),
        token: None,
    })
}

/// Asks a control plane from a thread of its own, since an observer is called inside a runtime.
pub(crate) fn ask<T: Send>(
    control: SocketAddr,
    question: impl AsyncFnOnce(&ControlClient) -> T + Send,
) -> T {
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let client = ControlClient::new(&control.to_string(), None).unwrap();
            runtime.unwrap().block_on(question(&client))
        });
        asked.join().unwrap()
    })
}

pub(crate) fn state(control: SocketAddr) -> ServerState {
    ask(control, async |client| client.server_state().await.unwrap())
}

pub(crate) fn any_port() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// A wire to a server that can be cut: then nothing gets through in either direction, and no end of
/// a connection is told the other.
pub(crate) struct Wire {
    pub(crate) addr: SocketAddr,
    cut: Arc<AtomicBool>,
}

impl Wire {
    pub(crate) fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind(any_port()).unwrap();
        let addr = listener.local_addr().unwrap();
        let cut = Arc::new(AtomicBool::new(false));
        let is_cut = Arc::clone(&cut);
        std::thread::spawn(move || {
            for near in listener.incoming() {
                let (Ok(near), Ok(far)) = (near, TcpStream::connect(server)) else { break };
                let ways = [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)];
                for (from, to) in ways {
                    let is_cut = Arc::clone(&is_cut);
                    std::thread::spawn(move || forward(from, to, &is_cut));
                }
            }
        });
        Self { addr, cut }
    }

    pub(crate) fn cut(&self) {
        self.cut.store(true, Ordering::SeqCst);
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream, is_cut: &AtomicBool) {
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        if !is_cut.load(Ordering::SeqCst) && to.write_all(&buffer[..read]).is_err() {
            return;
        }
    }
    if !is_cut.load(Ordering::SeqCst) {
        // The other way may have ended already.
        let _ = to.shutdown(std::net::Shutdown::Both);
    }
}
