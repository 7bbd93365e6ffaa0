//! The schedule is kept while the server is frozen. Alone in its program, so that no other test takes
//! the processor away.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

mod common;

use std::time::Duration;

use common::{config, layer, scenario};
use goodput_load_generator::Generator;
use goodput_scenario::Arrivals;
use goodput_test_support::PathServer;

/// What a freeze of a second did to a schedule of 2,000/s.
#[derive(Debug)]
struct Freeze {
    /// What was sent while the server was frozen, over what was scheduled then.
    kept: f64,
    /// The most that was sent in a tenth of a second afterwards, over what was scheduled then.
    burst: f64,
}

/// At ten times the speed a window of the run log is a tenth of a second.
fn freeze() -> Freeze {
    let server = PathServer::start();
    let mut scenario = scenario(200.0, 25.0, "/orders/{order}");
    scenario.load.arrivals = Arrivals::Constant;
    scenario.client.layers = vec![layer("client", Some(Duration::from_secs(200)), 0)];
    let config = config(scenario, &server, 10.0);
    let epoch = config.epoch;
    let generator = Generator::start(config).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    server.freeze(Duration::from_secs(1));
    let report = generator.finish();

    // Every request that the windows say was sent came to the server.
    let seen = server.seen();
    let sent: u64 = report.windows.iter().map(|window| window.window.attempts).sum();
    assert_eq!((report.offered, report.good, sent, seen.len()), (5000, 5000, 5000, 5000));
    let at: Vec<f64> = seen.iter().map(|seen| (seen.at - epoch).as_secs_f64()).collect();
    let frozen = at.windows(2).find(|pair| pair[1] - pair[0] > 0.9).expect("the server froze");
    let (from, to) = ((frozen[0] * 10.0).ceil() as u64, (frozen[1] * 10.0).floor() as u64);
    let sent_in = |seconds: std::ops::Range<u64>| -> Vec<f64> {
        let windows = report.windows.iter().filter(|window| seconds.contains(&window.second));
        windows.map(|window| window.window.attempts as f64 / 200.0).collect()
    };
    let during = sent_in(from..to);
    assert!(during.len() >= 8, "{frozen:?}");
    Freeze {
        kept: during.iter().sum::<f64>() / during.len() as f64,
        burst: sent_in(to..25).into_iter().fold(0.0, f64::max),
    }
}

/// A generator that waits for a frozen server offers it nothing, and then a burst of 2,000.
#[test]
fn the_schedule_is_kept_while_the_server_is_frozen_and_no_burst_follows() {
    // The machine may take the processor away for a while, which is not the generator's doing; one
    // that waits for the server keeps a tenth of the schedule every time.
    let mut tries = Vec::new();
    let kept = (0..5).any(|_| {
        let freeze = freeze();
        let kept = freeze.kept >= 0.99 && freeze.burst <= 1.3;
        tries.push(freeze);
        kept
    });
    assert!(kept, "{tries:?}");
}
