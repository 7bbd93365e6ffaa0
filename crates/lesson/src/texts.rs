//! What each lesson says. Every figure in a text is that of a run of its model.

use std::fmt::Write as _;

use crate::band::{Band, Factor};
use crate::picture::Chart;
use crate::pool::{Pool, Reuse};
use crate::reoffer::Naive;
use crate::steps::{Second, Steps};

pub(crate) fn cut() -> String {
    let model = Steps::order_status(0);
    let mut text = paragraph(&format!(
        "{} new requests a second, a capacity of {}, a time-out of {} s, up to {} retries after 1, 2 and 4 s. \
         From second {} on only {} a second are served, for a while. In each second arrivals enter, the \
         server serves in order, and callers whose time-out is reached give up; an answer is good if its \
         caller still waits.",
        model.arrivals, model.capacity, model.timeout, model.retries, model.cut.from, model.cut.to
    ));
    let permanent = model.shortest_permanent_cut(60).unwrap_or_default();
    for length in [permanent - 1, permanent] {
        let seconds = Steps::order_status(length).play();
        let title = format!("goodput per second, cut of {length} s");
        text += &over_time(&title, " s", &seconds, 80.0, |second| second.goodput);
    }
    let seconds = Steps::order_status(permanent).play();
    let title = format!("attempts per second, cut of {permanent} s");
    text += &over_time(&title, " s", &seconds, 320.0, |second| second.attempts);
    let dropped = Steps { drop_expired: true, ..Steps::order_status(20) };
    let title = "goodput per second, cut of 20 s, expired work dropped when its turn comes";
    text += &over_time(title, " s", &dropped.play(), 100.0, |second| second.goodput);
    text + "\n" + &cut_in_words(&model, permanent, seconds.last().copied().unwrap_or_default())
}

fn cut_in_words(model: &Steps, permanent: u64, last: Second) -> String {
    let outage = paragraph(&format!(
        "A cut of {} s is absorbed, one of {permanent} s is permanent: {} attempts enter each second for a \
         capacity of {}, {} are served and {} of those in time. {} attempts wait; every answer comes too \
         late, and so earns the next retry. The cut is over, the failure is not.",
        permanent - 1,
        last.attempts,
        model.capacity,
        last.served,
        last.goodput,
        thousands(last.queued),
    ));
    outage
        + &paragraph(&format!(
            "Safe load: capacity / (retries + 1) = {} / {} = {} a second. Below it no cut sticks. Longer \
             backoff delays the retries and takes none away: with 5 s instead of 1 s, a cut of 20 s ends \
             at {} good a second. Dropping expired work drains the backlog at once.",
            model.capacity,
            model.retries + 1,
            model.safe_load(),
            Steps { backoff: 5, ..Steps::order_status(20) }.goodput_at_end(),
        ))
}

pub(crate) fn stall() -> String {
    let model = Steps::stalled(8);
    let mut text = paragraph(&format!(
        "A server serves {} a tick, stands still for {} ticks from tick {} on, and is put back as it was. \
         Callers wait {} ticks and retry up to {} times. Safe load: {} / {} = {} a tick.",
        model.capacity,
        model.cut.length,
        model.cut.from,
        model.timeout,
        model.retries,
        model.capacity,
        model.retries + 1,
        model.safe_load(),
    ));
    for load in [2, 3, 8] {
        let title = format!("goodput per tick at a load of {load} ({} % utilisation)", load * 10);
        let top = load.max(5) as f64;
        text += &over_time(&title, "", &Steps::stalled(load).play(), top, |second| second.goodput);
    }
    text += "\n";
    text += &paragraph(
        "The stall is the same. At 2 a tick it is forgotten; at 3, on a server that was 70 % idle, it stays.",
    );
    text +=
        "Ways out at a load of 8, pulled at tick 100 where they are levers: goodput at the end\n";
    let long = Steps { seconds: 2_000, ..model };
    let raised = |capacity| Steps { raised: Some((100, capacity)), ..long }.goodput_at_end();
    let most = model.attempts_most();
    let budget = Steps { budget_percent: Some(10), seconds: 600, ..model };
    for (way, goodput) in [
        ("none".to_owned(), model.goodput_at_end()),
        (
            "retries limited to 10 % of requests: 8.8 attempts a tick".to_owned(),
            budget.goodput_at_end(),
        ),
        (format!("capacity raised to {most}, the load with all retries"), raised(most)),
        (format!("capacity raised to {}", most + 1), raised(most + 1)),
        (
            "queue shed, where callers who are shed do not retry".to_owned(),
            Steps { shed: Some(100), ..model }.goodput_at_end(),
        ),
    ] {
        let _ = writeln!(text, "  {way:<60}{goodput}");
    }
    text
}

pub(crate) fn reoffer() -> String {
    let model = Naive::example();
    let mut text = paragraph(&format!(
        "{} requests arrive each tick, {} can be served, and {} during ticks {} to {}. Naive callers offer \
         again in each tick what was not served; a server that is offered more than its capacity does \
         capacity x capacity / offered of useful work. Shed + breaker: what is beyond capacity is refused \
         and not tried again.",
        model.arrivals,
        model.capacity,
        model.spell.capacity,
        model.spell.from,
        model.spell.to - 1,
    ));
    let runs = [("naive", model.reoffered()), ("shed + breaker", model.shed())];
    let marks = [(0, "0"), (100, "spell"), (150, "over"), (284, "300")];
    for (name, goodput) in &runs {
        let title = format!("goodput per tick, {name}");
        let chart =
            Chart { title: &title, values: goodput, per_column: 4, top: 80.0, marks: &marks };
        text += &chart.draw();
    }
    text += "\n                  before   during    after    in all\n";
    for (name, goodput) in &runs {
        let [before, during, after] = model.by_phase(goodput);
        let total = thousands(goodput.iter().sum::<f64>().round() as u64);
        let _ = writeln!(text, "  {name:<14}{before:>8.1} {during:>8.1} {after:>8.1} {total:>9}");
    }
    text
}

pub(crate) fn pool() -> String {
    let mut text = paragraph(
        "Workers A, B and C serve one request at a time, 2 units each; a client holds two connections to \
         each. It sends a batch and waits for all of it. Six requests come at 0, while C stands still for \
         4 units; from 9 on a pair comes every 3 units, which two idle workers answer in 2.",
    );
    let lifo = Pool::of(Reuse::Lifo);
    let switched = Pool { switched: Some((24, Reuse::Fifo)), ..lifo };
    let marks = [(0, "0"), (9, "pairs begin"), (24, "24"), (37, "37"), (49, "49"), (60, "60")];
    for (name, pool) in [
        ("newest connection first (LIFO)", lifo),
        ("LIFO, oldest first (FIFO) from 24 on", switched),
    ] {
        let waiting: Vec<f64> = pool.play().iter().map(|state| state.waiting as f64).collect();
        let title = format!("requests that wait, {name}");
        let chart =
            Chart { title: &title, values: &waiting, per_column: 1, top: 12.0, marks: &marks };
        text += &chart.draw();
    }
    text += "\n  at                     24       25       37       49       60   (done/waiting)\n";
    for (name, pool) in [("LIFO", lifo), ("FIFO from 24 on", switched)] {
        let states = pool.play();
        let cell = |at: usize| format!("{}/{}", states[at].done, states[at].waiting);
        let cells = [24, 25, 37, 49, 60].map(|at| format!("{:>9}", cell(at))).concat();
        let _ = writeln!(text, "  {name:<16}{cells}");
    }
    text + "\n"
        + &paragraph(
            "The slow worker's answer returns last, so its connection is the newest, and the next pair \
             goes to that one worker: 4 units instead of 2, again and again, with two workers idle. The \
             burst is long over. Without it the same arrivals never build a queue; switching the order of \
             reuse ends it.",
        )
}

pub(crate) fn band() -> String {
    let band = Band::example();
    let (k, capacity) = (band.factor.0 / 10, thousands(band.capacity));
    let mut text = paragraph(&format!(
        "A capacity of C = {capacity} a second, up to k = {k} attempts a request, and a load of {} a second.",
        thousands(LOAD)
    ));
    text += &loop_of(&band);
    text += &paragraph(&format!(
        "Below C / k = {low} even the load with all its retries is served, and no trigger sticks. Above \
         C = {capacity} it fails by itself. Between them it depends on the past: it fails at {capacity} and \
         returns at {low}, a factor of {k} apart. That is hysteresis.",
        low = thousands(band.recovers_below()),
    ));
    let shed = LOAD * 80 / 100;
    let budget = Band { factor: Factor(11), ..band };
    let _ = write!(
        text,
        "At {load} a second:
  failed: {load} x {k} = {} attempts a second meet a capacity of {capacity}, so it stays failed
  shedding 20 %: {} x {k} = {} is still above {capacity}, so nothing changes
  a retry budget of 10 %, k = 1.1: {} < {capacity}, so nothing sustains the failure: no band

",
        thousands(band.amplified(LOAD)),
        thousands(shed),
        thousands(band.amplified(shed)),
        thousands(budget.amplified(LOAD)),
        load = thousands(LOAD),
    );
    text + "What works, in this order: block at the edge, drop the backlog, restart, warm the cache,
readmit in steps.
"
}

/// Loads up and down again, and at which of them goodput is the load.
fn loop_of(band: &Band) -> String {
    let up: Vec<u64> = (1..=48).map(|index| index * 50).collect();
    let down = up.iter().rev();
    let served = band.walk(up.iter().chain(down).copied());
    let (rising, falling) = served.split_at(up.len());
    let line = |served: &mut dyn Iterator<Item = &bool>| -> String {
        served.map(|well| if *well { '━' } else { '·' }).collect()
    };
    format!(
        "  load up    {}
  load down  {}
             stable    vulnerable                    overloaded
             0         {:<14}{:<16}{}

  ━ goodput is the load   · goodput is lost

",
        line(&mut rising.iter()),
        line(&mut falling.iter().rev()),
        thousands(band.recovers_below()),
        thousands(LOAD),
        thousands(band.fails_above()),
    )
}

/// The load of lesson 5.
const LOAD: u64 = 1_200;

/// Words in lines of at most [`WIDTH`] columns, and an empty line after them.
fn paragraph(text: &str) -> String {
    let mut lines = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if column > 0 && column + 1 + width > WIDTH {
            lines += "\n";
            column = 0;
        } else if column > 0 {
            lines += " ";
            column += 1;
        }
        lines += word;
        column += width;
    }
    lines + "\n\n"
}

const WIDTH: usize = 96;

/// A figure of every second or tick of a run as a chart, 4 a column.
fn over_time(
    title: &str,
    unit: &str,
    seconds: &[Second],
    top: f64,
    of: fn(&Second) -> u64,
) -> String {
    let values: Vec<f64> = seconds.iter().map(|second| of(second) as f64).collect();
    let last = seconds.len().saturating_sub(16);
    let [first, second, end] = [60, 120, 300].map(|time| format!("{time}{unit}"));
    let marks = [(0, "0"), (60, first.as_str()), (120, second.as_str()), (last, end.as_str())];
    Chart { title, values: &values, per_column: 4, top, marks: &marks }.draw()
}

fn thousands(number: u64) -> String {
    if number < 1_000 {
        return number.to_string();
    }
    format!("{},{:03}", thousands(number / 1_000), number % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_carry_the_reference_numbers() {
        for (text, figures) in [
            (cut(), &["cut of 11 s", "cut of 12 s", "320 attempts", "= 25 a second"][..]),
            (stall(), &["= 2.5 a tick", "raised to 32", "raised to 33"]),
            (reoffer(), &["8,197", "21,000", "0.5", "1.2"]),
            (pool(), &["13/4", "31/10", "40/0"]),
            (band(), &["3,840", "1,320 < 2,000", "a factor of 4"]),
        ] {
            for figure in figures {
                assert!(text.contains(figure), "no {figure} in {text}");
            }
        }
    }

    #[test]
    fn thousands_are_separated() {
        let written = [0, 999, 1_000, 12_345_678].map(thousands);
        assert_eq!(written, ["0", "999", "1,000", "12,345,678"]);
    }
}
