use super::*;
use crate::model::RequestTemplate;

fn load(rate: f64, arrivals: Arrivals, changes: Vec<RateChange>) -> Load {
    let request = RequestTemplate {
        method: "GET".into(),
        path: "/orders/{order}".into(),
        headers: Vec::new(),
        body: String::new(),
        orders: 1000,
    };
    Load { rate: Rate::new(rate).unwrap(), arrivals, changes, request }
}

fn change(at: u64, rate: f64, over: u64, length: Option<u64>) -> RateChange {
    RateChange {
        at: Timestamp::from_secs(at),
        rate: Rate::new(rate).unwrap(),
        over: Duration::from_secs(over),
        length: length.map(Duration::from_secs),
    }
}

fn schedule(load: &Load, seconds: u64) -> Schedule {
    Schedule::new(load, Duration::from_secs(seconds), Seed(1))
}

/// How many arrivals come in each second.
fn per_second(schedule: Schedule, seconds: usize) -> Vec<u64> {
    let mut counts = vec![0; seconds];
    for at in schedule {
        counts[at.as_secs_f64() as usize] += 1;
    }
    counts
}

#[test]
fn constant_arrivals_stand_at_their_index_and_none_is_missing() {
    let load = load(80.0, Arrivals::Constant, Vec::new());
    let times: Vec<_> = schedule(&load, 240).collect();
    assert_eq!(times.len(), 80 * 240);
    for (index, at) in times.iter().enumerate() {
        assert_eq!(*at, Timestamp::from_nanos(index as u64 * 12_500_000));
    }
}

#[test]
fn the_same_seed_gives_the_same_arrivals_and_another_seed_others() {
    let load = load(50.0, Arrivals::Poisson, Vec::new());
    let of = |seed| Schedule::new(&load, Duration::from_mins(1), Seed(seed)).collect::<Vec<_>>();
    assert_eq!(of(7), of(7));
    assert_ne!(of(7), of(8));
}

#[test]
fn poisson_arrivals_have_the_mean_and_the_variance_of_their_rate() {
    let load = load(80.0, Arrivals::Poisson, Vec::new());
    let counts = per_second(schedule(&load, 10_000), 10_000);
    let mean = counts.iter().sum::<u64>() as f64 / 1e4;
    let variance = counts.iter().map(|count| (*count as f64 - mean).powi(2)).sum::<f64>() / 1e4;
    assert!((mean - 80.0).abs() < 0.5, "{mean}");
    assert!((variance / mean - 1.0).abs() < 0.1, "{variance}");
}

#[test]
fn a_batch_arrives_at_once_and_keeps_the_rate() {
    let load = load(100.0, Arrivals::Batch { size: 20 }, Vec::new());
    let times: Vec<_> = schedule(&load, 10).collect();
    assert_eq!(times.len(), 1000);
    assert!(times.chunks(20).all(|batch| batch.iter().all(|at| *at == batch[0])));
    assert_eq!(times[20], Timestamp::from_secs_f64(0.2));
}

#[test]
fn steps_ramps_and_spikes_move_the_rate_as_written() {
    let changes = vec![
        change(10, 200.0, 0, None),
        change(20, 100.0, 10, None),
        change(40, 300.0, 0, Some(5)),
    ];
    let load = load(100.0, Arrivals::Constant, changes);
    let counts = per_second(schedule(&load, 50), 50);
    for (second, count) in counts.iter().enumerate() {
        let middle = second as f64 + 0.5;
        let rate = match second {
            10..20 => 200.0,
            20..30 => 200.0 - 10.0 * (middle - 20.0),
            0..10 | 30..40 | 45.. => 100.0,
            40..45 => 300.0,
        };
        assert!((*count as f64 - rate).abs() <= 1.5, "second {second}: {count} for {rate}");
        let at = Timestamp::from_secs_f64(middle);
        assert!((load.rate_at(at) - rate).abs() < 1e-6, "second {second}");
    }
    assert_eq!(load.peak_rate(), Rate::new(300.0).unwrap());
}

#[test]
fn a_lever_changes_the_rate_from_its_moment_and_replaces_the_plan() {
    let load = load(100.0, Arrivals::Constant, vec![change(30, 500.0, 0, None)]);
    let mut schedule = schedule(&load, 40);
    let before: Vec<_> =
        std::iter::from_fn(|| schedule.next_before(Timestamp::from_secs(10))).collect();
    assert_eq!(before.len(), 1000);
    schedule.set_rate(Timestamp::from_secs(10), Rate::new(20.0).unwrap());
    let counts = per_second(schedule, 40);
    assert!(counts[..10].iter().all(|count| *count == 0));
    assert!(counts[10..].iter().all(|count| (19..=21).contains(count)), "{counts:?}");
}

#[test]
fn a_lever_that_comes_late_neither_repeats_nor_loses_what_was_due() {
    let load = load(100.0, Arrivals::Constant, Vec::new());
    let mut schedule = schedule(&load, 20);
    for _ in 0..500 {
        schedule.next();
    }
    // The generator is two seconds late: 200 arrivals are due and stay due when they were.
    schedule.set_rate(Timestamp::from_secs(7), Rate::new(50.0).unwrap());
    let counts = per_second(schedule, 20);
    assert_eq!(counts[5..7], [100, 100]);
    assert!(counts[7..].iter().all(|count| (49..=51).contains(count)), "{counts:?}");
}

#[test]
fn times_never_decrease_even_where_a_lever_overtakes_an_arrival_already_taken() {
    let load = load(0.5, Arrivals::Constant, Vec::new());
    let mut schedule = schedule(&load, 10);
    schedule.next();
    let taken = schedule.next().unwrap();
    assert_eq!(taken, Timestamp::from_secs(2));
    schedule.set_rate(Timestamp::from_secs(1), Rate::new(100.0).unwrap());
    assert!(schedule.next().unwrap() >= taken);
}

#[test]
fn the_count_until_a_moment_is_the_number_of_arrivals_before_it() {
    let load = load(80.0, Arrivals::Poisson, vec![change(5, 160.0, 2, Some(4))]);
    let schedule = schedule(&load, 30);
    let times: Vec<_> = schedule.clone().collect();
    for second in [0, 1, 6, 29, 30, 99] {
        let until = Timestamp::from_secs(second);
        let before = times.iter().filter(|at| **at < until).count() as u64;
        assert_eq!(schedule.count_until(until), before, "{second}");
    }
}

#[test]
fn order_ids_cover_the_book_evenly_and_repeat_for_the_same_seed() {
    let mut ids = OrderIds::new(10, Seed(1));
    let mut counts = [0_u32; 11];
    for _ in 0..100_000 {
        counts[ids.draw() as usize] += 1;
    }
    assert_eq!(counts[0], 0);
    assert!(counts[1..].iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
    let of = |seed| {
        let mut ids = OrderIds::new(1000, Seed(seed));
        std::array::from_fn::<_, 8, _>(|_| ids.draw())
    };
    assert_eq!(of(3), of(3));
    assert_ne!(of(3), of(4));
}

/// Prints what an arrival costs; run it with `--ignored --nocapture` in the release profile.
#[test]
#[ignore = "a measurement, not a check"]
#[expect(clippy::disallowed_types, reason = "a measurement reads a clock")]
fn the_cost_of_an_arrival() {
    let mut load = load(1e6, Arrivals::Poisson, vec![change(1, 2e6, 8, None)]);
    for arrivals in [Arrivals::Poisson, Arrivals::Constant, Arrivals::Batch { size: 7 }] {
        load.arrivals = arrivals;
        let schedule = schedule(&load, 10);
        let begun = std::time::Instant::now();
        let count = schedule.count();
        let nanos = begun.elapsed().as_nanos() as f64 / count as f64;
        println!("{arrivals:?}: {nanos:.1} ns an arrival ({count})");
    }
}
