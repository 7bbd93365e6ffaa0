//! The band of loads in which a failure, once there, sustains itself.

/// By how much a failed system multiplies its load, in tenths: 40 for 4, 11 for 1.1.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Factor(pub u64);

/// A capacity against an amplification factor.
///
/// Below C / k even the amplified load can be served: no trigger sticks. Above C the load cannot be
/// served at all. Between them a system that is well stays well, and one that has failed stays failed.
///
/// # Source
///
/// OSDI 2022, "Metastable Failures in the Wild", theorem 2.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Band {
    /// Requests a second that can be served.
    pub capacity: u64,
    /// The amplification factor k.
    pub factor: Factor,
}

impl Band {
    /// A capacity of 2,000 a second and up to 4 attempts a request.
    pub const fn example() -> Self {
        Self { capacity: 2_000, factor: Factor(40) }
    }

    /// The load below which no trigger sticks, and to which a failed system's load must fall: C / k,
    /// rounded down.
    pub const fn recovers_below(&self) -> u64 {
        self.capacity * 10 / self.factor.0
    }

    /// The load above which a system that is well fails by itself: C.
    pub const fn fails_above(&self) -> u64 {
        self.capacity
    }

    /// The load of a failed system under `load` requests a second, rounded down.
    pub const fn amplified(&self, load: u64) -> u64 {
        load * self.factor.0 / 10
    }

    /// Whether a failure sustains itself at this load, which alone could be served.
    pub const fn is_vulnerable(&self, load: u64) -> bool {
        load < self.capacity && load * self.factor.0 > self.capacity * 10
    }

    /// Which of these loads are served when the load moves from one to the next, with time enough at
    /// each: a system that has failed stays so until its amplified load can be served.
    pub fn walk(&self, loads: impl IntoIterator<Item = u64>) -> Vec<bool> {
        let mut well = true;
        let served = loads.into_iter().map(|load| {
            well = if well { load <= self.capacity } else { self.amplified(load) <= self.capacity };
            well
        });
        served.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: u64 = 1_200;

    /// Reference numbers E.
    #[test]
    fn the_band_of_four_attempts_reaches_from_500_to_2000() {
        let band = Band::example();
        assert_eq!((band.recovers_below(), band.fails_above()), (500, 2_000));
        assert!(band.is_vulnerable(LOAD) && band.is_vulnerable(501) && band.is_vulnerable(1_999));
        assert!(!band.is_vulnerable(500) && !band.is_vulnerable(2_000));
    }

    #[test]
    fn shedding_a_fifth_changes_nothing() {
        let band = Band::example();
        let shed = LOAD * 80 / 100;
        assert_eq!((shed, band.amplified(shed)), (960, 3_840));
        assert!(band.is_vulnerable(shed));
    }

    #[test]
    fn a_budget_leaves_no_band_at_this_load() {
        let band = Band { factor: Factor(11), ..Band::example() };
        assert_eq!(band.amplified(LOAD), 1_320);
        assert!(!band.is_vulnerable(LOAD));
    }

    #[test]
    fn failure_and_recovery_differ_by_the_factor() {
        let band = Band::example();
        let up: Vec<u64> = (1..=42).map(|step| step * 50).collect();
        let down: Vec<u64> = up.iter().rev().copied().collect();
        let served = band.walk(up.iter().chain(&down).copied());
        let fails = up[served.iter().position(|well| !well).unwrap() - 1];
        let back = down[served[up.len()..].iter().position(|well| *well).unwrap()];
        assert_eq!((fails, back), (2_000, 500));
        assert_eq!(fails * 10 / back, band.factor.0);
    }
}
