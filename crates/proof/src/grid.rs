//! The grid without retries: what can never be metastable.

use goodput_scenario::Plan;
use goodput_verdict::{Verdict, judge};

use crate::measure::simulate;

/// A place of the grid.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// What the only tier serves, per second.
    pub capacity: f64,
    /// The load over it.
    pub load: f64,
    /// How long it is cut to a tenth, in seconds.
    pub cut: u64,
    /// `tier.service`.
    pub service: &'static str,
    /// The seed.
    pub seed: u64,
}

/// All places: three capacities, eight loads, two cuts, two kinds of service, `seeds` seeds.
pub fn places(seeds: u64) -> Vec<Place> {
    let mut places = Vec::new();
    for capacity in [10.0, 50.0, 200.0] {
        for load in [0.60, 0.65, 0.70, 0.75, 0.80, 0.85, 0.90, 0.95] {
            for cut in [2, 30] {
                for service in ["constant", "exponential"] {
                    for seed in 1..=seeds {
                        places.push(Place { capacity, load, cut, service, seed });
                    }
                }
            }
        }
    }
    places
}

/// The verdict at a place.
///
/// # Errors
///
/// Where the scenario is refused; no place's is.
pub fn verdict(place: &Place) -> Result<Verdict, String> {
    let Place { capacity, load, cut, service, seed } = place;
    let rate = capacity * load;
    // Eight services fit into a time-out.
    let (slots, timeout) = (4, 32.0 / capacity);
    // The baseline and the tail hold 300 requests, and the tail the default `within`.
    let start = (10.0 + 300.0 / rate).ceil().max(40.0) as u64;
    let tail = (300.0 / rate).ceil().max(120.0) as u64;
    let text = format!(
        "name = \"no-retries\"\nduration = \"{}s\"\nseed = {seed}\n[load]\nrate = {rate}\n\
         [client]\n[[client.layer]]\ntimeout = \"{}ms\"\n[[tier]]\nname = \"server\"\nslots = {slots}\n\
         capacity = {capacity}\nservice = \"{service}\"\n[[fault]]\nkind = \"capacity\"\nto = 0.1\n\
         at = \"{start}s\"\nfor = \"{cut}s\"\n",
        start + cut + tail,
        (timeout * 1e3) as u64,
    );
    let plan = Plan::parse("grid.toml", &text).map_err(|error| error.to_string())?;
    Ok(judge(&simulate(&plan.scenario), &plan.scenario).verdict)
}
