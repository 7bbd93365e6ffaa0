use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::model::RunLog;

/// How an attempt ended, as a window counts it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum OutcomeKey {
    /// With an answer of this HTTP status.
    Status(u16),
    /// Without one; what the transport said, here or at a gateway's upstream.
    Transport(&'static str),
}

/// Outcomes of attempts in words, the most frequent first: `200 × 4,812 · 503 × 12 · timeout × 88`; empty
/// where none ended.
pub fn outcomes_in_words(outcomes: &BTreeMap<String, u64>) -> String {
    let mut counts: Vec<_> = outcomes.iter().filter(|(_, count)| **count > 0).collect();
    counts.sort_by_key(|(_, count)| Reverse(**count));
    let said: Vec<_> = counts
        .into_iter()
        .map(|(name, count)| format!("{name} × {}", with_thousands(*count)))
        .collect();
    said.join(" · ")
}

fn with_thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Counts outcomes over a window. Most windows have one or two kinds, so that a short list, looked
/// through from its front, is quicker than a map.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcomes {
    counts: Vec<(OutcomeKey, u64)>,
    other: u64,
}

impl Outcomes {
    pub(crate) fn count(&mut self, key: OutcomeKey) {
        let known = self.counts.len();
        match self.counts.iter_mut().find(|(known, _)| *known == key) {
            Some((_, count)) => *count += 1,
            None if known + 1 < RunLog::OUTCOMES_MAX => self.counts.push((key, 1)),
            None => self.other += 1,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.counts.is_empty() && self.other == 0
    }

    /// Takes what was counted; its memory is used again.
    pub(crate) fn take(&mut self) -> BTreeMap<String, u64> {
        let named = self.counts.drain(..).map(|(key, count)| (name(key), count));
        let other = std::mem::take(&mut self.other);
        named.chain((other > 0).then(|| ("other".to_owned(), other))).collect()
    }
}

fn name(key: OutcomeKey) -> String {
    match key {
        OutcomeKey::Status(status) => status.to_string(),
        OutcomeKey::Transport(name) => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_the_most_frequent_first_and_none_that_did_not_occur() {
        let counts = [("200", 4_812), ("503", 12), ("timeout", 1_234_567), ("500", 0)];
        let counts = counts.map(|(name, count)| (name.to_owned(), count));
        let words = outcomes_in_words(&BTreeMap::from(counts));
        assert_eq!(words, "timeout × 1,234,567 · 200 × 4,812 · 503 × 12");
        assert_eq!(outcomes_in_words(&BTreeMap::new()), "");
    }

    #[test]
    fn outcomes_beyond_the_bound_count_as_other() {
        let mut outcomes = Outcomes::default();
        for status in 200..300 {
            outcomes.count(OutcomeKey::Status(status));
            outcomes.count(OutcomeKey::Transport("timeout"));
        }
        let counts = outcomes.take();
        assert_eq!(counts.len(), RunLog::OUTCOMES_MAX);
        assert_eq!((counts["200"], counts["timeout"], counts["other"]), (1, 100, 70));
        assert!(outcomes.is_empty() && outcomes.take().is_empty());
    }
}
