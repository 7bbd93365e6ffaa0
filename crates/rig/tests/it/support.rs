//! Runs, and servers that run elsewhere.

use std::net::SocketAddr;
use std::sync::mpsc::{Sender, channel};

use goodput_clock::Scale;
use goodput_control::api::ServerState;
use goodput_control::{Audit, ControlClient};
use goodput_order_status::{GatewayConfig, Role, Server, ServerConfig};
use goodput_policy::lever::Lever;
use goodput_policy::limiter::LimiterConfig;
use goodput_rig::{Remote, RemoteTier, RigError, RunOptions, Target, run};
use goodput_runlog::{Cancel, Event, EventKind, Observer, RunLog, Window};
use goodput_scenario::{Plan, Scenario};
use goodput_test_support::{CALM, block_on, client};
use goodput_verdict::{DoubtKind, Exit, Judgement, judge};

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
        by: "a test".to_owned(),
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

/// A calm scenario whose order-status server stands behind a gateway that retries twice.
pub(crate) fn gated() -> Scenario {
    let gate = "[[tier]]\nname = \"gate\"\n[[tier.layer]]\ntimeout = \"1s\"\nretries = 2\n[[tier]]";
    scenario(&CALM.replace("[[tier]]", gate))
}

/// The gateway of a [`gated`] scenario before `last`, changed.
pub(crate) fn gate(
    scenario: &Scenario,
    speed: f64,
    last: &Server,
    change: impl FnOnce(&mut GatewayConfig),
) -> Server {
    let mut gateway = GatewayConfig::new(goodput_client::Target::from(last.data_addr()));
    gateway.layers.clone_from(&scenario.tiers[0].layers);
    change(&mut gateway);
    let (role, limiter) = (Role::Gateway(gateway), LimiterConfig::default());
    Server::start(ServerConfig { role, limiter, ..config(scenario, speed) }).unwrap()
}

/// One tier `gate` that runs elsewhere.
pub(crate) fn at_gate(gate: &Server) -> Target {
    match remote(gate.data_addr(), Some(gate.control_addr())) {
        Target::Remote(mut remote) => {
            "gate".clone_into(&mut remote.tiers[0].name);
            Target::Remote(remote)
        }
        Target::Loopback => Target::Loopback,
    }
}

/// Asks a control plane from a thread of its own, since an observer is called inside a runtime.
pub(crate) fn ask<T: Send>(
    control: SocketAddr,
    question: impl AsyncFnOnce(&ControlClient) -> T + Send,
) -> T {
    std::thread::scope(|scope| scope.spawn(|| block_on(question(&client(control)))).join().unwrap())
}

pub(crate) fn state(control: SocketAddr) -> ServerState {
    ask(control, async |client| client.server_state().await.unwrap())
}
