//! What a run has seen so far, shown to its observer as it comes in.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use goodput_clock::{Scale, Timestamp};
use goodput_fault_injector::{InjectorEvent, InjectorEventKind};
use goodput_gate::Seen;
use goodput_load_generator::FinishedWindow;
use goodput_runlog::{Cohort, Event, EventKind, Observer, Window};
use goodput_scenario::Scenario;

use crate::assembly::Assembly;
use crate::watch::{Reading, Watch};

/// What a run has seen so far.
pub(crate) struct Ledger<'a> {
    watches: Vec<Watch>,
    assembly: Assembly,
    /// How many windows the run has; what comes after its end is not part of it.
    seconds: u64,
    windows: Vec<Window>,
    /// What became of the requests that arrived in each second.
    cohorts: BTreeMap<u64, Cohort>,
    events: Vec<Event>,
    observer: &'a mut dyn Observer,
}

impl<'a> Ledger<'a> {
    /// A ledger with nothing in it.
    pub(crate) fn new(
        scenario: &Scenario,
        scale: Scale,
        watches: Vec<Watch>,
        observer: &'a mut dyn Observer,
    ) -> Self {
        let patience = (PATIENCE.as_secs_f64() * scale.speed()).ceil() as usize + 2;
        Self {
            assembly: Assembly::new(watches.len(), patience),
            watches,
            seconds: scenario.duration.as_secs(),
            windows: Vec::new(),
            cohorts: BTreeMap::new(),
            events: Vec::new(),
            observer,
        }
    }

    /// Takes what was read from a tier, or that it did not answer.
    pub(crate) fn on_reading(&mut self, tier: usize, reading: Result<Reading, String>) {
        let watch = &mut self.watches[tier];
        let news = match reading {
            Ok(reading) => watch.on_reading(&reading),
            Err(problem) => watch.on_silence(Instant::now(), &problem).into_iter().collect(),
        };
        while let Some((second, window)) = watch.next_window() {
            self.assembly.push_tier(tier, second, window);
        }
        for event in news {
            self.event(event.at, event.kind);
        }
        self.assemble();
    }

    /// Takes finished windows of the load generator's.
    pub(crate) fn on_load_windows(&mut self, windows: impl Iterator<Item = FinishedWindow>) {
        for finished in windows {
            self.assembly.push_client(finished.second, finished.window);
        }
        self.assemble();
    }

    /// Takes what became of the requests of each second, once the run is over.
    pub(crate) fn on_cohorts(&mut self, cohorts: &[(u64, Cohort)]) {
        self.cohorts.extend(cohorts.iter().copied());
    }

    /// Takes what the fault injector did.
    pub(crate) fn on_injector(&mut self, event: InjectorEvent) {
        let at = event.at;
        match event.kind {
            InjectorEventKind::FaultStarted { name, tier, what } => {
                self.event(at, EventKind::FaultStarted { name, tier, what });
            }
            InjectorEventKind::FaultEnded { name, tier, lost } => {
                if lost {
                    self.doubt(at, format!("the fault `{name}` ended before its time"));
                }
                self.event(at, EventKind::FaultEnded { name, tier });
            }
            InjectorEventKind::LeverPulled { lever, did, keys, .. } => {
                let by = TIMELINE.to_owned();
                self.event(at, EventKind::LeverPulled { lever, what: did, keys, by });
            }
            InjectorEventKind::FaultFailed { name, problem, .. } => {
                self.doubt(at, format!("the fault `{name}` never came into force: {problem}"));
            }
            InjectorEventKind::FaultUnreverted { name, problem, .. } => {
                self.doubt(at, format!("the end of the fault `{name}` is unconfirmed: {problem}"));
            }
            InjectorEventKind::LeverFailed { lever, problem } => {
                self.doubt(at, format!("the lever `{lever}` failed: {problem}"));
            }
        }
    }

    /// What has been seen so far, with what became of the requests of each second.
    pub(crate) fn seen(&self, cohorts: &[(u64, Cohort)]) -> Seen<'_> {
        let now = Instant::now();
        let whole = self.windows.iter().map(|window| &window.client);
        Seen {
            cohorts: cohorts.iter().map(|(_, cohort)| *cohort).collect(),
            windows: whole.chain(self.assembly.waiting()).collect(),
            tiers: self.watches.iter().map(|watch| watch.tier_now(now)).collect(),
        }
    }

    /// Notes something that puts the run in doubt.
    pub(crate) fn doubt(&mut self, at: Timestamp, what: String) {
        self.event(at, EventKind::Doubt { what });
    }

    /// Notes an event.
    pub(crate) fn event(&mut self, at: Timestamp, kind: EventKind) {
        let event = Event { at, kind };
        self.observer.on_event(&event);
        self.events.push(event);
    }

    /// The memory of each tier's process at its largest, in bytes.
    pub(crate) fn memory_peaks(&self) -> BTreeMap<String, u64> {
        self.watches.iter().map(|watch| (watch.name().to_owned(), watch.memory_peak())).collect()
    }

    /// The windows and events of a run that lasted `seconds`.
    pub(crate) fn close(mut self, seconds: u64) -> (Vec<Window>, Vec<Event>) {
        self.seconds = self.seconds.min(seconds);
        for tier in 0..self.watches.len() {
            if let Some(Event { at, kind }) = self.watches[tier].check_caps(Instant::now()) {
                self.event(at, kind);
            }
        }
        for (tier, watch) in std::mem::take(&mut self.watches).into_iter().enumerate() {
            for (second, window) in watch.finish(self.seconds) {
                self.assembly.push_tier(tier, second, window);
            }
        }
        while let Some(window) = self.assembly.force() {
            self.window(window);
        }
        for window in &mut self.windows {
            window.client.cohort = self.cohorts.get(&window.second).copied().unwrap_or_default();
        }
        self.events.sort_by_key(|event| event.at);
        (self.windows, self.events)
    }

    fn assemble(&mut self) {
        while let Some(window) = self.assembly.next() {
            self.window(window);
        }
    }

    fn window(&mut self, window: Window) {
        if window.second < self.seconds {
            self.observer.on_window(&window);
            self.windows.push(window);
        }
    }
}

/// Who pulls the levers that a scenario writes down.
const TIMELINE: &str = "timeline";
/// How long, in wall time, a window waits for a tier's half.
const PATIENCE: Duration = Duration::from_secs(2);
