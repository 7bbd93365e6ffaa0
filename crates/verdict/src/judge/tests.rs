//! The judge on synthetic run logs, whose every second is written down. The system is the same throughout:
//! ten slots that serve 100 requests a second, and a cut from 60 to 80 s where a test has a fault.

mod causes;
mod comes_and_goes;
mod doubts;
mod down;
mod hostile;
mod recovered;

use std::collections::BTreeMap;
use std::time::Duration;

use goodput_clock::Timestamp;
use goodput_runlog::{
    ClientWindow, Cohort, Event, EventKind, Integrity, Quantiles, RunLog, TierWindow, Window,
};
use goodput_scenario::{Plan, Scenario};

use super::judge;
use crate::model::{Cause, Doubt, DoubtKind, Judgement, Verdict};

const FAULT: &str = "[[fault]]\nkind = \"capacity\"\nto = 0.4\nat = \"60s\"\nfor = \"20s\"\n";
const WITHIN: &str = "[expect]\nverdict = \"recovered\"\nhold = \"10s\"\nwithin = \"60s\"\n";
const STEADY: &str = "[expect]\nverdict = \"steady\"\nhold = \"10s\"\n";

/// So many requests a second that may be retried so often, over 240 s, with what is added to the file. A
/// request lives 27 s with three retries, 5 s without.
fn system(rate: &str, retries: u32, more: &str) -> Scenario {
    system_of("[[client.layer]]", rate, retries, more)
}

/// The same with a client layer that begins like this.
fn system_of(layer: &str, rate: &str, retries: u32, more: &str) -> Scenario {
    let text = format!(
        "name = \"test\"\nduration = \"240s\"\n[load]\nrate = {rate}\n{layer}\n\
         timeout = \"5s\"\nretries = {retries}\n[[tier]]\nname = \"order-status\"\nslots = 10\n\
         capacity = 100\n{more}"
    );
    read(&text)
}

fn read(text: &str) -> Scenario {
    Plan::parse("test.toml", text).unwrap_or_else(|error| panic!("{error}")).scenario
}

/// 80/s with three retries, and a cut.
fn faulted() -> Scenario {
    faulted_with("")
}

/// The same with more tables.
fn faulted_with(more: &str) -> Scenario {
    system("80", 3, &format!("{FAULT}{WITHIN}{more}"))
}

/// 80/s with three retries, without a trigger.
fn quiet() -> Scenario {
    system("80", 3, STEADY)
}

/// The same scenario over another length.
fn lasting(mut scenario: Scenario, seconds: u64) -> Scenario {
    scenario.duration = Duration::from_secs(seconds);
    scenario
}

/// A healthy second at so many requests a second.
fn healthy(second: u64, rate: u64) -> Window {
    let quantiles = |p50: f64| Quantiles { count: rate, p50, p99: 2.0 * p50, max: 3.0 * p50 };
    let busy = rate as f64 / 10.0;
    Window {
        second,
        client: ClientWindow {
            offered: rate,
            good: rate,
            attempts: rate,
            attempts_in_flight: rate / 10,
            requests_in_flight: rate / 10,
            latency: quantiles(0.1),
            cohort: Cohort { arrived: rate, good: rate, ..Cohort::default() },
            outcomes: counts([("200", rate)]),
            ..ClientWindow::default()
        },
        tiers: vec![TierWindow {
            name: "order-status".to_owned(),
            received: rate,
            served: rate,
            busy_useful: busy,
            slots: 10,
            capacity: Some(100.0),
            admitted: Some(1.0),
            queue_delay: quantiles(0.01),
            ..TierWindow::default()
        }],
    }
}

/// A healthy second at 80/s.
fn calm(second: u64) -> Window {
    healthy(second, 80)
}

/// A second of a full server whose callers give up: so many attempts, so many good, so many in the queue.
fn failing(second: u64, rate: u64, attempts: u64, good: u64, queued: u64) -> Window {
    let mut window = healthy(second, rate);
    let client = &mut window.client;
    client.good = good;
    client.cohort = Cohort { good, failed: rate - good, ..client.cohort };
    client.failed = counts([("timeout", rate - good)]);
    client.attempts = attempts;
    client.attempts_in_flight = queued;
    client.attempts_failed = counts([("timeout", attempts - good)]);
    client.outcomes = counts([("200", good), ("timeout", attempts - good)]);
    let tier = &mut window.tiers[0];
    (tier.received, tier.served, tier.queued) = (attempts, 100, queued);
    (tier.busy_useful, tier.busy_wasted) = (0.1, 9.9);
    tier.queue_delay = Quantiles { count: 100, p50: 20.0, p99: 21.0, max: 22.0 };
    window
}

/// The same at 80/s with all retries made.
fn degraded(second: u64, good: u64, queued: u64) -> Window {
    failing(second, 80, 320, good, queued)
}

/// A second at 80/s of which so many ended well, and the others were out of time once; nothing waits.
fn partly(second: u64, good: u64) -> Window {
    let mut window = calm(second);
    spoil(&mut window, good, ("timeout", "timeout"));
    window
}

/// Lets so many requests of a second end well, and the others by this outcome and class.
fn spoil(window: &mut Window, good: u64, (outcome, class): (&str, &str)) {
    let client = &mut window.client;
    let failed = client.offered - good;
    client.good = good;
    client.cohort = Cohort { good, failed, ..client.cohort };
    client.failed = counts([(class, failed)]);
    client.attempts_failed = counts([(class, failed)]);
    client.outcomes = counts([("200", good), (outcome, failed)]);
}

fn counts<const N: usize>(counts: [(&str, u64); N]) -> BTreeMap<String, u64> {
    counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

/// A log of the scenario's length.
fn log_of(scenario: &Scenario, second: impl Fn(u64) -> Window) -> RunLog {
    log_from((0..scenario.duration.as_secs()).map(second))
}

fn log_from(windows: impl Iterator<Item = Window>) -> RunLog {
    let windows: Vec<_> = windows.collect();
    let offered = windows.iter().map(|window| window.client.offered).sum();
    RunLog {
        windows,
        integrity: Integrity {
            scheduled: offered,
            offered,
            send_lag_p99_wall: 0.001,
            smallest_timeout_wall: 5.0,
            ..Integrity::default()
        },
        ..RunLog::default()
    }
}

/// A run without a fault, as each of its seconds is said to be.
fn run(scenario: &Scenario, second: impl Fn(u64) -> Window) -> Judgement {
    judge(&log_of(scenario, second), scenario)
}

/// Healthy until the cut, which leaves little, then what is said of each second.
fn cut_then(after: impl Fn(u64) -> Window) -> impl Fn(u64) -> Window {
    move |second| match second {
        0..60 => healthy(second, after(80).client.offered),
        60..80 => {
            let rate = after(80).client.offered;
            let mut window = failing(second, rate, 4 * rate, rate / 4, (second - 59) * 40);
            window.tiers[0].capacity = Some(40.0);
            window
        }
        _ => after(second),
    }
}

/// The run with the cut, as each second after it is said to be.
fn after_cut(after: impl Fn(u64) -> Window) -> Judgement {
    run(&faulted(), cut_then(after))
}

/// The same without a view of the server.
fn unseen(after: impl Fn(u64) -> Window) -> Judgement {
    run(&faulted(), blind(cut_then(after)))
}

fn blind(second: impl Fn(u64) -> Window) -> impl Fn(u64) -> Window {
    move |at| Window { tiers: Vec::new(), ..second(at) }
}

/// Back from 15 s after the fault's end.
fn recovering(second: u64) -> Window {
    if second < 95 { degraded(second, 0, 800 - (second - 80) * 20) } else { calm(second) }
}

/// Stuck for good.
fn stuck(second: u64) -> Window {
    degraded(second, 0, 13_000)
}

fn event(second: u64, kind: EventKind) -> Event {
    Event { at: Timestamp::from_secs(second), kind }
}

fn pulled(second: u64, lever: &str, keys: &[&str]) -> Event {
    event(
        second,
        EventKind::LeverPulled {
            lever: lever.to_owned(),
            what: lever.to_owned(),
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            by: "timeline".to_owned(),
        },
    )
}

/// Checks the verdict, and shows what it rests on where it is another.
#[track_caller]
fn assert_verdict(judgement: &Judgement, verdict: Verdict, cause: Option<Cause>) {
    let found = (judgement.verdict, judgement.cause);
    assert_eq!(found, (verdict, cause), "{}\n{judgement:?}", judgement.summary);
}

/// The only doubt that a run raises.
#[track_caller]
fn only_doubt(judgement: &Judgement) -> &Doubt {
    assert_verdict(judgement, Verdict::Inconclusive, None);
    let [doubt] = judgement.doubts.as_slice() else { panic!("{:#?}", judgement.doubts) };
    assert!(judgement.summary.contains(&doubt.text), "{}", judgement.summary);
    doubt
}

/// Checks that a run is inconclusive since it is too short, and by how many seconds.
#[track_caller]
fn assert_too_short(judgement: &Judgement, by: f64, why: &str) {
    let doubt = only_doubt(judgement);
    assert_eq!((doubt.kind, judgement.run_longer), (DoubtKind::TooShort, Some(by)), "{doubt:?}");
    assert!(doubt.text.contains(why), "{}", doubt.text);
    assert!(doubt.text.contains("longer"), "{}", doubt.text);
}
