//! Runs one arm of a built-in scenario: `headline [ARM] [SPEED]`.
use goodput_clock::Scale;
use goodput_control::Audit;
use goodput_rig::{RunOptions, Target, run};
use goodput_runlog::{Cancel, Event, Observer, Window};
use goodput_scenario::{Plan, builtin};

struct Lines;
impl Observer for Lines {
    fn on_window(&mut self, w: &Window) {
        let t = w.tiers.last();
        if w.second % 5 == 0 {
            println!(
                "{:4} offered {} good {} attempts {} served {:?} queued {:?} q50 {:?} lag99 {:.4} conn {} gap {:?}",
                w.second,
                w.client.offered,
                w.client.good,
                w.client.attempts,
                t.map(|t| t.served),
                t.map(|t| t.queued),
                t.map(|t| t.queue_delay.p50),
                w.client.send_lag.p99,
                w.client.connections,
                t.map(|t| t.sample_gap)
            );
        }
    }
    fn on_event(&mut self, e: &Event) {
        println!("{e:?}");
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let b = builtin::by_name("database-failover").unwrap();
    let plan = Plan::parse(b.name, b.text).unwrap();
    let arm = plan.arm(&args[1]).unwrap();
    let (_s, r) = std::sync::mpsc::channel();
    let log = run(
        RunOptions {
            scenario: arm.scenario.clone(),
            arm: Some(arm.name.clone()),
            seed: arm.scenario.seed,
            scale: Scale::new(args[2].parse().unwrap()).unwrap(),
            command: String::new(),
            target: Target::Loopback,
            audit: Audit::memory(),
        },
        &mut Lines,
        r,
        Cancel::new(),
    )
    .unwrap();
    println!("{:?} windows {} {:?}", log.integrity, log.windows.len(), log.ending);
}
