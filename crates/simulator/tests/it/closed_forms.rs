//! What the closed forms claim of a trigger's length, against the boundary that the engine has, where
//! it is nearly a fluid: constant arrivals at hundreds a second, services of milliseconds.

use std::time::Duration;

use goodput_scenario::closed_form::{ClosedForms, Forecast};
use goodput_scenario::{Plan, Scenario};

use crate::support::{good_share, log_of};

/// A load on one tier with a client that retries, and how the load or the capacity is disturbed.
struct Setting {
    name: &'static str,
    load: f64,
    capacity: f64,
    slots: u32,
    timeout: &'static str,
    retries: u32,
    backoff: &'static str,
    trigger: Trigger,
    /// Other keys of the tier.
    tier: &'static str,
}

enum Trigger {
    /// The load goes up to so many a second.
    Spike(f64),
    /// The tier has this fault.
    Fault(&'static str),
    /// Both at once.
    Both(f64, &'static str),
}

/// When the trigger begins.
const BEGINS: f64 = 2.0;
/// How long the end of a run is looked at.
const END: u64 = 8;

impl Setting {
    /// The run with a trigger of that length, long enough to see what became of it.
    fn with(&self, seconds: f64) -> Scenario {
        let Self { load, capacity, slots, timeout, retries, backoff, tier, .. } = self;
        let spike = |rate: f64| {
            format!("[[load.change]]\nrate = {rate}\nat = \"{BEGINS}s\"\nfor = \"{seconds}s\"\n")
        };
        let fault =
            |kind: &str| format!("[[fault]]\n{kind}\nat = \"{BEGINS}s\"\nfor = \"{seconds}s\"\n");
        let trigger = match self.trigger {
            Trigger::Spike(rate) => spike(rate),
            Trigger::Fault(kind) => fault(kind),
            Trigger::Both(rate, kind) => format!("{}{}", spike(rate), fault(kind)),
        };
        let text = format!(
            "name = \"fluid\"\nduration = \"600s\"\n\
             [load]\nrate = {load}\narrivals = \"constant\"\n\
             [[client.layer]]\ntimeout = \"{timeout}\"\nretries = {retries}\nbackoff = {backoff}\n\
             [[tier]]\nname = \"a\"\nslots = {slots}\ncapacity = {capacity}\n{tier}\n{trigger}\
             [expect]\nverdict = \"metastable\"\nhold = \"1s\"\nwithin = \"1s\"\n"
        );
        let mut scenario = Plan::parse("test.toml", &text).unwrap().scenario;
        let life = scenario.client.layers[0].timeout.unwrap().as_secs_f64() * 4.0;
        let drain = seconds * (self.peak() / capacity).max(1.0) * capacity / (capacity - load);
        let length = BEGINS + seconds + drain + life + 2.0 * END as f64;
        scenario.duration = Duration::from_secs(length.ceil() as u64);
        scenario
    }

    fn peak(&self) -> f64 {
        match self.trigger {
            Trigger::Spike(rate) | Trigger::Both(rate, _) => rate,
            Trigger::Fault(_) => self.load,
        }
    }

    fn forms(&self, seconds: f64) -> ClosedForms {
        ClosedForms::of(&self.with(seconds)).unwrap()
    }

    /// Whether less than half of what comes at the end is served in time, by plain counting.
    fn sticks(&self, seconds: f64) -> bool {
        let scenario = self.with(seconds);
        let end = scenario.duration.as_secs();
        good_share(&log_of(&scenario, 1), end - END, end) < 0.5
    }

    /// How many attempts timed out.
    fn timed_out(&self, seconds: f64) -> u64 {
        let log = log_of(&self.with(seconds), 1);
        let failed =
            log.windows.iter().filter_map(|window| window.client.attempts_failed.get("timeout"));
        failed.sum()
    }
}

/// A load, a capacity and how many slots share it.
type Tier = (f64, f64, u32);
/// A time-out, how many retries, and their backoff.
type Client = (&'static str, u32, &'static str);

const AT_ONCE: &str = "{ base = \"0s\" }";
const SHORT: &str = "{ base = \"100ms\" }";
const LONG: &str = "{ base = \"2s\", factor = 1 }";
const JITTER: &str = "{ base = \"500ms\", jitter = \"full\" }";
const PATIENT: Client = ("1s", 3, SHORT);

fn setting(name: &'static str, tier: Tier, client: Client, trigger: Trigger) -> Setting {
    let ((load, capacity, slots), (timeout, retries, backoff)) = (tier, client);
    Setting { name, load, capacity, slots, timeout, retries, backoff, trigger, tier: "" }
}

/// The first is that of the issue.
fn spikes() -> Vec<Setting> {
    let of = |name, tier, client, rate| setting(name, tier, client, Trigger::Spike(rate));
    vec![
        of("800 to 4,000", (800.0, 2000.0, 20), ("750ms", 2, AT_ONCE), 4000.0),
        of("800 to 4,000, backoff", (800.0, 2000.0, 20), ("750ms", 2, SHORT), 4000.0),
        of("one retry", (600.0, 1000.0, 10), ("1s", 1, AT_ONCE), 3000.0),
        of("just above capacity", (450.0, 500.0, 5), ("500ms", 3, SHORT), 650.0),
        of("far above capacity", (300.0, 500.0, 4), PATIENT, 5000.0),
        of("long backoff", (350.0, 500.0, 4), ("500ms", 3, LONG), 2000.0),
        of("jitter", (350.0, 500.0, 4), ("1s", 3, JITTER), 1500.0),
        of("long service", (300.0, 500.0, 100), PATIENT, 1500.0),
        Setting {
            tier: "queue_limit = 1000",
            ..of("bounded queue", (300.0, 500.0, 4), PATIENT, 2000.0)
        },
    ]
}

fn cuts() -> Vec<Setting> {
    let of = |name, tier, client, fault| setting(name, tier, client, Trigger::Fault(fault));
    vec![
        of("cut", (400.0, 500.0, 4), PATIENT, CUT),
        of("cut, one retry", (400.0, 500.0, 4), ("1s", 1, AT_ONCE), DEEP_CUT),
        of("cut, low load", (220.0, 500.0, 4), PATIENT, CUT),
        of("cut, high load", (480.0, 500.0, 4), ("1s", 2, SHORT), CUT),
        of("cut of slots", (400.0, 500.0, 20), PATIENT, SLOTS),
        of("cut, long backoff", (350.0, 500.0, 4), ("500ms", 3, LONG), CUT),
        of("cut, long service", (400.0, 500.0, 100), PATIENT, CUT),
        of("stall", (300.0, 500.0, 4), PATIENT, STALL),
        of("stall, long service", (300.0, 500.0, 100), PATIENT, STALL),
        Setting {
            tier: "charge = \"admission\"",
            ..of("cut, charged on arrival", (400.0, 500.0, 4), PATIENT, CUT)
        },
    ]
}

fn both() -> Vec<Setting> {
    let of = |name, tier, rate, cut| setting(name, tier, PATIENT, Trigger::Both(rate, cut));
    vec![
        of("spike above capacity and cut", (300.0, 500.0, 4), 800.0, CUT),
        of("spike below capacity and cut", (300.0, 500.0, 4), 400.0, CUT),
    ]
}

const CUT: &str = "kind = \"capacity\"\nto = 0.4";
const DEEP_CUT: &str = "kind = \"capacity\"\nto = 0.2";
const SLOTS: &str = "kind = \"capacity\"\nto = 0.25\nmode = \"slots\"";
const STALL: &str = "kind = \"stall\"";

/// Below the lower bound not one attempt times out, and above the upper one it sticks; 2 % on both sides is
/// what a request more or less makes.
fn assert_enclosed(settings: &[Setting]) {
    let mut wrong = Vec::new();
    for setting in settings {
        let forms = setting.forms(1.0);
        let (safe, sure) = (forms.safe_trigger.unwrap(), forms.sure_trigger.unwrap());
        let (mut low, mut high) = (0.98 * safe, 1.02 * sure);
        let timed_out = setting.timed_out(low);
        let ends = [low, high, 1.5 * sure, 3.0 * sure].map(|seconds| setting.sticks(seconds));
        while high - low > 0.01 * high {
            let middle = f64::midpoint(low, high);
            if setting.sticks(middle) { high = middle } else { low = middle }
        }
        let found =
            format!("{}: {safe:.3} to {sure:.3}, engine {low:.3} to {high:.3}", setting.name);
        if timed_out > 0 || ends != [false, true, true, true] {
            wrong.push(format!("{found}; {timed_out} timed out, {ends:?}"));
        }
        assert_eq!(setting.forms(0.98 * safe).forecast(), Forecast::Recovers, "{found}");
        assert_eq!(setting.forms(1.02 * sure).forecast(), Forecast::Sticks, "{found}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_safe_and_the_sure_trigger_enclose_the_boundary_of_spikes() {
    assert_enclosed(&spikes());
}

#[test]
fn the_safe_and_the_sure_trigger_enclose_the_boundary_of_cuts() {
    assert_enclosed(&cuts());
}

#[test]
fn the_safe_and_the_sure_trigger_enclose_the_boundary_of_both_at_once() {
    assert_enclosed(&both());
}

/// The spike of the issue stuck from 0.945 s on, where a sure trigger of 0.75 s was told.
#[test]
fn the_bounds_of_a_spike_are_near_each_other() {
    let forms = spikes()[0].forms(1.0);
    assert!(!spikes()[0].sticks(0.93) && spikes()[0].sticks(0.96));
    assert!(forms.sure_trigger.unwrap() < 1.1 * 0.96, "{forms:?}");
}
