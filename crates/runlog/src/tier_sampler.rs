use std::collections::{BTreeMap, VecDeque};

use goodput_clock::Timestamp;

use crate::histogram::bucket_quantiles;
use crate::model::{Quantiles, TierWindow};

/// A server's state at a moment: what it has counted since it started, and its gauges. All times
/// and rates are scenario time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TierSample {
    /// When the server read it, since the run began; zero for what was read before that.
    pub at: Timestamp,
    /// Differs for each process, so that a restart is seen.
    pub instance: String,
    /// See [`TierWindow::received`], cumulated.
    pub received: u64,
    /// See [`TierWindow::served`], cumulated.
    pub served: u64,
    /// See [`TierWindow::refused`], cumulated.
    pub refused: BTreeMap<String, u64>,
    /// See [`TierWindow::cancelled`], cumulated.
    pub cancelled: u64,
    /// See [`TierWindow::errors`], cumulated.
    pub errors: u64,
    /// See [`TierWindow::busy_useful`], cumulated, in seconds.
    pub busy_useful: f64,
    /// See [`TierWindow::busy_wasted`], cumulated, in seconds.
    pub busy_wasted: f64,
    /// See [`TierWindow::queue_delay`], cumulated: (upper bound in seconds, count in the bucket).
    pub queue_delay: Vec<(f64, u64)>,
    /// Attempts that wait.
    pub queued: u64,
    /// Attempts that hold a slot.
    pub in_service: u64,
    /// Slots in force.
    pub slots: u32,
    /// Requests per second that can be served; absent where unlimited.
    pub capacity: Option<f64>,
    /// The share of traffic that is admitted.
    pub admitted: Option<f64>,
    /// How long the oldest has waited, in seconds.
    pub oldest_age: f64,
}

/// A server whose counters began anew.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Restarted {
    /// The tier.
    pub tier: String,
    /// When it was noticed: the restart lies between the sample before and this one.
    pub seen: Timestamp,
}

/// Turns a server's cumulated counters, read at irregular times, into windows of one second.
///
/// Between two samples a counter is taken to grow in a straight line. Its value at a boundary is
/// rounded down and a window is the difference of two boundaries, so that no event is counted twice
/// or lost: the windows add up to the last sample minus the first. Gauges that move (the queue) are
/// interpolated too; those that jump (slots, capacity, the share admitted) are taken from the nearer
/// sample. What was counted before the first sample, or before the run, is left out; so sample once
/// before the run begins, about once a second, and once after it ends.
///
/// When a counter goes back or the instance changes, the server has restarted: what it counts from
/// then on is added to what it had counted when it was last seen.
#[derive(Debug)]
pub struct TierSampler {
    name: String,
    /// The last sample with its counters continued over restarts, and what they are continued from.
    last: Option<TierSample>,
    base: Counters,
    /// The counters as the process itself gave them, to see them go back.
    raw: Counters,
    /// The counters at the end of the last window.
    boundary: Counters,
    second: u64,
    ready: VecDeque<(u64, TierWindow)>,
}

impl TierSampler {
    /// A sampler of the tier of this name.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            last: None,
            base: Counters::default(),
            raw: Counters::default(),
            boundary: Counters::default(),
            second: 0,
            ready: VecDeque::new(),
        }
    }

    /// Takes the next sample, and says whether the server restarted before it. A sample that is not
    /// later than its predecessor changes nothing, unless it shows a restart.
    pub fn push(&mut self, sample: &TierSample) -> Option<Restarted> {
        let raw = Counters::of(sample);
        let Some(last) = &self.last else {
            self.boundary = raw.clone();
            self.raw = raw;
            self.last = Some(sample.clone());
            return None;
        };
        let restarted = last.instance != sample.instance || raw.went_back(&self.raw);
        let before = Counters::sum(&self.base, &self.raw);
        if restarted {
            self.base = before.clone();
        } else if sample.at <= last.at {
            // Samples from before the run replace each other: counting begins with the run.
            if sample.at == Timestamp::ZERO && self.second == 0 {
                self.boundary = Counters::sum(&self.base, &raw);
                self.raw = raw;
                self.last = Some(sample.clone());
            }
            return None;
        }
        let after = Counters::sum(&self.base, &raw);
        let mut sample = sample.clone();
        sample.at = sample.at.max(last.at);
        let last = self.last.replace(sample.clone()).unwrap_or_default();
        self.raw = raw;
        self.windows(&(&last, &before), &(&sample, &after));
        restarted.then(|| Restarted { tier: self.name.clone(), seen: sample.at })
    }

    /// Takes the oldest window, with its second, that the samples so far cover wholly.
    pub fn next_window(&mut self) -> Option<(u64, TierWindow)> {
        self.ready.pop_front()
    }

    /// Ends the sampling after `seconds` whole seconds: hands out the windows that are left. What no
    /// sample covers shows no change; without a single sample there are no windows.
    pub fn finish(mut self, seconds: u64) -> Vec<(u64, TierWindow)> {
        let Some(last) = self.last.take() else { return Vec::new() };
        let counters = Counters::sum(&self.base, &self.raw);
        let end = TierSample { at: Timestamp::from_secs(seconds).max(last.at), ..last.clone() };
        // The counters stand at their last value, so that even the first of these boundaries has it.
        self.windows(&(&last, &counters), &(&end, &counters));
        self.ready.retain(|(second, _)| *second < seconds);
        self.ready.into()
    }

    /// Closes every window that ends after the one sample and not after the other.
    fn windows(&mut self, from: &(&TierSample, &Counters), to: &(&TierSample, &Counters)) {
        let span = to.0.at.since(from.0.at).as_nanos();
        loop {
            let end = Timestamp::from_secs(self.second + 1);
            if end > to.0.at {
                return;
            }
            let part = end.since(from.0.at).as_nanos();
            let at = Fraction { part, span: span.max(1) };
            let counters = Counters::between(from.1, to.1, at);
            let mut window = counters.since(&self.boundary);
            self.gauges(&mut window, from.0, to.0, at);
            self.ready.push_back((self.second, window));
            self.boundary = counters;
            self.second += 1;
        }
    }

    fn gauges(&self, window: &mut TierWindow, from: &TierSample, to: &TierSample, at: Fraction) {
        let share = at.get();
        let mix = |a: f64, b: f64| finite(a) + (finite(b) - finite(a)) * share;
        let mix_count = |a: u64, b: u64| mix(a as f64, b as f64).round() as u64;
        let nearer = if share < 0.5 { from } else { to };
        window.name.clone_from(&self.name);
        window.queued = mix_count(from.queued, to.queued);
        window.in_service = mix_count(from.in_service, to.in_service);
        window.oldest_age = mix(from.oldest_age, to.oldest_age);
        window.slots = nearer.slots;
        window.capacity = nearer.capacity.map(finite);
        window.admitted = nearer.admitted.map(finite);
        window.sample_gap = to.at.since(from.at).as_secs_f64();
    }
}

/// Where a boundary lies between two samples.
#[derive(Clone, Copy)]
struct Fraction {
    part: u128,
    span: u128,
}

impl Fraction {
    fn get(self) -> f64 {
        self.part as f64 / self.span as f64
    }

    /// `from` and its way to `to`, rounded down.
    fn count(self, from: u64, to: u64) -> u64 {
        let way = u128::from(to.saturating_sub(from)) * self.part.min(self.span) / self.span;
        from + way as u64
    }
}

/// What a server cumulates.
#[derive(Clone, Debug, Default, PartialEq)]
struct Counters {
    /// Received, served, cancelled, errors.
    plain: [u64; 4],
    refused: BTreeMap<String, u64>,
    /// Useful and wasted slot time, in seconds.
    busy: [f64; 2],
    /// By the bits of the upper bound, which order as the bounds themselves do where they are
    /// positive. Real numbers, since a bucket between two samples holds a share of its growth.
    delays: BTreeMap<u64, f64>,
}

impl Counters {
    fn of(sample: &TierSample) -> Self {
        let mut delays = BTreeMap::new();
        for (bound, count) in sample.queue_delay.iter().filter(|(bound, _)| bound.is_finite()) {
            *delays.entry(bound.max(0.0).to_bits()).or_default() += *count as f64;
        }
        Self {
            plain: [sample.received, sample.served, sample.cancelled, sample.errors],
            refused: sample.refused.clone(),
            busy: [finite(sample.busy_useful), finite(sample.busy_wasted)],
            delays,
        }
    }

    /// Whether anything here is below what `earlier` had, as no counter of one process can be.
    fn went_back(&self, earlier: &Self) -> bool {
        let behind = |reason: &String, count: &u64| self.refused.get(reason) < Some(count);
        self.plain.iter().zip(&earlier.plain).any(|(now, then)| now < then)
            || earlier.refused.iter().any(|(reason, count)| behind(reason, count))
    }

    fn sum(left: &Self, right: &Self) -> Self {
        let mut sum = left.clone();
        for (into, from) in sum.plain.iter_mut().zip(right.plain) {
            *into = into.saturating_add(from);
        }
        for (into, from) in sum.busy.iter_mut().zip(right.busy) {
            *into += from;
        }
        for (reason, count) in &right.refused {
            *sum.refused.entry(reason.clone()).or_default() += count;
        }
        for (bound, count) in &right.delays {
            *sum.delays.entry(*bound).or_default() += count;
        }
        sum
    }

    /// The counters at a moment between two samples; `to` has every key that `from` has.
    fn between(from: &Self, to: &Self, at: Fraction) -> Self {
        let share = at.get().min(1.0);
        let mix = |a: f64, b: f64| a + (b - a) * share;
        let count = |(reason, b): (&String, &u64)| {
            let a = from.refused.get(reason).copied().unwrap_or_default();
            (reason.clone(), at.count(a, *b))
        };
        let delay = |(bound, b): (&u64, &f64)| {
            (*bound, mix(from.delays.get(bound).copied().unwrap_or_default(), *b))
        };
        Self {
            plain: std::array::from_fn(|i| at.count(from.plain[i], to.plain[i])),
            refused: to.refused.iter().map(count).collect(),
            busy: std::array::from_fn(|i| mix(from.busy[i], to.busy[i])),
            delays: to.delays.iter().map(delay).collect(),
        }
    }

    /// The window from `earlier` to this, without gauges.
    fn since(&self, earlier: &Self) -> TierWindow {
        let [received, served, cancelled, errors] =
            std::array::from_fn(|i| self.plain[i].saturating_sub(earlier.plain[i]));
        let refused = self.refused.iter().map(|(reason, count)| {
            let before = earlier.refused.get(reason).copied().unwrap_or_default();
            (reason.clone(), count.saturating_sub(before))
        });
        TierWindow {
            received,
            served,
            cancelled,
            errors,
            refused: refused.filter(|(_, count)| *count > 0).collect(),
            busy_useful: (self.busy[0] - earlier.busy[0]).max(0.0),
            busy_wasted: (self.busy[1] - earlier.busy[1]).max(0.0),
            queue_delay: self.delays_since(earlier),
            ..TierWindow::default()
        }
    }

    fn delays_since(&self, earlier: &Self) -> Quantiles {
        let total = |counters: &Self| counters.delays.values().sum::<f64>();
        // The sums are rounded down as counters are; the margin is for the error of the sum itself.
        let whole = |sum: f64| (sum + 1e-6).floor() as u64;
        let count = whole(total(self)).saturating_sub(whole(total(earlier)));
        let grown = self.delays.iter().map(|(bound, now)| {
            let before = earlier.delays.get(bound).copied().unwrap_or_default();
            (f64::from_bits(*bound), (now - before).max(0.0))
        });
        if count == 0 {
            return Quantiles::default();
        }
        Quantiles { count, ..bucket_quantiles(grown) }
    }
}

/// What no server says, but text from outside may.
fn finite(value: f64) -> f64 {
    if value.is_finite() { value.max(0.0) } else { 0.0 }
}

#[cfg(test)]
mod tests;
