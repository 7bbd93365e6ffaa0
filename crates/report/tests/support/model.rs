//! The model.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use goodput_clock::{Seed, Stream};
use goodput_runlog::{
    ClientWindow, Ending, EngineKind, Event, EventKind, Integrity, Meta, Quantiles, RunLog,
    TierWindow, Totals, Window,
};
use goodput_scenario::Scenario;

use super::scenario::Defence;

/// Attempts that arrived in the same second at the same try.
struct Cohort {
    arrived: u64,
    /// When their requests began.
    began: u64,
    attempt: u32,
    count: u64,
    gone: bool,
}

struct World {
    queue: VecDeque<Cohort>,
    /// Attempts to come, by second: when their request began, the number of the attempt, and how many.
    due: BTreeMap<u64, Vec<(u64, u32, u64)>>,
    defence: Defence,
    timeout: u64,
    retries: u32,
    /// Retries and requests of the last ten seconds.
    recent: VecDeque<(u64, u64)>,
    made: BTreeMap<u32, u64>,
    latency: BTreeMap<u64, u64>,
    open: u64,
}

/// Carries `scenario` out in the model.
pub(crate) fn run(scenario: &Scenario, arm: Option<&str>, defence: Defence) -> RunLog {
    let seconds = scenario.duration.as_secs();
    let mut random = Seed(42).stream("report-model");
    let mut world = World::new(scenario, defence);
    let (start, end) = scenario.fault_span().map_or((u64::MAX, u64::MAX), |(start, end)| {
        (start.as_secs_f64() as u64, end.as_secs_f64() as u64)
    });
    let windows: Vec<Window> = (0..seconds)
        .map(|second| {
            let capacity = if (start..end).contains(&second) { 40.0 } else { 100.0 };
            let offered = poisson(scenario.load.rate.per_second(), &mut random);
            world.second(second, offered, capacity, &mut random)
        })
        .collect();
    let offered = windows.iter().map(|window| window.client.offered).sum();
    let mut events = Vec::new();
    for fault in &scenario.faults {
        let started = EventKind::FaultStarted {
            name: fault.name.clone(),
            tier: fault.tier.clone(),
            what: "capacity to 40 %".to_owned(),
        };
        events.push(Event { at: fault.at + Duration::from_millis(4), kind: started });
        let ended = EventKind::FaultEnded { name: fault.name.clone(), tier: fault.tier.clone() };
        events.push(Event { at: fault.ends() + Duration::from_millis(5), kind: ended });
    }
    RunLog {
        schema: 1,
        meta: Meta {
            scenario: scenario.name.clone(),
            arm: arm.map(str::to_owned),
            engine: EngineKind::Rig,
            seed: Seed(42),
            speed: 10.0,
            started: "2026-11-30T09:15:02Z".to_owned(),
            command: match arm {
                Some(arm) => format!(
                    "goodput run scenarios/{}.toml --arm {arm} --speed 10 --seed 42",
                    scenario.name
                ),
                None => {
                    format!("goodput run scenarios/{}.toml --speed 10 --seed 42", scenario.name)
                }
            },
            version: "0.1.0".to_owned(),
            parameters: serde_json::to_value(scenario).expect("a scenario is plain data"),
        },
        windows,
        events,
        totals: Totals {
            latency: world.latency.iter().map(|(ms, count)| (*ms as f64 / 1e3, *count)).collect(),
            service: vec![(0.1, 900), (0.2, 40)],
            send_lag: vec![(0.001, 17_000), (0.01, 2_100), (0.08, 60)],
            attempts_per_request: world.made,
        },
        integrity: Integrity {
            scheduled: offered,
            offered,
            unsent: 0,
            send_lag_p99_wall: 0.0006,
            smallest_timeout_wall: 0.5,
            faults_unseen: Vec::new(),
            faults_unreverted: Vec::new(),
            memory_peak: BTreeMap::from([
                ("goodput".to_owned(), 48_300_000),
                ("order-status".to_owned(), 91_000_000),
            ]),
        },
        ending: Ending::Completed,
    }
}

impl World {
    fn new(scenario: &Scenario, defence: Defence) -> Self {
        Self {
            queue: VecDeque::new(),
            due: BTreeMap::new(),
            defence,
            timeout: scenario.smallest_timeout().as_secs().max(1),
            retries: if defence == Defence::NoRetries { 0 } else { 3 },
            recent: VecDeque::new(),
            made: BTreeMap::new(),
            latency: BTreeMap::new(),
            open: 0,
        }
    }

    fn second(&mut self, now: u64, offered: u64, capacity: f64, random: &mut Stream) -> Window {
        let mut client = ClientWindow { offered, ..ClientWindow::default() };
        let mut tier = TierWindow {
            name: "order-status".to_owned(),
            slots: 10,
            capacity: Some(capacity),
            ..TierWindow::default()
        };
        self.open += offered;
        self.recent.push_back((offered, 0));
        if self.recent.len() > 10 {
            self.recent.pop_front();
        }
        self.arrive(now, (now, 1, offered), &mut client, &mut tier);
        for again in self.due.remove(&now).unwrap_or_default() {
            client.retries += again.2;
            self.arrive(now, again, &mut client, &mut tier);
        }
        let delays = self.serve(now, capacity, &mut client, &mut tier);
        self.give_up(now, &mut client);
        tier.queue_delay = quantiles(&delays, 1.0);
        client.latency = quantiles(&delays, 1.04);
        client.latency.count = client.good;
        tier.queued = self.queue.iter().map(|cohort| cohort.count).sum();
        tier.in_service = if tier.queued > 0 { 10 } else { 8 };
        tier.oldest_age = self.queue.front().map_or(0.0, |cohort| (now - cohort.arrived) as f64);
        client.attempts_in_flight =
            self.queue.iter().filter(|c| !c.gone).map(|c| c.count).sum::<u64>() + tier.in_service;
        client.requests_in_flight = self.open;
        client.connections = client.attempts_in_flight + 6;
        client.connects = client.attempts_failed.values().sum();
        let lag = 0.0008 + random.uniform() * 0.0006;
        client.send_lag = Quantiles {
            count: client.attempts,
            p50: lag,
            p99: lag * (4.0 + random.uniform() * 5.0),
            max: lag * 14.0,
        };
        Window { second: now, client, tiers: vec![tier] }
    }

    fn arrive(
        &mut self,
        now: u64,
        (began, attempt, count): (u64, u32, u64),
        client: &mut ClientWindow,
        tier: &mut TierWindow,
    ) {
        client.attempts += count;
        tier.received += count;
        let waiting: u64 = self.queue.iter().map(|cohort| cohort.count).sum();
        let bounded = self.defence == Defence::BoundedQueue;
        let room = if bounded { 190_u64.saturating_sub(waiting) } else { u64::MAX };
        let admitted = count.min(room);
        if admitted < count {
            *tier.refused.entry("queue-full".to_owned()).or_default() += count - admitted;
            self.fail(now, (began, attempt, count - admitted), "overloaded", client);
        }
        self.queue.push_back(Cohort { arrived: now, began, attempt, count: admitted, gone: false });
    }

    /// Serves up to the capacity in order, and returns the delays with their counts.
    fn serve(
        &mut self,
        now: u64,
        capacity: f64,
        client: &mut ClientWindow,
        tier: &mut TierWindow,
    ) -> Vec<(f64, u64)> {
        let mut left = capacity as u64;
        let mut delays = Vec::new();
        while let Some(cohort) = self.queue.front_mut() {
            if cohort.gone && self.defence == Defence::DropExpired {
                *tier.refused.entry("expired".to_owned()).or_default() += cohort.count;
                self.queue.pop_front();
                continue;
            }
            let served = cohort.count.min(left);
            left -= served;
            tier.served += served;
            let work = served as f64 * 10.0 / capacity;
            delays.push(((now - cohort.arrived) as f64 + 0.02, served));
            if cohort.gone {
                tier.busy_wasted += work;
            } else {
                tier.busy_useful += work;
                client.good += served;
                self.open -= served.min(self.open);
                *self.made.entry(cohort.attempt).or_default() += served;
                let ms = (now - cohort.began) * 1000 + 120;
                *self.latency.entry(ms).or_default() += served;
            }
            cohort.count -= served;
            if cohort.count > 0 {
                break;
            }
            self.queue.pop_front();
        }
        delays
    }

    fn give_up(&mut self, now: u64, client: &mut ClientWindow) {
        let mut leaving = Vec::new();
        for cohort in &mut self.queue {
            if !cohort.gone && now + 1 - cohort.arrived >= self.timeout {
                cohort.gone = true;
                leaving.push((cohort.began, cohort.attempt, cohort.count));
            }
        }
        for cohort in leaving {
            self.fail(now + 1, cohort, "timeout", client);
        }
    }

    fn fail(
        &mut self,
        now: u64,
        (began, attempt, count): (u64, u32, u64),
        class: &str,
        client: &mut ClientWindow,
    ) {
        if count == 0 {
            return;
        }
        *client.attempts_failed.entry(class.to_owned()).or_default() += count;
        let mut allowed = if attempt > self.retries { 0 } else { count };
        if self.defence == Defence::RetryBudget && allowed > 0 {
            let (requests, retries) =
                self.recent.iter().fold((0, 0), |sum, second| (sum.0 + second.0, sum.1 + second.1));
            allowed = allowed.min((requests / 10_u64).saturating_sub(retries));
            if let Some(last) = self.recent.back_mut() {
                last.1 += allowed;
            }
            *client.suppressed.entry("budget".to_owned()).or_default() += count - allowed;
        }
        let ended = count - allowed;
        if ended > 0 {
            *client.failed.entry(class.to_owned()).or_default() += ended;
            *self.made.entry(attempt).or_default() += ended;
            self.open -= ended.min(self.open);
        }
        if allowed > 0 {
            let base = if self.defence == Defence::BackoffOnly { 5 } else { 1 };
            let due = now + base * (1 << (attempt - 1)) + u64::from(class == "overloaded");
            self.due.entry(due).or_default().push((began, attempt + 1, allowed));
        }
    }
}

fn poisson(mean: f64, random: &mut Stream) -> u64 {
    let mut count = 0;
    let mut time = random.exponential() / mean;
    while time < 1.0 {
        count += 1;
        time += random.exponential() / mean;
    }
    count
}

fn quantiles(delays: &[(f64, u64)], factor: f64) -> Quantiles {
    let count: u64 = delays.iter().map(|(_, count)| count).sum();
    let at = |share: f64| {
        let mut left = (count as f64 * share).ceil() as u64;
        for (delay, count) in delays {
            if *count >= left {
                return delay * factor;
            }
            left -= count;
        }
        0.0
    };
    let mut sorted = delays.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let max = sorted.last().map_or(0.0, |(delay, _)| delay * factor);
    Quantiles { count, p50: at(0.5), p99: max.max(at(0.99)), max }
}
