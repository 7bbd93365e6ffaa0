//! Joins what the load generator and the tiers saw of the same second.

use std::collections::VecDeque;

use goodput_runlog::{ClientWindow, TierWindow, Window};

/// Windows that wait for their other half.
#[derive(Debug)]
pub(crate) struct Assembly {
    client: VecDeque<(u64, ClientWindow)>,
    tiers: Vec<VecDeque<(u64, TierWindow)>>,
    /// How many windows the load generator may be ahead before a tier's half is given up.
    patience: usize,
}

impl Assembly {
    /// An assembly for so many tiers. A tier that is more than `patience` windows behind the load
    /// generator is left out of the windows that it missed.
    pub(crate) fn new(tiers: usize, patience: usize) -> Self {
        Self { client: VecDeque::new(), tiers: vec![VecDeque::new(); tiers], patience }
    }

    /// Takes a window of the load generator's.
    pub(crate) fn push_client(&mut self, second: u64, window: ClientWindow) {
        self.client.push_back((second, window));
    }

    /// Takes a window of a tier's.
    pub(crate) fn push_tier(&mut self, tier: usize, second: u64, window: TierWindow) {
        self.tiers[tier].push_back((second, window));
    }

    /// The load generator's halves that wait.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &ClientWindow> {
        self.client.iter().map(|(_, window)| window)
    }

    /// The next window whose halves are all there, or whose missing ones are given up.
    pub(crate) fn next(&mut self) -> Option<Window> {
        let (second, _) = *self.client.front()?;
        for windows in &mut self.tiers {
            while windows.front().is_some_and(|(tier_second, _)| *tier_second < second) {
                windows.pop_front();
            }
        }
        let whole = self.tiers.iter().all(|windows| !windows.is_empty());
        (whole || self.client.len() > self.patience).then(|| self.join())
    }

    /// The next window, whatever is missing.
    pub(crate) fn force(&mut self) -> Option<Window> {
        self.next().or_else(|| (!self.client.is_empty()).then(|| self.join()))
    }

    fn join(&mut self) -> Window {
        let (second, client) = self.client.pop_front().unwrap_or_default();
        let tiers = self
            .tiers
            .iter_mut()
            .filter_map(|windows| {
                let there = windows.front().is_some_and(|(tier_second, _)| *tier_second == second);
                if there { windows.pop_front().map(|(_, window)| window) } else { None }
            })
            .collect();
        Window { second, client, tiers }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tier(name: &str) -> TierWindow {
        TierWindow { name: name.to_owned(), ..TierWindow::default() }
    }

    #[test]
    fn a_window_waits_for_its_other_half() {
        let mut assembly = Assembly::new(1, 3);
        assembly.push_client(0, ClientWindow::default());
        assert_eq!(assembly.next(), None);
        assembly.push_tier(0, 0, tier("a"));
        let window = assembly.next().unwrap();
        assert_eq!((window.second, window.tiers.len()), (0, 1));
    }

    #[test]
    fn a_tier_that_stays_silent_is_left_out_of_what_it_missed_only() {
        let mut assembly = Assembly::new(1, 1);
        assembly.push_client(0, ClientWindow::default());
        assembly.push_client(1, ClientWindow::default());
        assert!(assembly.next().unwrap().tiers.is_empty());
        assembly.push_tier(0, 1, tier("a"));
        assert_eq!(assembly.next().unwrap().tiers.len(), 1);
    }

    #[test]
    fn a_gap_in_a_tier_leaves_the_seconds_together() {
        let mut assembly = Assembly::new(1, 3);
        for second in 0..2 {
            assembly.push_client(second, ClientWindow::default());
        }
        assembly.push_tier(0, 1, tier("a"));
        assert!(assembly.next().unwrap().tiers.is_empty());
        assert_eq!(assembly.next().unwrap().tiers.len(), 1);
    }
}
