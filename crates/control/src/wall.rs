//! What a scenario says, in wall time, and back.
//!
//! Policies and scenarios know scenario time; the control plane, leases and metrics know wall time.
//! At ten times the speed rates are ten times higher on the wall clock and durations ten times
//! shorter; counts, shares and orders stay.

use std::time::Duration;

use goodput_clock::{Rate, Scale};
use goodput_policy::backoff::Backoff;
use goodput_policy::budget::{BudgetConfig, Finagle, SreRatio};
use goodput_policy::lever::Lever;
use goodput_policy::limiter::{Capacity, LimiterConfig, LimiterPatch, QueueDelays};
use goodput_policy::retry::LayerConfig;
use serde_json::Value;

use crate::process::json_of;

/// A lever in wall time.
pub fn lever_to_wall(lever: &Lever, scale: Scale) -> Lever {
    convert_lever(lever, &Converter::to_wall(scale))
}

/// A lever in scenario time.
pub fn lever_to_scenario(lever: &Lever, scale: Scale) -> Lever {
    convert_lever(lever, &Converter::to_scenario(scale))
}

/// A change to a limiter in wall time.
pub fn patch_to_wall(patch: LimiterPatch, scale: Scale) -> LimiterPatch {
    convert_patch(patch, &Converter::to_wall(scale))
}

/// A change to a limiter in scenario time.
pub fn patch_to_scenario(patch: LimiterPatch, scale: Scale) -> LimiterPatch {
    convert_patch(patch, &Converter::to_scenario(scale))
}

/// A limiter's configuration in wall time, as JSON for a state.
pub fn limiter_view(config: &LimiterConfig, scale: Scale) -> Value {
    json_of(&limiter_to_wall(config, scale))
}

/// Retry layers in wall time, as JSON for a state.
pub fn layer_views(layers: &[LayerConfig], scale: Scale) -> Vec<Value> {
    layers.iter().map(|layer| json_of(&layer_to_wall(layer, scale))).collect()
}

/// Queue delays in wall time, for a state: (upper bound in seconds, count in the bucket), by bound.
pub fn delays_view(delays: &QueueDelays, scale: Scale) -> Vec<(f64, u64)> {
    let to_wall = |bound: Duration| bound.as_secs_f64() / scale.speed();
    delays.buckets().map(|(bound, count)| (to_wall(bound), count)).collect()
}

/// Queue delays of a state in scenario time. Bounds are whole microseconds there: what the way to wall
/// time and back has added is taken off, so that they are the same at every speed.
pub fn delays_to_scenario(view: &[(f64, u64)], scale: Scale) -> Vec<(f64, u64)> {
    let to_scenario = |bound: f64| {
        let micros = (bound * scale.speed() * 1e6).round();
        Duration::from_micros(micros as u64).as_secs_f64()
    };
    view.iter().map(|(bound, count)| (to_scenario(*bound), *count)).collect()
}

fn limiter_to_wall(config: &LimiterConfig, scale: Scale) -> LimiterConfig {
    let converter = Converter::to_wall(scale);
    LimiterConfig {
        capacity: converter.capacity(config.capacity),
        expiry_margin: config.expiry_margin.map(|margin| converter.duration(margin)),
        ..config.clone()
    }
}

fn layer_to_wall(layer: &LayerConfig, scale: Scale) -> LayerConfig {
    let converter = Converter::to_wall(scale);
    let Backoff { base, cap, .. } = layer.backoff;
    LayerConfig {
        timeout: layer.timeout.map(|timeout| converter.duration(timeout)),
        backoff: Backoff {
            base: converter.duration(base),
            cap: converter.duration(cap),
            ..layer.backoff
        },
        budget: convert_budget(layer.budget, &converter),
        ..layer.clone()
    }
}

/// One direction: what durations are divided by and rates multiplied with.
struct Converter {
    scale: Scale,
    to_wall: bool,
}

impl Converter {
    const fn to_wall(scale: Scale) -> Self {
        Self { scale, to_wall: true }
    }

    const fn to_scenario(scale: Scale) -> Self {
        Self { scale, to_wall: false }
    }

    fn duration(&self, duration: Duration) -> Duration {
        if self.to_wall { self.scale.to_wall(duration) } else { self.scale.to_scenario(duration) }
    }

    fn per_second(&self, rate: f64) -> f64 {
        if self.to_wall { self.scale.rate_to_wall(rate) } else { self.scale.rate_to_scenario(rate) }
    }

    /// The rate, held inside what a rate can be: at a high speed it could leave that.
    fn rate(&self, rate: Rate) -> Rate {
        let wall = self.per_second(rate.per_second()).clamp(f64::MIN_POSITIVE, Rate::MAX);
        Rate::new(wall).unwrap_or(rate)
    }

    fn capacity(&self, capacity: Capacity) -> Capacity {
        match capacity {
            Capacity::Unlimited => Capacity::Unlimited,
            Capacity::Limited(rate) => Capacity::Limited(self.rate(rate)),
        }
    }
}

fn convert_lever(lever: &Lever, converter: &Converter) -> Lever {
    match lever {
        Lever::Admit { share, hold, ramp } => Lever::Admit {
            share: *share,
            hold: hold.map(|hold| converter.duration(hold)),
            ramp: converter.duration(*ramp),
        },
        Lever::Limiter(patch) => Lever::Limiter(convert_patch(*patch, converter)),
        Lever::Budget { layer, budget } => {
            Lever::Budget { layer: layer.clone(), budget: convert_budget(*budget, converter) }
        }
        Lever::Rate { rate } => Lever::Rate { rate: converter.rate(*rate) },
        Lever::ShedQueue | Lever::Restart | Lever::Retries { .. } => lever.clone(),
    }
}

fn convert_patch(patch: LimiterPatch, converter: &Converter) -> LimiterPatch {
    LimiterPatch { capacity: patch.capacity.map(|capacity| converter.capacity(capacity)), ..patch }
}

fn convert_budget(budget: BudgetConfig, converter: &Converter) -> BudgetConfig {
    match budget {
        BudgetConfig::SreRatio(config) => {
            BudgetConfig::SreRatio(SreRatio { window: converter.duration(config.window), ..config })
        }
        BudgetConfig::Finagle(config) => BudgetConfig::Finagle(Finagle {
            min_per_second: converter.per_second(config.min_per_second),
            window: converter.duration(config.window),
            ..config
        }),
        BudgetConfig::Off
        | BudgetConfig::TokenBucket(_)
        | BudgetConfig::GrpcThrottle(_)
        | BudgetConfig::AwsQuota(_) => budget,
    }
}

#[cfg(test)]
mod tests {
    use goodput_clock::{Ratio, Timestamp};
    use goodput_policy::limiter::Completion;

    use super::*;

    #[test]
    fn a_lever_goes_to_the_wall_and_back() {
        let scale = Scale::new(10.0).unwrap();
        let seconds = Duration::from_secs;
        let levers = [
            Lever::ShedQueue,
            Lever::Admit { share: Ratio::ONE, hold: Some(seconds(20)), ramp: seconds(30) },
            Lever::Rate { rate: Rate::new(80.0).unwrap() },
            Lever::Limiter(LimiterPatch {
                capacity: Some(Capacity::Limited(Rate::new(100.0).unwrap())),
                slots: Some(10),
                ..LimiterPatch::default()
            }),
            Lever::Budget { layer: None, budget: BudgetConfig::Finagle(Finagle::default()) },
        ];
        for lever in levers {
            let wall = lever_to_wall(&lever, scale);
            assert_eq!(lever_to_scenario(&wall, scale), lever);
            assert_eq!(wall == lever, lever == Lever::ShedQueue, "{lever:?}");
        }
    }

    #[test]
    fn queue_delays_are_the_same_at_every_speed() {
        let mut delays = QueueDelays::default();
        let micros = (0..40).map(|octave| 1.7_f64.powi(octave) as u64);
        for started in micros.map(|micros| Timestamp::ZERO + Duration::from_micros(micros)) {
            delays.record(&Completion::Served {
                payload: (),
                arrived: Timestamp::ZERO,
                started,
                ended: started,
                wasted: false,
            });
        }
        let exact: Vec<_> =
            delays.buckets().map(|(bound, count)| (bound.as_secs_f64(), count)).collect();
        assert!(exact.len() > 30, "{exact:?}");
        for speed in [0.3, 1.0, 7.0, 10.0, 99.9] {
            let scale = Scale::new(speed).unwrap();
            let written = serde_json::to_string(&delays_view(&delays, scale)).unwrap();
            let read: Vec<(f64, u64)> = serde_json::from_str(&written).unwrap();
            assert_eq!(delays_to_scenario(&read, scale), exact, "{speed}");
        }
    }

    #[test]
    fn at_ten_times_the_speed_rates_are_higher_and_durations_shorter() {
        let scale = Scale::new(10.0).unwrap();
        let rate = Lever::Rate { rate: Rate::new(80.0).unwrap() };
        assert_eq!(lever_to_wall(&rate, scale), Lever::Rate { rate: Rate::new(800.0).unwrap() });
        let config = LimiterConfig {
            capacity: Capacity::Limited(Rate::new(100.0).unwrap()),
            expiry_margin: Some(Duration::from_secs(1)),
            ..LimiterConfig::default()
        };
        let wall = limiter_to_wall(&config, scale);
        assert_eq!(wall.capacity, Capacity::Limited(Rate::new(1000.0).unwrap()));
        assert_eq!(wall.expiry_margin, Some(Duration::from_millis(100)));
    }
}
