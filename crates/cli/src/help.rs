//! The ends of the help texts: examples, units and exit codes.
//!
//! A paragraph is one line, which the terminal's width breaks; what is indented keeps its lines and
//! fits into 80 columns.

/// The exit codes of everything that judges.
macro_rules! exit_codes {
    () => {
        "Exit codes:
  0  every expectation held
  1  an expectation did not hold
  2  the command or the scenario is wrong
  3  a run is inconclusive, its trigger was withheld, or an arm marked
     `control` did not fail
  4  interrupted; faults reverted
  5  clean-up could not be confirmed: a fault may be in force still
Over several runs the first of 5, 4, 2, 3, 1 that occurred."
    };
}

/// The exit codes of a command that puts faults in force.
macro_rules! short_exit_codes {
    () => {
        "Exit codes:
  0  done
  1  a fault ended before its time
  2  the command is wrong, or nobody answers
  4  interrupted; faults reverted
  5  clean-up could not be confirmed: a fault may be in force still"
    };
}

/// Units of everything that is written on a command line.
macro_rules! units {
    () => {
        "Units: durations have one (200ms, 5s, 1m30s); rates are requests per second (80, 80/s, \
30k/m); shares are 0.4 or 40%. Scenarios and reports speak scenario time; --speed 10 runs \
240 s in 24 s."
    };
}

pub(crate) const TOP: &str = concat!(
    "Examples:
  goodput demo
  goodput run database-failover --arm drop-expired --speed 10
  goodput compare database-failover --speed 10
  goodput boundary database-failover --arm naive --vary fault.for=2s..30s
  goodput map database-failover --x load.rate=10..95 --y fault.for=1s..60s
  goodput serve --capacity 100 & goodput fault cut --to 40% --for 20s

",
    units!(),
    "\n\n",
    exit_codes!()
);

pub(crate) const DEMO: &str = concat!(
    "Examples:
  goodput demo
  goodput demo --arms naive,drop-expired
  goodput demo --speed 5 --out demos

",
    exit_codes!()
);

pub(crate) const RUN: &str = concat!(
    "Examples:
  goodput run steady --speed 10
  goodput run database-failover --arm naive --speed 10 --seed 7
  goodput run chaos.toml --target http://127.0.0.1:8080 \\
      --control http://127.0.0.1:9901
  goodput run chaos.toml --format json --junit junit.xml
  goodput run chaos.toml --load-control 127.0.0.1:9902

Without --target the servers of the scenario are started on loopback. With it the load goes there; \
--control names the control plane of each tier of the scenario, outermost first, so that faults \
and levers reach it. The run holds the lease of each: a second run is refused, and what this one has \
set ends with it, also where it is killed. A load that is there already is refused too (exit code 2).

",
    units!(),
    "\n\n",
    exit_codes!()
);

pub(crate) const COMPARE: &str = concat!(
    "Examples:
  goodput compare database-failover --speed 10
  goodput compare retry-layers --speed 10 --jobs 1 --format json

All arms share the seed, and so the arrivals.

",
    units!(),
    "\n\n",
    exit_codes!()
);

pub(crate) const BOUNDARY: &str = concat!(
    "Examples:
  goodput boundary database-failover --arm naive --vary fault.for=2s..30s
  goodput boundary database-failover --arm naive --vary fault.for=6s..16s \\
      --engine both --speed 10
  goodput boundary database-failover --arm bounded-queue \\
      --vary tier.queue_limit=100..700
  goodput boundary stall-and-put-back --vary load.rate=10..60 --seeds 1000 \\
      --format json

PATH is what an arm sets, such as tier.order-status.capacity; names may be left out where nothing \
else is meant, as in fault.for. A wrong one is answered with all that there are. A trigger that is \
made longer makes the run longer by as much.

Over seeds the share of runs that fail is given with its Wilson interval (95 %), and the band in \
which it rises from 5 to 95 %. Values far from the band are looked at with few seeds and marked \
coarse. With --engine both the rig runs the band's ends and as many values between as --time \
allows, each beside the simulator's verdict for the same value and seed.

",
    units!(),
    "\n\n",
    "Exit codes:
  0  the boundary was found; measured, it lies within 5 % of the predicted band
  1  the measured boundary lies elsewhere
  2  the command or the scenario is wrong, or the verdict does not flip
  3  the runs cannot be trusted, or the rig saw one side of the boundary only
  4  interrupted; what was done is given, faults reverted
  5  clean-up could not be confirmed: a fault may be in force still"
);

pub(crate) const MAP: &str = concat!(
    "Examples:
  goodput map database-failover --arm naive --x load.rate=10..95:50 \\
      --y fault.for=1s..60s:50
  goodput map database-failover --x load.rate=10..110 \\
      --y client.layer.retries=0..6
  goodput map stall-and-put-back --x load.rate=5..60 --y fault.for=1s..30s \\
      --confirm 6 --speed 10

Each cell is one run of the simulator with the same seed. The lines of the closed forms are drawn \
in where they pass: C / k, the load below which no trigger sticks, and C, the capacity.

",
    units!(),
    "\n\n",
    "Exit codes:
  0  the map was made
  2  the command or the scenario is wrong
  3  every cell is inconclusive
  4  interrupted; what was done is given, faults reverted
  5  clean-up could not be confirmed: a fault may be in force still"
);

pub(crate) const HYSTERESIS: &str = concat!(
    "Examples:
  goodput hysteresis database-failover
  goodput hysteresis database-failover --arm drop-expired --step 10
  goodput hysteresis chaos.toml --from 100 --to 2000 --step 100 --format json

Faults, levers and changes of the load are left out. Each load holds for --dwell on the way up. \
The first that is not served turns the walk round; on the way down a load holds while the backlog \
falls, and the next lower one follows where it does not. Without retries goodput returns where it \
was lost; with k attempts a request it returns at a load that is lower by up to the factor k.

",
    units!(),
    "\n\n",
    "Exit codes:
  0  the loads were walked
  2  the command or the scenario is wrong
  3  the walk cannot be trusted: on the rig, the load was not sent as scheduled
  4  interrupted; what was walked is shown"
);

pub(crate) const DRILL: &str = concat!(
    "Examples:
  goodput drill database-failover
  goodput drill database-failover --action budget+shed-queue --action 'block=?'
  goodput drill database-failover --action 'load=?:60s' --seeds 10
  goodput drill database-failover --engine rig --action budget+restart --seeds 1

An action is one or more steps joined by +, pulled one a second in their order:
  shed-queue          everything that waits is refused
  restart             the server is restarted
  drop-expired        the server begins to drop what cannot be answered in time
  block=60s           nobody is let in for 60 s; callers get 503 (see retry_on)
  admit=20%:60s       20 % are let in for 60 s
  load=20%:60s        80 % of the users are turned away for 60 s before they ask
  budget=sre-ratio    a retry budget at every client layer
  retries=0           no retries at any client layer
  capacity=2          twice the capacity; capacity=2:60s for 60 s
  wait=10s            nothing for 10 s
One number may be ?, such as block=? or load=?:60s: the least that works is sought by bisection, \
and it works when goodput is back for good with every seed. Levers of a server act on the tier \
that the fault hits. On the rig the numbers are given, and each action is one run a seed.

",
    units!(),
    "\n\n",
    "Exit codes:
  0  an action works
  1  none does
  2  the command or the scenario is wrong
  3  the arm is not metastable, or a run is inconclusive
  4  interrupted; what was tried is shown, and faults are reverted
  5  clean-up could not be confirmed: a fault may be in force still"
);

pub(crate) const SERVE: &str = concat!(
    "Examples:
  goodput serve --slots 10 --capacity 100
  goodput serve --capacity 100 --queue-limit 150 --drop-expired
  goodput serve --role gateway --upstream http://127.0.0.1:8080 --retries 3 \\
      --listen 127.0.0.1:8081 --control 127.0.0.1:9904

Beyond loopback the control plane needs a token (--token or GOODPUT_TOKEN).

",
    units!(),
    "\n\n",
    "Exit codes:
  0  ended by a signal
  2  the command is wrong, or an address cannot be listened on"
);

pub(crate) const LOAD: &str = concat!(
    "Examples:
  goodput load --target http://127.0.0.1:8080 -r 80 -d 30s
  goodput load --target http://127.0.0.1:8080/orders/1 -r 200/s -d 1m -t 200ms \\
      --retries 3
  goodput load database-failover --target http://127.0.0.1:8080 --speed 10

The load is open loop: a request is sent when it is due, whatever became of the others. Three \
latencies are given: response (from the intended send time), service (from the actual one to the \
answer) and send lag (the actual send time minus the intended one).

",
    units!(),
    "\n\n",
    "Exit codes:
  0  the load was sent as scheduled
  2  the command or the scenario is wrong, or the target cannot be reached
  3  not sent as scheduled: the generator was late or out of connections
  4  interrupted"
);

pub(crate) const FAULT: &str = concat!(
    "Examples:
  goodput fault cut --to 40% --for 20s
  goodput fault cut --to 40% --mode slots --for 5m --detach
  goodput fault stall --for 10s --control http://127.0.0.1:9901
  goodput fault list
  goodput fault clear cut
  goodput fault reset --all

A fault stays in force only while its lease is renewed. `cut` and `stall` renew it until --for has \
passed and revert it then, or on Ctrl-C; with --detach they leave it to a lease of that length. The \
server gives each fault an id, by which it is renewed and reverted: another's of the same name is left \
alone. `clear` ends whichever fault has the name; `reset` what you have put there (you are $USER), with \
--all everybody's, and the lease of a run. A cut that would change nothing, as where the capacity is \
unlimited, is refused. Durations here are wall time.

",
    short_exit_codes!()
);

pub(crate) const INJECTOR: &str = concat!(
    "Examples:
  goodput fault serve
  goodput fault serve --control gateway=http://127.0.0.1:9904 \\
      --control order-status=http://127.0.0.1:9901

It answers GET /state, GET|POST /faults, DELETE /faults/{name} with the fault's id, \
GET|POST|DELETE /timeline, POST /reset, GET /metrics and GET /healthz. While it plays a timeline it \
holds the leases of its control planes, as a run does. A signal ends every fault, then the process. Kill it, and \
the servers end the faults when their leases run out.

",
    short_exit_codes!()
);

pub(crate) const LEVER: &str = concat!(
    "Examples:
  goodput lever shed-queue
  goodput lever admit 20% --for 30s --ramp 10s
  goodput lever budget sre-ratio
  goodput lever retries 0
  goodput lever limiter --queue-limit 150 --drop-expired true

shed-queue, admit, restart and limiter act on a server (http://127.0.0.1:9901 by default); budget, \
retries and rate act on a load generator (http://127.0.0.1:9902). The state read back is printed; a \
lever that finds nothing to change says so, and exits with 0. Durations and rates here are wall time.

",
    "Exit codes:
  0  done
  2  the command is wrong, or nobody answers"
);

pub(crate) const REPORT: &str = concat!(
    "Examples:
  goodput report runs/20260101T120000Z-steady
  goodput report runs/20260101T120000Z-steady --html again.html --format json

Judges a saved run again and draws its report; nothing is run.

",
    exit_codes!()
);

pub(crate) const LESSON: &str = "Examples:
  goodput lesson
  goodput lesson 1

Each model is exact: whole seconds, whole requests, nothing random.

Exit codes:
  0  the lesson was printed
  2  there is no such lesson";

pub(crate) const VALIDATE: &str = "Examples:
  goodput validate chaos.toml
  goodput validate -v database-failover

Exit codes:
  0  every scenario is valid
  2  one is not";
