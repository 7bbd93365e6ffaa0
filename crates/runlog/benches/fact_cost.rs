//! What a fact costs the load generator's thread: `cargo bench -p goodput-runlog`, on a quiet machine.
#![expect(clippy::disallowed_types, reason = "a measurement needs a clock")]
#![expect(clippy::print_stdout, reason = "it prints what it measured")]

use std::time::{Duration, Instant};

use goodput_clock::Timestamp;
use goodput_runlog::{ClientRecorder, OutcomeKey, RequestEnd, RequestEnded};

const ROUNDS: u64 = 5_000_000;
const FACTS_A_ROUND: u64 = 6;

fn main() {
    let mut recorder = ClientRecorder::new(&["timeout"], &["exhausted"]);
    let began = Instant::now();
    for i in 0..ROUNDS {
        // 40,000 requests a second of scenario time, so that windows are closed on the way.
        let now = Timestamp::from_nanos(i * 25_000);
        let sent = now - Duration::from_micros(i % 5_000);
        recorder.offered(now, now);
        recorder.attempt_began(now);
        recorder.attempt_sent(now, 1);
        recorder.send_lag(now, Duration::from_nanos(i % 1_000_000));
        recorder.attempt_ended(now, None, OutcomeKey::Status(200));
        let end = RequestEnd::Good;
        recorder.request_ended(
            now,
            &RequestEnded { end, intended: sent, sent, attempts: 1, turned_away: false },
        );
        while recorder.next_window(now).is_some() {}
    }
    let nanos = began.elapsed().as_nanos() as f64 / (ROUNDS * FACTS_A_ROUND) as f64;
    println!("{nanos:.1} ns a fact, {} requests", recorder.offered_total());
}
