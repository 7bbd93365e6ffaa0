//! What a judgement tells beside its verdict, in names and values that text and page share.

use goodput_runlog::outcomes_in_words;
use goodput_verdict::{Effect, Interval, Judgement, Stretch, Verdict};

use crate::format;

/// The figures of a judgement that have something to say, each with its name.
pub(crate) fn figures(judgement: &Judgement) -> Vec<(&'static str, String)> {
    let mut told = Vec::new();
    if let Some(share) = judgement.share {
        let since = if judgement.time_to_recover.is_some() {
            "good since it was back"
        } else if judgement.trigger.is_some() {
            "good after the trigger"
        } else {
            "good after the baseline"
        };
        told.push((since, self::share(share, judgement.rule.needed)));
    }
    if judgement.trigger.is_some() {
        told.push(("time to recover", time_to_recover(judgement)));
    }
    if let Some(seconds) = judgement.since_lever {
        told.push(("since the last lever", format::moment(seconds)));
    }
    if let Some(left) = judgement.time_left {
        told.push(("time left to recover", time_left(left)));
    }
    if !judgement.stretches.is_empty() {
        told.push(("deep below its band", stretches(&judgement.stretches)));
    }
    for sustaining in &judgement.sustaining {
        let text = format!("{}: {}", effect(sustaining.effect), sustaining.text);
        told.push(("sustained by", text));
    }
    let ended = outcomes_in_words(&judgement.outcomes);
    if !ended.is_empty() {
        told.push(("attempts ended", ended));
    }
    if let Some(seconds) = judgement.run_longer {
        told.push(("to tell more", longer(seconds)));
    }
    told
}

/// The time to recover with what bounds it, and whether it lasted: `11 s, by 14 s at the latest; lost
/// again by 40 s, and back for good after 52 s`.
pub(crate) fn time_to_recover(judgement: &Judgement) -> String {
    let Some(took) = judgement.time_to_recover else {
        return short_time_to_recover(judgement);
    };
    let text = format::moment(took);
    let most = judgement.time_to_recover_most.map(format::moment);
    let text = match most.filter(|most| *most != text) {
        Some(most) => format!("{text}, by {most} at the latest"),
        None => text,
    };
    text + &what_came_after(judgement)
}

/// The time to recover and whether it lasted: `11 s; lost again by 40 s`.
pub(crate) fn lasting_time_to_recover(judgement: &Judgement) -> String {
    let took = judgement.time_to_recover.map_or_else(|| "–".to_owned(), format::moment);
    took + &what_came_after(judgement)
}

fn what_came_after(judgement: &Judgement) -> String {
    let mut text = String::new();
    if let Some(relapsed) = judgement.relapsed {
        text = format!("; lost again by {}", format::moment(relapsed));
        if let Some(settled) = judgement.settled {
            text = format!("{text}, and back for good after {}", format::moment(settled));
        }
    }
    text
}

/// The time to recover in a word or two, or why there is none; a dash where there was nothing to
/// recover from or no telling.
pub(crate) fn short_time_to_recover(judgement: &Judgement) -> String {
    match (judgement.verdict, judgement.time_to_recover) {
        (Verdict::Unstable, _) => "comes and goes".to_owned(),
        (Verdict::Metastable | Verdict::NotRecovered, Some(_)) => "lost again".to_owned(),
        (Verdict::Metastable | Verdict::NotRecovered, None) => "never".to_owned(),
        (_, Some(seconds)) => format::moment(seconds),
        (Verdict::SlowRecovery, None) => "not in time".to_owned(),
        (Verdict::Steady | Verdict::Recovered | Verdict::Inconclusive, None) => "–".to_owned(),
    }
}

/// How much longer a run has to be, as whoever runs it can use it.
pub(crate) fn longer(seconds: f64) -> String {
    if seconds.is_finite() && seconds > 0.0 {
        format!("run {} s longer", format::thousands(seconds.ceil()))
    } else {
        "run longer".to_owned()
    }
}

/// The name of an effect.
pub(crate) const fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::WastedWork => "wasted work",
        Effect::Amplification => "amplification",
        Effect::QueueDelay => "queue delay",
    }
}

fn share(share: Interval, needed: f64) -> String {
    let high = share.high.unwrap_or(1.0).min(1.0);
    let mut text = format!(
        "{} ({} to {})",
        format::percent(share.value),
        format::percent(share.low),
        format::percent(high)
    );
    if needed > 0.0 {
        text = format!("{text}; {} is needed", format::percent(needed));
    }
    text
}

fn time_left(left: Interval) -> String {
    let value = format::moment(left.value);
    match left.high.filter(|high| high.is_finite()) {
        Some(high) => format!(
            "{value} after the run's end ({} to {})",
            format::moment(left.low),
            format::moment(high)
        ),
        None => format!("{value} after the run's end ({} at least)", format::moment(left.low)),
    }
}

fn stretches(stretches: &[Stretch]) -> String {
    let said: Vec<_> = stretches.iter().take(STRETCHES_MAX).map(stretch).collect();
    let more = stretches.len().saturating_sub(STRETCHES_MAX);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let times = if stretches.len() == 1 { "time" } else { "times" };
    format!("{} {times}: {}{more}", stretches.len(), said.join(", "))
}

/// A stretch in words: `100 s to 130 s (12 % good)`.
pub(crate) fn stretch(stretch: &Stretch) -> String {
    format!(
        "{} to {} ({} good)",
        format::moment(stretch.from),
        format::moment(stretch.to),
        format::percent(stretch.share)
    )
}

/// How many stretches are told one by one.
const STRETCHES_MAX: usize = 4;

#[cfg(test)]
mod tests;
