//! What arithmetic alone says about a scenario.
//!
//! The formulas are those of a fluid: arrivals at their mean rate, one FIFO queue without a bound, work
//! that goes on for callers who have gone. They leave out chance, and everything that happens after
//! the trigger's end but for the backlog that it left. So they are set beside what an engine finds and
//! never in its place.
//!
//! With load λ, capacity C, and amplification k (attempts of a request that keeps failing), the
//! **stable load** is C / k: below it no trigger sticks, and a failure that stuck ends (OSDI 2022,
//! theorem 2). How long a trigger may be above it, the bounds *safe*, *amplified* and *sure*, is
//! derived in `closed_form/trigger.rs`.

mod attempts;
mod trigger;

use goodput_policy::limiter::{Capacity, OnDisconnect, QueueLimit, QueueOrder};
use goodput_policy::retry::LayerConfig;
use serde::Serialize;

use crate::model::{Scenario, Tier};
use attempts::retries_of;
use trigger::{Bounds, Trigger};

/// The closed forms of a scenario. Rates are per second, times in seconds of scenario time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClosedForms {
    /// The offered load before the trigger, λ.
    pub load: f64,
    /// The capacity of the narrowest tier, C.
    pub capacity: f64,
    /// The offered load while the trigger lasts.
    pub load_during: f64,
    /// What the trigger leaves of the capacity, c.
    pub capacity_during: f64,
    /// Attempts of a request that keeps failing, k.
    pub amplification: f64,
    /// C / k.
    pub stable_load: f64,
    /// Where the load stands; where it goes up and stays there, that load.
    pub region: Region,
    /// Why no trigger sticks although the load is above the stable one; absent where one may.
    pub defence: Option<&'static str>,
    /// How long the trigger lasts.
    pub trigger: f64,
    /// In shorter triggers nobody times out; absent where no trigger sticks. A lower bound.
    pub safe_trigger: Option<f64>,
    /// When amplification reaches C / λ while the trigger lasts; absent where it never does. An estimate.
    pub amplified_trigger: Option<f64>,
    /// In longer triggers everybody times out until the attempts of those who came during it are made,
    /// and then for good; absent where no length is known from which that is so. An upper bound.
    pub sure_trigger: Option<f64>,
}

/// Where a load stands against the capacity.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Region {
    /// At or below C / k: no trigger sticks.
    Stable,
    /// Above C / k and below C: a trigger may stick.
    Vulnerable,
    /// At or above C: it fails without a trigger.
    Overloaded,
}

/// What the closed forms say about a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Forecast {
    /// The trigger does not stick.
    Recovers,
    /// It sticks.
    Sticks,
    /// Between the bounds.
    Open,
    /// The load is too much without a trigger.
    Overloaded,
}

impl ClosedForms {
    /// The closed forms of a scenario; none where no tier has a limited capacity.
    pub fn of(scenario: &Scenario) -> Option<Self> {
        let (narrowest, capacity) = narrowest(&scenario.tiers)?;
        let load = scenario.load.rate.per_second();
        let amplification = amplification(scenario);
        let stable_load = capacity / amplification;
        let stays_up = scenario.load_spikes().is_empty();
        let region = match if stays_up { scenario.peak_rate().per_second() } else { load } {
            load if load >= capacity => Region::Overloaded,
            load if load <= stable_load * (1.0 + 1e-9) => Region::Stable,
            _ => Region::Vulnerable,
        };
        let trigger = Trigger::of(scenario, narrowest, capacity);
        let timeout = scenario.smallest_timeout().as_secs_f64();
        let defence = defence(scenario, narrowest, capacity, timeout);
        let may_stick = region == Region::Vulnerable && defence.is_none();
        let Bounds { safe, amplified, sure } =
            if may_stick { trigger.bounds() } else { Bounds::default() };
        Some(Self {
            load,
            capacity,
            load_during: trigger.load,
            capacity_during: trigger.capacity,
            amplification,
            stable_load,
            region,
            defence: defence.filter(|_| region == Region::Vulnerable),
            trigger: trigger.length,
            safe_trigger: safe,
            amplified_trigger: amplified,
            sure_trigger: sure,
        })
    }

    /// What they say about the run.
    pub fn forecast(&self) -> Forecast {
        match (self.region, self.safe_trigger, self.sure_trigger) {
            (Region::Overloaded, ..) => Forecast::Overloaded,
            (Region::Stable, ..) | (Region::Vulnerable, None, None) => Forecast::Recovers,
            (Region::Vulnerable, Some(safe), _) if self.trigger <= safe => Forecast::Recovers,
            (Region::Vulnerable, _, Some(sure)) if self.trigger >= sure * NEARLY => {
                Forecast::Sticks
            }
            (Region::Vulnerable, ..) => Forecast::Open,
        }
    }
}

/// The least capacity of a tier, in requests per second; none where all are unlimited.
pub fn least_capacity(scenario: &Scenario) -> Option<f64> {
    narrowest(&scenario.tiers).map(|(_, capacity)| capacity)
}

/// Attempts that a request makes at the last tier when everything times out, in the long run: k.
///
/// A budget that successes fill lets nothing through then; what it lets through while some succeed is
/// bounded by `goodput_policy::retry::Layers::sustained_attempts`.
pub fn amplification(scenario: &Scenario) -> f64 {
    let load = scenario.load.rate.per_second();
    let client = multiplied(&scenario.client.layers, load, scenario.client.clients.max(1));
    scenario
        .tiers
        .iter()
        .fold(client, |attempts, tier| attempts * multiplied(&tier.layers, load * attempts, 1))
}

/// The tier of least capacity.
fn narrowest(tiers: &[Tier]) -> Option<(&Tier, f64)> {
    let limited = tiers.iter().filter_map(|tier| match tier.limiter.capacity {
        Capacity::Limited(rate) => Some((tier, rate.per_second())),
        Capacity::Unlimited => None,
    });
    limited.min_by(|(_, a), (_, b)| a.total_cmp(b))
}

/// By how much these layers of so many instances multiply their calls per second.
fn multiplied(layers: &[LayerConfig], calls: f64, instances: u32) -> f64 {
    layers.iter().fold(1.0, |attempts, layer| {
        attempts * (1.0 + retries_of(layer, calls * attempts, instances))
    })
}

/// What keeps a server from working for callers who have gone, whatever the load.
fn defence(scenario: &Scenario, tier: &Tier, capacity: f64, timeout: f64) -> Option<&'static str> {
    let limiter = &tier.limiter;
    // What waits when a request comes is served before it, and so is what holds a slot.
    let room = capacity * timeout - f64::from(limiter.slots);
    match limiter.queue_limit {
        QueueLimit::Bounded(limit) if f64::from(limit) < room => {
            return Some("the queue is bounded below capacity × (time-out − service time)");
        }
        QueueLimit::Bounded(_) | QueueLimit::Unbounded => {}
    }
    if limiter.drop_expired {
        Some("expired work is dropped")
    } else if limiter.queue == QueueOrder::Lifo {
        Some("the newest is served first")
    } else if limiter.on_disconnect == OnDisconnect::Cancel && scenario.tiers.len() == 1 {
        Some("work is cancelled when its caller has gone")
    } else {
        None
    }
}

/// What the sure trigger, which is found by halving, may be off by.
const NEARLY: f64 = 1.0 - 1e-8;

#[cfg(test)]
mod tests {
    use goodput_policy::budget::BudgetConfig;
    use goodput_policy::retry::BudgetScope;

    use super::*;
    use crate::builtin;
    use crate::model::Plan;
    use crate::numbers::Numbers;

    fn of_arm(arm: &str) -> ClosedForms {
        let plan = Plan::parse("test.toml", builtin::DATABASE_FAILOVER.text).unwrap();
        ClosedForms::of(&plan.arm(arm).unwrap().scenario).unwrap()
    }

    fn close(found: Option<f64>, expected: f64) {
        let found = found.unwrap();
        assert!((found - expected).abs() < 1e-6, "{found} instead of {expected}");
    }

    #[test]
    fn the_headline_is_vulnerable_and_its_bounds_hold_the_simulated_boundary() {
        let forms = of_arm("naive");
        assert_eq!((forms.load, forms.capacity, forms.capacity_during), (80.0, 100.0, 40.0));
        assert_eq!((forms.amplification, forms.stable_load), (4.0, 25.0));
        assert_eq!((forms.region, forms.forecast()), (Region::Vulnerable, Forecast::Sticks));
        close(forms.safe_trigger, 9.5);
        close(forms.amplified_trigger, 10.75);
        close(forms.sure_trigger, 12.0);
    }

    #[test]
    fn the_safe_trigger_is_below_every_boundary_of_the_reference() {
        let numbers = Numbers::of("test.toml", builtin::DATABASE_FAILOVER.text, None).unwrap();
        let rate = numbers.find("load.rate").unwrap();
        for (load, boundary) in
            [(50.0, 28.9), (60.0, 17.6), (80.0, 10.27), (90.0, 8.8), (95.0, 8.3)]
        {
            let forms = ClosedForms::of(&numbers.with(&[(rate, load)]).unwrap()).unwrap();
            let (safe, sure) = (forms.safe_trigger.unwrap(), forms.sure_trigger.unwrap());
            assert!(safe < boundary && boundary < sure, "{load}: {safe} to {sure}");
            assert!(sure < 1.25 * boundary, "{load}: {sure} is far from {boundary}");
        }
        let at = |load| ClosedForms::of(&numbers.with(&[(rate, load)]).unwrap()).unwrap();
        assert_eq!((at(25.0).region, at(25.0).forecast()), (Region::Stable, Forecast::Recovers));
        assert_eq!(at(100.0).forecast(), Forecast::Overloaded);
        // Above the stable load, and yet the cut leaves enough.
        assert_eq!(
            (at(39.0).region, at(39.0).forecast()),
            (Region::Vulnerable, Forecast::Recovers)
        );
    }

    #[test]
    fn defences_and_budgets_that_leave_room_let_no_trigger_stick() {
        for arm in ["no-retries", "drop-expired", "retry-budget", "bounded-queue"] {
            assert_eq!(of_arm(arm).forecast(), Forecast::Recovers, "{arm}");
        }
        assert!((of_arm("retry-budget").amplification - 1.1).abs() < 1e-9);
        let loose = of_arm("loose-budget");
        assert!((loose.amplification - 1.325).abs() < 1e-9);
        assert_eq!((loose.region, loose.forecast()), (Region::Vulnerable, Forecast::Sticks));
        assert!(of_arm("bounded-queue").defence.is_some());
    }

    #[test]
    fn a_floor_is_one_of_each_instance_and_one_in_all_where_it_is_shared() {
        let plan = Plan::parse("test.toml", builtin::DATABASE_FAILOVER.text).unwrap();
        let mut scenario = plan.arm("loose-budget").unwrap().scenario.clone();
        scenario.client.clients = 4;
        assert!((amplification(&scenario) - (1.2 + 40.0 / 80.0)).abs() < 1e-9);
        scenario.client.layers[0].budget_scope = BudgetScope::Shared;
        assert!((amplification(&scenario) - (1.2 + 10.0 / 80.0)).abs() < 1e-9);
        // An inner layer has the calls of the outer one, over which its floor is spread.
        let outer = LayerConfig { budget: BudgetConfig::Off, ..scenario.client.layers[0].clone() };
        scenario.client.layers.insert(0, outer);
        assert!((amplification(&scenario) - 4.0 * (1.2 + 10.0 / 320.0)).abs() < 1e-9);
    }

    #[test]
    fn a_spike_by_levers_is_a_trigger_with_its_own_load() {
        let text = "name = \"spike\"\nduration = \"240s\"\nload.rate = 80\n\
            [[client.layer]]\ntimeout = \"5s\"\nretries = 3\n\
            [[tier]]\nname = \"a\"\nslots = 10\ncapacity = 100\n\
            [[lever]]\nname = \"rate\"\nrate = 180\nat = \"60s\"\n\
            [[lever]]\nname = \"rate\"\nrate = 80\nat = \"80s\"\n";
        let forms = ClosedForms::of(&Plan::parse("test.toml", text).unwrap().scenario).unwrap();
        assert_eq!((forms.load, forms.load_during, forms.trigger), (80.0, 180.0, 20.0));
        assert_eq!(forms.forecast(), Forecast::Sticks);
    }

    #[test]
    fn a_load_that_stays_up_is_judged_by_where_it_stays() {
        let of = |change: &str| {
            let text = format!(
                "name = \"up\"\nduration = \"240s\"\nload.rate = 30\n\
                 [[client.layer]]\ntimeout = \"5s\"\nretries = 0\n\
                 [[tier]]\nname = \"a\"\nslots = 10\ncapacity = 35\n\
                 [[load.change]]\nrate = 39\nat = \"60s\"\n{change}"
            );
            ClosedForms::of(&Plan::parse("test.toml", &text).unwrap().scenario).unwrap()
        };
        assert_eq!(of("").forecast(), Forecast::Overloaded);
        assert_eq!(of("for = \"20s\"\n").forecast(), Forecast::Recovers);
    }

    #[test]
    fn three_layers_multiply_and_a_service_without_a_limit_has_no_closed_form() {
        let plan = Plan::parse("test.toml", builtin::RETRY_LAYERS.text).unwrap();
        let forms = ClosedForms::of(&plan.arm("three-layers").unwrap().scenario).unwrap();
        assert_eq!((forms.amplification, forms.capacity_during), (64.0, 0.0));
        let mut scenario = plan.scenario;
        scenario.tiers[0].limiter.capacity = Capacity::Unlimited;
        assert_eq!(ClosedForms::of(&scenario), None);
    }
}
