//! Both engines count the same waits by the same ruler.

use std::time::Duration;

use goodput_clock::{Scale, Seed, Timestamp};
use goodput_control::wall;
use goodput_policy::limiter::{Completion, QueueDelays, Refusal};
use goodput_runlog::{Quantiles, TierSample, TierSampler, bucket_quantiles};

/// What a tier may say of a request that had waited so long.
fn completion(kind: u64, delay: Duration) -> Completion<()> {
    let (payload, arrived) = ((), Timestamp::from_secs(5));
    let at = arrived + delay;
    match kind {
        0 => Completion::Cancelled { payload, arrived, at },
        1 | 2 => Completion::Refused { payload, arrived, at, reason: Refusal::Expired },
        _ => Completion::Served { payload, arrived, started: at, ended: at, wasted: false },
    }
}

#[test]
fn the_same_completions_have_the_same_quantiles_in_both_engines() {
    for speed in [1.0, 7.0, 10.0] {
        let scale = Scale::new(speed).unwrap();
        let mut random = Seed(4).stream("completions");
        let (mut window, mut cumulated) = (QueueDelays::default(), QueueDelays::default());
        let mut sampler = TierSampler::new("order-status");
        sampler.push(&TierSample::default());
        for second in 1..20 {
            let mut waited = 0;
            for _ in 0..random.below(200) {
                let delay = Duration::from_secs_f64(random.exponential() * 3.0);
                let delay = if random.below(4) == 0 { Duration::ZERO } else { delay };
                let completion = completion(random.below(8), delay);
                waited += u64::from(completion.queue_delay().is_some());
                window.record(&completion);
                cumulated.record(&completion);
            }
            // As the simulator takes a window.
            let buckets = window.buckets();
            let simulated =
                bucket_quantiles(buckets.map(|(bound, count)| (bound.as_secs_f64(), count as f64)));
            window.clear();
            // As the rig takes it from what a server has counted since its start.
            let view = wall::delays_view(&cumulated, scale);
            sampler.push(&TierSample {
                at: Timestamp::from_secs(second),
                queue_delay: wall::delays_to_scenario(&view, scale),
                ..TierSample::default()
            });
            let (_, measured) = sampler.next_window().unwrap();
            assert_eq!(measured.queue_delay, simulated, "second {second}, speed {speed}");
            assert_eq!(simulated.count, waited);
            assert!(waited == 0 || simulated != Quantiles::default());
        }
    }
}
