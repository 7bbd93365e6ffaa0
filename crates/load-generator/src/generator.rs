//! The handle of a running load.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Instant, SystemTime};

use goodput_client::{
    Alarm, Client, ClientConfig, Protocol, Target, WallClock, peak_memory, raise_file_limit,
};
use goodput_clock::Timestamp;
use goodput_control::api::Commands;
use goodput_control::{CommandLog, Listener, load_plane};
use goodput_policy::lever::Lever;
use goodput_policy::retry::{LayerCounters, Layers};
use goodput_runlog::{ClientRecorder, ClientWindow, Cohort, Recorded, Totals};
use goodput_scenario::schedule::Schedule;
use goodput_scenario::{Protocol as ScenarioProtocol, Scenario};
use tokio::runtime::Runtime;
use tokio::sync::Notify;

use crate::board::{Board, Command, Controlled, Figures, LoadFigures};
use crate::config::{GeneratorConfig, StartError};
use crate::fold::{Fold, recorder};
use crate::load_thread::{LoadThread, Progress};
use crate::metrics::{RunInfo, metrics};
use crate::template::Requests;

/// A window that is complete.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedWindow {
    /// Its start in whole seconds of scenario time.
    pub second: u64,
    /// What was seen in it.
    pub window: ClientWindow,
}

/// What a load came to.
#[derive(Clone, Debug)]
pub struct GeneratorReport {
    /// The windows that had not been handed out before, of the time after the last arrival too.
    pub windows: Vec<FinishedWindow>,
    /// What became of the requests that arrived in each second.
    pub cohorts: Vec<(u64, Cohort)>,
    /// Histograms over the whole run.
    pub totals: Totals,
    /// Requests that the schedule asked for; what fell into a halt is left out.
    pub scheduled: u64,
    /// Requests that were issued.
    pub offered: u64,
    /// Requests that ended well and in time.
    pub good: u64,
    /// Requests that found no connection because of the caps, or of limits of this process.
    pub unsent: u64,
    /// Whether every request had ended before the drain was over.
    pub drained: bool,
    /// The 99th percentile of the send lag, in seconds of wall time.
    pub send_lag_p99_wall: f64,
    /// What each layer did, outermost first, by name.
    pub layers: BTreeMap<String, LayerCounters>,
    /// Connections that were established.
    pub connects: u64,
    /// Resident memory of this process at its largest, in bytes.
    pub memory_peak: u64,
}

/// A load that runs on a thread of its own.
///
/// To drop it ends the load at once, and waits for nothing that is in flight.
#[derive(Debug)]
pub struct Generator {
    board: Arc<Board>,
    windows: Receiver<FinishedWindow>,
    cohorts: Receiver<(u64, Cohort)>,
    /// The decided cohorts that have been looked at already.
    decided: Vec<(u64, Cohort)>,
    thread: Option<JoinHandle<Account>>,
    control: Option<Listener>,
    commands: Arc<CommandLog>,
    clock: WallClock,
}

impl Generator {
    /// Starts a load; returns once its control plane listens and its thread runs.
    ///
    /// # Errors
    ///
    /// Where the target, the request or the control plane cannot be used, or no thread be made.
    pub fn start(config: GeneratorConfig) -> Result<Self, StartError> {
        raise_file_limit();
        let target = Target::resolve(&config.target)?;
        let requests = Requests::new(&config.scenario.load.request, &target, config.seed)?;
        let clock = WallClock::new(config.epoch, config.scale);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .event_interval(EVENT_INTERVAL)
            .build()?;
        let entered = runtime.enter();
        let board = Arc::new(board(&config, target, clock)?);
        let alarm = Alarm::new()?;
        drop(entered);
        let commands = Arc::new(CommandLog::default());
        let control = match config.control {
            None => None,
            Some(control) => {
                let lent = Arc::new(Controlled(Arc::clone(&board)));
                let log = Arc::clone(&commands);
                let plane = load_plane(lent, log, config.run.as_ref(), control.audit);
                Some(Listener::start(control.bind, control.guard, plane)?)
            }
        };
        let scenario = config.scenario;
        let watched = scenario.duration + config.watch;
        let schedule = Schedule::new(&scenario.load, watched, config.seed);
        let (sender, windows) = mpsc::channel();
        let (cohort_sender, cohorts) = mpsc::channel();
        let load = LoadThread {
            board: Arc::clone(&board),
            clock,
            alarm,
            configured: schedule.clone(),
            schedule,
            requests,
            clients: scenario.client.clients.max(1),
            deadline: scenario.client.deadline,
            ends: Timestamp::ZERO + scenario.duration,
            drain: config.drain,
            windows: sender,
            cohorts: cohort_sender,
            progress: Progress::default(),
        };
        let thread = std::thread::Builder::new()
            .name("load".to_owned())
            .spawn(move || carry_out(&runtime, load))?;
        let decided = Vec::new();
        let thread = Some(thread);
        Ok(Self { board, windows, cohorts, decided, thread, control, commands, clock })
    }

    /// Where the control plane listens.
    pub fn control_addr(&self) -> Option<SocketAddr> {
        self.control.as_ref().map(Listener::addr)
    }

    /// What was asked of its control plane lately.
    pub fn commands(&self) -> Commands {
        self.commands.view()
    }

    /// Finished windows, in order of time. They arrive within a tenth of a second of wall time.
    pub const fn windows(&self) -> &Receiver<FinishedWindow> {
        &self.windows
    }

    /// What has become so far of the requests that arrived in each second since the start, decided or
    /// not.
    pub fn cohorts(&mut self) -> Vec<(u64, Cohort)> {
        // Under the lock no cohort can move from the recorder into the channel meanwhile.
        self.board.client.with_layers(|_, fold| {
            self.decided.extend(self.cohorts.try_iter());
            self.decided.iter().copied().chain(fold.recorder.cohorts()).collect()
        })
    }

    /// The clock of the run.
    pub const fn clock(&self) -> WallClock {
        self.clock
    }

    /// Pulls the lever `budget`, `retries` or `rate`, in scenario time, and says what it did.
    ///
    /// # Errors
    ///
    /// Where it is a server's lever, or names a layer that is not there.
    pub fn pull(&self, lever: &Lever) -> Result<String, String> {
        self.board.pull_scenario(lever)
    }

    /// Sends no new requests until [`Generator::resume`]. What is in flight goes on.
    pub fn halt(&self) {
        self.board.call(Command::Halt);
    }

    /// Goes on with the schedule; what it asked for meanwhile is not made up for.
    pub fn resume(&self) {
        self.board.call(Command::Resume);
    }

    /// Issues no more requests, for good.
    pub fn stop(&self) {
        self.board.call(Command::Stop);
    }

    /// Whether the load and its drain are over, so that [`Generator::finish`] returns at once.
    pub fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits until the schedule has ended or was stopped, and requests in flight have ended or the
    /// drain is over.
    ///
    /// # Panics
    ///
    /// Where the load's thread has panicked.
    pub fn finish(mut self) -> GeneratorReport {
        let account = match self.thread.take().map(JoinHandle::join) {
            Some(Ok(account)) => account,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Account::take(&self.board, self.clock.now(), Progress::default(), true),
        };
        let Account { progress, drained, ended, recorder, layers, connects } = account;
        let lag = recorder.send_lag_quantile(0.99);
        let (good, unsent) = (recorder.good_total(), recorder.unsent_total());
        let Recorded { windows, cohorts, totals } = recorder.finish(ended);
        let rest = windows.into_iter().map(|(second, window)| FinishedWindow { second, window });
        GeneratorReport {
            windows: self.windows.try_iter().chain(rest).collect(),
            cohorts: self.decided.drain(..).chain(self.cohorts.try_iter()).chain(cohorts).collect(),
            totals,
            scheduled: progress.scheduled,
            offered: progress.offered,
            good,
            unsent,
            drained,
            send_lag_p99_wall: self.clock.scale().to_wall(lag).as_secs_f64(),
            layers,
            connects,
            memory_peak: peak_memory(),
        }
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.board.call(Command::Abandon);
            // A panic of the thread has been printed by its hook.
            let _ = thread.join();
        }
    }
}

fn carry_out(runtime: &Runtime, mut load: LoadThread) -> Account {
    let drained = runtime.block_on(load.run());
    Account::take(&load.board, load.clock.now(), load.progress, drained)
}

/// What a load came to, taken before its runtime goes: the connections that end with that would count
/// as broken, and their requests as failed.
#[derive(Debug)]
struct Account {
    progress: Progress,
    drained: bool,
    ended: Timestamp,
    recorder: ClientRecorder,
    layers: BTreeMap<String, LayerCounters>,
    connects: u64,
}

impl Account {
    fn take(board: &Board, ended: Timestamp, progress: Progress, drained: bool) -> Self {
        let connects = board.client.status().connects;
        let (layers, recorder) = board.client.with_layers(|layers, fold| {
            (by_name(layers), std::mem::replace(&mut fold.recorder, ClientRecorder::new(&[], &[])))
        });
        Self { progress, drained, ended, recorder, layers, connects }
    }
}

fn board(config: &GeneratorConfig, target: Target, clock: WallClock) -> Result<Board, StartError> {
    let scenario = &config.scenario;
    let layers = scenario.client.layers.clone();
    let clients = scenario.client.clients.max(1);
    let told = Layers::new(layers.clone(), clients, config.seed.stream("metrics"));
    let name = target.to_string();
    let run = RunInfo {
        scenario: &scenario.name,
        seed: &config.seed.0.to_string(),
        target: &name,
        started: SystemTime::now() + config.epoch.saturating_duration_since(Instant::now()),
    };
    let (metrics, hot) = metrics(&told, config.scale, &run)?;
    let fold = Fold::new(recorder(scenario), hot, config.scale);
    let client = Client::new(client_config(scenario, target, config), clock, fold);
    let figures = Figures {
        load: LoadFigures { rate: scenario.load.rate.per_second(), ..LoadFigures::default() },
        counters: told.counters().to_vec(),
        configs: layers.clone(),
    };
    Ok(Board {
        client,
        metrics,
        clock,
        scenario: scenario.name.clone(),
        target: name,
        load: scenario.load.clone(),
        layers,
        called: Notify::new(),
        commands: Mutex::default(),
        figures: Mutex::new(figures),
    })
}

fn client_config(scenario: &Scenario, target: Target, config: &GeneratorConfig) -> ClientConfig {
    let client = &scenario.client;
    ClientConfig {
        target,
        protocol: match client.protocol {
            ScenarioProtocol::Http1 => Protocol::Http1,
            ScenarioProtocol::Http2 => Protocol::HTTP2,
        },
        clients: client.clients.max(1),
        layers: client.layers.clone(),
        pool: client.pool,
        max_connections: client.max_connections,
        connect_rate: client.connect_rate,
        seed: config.seed,
        keep_answers: None,
    }
}

fn by_name(layers: &Layers) -> BTreeMap<String, LayerCounters> {
    let names = layers.configs().iter().map(|layer| layer.name.clone());
    names.zip(layers.counters().iter().copied()).collect()
}

/// After how many polls of tasks the reactor is looked at, where the thread does not rest.
const EVENT_INTERVAL: u32 = 61;
