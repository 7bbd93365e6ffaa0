use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use goodput_runlog::{Ending, EngineKind, Integrity, Meta, Totals};

use super::*;

fn plan_of(rate: u32) -> goodput_scenario::Plan {
    let text = format!(
        "name = \"calm\"\nduration = \"60s\"\n[load]\nrate = {rate}\n[[client.layer]]\n\
         timeout = \"5s\"\nretries = 3\n[[tier]]\nname = \"server\"\n[expect]\nverdict = \"steady\""
    );
    goodput_scenario::Plan::parse("test", &text).unwrap()
}

fn empty_log(scenario: &Scenario) -> RunLog {
    RunLog {
        schema: RunLog::SCHEMA,
        meta: Meta {
            scenario: scenario.name.clone(),
            arm: None,
            engine: EngineKind::Rig,
            seed: scenario.seed,
            speed: 1.0,
            started: String::new(),
            command: String::new(),
            version: String::new(),
            parameters: serde_json::Value::Null,
        },
        windows: Vec::new(),
        events: Vec::new(),
        totals: Totals::default(),
        integrity: Integrity::default(),
        ending: Ending::Completed,
    }
}

fn run_four(jobs: usize, cancel: &Cancel, engine: &impl CarryOut) -> Outcomes {
    let plan = plan_of(80);
    let task = Task { label: "calm", scenario: &plan.scenario, control: false };
    let batch = Batch {
        title: "test",
        tasks: &[task; 4],
        jobs,
        speed: Scale::REAL,
        display: Display::Quiet,
        cancel,
    };
    run_all(&batch, engine)
}

#[test]
fn outcomes_come_in_the_order_of_the_tasks_and_no_more_run_than_allowed() {
    let scenario = plan_of(80).scenario;
    let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let outcomes = run_four(2, &Cancel::new(), &|index, _, _| {
        most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(20 * (4 - index as u64)));
        running.fetch_sub(1, Ordering::SeqCst);
        if index == 2 {
            return Err(Failure::usage("no luck"));
        }
        let mut log = empty_log(&scenario);
        log.meta.arm = Some(index.to_string());
        Ok(log)
    });
    assert_eq!(most.load(Ordering::SeqCst), 2);
    for (index, outcome) in outcomes.into_iter().enumerate() {
        match outcome {
            Some(Ok(finished)) => assert_eq!(finished.log.meta.arm, Some(index.to_string())),
            Some(Err(failure)) => assert_eq!((index, failure.message.as_str()), (2, "no luck")),
            None => panic!("task {index} was not run"),
        }
    }
}

#[test]
fn what_has_not_begun_when_runs_are_cancelled_is_left_out() {
    let scenario = plan_of(80).scenario;
    let cancel = Cancel::new();
    let outcomes = run_four(1, &cancel, &|index, _, _| {
        if index == 1 {
            cancel.cancel();
        }
        Ok(empty_log(&scenario))
    });
    let run: Vec<_> = outcomes.iter().map(Option::is_some).collect();
    assert_eq!(run, [true, true, false, false]);
}

#[test]
#[should_panic(expected = "a bug of the engine")]
fn a_panic_of_a_run_is_not_swallowed() {
    let _ = run_four(2, &Cancel::new(), &|_, _, _| panic!("a bug of the engine"));
}

#[test]
fn heavier_runs_leave_room_for_fewer_beside_them() {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let speed = Scale::new(10.0).unwrap();
    let fit = |rate| {
        let plan = plan_of(rate);
        let task = Task { label: "calm", scenario: &plan.scenario, control: false };
        jobs_that_fit(&[task; 100], speed)
    };
    // 80/s × 4 attempts × speed 10 against 6,400 attempts per second and core.
    assert_eq!(fit(80), (cores * 2).min(100));
    assert_eq!(fit(100_000), 1);
}
