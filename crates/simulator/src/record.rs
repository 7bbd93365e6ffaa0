//! What a run has seen so far, and the log that becomes of it.

use std::collections::{BTreeMap, VecDeque};

use goodput_clock::Timestamp;
use goodput_runlog::{
    ClientRecorder, ClientWindow, Cohort, Ending, EngineKind, Event, EventKind, Integrity, Meta,
    Observer, Recorded, RunLog, TierWindow, Window,
};

use crate::simulation::Simulation;

/// What a run has seen so far.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// The tiers' halves of windows whose other half the recorder still holds.
    pub(crate) tier_windows: VecDeque<Vec<TierWindow>>,
    pub(crate) faults_unseen: Vec<String>,
    windows: Vec<Window>,
    events: Vec<Event>,
}

impl Ledger {
    /// Notes an event.
    pub(crate) fn event(&mut self, at: Timestamp, kind: EventKind, observer: &mut dyn Observer) {
        let event = Event { at, kind };
        observer.on_event(&event);
        self.events.push(event);
    }

    /// Notes a window whose tiers' half is there already.
    pub(crate) fn window(
        &mut self,
        second: u64,
        client: ClientWindow,
        observer: &mut dyn Observer,
    ) {
        let tiers = self.tier_windows.pop_front().unwrap_or_default();
        let window = Window { second, client, tiers };
        observer.on_window(&window);
        self.windows.push(window);
    }

    /// The windows that are whole.
    pub(crate) fn windows(&self) -> impl Iterator<Item = &Window> {
        self.windows.iter()
    }

    /// How many attempts each of so many tiers has received in windows that have ended.
    pub(crate) fn received(&self, tiers: usize) -> Vec<u64> {
        let mut received = vec![0; tiers];
        let whole = self.windows.iter().map(|window| &window.tiers);
        for window in whole.chain(&self.tier_windows) {
            for (sum, tier) in received.iter_mut().zip(window) {
                *sum += tier.received;
            }
        }
        received
    }

    /// Notes what became of the requests of a second. Those of a second that has no window are not part
    /// of the run.
    pub(crate) fn cohort(&mut self, second: u64, cohort: Cohort) {
        if let Some(window) = self.windows.get_mut(second as usize) {
            window.client.cohort = cohort;
        }
    }
}

impl Simulation<'_> {
    /// Ends the run: hands the last windows out and gives the log. A second that has not ended is left
    /// out.
    pub(crate) fn log(&mut self, ending: Ending, observer: &mut dyn Observer) -> RunLog {
        let seconds = self.seconds();
        let recorder = std::mem::replace(&mut self.recorder, ClientRecorder::new(&[], &[]));
        let offered = recorder.offered_total();
        let Recorded { windows: rest, cohorts, totals } = recorder.finish(self.now);
        if self.ledger.windows.len() + self.ledger.tier_windows.len() < seconds as usize {
            self.close_tier_windows();
        }
        for (second, client) in rest.into_iter().filter(|(second, _)| *second < seconds) {
            self.ledger.window(second, client, observer);
        }
        for (second, cohort) in cohorts {
            self.ledger.cohort(second, cohort);
        }
        let scenario = &self.options.scenario;
        let ledger = std::mem::take(&mut self.ledger);
        RunLog {
            schema: RunLog::SCHEMA,
            meta: Meta {
                scenario: scenario.name.clone(),
                arm: self.options.arm.clone(),
                engine: EngineKind::Simulator,
                seed: self.options.seed,
                speed: 1.0,
                started: String::new(),
                command: self.options.command.clone(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                parameters: serde_json::to_value(scenario).unwrap_or_default(),
            },
            windows: ledger.windows,
            events: ledger.events,
            totals,
            integrity: Integrity {
                scheduled: self.issued(),
                offered,
                unsent: 0,
                send_lag_p99_wall: 0.0,
                smallest_timeout_wall: scenario.smallest_timeout().as_secs_f64(),
                faults_unseen: ledger.faults_unseen,
                faults_unreverted: Vec::new(),
                memory_peak: BTreeMap::new(),
            },
            ending,
        }
    }
}
