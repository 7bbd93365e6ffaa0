//! The engine in virtual time: the policies of goodput, and nothing else, as a discrete-event
//! simulation.
//!
//! [`run`] carries a scenario out as the network rig does and yields the same run log: the same
//! windows, events and totals. It drives the very policy values that the rig drives; what it adds is a
//! network that takes its time and callers who are punctual. It cannot fail, it reads no clock, and
//! the same scenario and seed give the same log, byte for byte.
//!
//! # The model
//!
//! - An arrival is issued when the schedule wants it. Its retry layers make attempts, which take
//!   [`Network`]'s delay to the first tier, pass its edge and limiter, and are answered over the same
//!   way. Clients take turns.
//! - A gateway forwards what its own limiter has served, through its own retry layers and with what is
//!   left of the deadline. It holds no slot while it waits.
//! - A caller that times out closes its connection. A tier that cancels learns that a delay later; in
//!   any other the work goes on, and counts as wasted by its deadline.
//! - At one instant a window closes first; then come faults and levers, time-outs, the ends of backoffs,
//!   arrivals, messages of the network, and the ends of service. So an answer that comes at the very
//!   moment of the time-out comes too late.
//! - When the first thing at or after the trigger's start is due, the gate ([`goodput_gate`]) is asked;
//!   where it withholds the trigger, the run ends there.
//! - Connections are counted, but the load generator's own caps on them are not modelled: an attempt
//!   always finds a connection, and no request is `unsent`.

mod call;
mod caller;
mod gate;
mod levers;
mod network;
mod queue;
mod record;
mod server;
mod simulation;
mod timeline;
mod upstream;

use goodput_clock::{Seed, Timestamp};
use goodput_policy::lever::Lever;
use goodput_runlog::{Cancel, Observer, RunLog};
use goodput_scenario::Scenario;

pub use network::Network;

use simulation::Simulation;

/// What to run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The scenario, or one arm of it.
    pub scenario: Scenario,
    /// The arm's name, for the log.
    pub arm: Option<String>,
    /// Where randomness comes from; arms that are compared share it.
    pub seed: Seed,
    /// The command that repeats the run, for the log.
    pub command: String,
    /// The network between a caller and a tier, in scenario time: what a rig at ten times speed has of
    /// wall time is ten times as long here.
    pub network: Network,
}

impl RunOptions {
    /// A run of `scenario` with its own seed over loopback.
    pub fn new(scenario: Scenario) -> Self {
        Self {
            seed: scenario.seed,
            scenario,
            arm: None,
            command: String::new(),
            network: Network::LOOPBACK,
        }
    }
}

/// Carries a scenario out in virtual time.
///
/// The observer is handed each window and event. Once a second of scenario time `levers` is asked for
/// what a person pulls then, until it has nothing more, and `cancel` whether the run ends here.
///
/// ```
/// use goodput_runlog::Cancel;
/// use goodput_scenario::{Plan, builtin};
/// use goodput_simulator::{RunOptions, run};
///
/// let plan = Plan::parse("short-dip.toml", builtin::SHORT_DIP.text).unwrap();
/// let log = run(&RunOptions::new(plan.scenario), &mut (), &mut |_| None, &Cancel::new());
/// assert_eq!(log.windows.len(), 180);
/// ```
pub fn run(
    options: &RunOptions,
    observer: &mut dyn Observer,
    levers: &mut dyn FnMut(Timestamp) -> Option<Lever>,
    cancel: &Cancel,
) -> RunLog {
    run_counted(options, observer, levers, cancel).0
}

/// Does what [`run`] does, and says how many events there were: arrivals, messages, time-outs, ends of
/// backoffs and of service, faults and levers. What was put off and turned out to be void is not
/// counted.
pub fn run_counted(
    options: &RunOptions,
    observer: &mut dyn Observer,
    levers: &mut dyn FnMut(Timestamp) -> Option<Lever>,
    cancel: &Cancel,
) -> (RunLog, u64) {
    let mut simulation = Simulation::new(options);
    let log = simulation.run(observer, levers, cancel);
    (log, simulation.events())
}
