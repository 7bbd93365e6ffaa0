use serde::Deserialize;

use crate::model::RunLog;

/// Why a run log could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RunLogError {
    /// The text is larger than any run log may be.
    #[error("the run log has {bytes} bytes, more than the {limit} that one may have")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The text is no JSON, or not of the shape of a run log.
    #[error(
        "not a run log: {0}; a run log is the `runlog.json` that `goodput run` writes, \
         and begins with {{\"schema\": {schema}}}",
        schema = RunLog::SCHEMA
    )]
    Malformed(#[source] serde_json::Error),
    /// Another version of goodput wrote it.
    #[error(
        "the run log has schema {found}, and this version reads schema {expected}; \
         run the scenario again, or read it with the version that wrote it"
    )]
    Schema {
        /// What it says.
        found: u64,
        /// What can be read.
        expected: u32,
    },
    /// A list is longer than it may be.
    #[error("the run log has {found} {what}, more than the {limit} that one may have")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// A figure that no run can have.
    #[error("the run log is inconsistent: {0}")]
    Inconsistent(String),
}

impl RunLog {
    /// The version of the shape that this crate writes and reads.
    pub const SCHEMA: u32 = 2;
    /// The largest text that is read, in bytes.
    pub const BYTES_MAX: usize = 512 << 20;
    /// The most windows: eleven and a half days of scenario time.
    pub const WINDOWS_MAX: usize = 1_000_000;
    /// The most events.
    pub const EVENTS_MAX: usize = 100_000;
    /// The most tiers in a window.
    pub const TIERS_MAX: usize = 64;
    /// The most buckets of a histogram.
    pub const BUCKETS_MAX: usize = 100_000;
    /// The most classes or reasons that a window tells apart.
    pub const CLASSES_MAX: usize = 64;
    /// The most statuses and transport errors that a window tells apart.
    pub const OUTCOMES_MAX: usize = 32;
    /// The largest count, some 10^12: as many windows as there may be add up without an overflow.
    pub const COUNT_MAX: u64 = 1 << 40;

    /// Writes the log as JSON.
    ///
    /// # Errors
    ///
    /// Where a figure is not finite, since JSON has no such number, or a list is longer than
    /// [`RunLog::from_json`] would read.
    pub fn to_json(&self) -> Result<String, RunLogError> {
        self.check()?;
        serde_json::to_string(self).map_err(RunLogError::Malformed)
    }

    /// Reads a log from JSON, and checks its schema, its sizes and its figures.
    ///
    /// # Errors
    ///
    /// Where the text is too large, no JSON, of another schema, or holds what no run can have seen.
    pub fn from_json(text: &str) -> Result<Self, RunLogError> {
        #[derive(Deserialize)]
        struct Head {
            schema: u64,
        }
        if text.len() > Self::BYTES_MAX {
            return Err(RunLogError::TooLarge { bytes: text.len(), limit: Self::BYTES_MAX });
        }
        // The schema is read on its own first, since another version's shape may differ anywhere.
        let head: Head = serde_json::from_str(text).map_err(RunLogError::Malformed)?;
        if head.schema != u64::from(Self::SCHEMA) {
            return Err(RunLogError::Schema { found: head.schema, expected: Self::SCHEMA });
        }
        let log: Self = serde_json::from_str(text).map_err(RunLogError::Malformed)?;
        log.check()?;
        Ok(log)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use goodput_clock::{Seed, Timestamp};

    use super::*;
    use crate::model::{
        ClientWindow, EngineKind, Event, EventKind, Meta, TierWindow, Totals, Window,
    };

    fn log() -> RunLog {
        let client = ClientWindow {
            offered: 80,
            failed: BTreeMap::from([("timeout".to_owned(), 3)]),
            ..ClientWindow::default()
        };
        let tier = TierWindow { capacity: Some(100.0), ..TierWindow::default() };
        let (name, tier_name) = ("cut".to_owned(), "order-status".to_owned());
        let ended = EventKind::FaultEnded { name, tier: tier_name };
        RunLog {
            meta: Meta {
                scenario: "database-failover".to_owned(),
                arm: Some("naive".to_owned()),
                engine: EngineKind::Rig,
                seed: Seed(u64::MAX),
                speed: 10.0,
                started: "2026-11-30T08:00:00Z".to_owned(),
                command: "goodput run".to_owned(),
                version: "0.1.0".to_owned(),
                parameters: serde_json::json!({ "load": { "rate": 80 } }),
            },
            windows: vec![Window { second: 0, client, tiers: vec![tier] }],
            events: vec![Event { at: Timestamp::from_nanos(u64::MAX - 1), kind: ended }],
            totals: Totals { latency: vec![(0.1, 7)], ..Totals::default() },
            ..RunLog::default()
        }
    }

    #[test]
    fn a_log_that_was_written_reads_as_it_was() {
        let text = log().to_json().unwrap();
        assert_eq!(RunLog::from_json(&text).unwrap(), log());
    }

    #[test]
    fn floats_survive_to_the_last_bit() {
        let mut random = Seed(1).stream("floats");
        let mut log = log();
        log.totals.latency =
            (0..10_000).map(|_| (f64::from_bits(random.below(f64::MAX.to_bits())), 1)).collect();
        let read = RunLog::from_json(&log.to_json().unwrap()).unwrap();
        let bits = |log: &RunLog| -> Vec<u64> {
            log.totals.latency.iter().map(|(bound, _)| bound.to_bits()).collect()
        };
        assert_eq!(bits(&read), bits(&log));
    }

    #[test]
    fn another_schema_is_refused_before_its_shape_is_read() {
        let error = RunLog::from_json("{\"schema\": 99, \"rows\": []}").unwrap_err();
        assert!(matches!(error, RunLogError::Schema { found: 99, expected: 2 }), "{error}");
    }

    #[test]
    fn what_is_no_run_log_is_refused_with_an_example() {
        for text in ["", "[]", "{}", "{\"schema\": 2}", "\u{0}", "{\"schema\": -1}"] {
            let error = RunLog::from_json(text).unwrap_err();
            assert!(matches!(error, RunLogError::Malformed(_)), "{text}: {error}");
            assert!(error.to_string().contains("{\"schema\": 2}"), "{error}");
        }
    }

    #[test]
    fn figures_that_no_run_can_have_are_refused() {
        let refused = |change: fn(&mut RunLog)| {
            let mut log = log();
            change(&mut log);
            log.to_json().unwrap_err().to_string()
        };
        let text = refused(|log| log.windows[0].tiers[0].busy_wasted = f64::NAN);
        assert!(text.contains("a figure of a tier is NaN"), "{text}");
        let text = refused(|log| log.windows.push(log.windows[0].clone()));
        assert!(text.contains("the window of second 0 does not come after"), "{text}");
        let text = refused(|log| log.totals.latency.push((f64::INFINITY, 1)));
        assert!(text.contains("a bound in the buckets of the latency"), "{text}");
        let text = refused(|log| log.windows[0].tiers = vec![TierWindow::default(); 65]);
        assert!(text.contains("65 tiers in a window, more than the 64"), "{text}");
        let text = refused(|log| log.windows[0].second = u64::MAX);
        assert!(text.contains("a run has at most 1000000"), "{text}");
    }

    #[test]
    fn counts_that_could_not_be_added_up_are_refused() {
        let much = RunLog::COUNT_MAX + 1;
        let changes: [fn(&mut RunLog, u64); 5] = [
            |log, much| log.windows[0].client.good = much,
            |log, much| log.windows[0].client.failed.values_mut().for_each(|count| *count = much),
            |log, much| log.windows[0].tiers[0].queued = much,
            |log, much| log.totals.latency[0].1 = much,
            |log, much| log.totals.attempts_per_request = BTreeMap::from([(1, much)]),
        ];
        for change in changes {
            let mut log = log();
            change(&mut log, RunLog::COUNT_MAX);
            assert!(log.to_json().is_ok());
            change(&mut log, much);
            let error = log.to_json().unwrap_err().to_string();
            assert!(error.contains(&much.to_string()), "{error}");
        }
    }
}
