//! What the display knows of the runs: their windows, in five figures a second.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use goodput_runlog::{Event, EventKind, Observer, Window};

use crate::display::course::Course;

/// The runs of a command, shared between their observers and the display.
#[derive(Clone, Debug)]
pub(crate) struct Board(Arc<Mutex<Vec<Run>>>);

impl Board {
    /// A board of runs that have not begun.
    pub(crate) fn new(runs: Vec<Run>) -> Self {
        Self(Arc::new(Mutex::new(runs)))
    }

    /// The runs as they are.
    pub(crate) fn runs(&self) -> MutexGuard<'_, Vec<Run>> {
        // A run that panicked between two writes leaves figures that can be shown all the same.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What feeds the run at `index`.
    pub(crate) fn observer(&self, index: usize) -> RunObserver {
        RunObserver { board: self.clone(), index }
    }

    /// Sets where the run at `index` stands.
    pub(crate) fn set_stage(&self, index: usize, stage: Stage) {
        if let Some(run) = self.runs().get_mut(index) {
            run.stage = stage;
        }
    }
}

/// Hands the windows and events of one run to the board.
#[derive(Debug)]
pub(crate) struct RunObserver {
    board: Board,
    index: usize,
}

impl Observer for RunObserver {
    fn on_window(&mut self, window: &Window) {
        if let Some(run) = self.board.runs().get_mut(self.index) {
            run.add(Second::of(window));
        }
    }

    fn on_event(&mut self, event: &Event) {
        if let Some(run) = self.board.runs().get_mut(self.index) {
            run.on_event(event);
        }
    }
}

/// Where a run stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Stage {
    /// It has not begun.
    Waiting,
    /// It goes on.
    Running,
    /// It has ended, with this verdict or error in a word or two.
    Ended {
        /// The verdict.
        verdict: String,
        /// Whether that is what was expected.
        held: bool,
    },
}

/// One run as the display knows it.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// The arm's name, or the scenario's.
    pub(crate) label: String,
    /// How long it takes, in seconds of scenario time.
    pub(crate) duration: f64,
    /// When the first fault starts and the last one ends by the plan, in seconds.
    pub(crate) fault: Option<(f64, f64)>,
    /// Scenario seconds per wall second.
    pub(crate) speed: f64,
    /// The figures so far.
    pub(crate) course: Course,
    /// Those of the last second of wall time.
    recent: VecDeque<Second>,
    /// The last event, in words.
    pub(crate) last_event: Option<String>,
    /// Where it stands.
    pub(crate) stage: Stage,
    active_faults: u32,
    had_fault: bool,
}

/// The five figures of a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Second {
    /// Its start, in seconds of scenario time.
    pub(crate) at: f64,
    /// New requests.
    pub(crate) offered: f64,
    /// Good requests.
    pub(crate) goodput: f64,
    /// Attempts that the last tier served; none where there is no view of it.
    pub(crate) throughput: Option<f64>,
    /// Attempts sent.
    pub(crate) attempts: f64,
    /// The median queue delay at the last tier, in seconds; none where nothing was seen.
    pub(crate) queue_delay: Option<f64>,
}

impl Second {
    fn of(window: &Window) -> Self {
        let tier = window.tiers.last();
        let delay = tier.map(|tier| tier.queue_delay).filter(|delay| delay.count > 0);
        Self {
            at: window.second as f64,
            offered: window.client.offered as f64,
            goodput: window.client.good as f64,
            throughput: tier.map(|tier| tier.served as f64),
            attempts: window.client.attempts as f64,
            queue_delay: delay.map(|delay| delay.p50),
        }
    }
}

/// The five figures as they are shown: means over the last second of wall time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figures {
    /// The end of the last second, in scenario time.
    pub(crate) time: f64,
    /// New requests per second.
    pub(crate) offered: f64,
    /// Good requests per second.
    pub(crate) goodput: f64,
    /// Answers per second.
    pub(crate) throughput: Option<f64>,
    /// Attempts per new request.
    pub(crate) attempts_per_request: Option<f64>,
    /// The median queue delay in seconds.
    pub(crate) queue_delay: Option<f64>,
}

impl Run {
    /// A run that has not begun.
    pub(crate) fn new(label: &str, duration: f64, fault: Option<(f64, f64)>, speed: f64) -> Self {
        Self {
            label: label.to_owned(),
            duration,
            fault,
            speed,
            course: Course::new(duration),
            recent: VecDeque::new(),
            last_event: None,
            stage: Stage::Waiting,
            active_faults: 0,
            had_fault: false,
        }
    }

    /// In which part of the run it is, by the faults that were read back.
    pub(crate) const fn phase(&self) -> &'static str {
        match (self.active_faults, self.had_fault) {
            (0, false) => "baseline",
            (0, true) => "after",
            _ => "fault",
        }
    }

    /// Adds the figures of a second.
    pub(crate) fn add(&mut self, second: Second) {
        self.course.add(&second);
        if self.recent.len() >= self.speed.round().max(1.0) as usize {
            self.recent.pop_front();
        }
        self.recent.push_back(second);
    }

    /// The current figures: means over the last second of wall time, at least one window.
    pub(crate) fn figures(&self) -> Option<Figures> {
        let last = &self.recent;
        let time = last.back()?.at + 1.0;
        let offered = mean(last.iter().map(|second| second.offered))?;
        let attempts = mean(last.iter().map(|second| second.attempts))?;
        Some(Figures {
            time,
            offered,
            goodput: mean(last.iter().map(|second| second.goodput))?,
            throughput: mean(last.iter().filter_map(|second| second.throughput)),
            attempts_per_request: (offered > 0.0).then(|| attempts / offered),
            queue_delay: mean(last.iter().filter_map(|second| second.queue_delay)),
        })
    }

    fn on_event(&mut self, event: &Event) {
        let text = match &event.kind {
            EventKind::FaultStarted { tier, what, .. } => {
                self.active_faults += 1;
                self.had_fault = true;
                format!("fault at {tier}: {what}")
            }
            EventKind::FaultEnded { name, tier } => {
                self.active_faults = self.active_faults.saturating_sub(1);
                format!("fault {name} at {tier} ended")
            }
            EventKind::LeverPulled { what, .. } => format!("lever: {what}"),
            EventKind::ByOthers { tier, what, by } if by.is_empty() => {
                format!("somebody else, at {tier}: {what}")
            }
            EventKind::ByOthers { tier, what, by } => format!("{by}, at {tier}: {what}"),
            EventKind::ServerRestarted { tier } => format!("{tier} restarted by itself"),
            EventKind::TriggerWithheld { reason } => format!("trigger withheld: {reason}"),
            EventKind::Doubt { what } => format!("in doubt: {what}"),
        };
        self.last_event = Some(format!("{:.0} s: {text}", event.at.as_secs_f64()));
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodput_clock::Timestamp;
    use goodput_runlog::{ClientWindow, TierWindow};

    fn window(second: u64, good: u64, served: Option<u64>) -> Window {
        let tier = |served| TierWindow { served, ..TierWindow::default() };
        Window {
            second,
            client: ClientWindow { offered: 80, good, attempts: 160, ..ClientWindow::default() },
            tiers: served.map(tier).into_iter().collect(),
        }
    }

    fn event(kind: EventKind) -> Event {
        Event { at: Timestamp::from_secs(60), kind }
    }

    #[test]
    fn figures_are_means_over_a_second_of_wall_time() {
        let board = Board::new(vec![Run::new("naive", 240.0, None, 2.0)]);
        let mut observer = board.observer(0);
        assert_eq!(board.runs()[0].figures(), None);
        for (second, good) in [(0, 1_000), (1, 80), (2, 40)] {
            observer.on_window(&window(second, good, Some(100)));
        }
        let figures = board.runs()[0].figures().unwrap();
        assert_eq!(figures.goodput.to_bits(), 60.0_f64.to_bits());
        assert_eq!(figures.attempts_per_request, Some(2.0));
        assert_eq!(figures.throughput, Some(100.0));
        assert_eq!(figures.queue_delay, None);
        assert_eq!(figures.time.to_bits(), 3.0_f64.to_bits());
    }

    #[test]
    fn without_a_view_of_the_server_there_is_no_throughput() {
        let board = Board::new(vec![Run::new("remote", 240.0, None, 1.0)]);
        board.observer(0).on_window(&window(0, 80, None));
        assert_eq!(board.runs()[0].figures().unwrap().throughput, None);
    }

    #[test]
    fn the_phase_follows_the_faults_that_were_read_back() {
        let board = Board::new(vec![Run::new("naive", 240.0, None, 1.0)]);
        let mut observer = board.observer(0);
        assert_eq!(board.runs()[0].phase(), "baseline");
        observer.on_event(&event(EventKind::FaultStarted {
            name: "cut".to_owned(),
            tier: "order-status".to_owned(),
            what: "capacity to 40%".to_owned(),
        }));
        assert_eq!(board.runs()[0].phase(), "fault");
        observer.on_event(&event(EventKind::FaultEnded {
            name: "cut".to_owned(),
            tier: "order-status".to_owned(),
        }));
        assert_eq!(board.runs()[0].phase(), "after");
        let last = board.runs()[0].last_event.clone();
        assert_eq!(last.as_deref(), Some("60 s: fault cut at order-status ended"));
    }
}
