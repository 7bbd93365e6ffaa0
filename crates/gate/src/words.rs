//! Reasons in words.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::Seen;
use crate::health::{Part, Silent, Unhealthy};

/// What was found of cohorts that begin at the second `offset`.
pub(crate) fn unhealthy(found: &Unhealthy, offset: u64) -> String {
    let Unhealthy { part, requests, share, needed, .. } = found;
    let (from, to) = (offset + found.seconds.start as u64, offset + found.seconds.end as u64);
    let which = match part {
        Part::Whole => "",
        Part::Last => ", its end,",
    };
    format!(
        "{:.1} % of {} requests from {from} s to {to} s{which} ended well or are still open, and \
         {:.0} % are needed",
        share.value * 100.0,
        number(*requests),
        needed * 100.0
    )
}

/// That nothing has ended well for a while.
pub(crate) fn silent(silent: &Silent) -> String {
    let Silent { seconds, open } = silent;
    let open = number(*open);
    format!(
        "none ended well in the last {seconds} s, and {open} requests from before are still open"
    )
}

/// How attempts failed so far, and what waits where; empty where neither is so.
pub(crate) fn circumstances(seen: &Seen<'_>) -> String {
    let mut failed: BTreeMap<&str, u64> = BTreeMap::new();
    for (outcome, count) in seen.windows.iter().flat_map(|window| &window.outcomes) {
        if !is_success(outcome) {
            *failed.entry(outcome).or_default() += count;
        }
    }
    let mut failed: Vec<_> = failed.into_iter().filter(|(_, count)| *count > 0).collect();
    failed.sort_by_key(|(_, count)| Reverse(*count));
    let failed: Vec<_> = failed.iter().map(|(what, count)| counted(what, *count)).collect();
    let waiting = seen.tiers.iter().filter(|tier| tier.queued > 0);
    let waiting: Vec<_> =
        waiting.map(|tier| format!("{} at `{}`", number(tier.queued), tier.name)).collect();
    let mut said = String::new();
    if !failed.is_empty() {
        said.push_str("; failed attempts: ");
        said.push_str(&failed.join(", "));
    }
    if !waiting.is_empty() {
        said.push_str("; in queues: ");
        said.push_str(&waiting.join(", "));
    }
    said
}

/// `812 refused`, `4 × 503`.
fn counted(outcome: &str, count: u64) -> String {
    let count = number(count);
    match outcome {
        "timeout" => format!("{count} timed out"),
        "own-limit" => format!("{count} by this process's own limits"),
        "too-large" => format!("{count} too large"),
        status if status.starts_with(|first: char| first.is_ascii_digit()) => {
            format!("{count} × {status}")
        }
        transport => format!("{count} {transport}"),
    }
}

fn is_success(outcome: &str) -> bool {
    outcome.len() == 3 && outcome.starts_with('2')
}

/// A count with separators of thousands.
pub(crate) fn number(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
