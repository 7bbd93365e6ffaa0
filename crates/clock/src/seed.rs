use std::time::Duration;

use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, Exp1, StandardNormal};
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

use crate::quantity::Ratio;

/// Where all randomness of a run comes from.
///
/// Each consumer draws from a [`Stream`] of its own name, so that a draw added in one place shifts
/// no other.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Seed(pub u64);

impl Seed {
    /// The stream of random numbers for the consumer `name`: the same for the same seed and name.
    pub fn stream(self, name: &str) -> Stream {
        // FNV-1a over the name, then two rounds of SplitMix64 to spread it over the state.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in name.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let low = split_mix(self.0 ^ hash);
        let high = split_mix(low ^ self.0.rotate_left(32));
        let mut state = [0; 16];
        state[..8].copy_from_slice(&low.to_le_bytes());
        state[8..].copy_from_slice(&high.to_le_bytes());
        Stream(Pcg64Mcg::from_seed(state))
    }
}

fn split_mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A stream of random numbers that repeats for the same seed and name.
#[derive(Clone, Debug)]
pub struct Stream(Pcg64Mcg);

impl Stream {
    /// A number from 0 (included) to 1 (excluded), uniformly.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A duration from `low` (included) to `high` (excluded), uniformly; `low` where `high` is not
    /// above it.
    pub fn between(&mut self, low: Duration, high: Duration) -> Duration {
        low + high.saturating_sub(low).mul_f64(self.uniform())
    }

    /// Whether an event of this probability happens.
    pub fn chance(&mut self, probability: Ratio) -> bool {
        self.uniform() < probability.get()
    }

    /// A whole number below `bound`, or 0 where `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // Multiply-shift; its bias is below bound / 2^64.
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A draw from the exponential distribution with mean 1.
    pub fn exponential(&mut self) -> f64 {
        Exp1.sample(&mut self.0)
    }

    /// A draw from the log-normal distribution with mean 1 whose logarithm has the standard
    /// deviation `sigma`.
    pub fn log_normal(&mut self, sigma: f64) -> f64 {
        let normal: f64 = StandardNormal.sample(&mut self.0);
        (sigma * normal - sigma * sigma / 2.0).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(mut draw: impl FnMut() -> f64) -> f64 {
        (0..200_000).map(|_| draw()).sum::<f64>() / 200_000.0
    }

    #[test]
    fn the_same_seed_and_name_repeat_and_another_name_differs() {
        let draws = |name| {
            let mut stream = Seed(7).stream(name);
            [(); 3].map(|()| stream.below(u64::MAX))
        };
        assert_eq!(draws("arrivals"), draws("arrivals"));
        assert_ne!(draws("arrivals"), draws("service"));
    }

    #[test]
    fn distributions_have_the_means_that_they_state() {
        let mut stream = Seed(1).stream("means");
        assert!((mean(|| stream.uniform()) - 0.5).abs() < 0.01);
        assert!((mean(|| stream.exponential()) - 1.0).abs() < 0.02);
        assert!((mean(|| stream.log_normal(1.0)) - 1.0).abs() < 0.03);
        assert!((mean(|| stream.below(11) as f64) - 5.0).abs() < 0.05);
    }
}
