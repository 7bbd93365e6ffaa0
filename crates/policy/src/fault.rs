//! Faults, and the table that holds them for as long as somebody renews their lease.
//!
//! A fault is installed under a name with a lease. Nobody has to end it: when the lease runs out, it
//! is gone. The table only adds effects up; the limiter feels them.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use goodput_clock::{Ratio, Timestamp};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::invalid::{InvalidConfig, no_keys};

/// How a loss of capacity shows.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CapacityMode {
    /// Service is slower, as with a slow database: all work goes on at the share f of its speed, what
    /// is in service too, and at full speed again once the fault has ended. What starts and ends
    /// during the fault takes S / f.
    #[default]
    Slow,
    /// Fewer slots work, as with lost replicas: the nearest whole number to slots × f, at least one.
    Slots,
}

/// What a fault does.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FaultKind {
    /// Cuts capacity to a share of itself.
    Capacity {
        /// What is left, from 0.00001 to 1. Nothing left is a [`FaultKind::Stall`].
        #[serde(deserialize_with = "what_is_left")]
        to: Ratio,
        /// How the loss shows. Default slow.
        #[serde(default)]
        mode: CapacityMode,
    },
    /// Freezes the tier: nothing starts, and what is in service stands still until the end.
    #[serde(deserialize_with = "no_keys")]
    Stall,
}

impl FaultKind {
    /// The fault that cuts capacity to a share of itself.
    ///
    /// # Errors
    ///
    /// Where nothing would be left, which is a stall.
    pub fn capacity(to: Ratio, mode: CapacityMode) -> Result<Self, InvalidConfig> {
        let kind = Self::Capacity { to, mode };
        kind.validate()?;
        Ok(kind)
    }

    /// Checks what the types cannot.
    ///
    /// # Errors
    ///
    /// Where a capacity fault leaves nothing, or less than a hundred-thousandth.
    pub fn validate(&self) -> Result<(), InvalidConfig> {
        match self {
            Self::Capacity { to, .. } if to.get() < 1e-5 => Err(InvalidConfig {
                key: "to",
                problem: "must be from 0.00001 to 1, such as 0.4; for no capacity at all write \
                          { kind = \"stall\" }",
            }),
            Self::Capacity { .. } | Self::Stall => Ok(()),
        }
    }
}

/// What it does, in words.
impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capacity { to, mode: CapacityMode::Slow } => {
                write!(f, "capacity cut to {to}, service slower")
            }
            Self::Capacity { to, mode: CapacityMode::Slots } => {
                write!(f, "capacity cut to {to}, fewer slots")
            }
            Self::Stall => f.write_str("full stall"),
        }
    }
}

/// The sum of all faults in force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// By what service speed is multiplied, above 0 and at most 1.
    pub speed: f64,
    /// By what the number of slots is multiplied, above 0 and at most 1.
    pub slots: f64,
    /// Whether nothing moves.
    pub stalled: bool,
}

impl Effect {
    /// No fault.
    pub const NONE: Self = Self { speed: 1.0, slots: 1.0, stalled: false };

    /// The effect with one fault more: speeds and slots multiply, one stall stalls.
    #[must_use]
    pub fn and(mut self, kind: FaultKind) -> Self {
        match kind {
            FaultKind::Capacity { to, mode: CapacityMode::Slow } => self.speed *= to.get(),
            FaultKind::Capacity { to, mode: CapacityMode::Slots } => self.slots *= to.get(),
            FaultKind::Stall => self.stalled = true,
        }
        self
    }

    /// Checks that a fault which is to take slots away of a tier takes one at least, besides what this
    /// effect has taken; other faults always pass.
    ///
    /// # Errors
    ///
    /// Where as many slots would be left as work without it.
    pub fn check_slots(self, kind: FaultKind, slots: u32) -> Result<(), NoSlotTaken> {
        let FaultKind::Capacity { to, mode: CapacityMode::Slots } = kind else { return Ok(()) };
        let working = self.slots_left(slots);
        if self.and(kind).slots_left(slots) < working {
            return Ok(());
        }
        Err(NoSlotTaken { to, working })
    }

    /// How many of a tier's slots work: the nearest whole number to their share, at least one where
    /// there are any.
    pub fn slots_left(self, slots: u32) -> u32 {
        let left = (f64::from(slots) * self.slots).round() as u32;
        left.max(1).min(slots)
    }
}

/// A cut by slots that would be rounded away.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "would take no slot away: {to} of the {working} at work, in whole slots and one at least, are {working}"
)]
pub struct NoSlotTaken {
    /// The share that was to be left.
    pub to: Ratio,
    /// How many slots work without the fault.
    pub working: u32,
}

/// A fault in force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ActiveFault {
    /// What it does.
    pub kind: FaultKind,
    /// When it was installed.
    pub started: Timestamp,
    /// When it ends unless its lease is renewed.
    pub lease_ends: Timestamp,
}

/// A fault of that name is in force already.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a fault named `{0}` is active already")]
pub struct FaultConflict(pub String);

/// The faults in force, by name.
#[derive(Clone, Debug, Default)]
pub struct FaultTable {
    active: BTreeMap<String, ActiveFault>,
}

impl FaultTable {
    /// Puts a fault in force until `now + lease`.
    ///
    /// # Errors
    ///
    /// Where a fault of that name is in force at `now`.
    pub fn install(
        &mut self,
        now: Timestamp,
        name: &str,
        kind: FaultKind,
        lease: Duration,
    ) -> Result<(), FaultConflict> {
        if self.active.get(name).is_some_and(|fault| fault.lease_ends > now) {
            return Err(FaultConflict(name.to_owned()));
        }
        let fault = ActiveFault { kind, started: now, lease_ends: now + lease };
        self.active.insert(name.to_owned(), fault);
        Ok(())
    }

    /// Lets the fault go on until `now + lease`; false where none of that name is in force.
    pub fn renew(&mut self, now: Timestamp, name: &str, lease: Duration) -> bool {
        match self.active.get_mut(name) {
            Some(fault) if fault.lease_ends > now => {
                fault.lease_ends = now + lease;
                true
            }
            _ => false,
        }
    }

    /// Ends a fault; none where no such fault is there.
    pub fn remove(&mut self, name: &str) -> Option<ActiveFault> {
        self.active.remove(name)
    }

    /// Takes out what has run out by `now`, in order of name.
    pub fn expire(&mut self, now: Timestamp) -> Vec<(String, ActiveFault)> {
        self.active.extract_if(.., |_, fault| fault.lease_ends <= now).collect()
    }

    /// When the next lease runs out.
    pub fn next_wakeup(&self) -> Option<Timestamp> {
        self.active.values().map(|fault| fault.lease_ends).min()
    }

    /// The faults in the table, in order of name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ActiveFault)> {
        self.active.iter().map(|(name, fault)| (name.as_str(), fault))
    }

    /// What all of them do together: speeds and slots multiply, one stall stalls.
    pub fn effect(&self) -> Effect {
        self.active.values().fold(Effect::NONE, |sum, fault| sum.and(fault.kind))
    }
}

/// Reads what a capacity fault leaves, checked.
fn what_is_left<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Ratio, D::Error> {
    let to = Ratio::deserialize(deserializer)?;
    FaultKind::capacity(to, CapacityMode::default()).map_err(D::Error::custom)?;
    Ok(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(10);

    fn cut(to: f64, mode: CapacityMode) -> FaultKind {
        FaultKind::capacity(Ratio::new(to).unwrap(), mode).unwrap()
    }

    #[test]
    fn a_fault_ends_with_its_lease_unless_that_is_renewed() {
        let mut table = FaultTable::default();
        let at = Timestamp::from_secs;
        table.install(at(0), "a", FaultKind::Stall, LEASE).unwrap();
        assert!(table.renew(at(9), "a", LEASE));
        assert_eq!(table.next_wakeup(), Some(at(19)));
        assert!(table.expire(at(18)).is_empty());
        assert!(!table.renew(at(19), "a", LEASE), "the lease has run out at its end");
        assert_eq!(table.expire(at(19)).len(), 1);
        assert_eq!((table.effect(), table.next_wakeup()), (Effect::NONE, None));
    }

    #[test]
    fn a_second_fault_of_one_name_conflicts_while_the_first_is_in_force() {
        let mut table = FaultTable::default();
        let at = Timestamp::from_secs;
        table.install(at(0), "a", FaultKind::Stall, LEASE).unwrap();
        let conflict = table.install(at(9), "a", FaultKind::Stall, LEASE);
        assert_eq!(conflict, Err(FaultConflict("a".to_owned())));
        table.install(at(10), "a", FaultKind::Stall, LEASE).unwrap();
        assert!(table.remove("a").is_some() && table.remove("a").is_none());
    }

    #[test]
    fn cuts_multiply_and_one_stall_stalls() {
        let mut table = FaultTable::default();
        let faults = [
            ("a", cut(0.5, CapacityMode::Slow)),
            ("b", cut(0.5, CapacityMode::Slow)),
            ("c", cut(0.4, CapacityMode::Slots)),
        ];
        for (name, kind) in faults {
            table.install(Timestamp::ZERO, name, kind, LEASE).unwrap();
        }
        assert_eq!(table.effect(), Effect { speed: 0.25, slots: 0.4, stalled: false });
        table.install(Timestamp::ZERO, "d", FaultKind::Stall, LEASE).unwrap();
        assert!(table.effect().stalled);
    }

    #[test]
    fn a_cut_by_slots_takes_a_whole_slot_or_is_refused() {
        let slots = |to| cut(to, CapacityMode::Slots);
        for (of, to, left) in
            [(1, 0.05, None), (1, 1.0, None), (10, 0.96, None), (10, 1.0, None)].into_iter().chain(
                [(10, 0.94, Some(9)), (10, 0.4, Some(4)), (10, 0.01, Some(1)), (2, 0.7, Some(1))],
            )
        {
            let checked = Effect::NONE.check_slots(slots(to), of);
            assert_eq!(checked.is_ok(), left.is_some(), "{to} of {of}: {checked:?}");
            let left = left.unwrap_or(of);
            assert_eq!(Effect::NONE.and(slots(to)).slots_left(of), left, "{to} of {of}");
        }
        let one_is_left = Effect::NONE.and(slots(0.4));
        assert_eq!(one_is_left.check_slots(slots(0.4), 2).unwrap_err().working, 1);
        assert_eq!(one_is_left.check_slots(cut(0.05, CapacityMode::Slow), 2), Ok(()));
        assert_eq!(one_is_left.check_slots(FaultKind::Stall, 2), Ok(()));
    }

    #[test]
    fn a_cut_to_nothing_is_refused_when_it_is_read() {
        let read = |to: &str| {
            serde_json::from_str::<FaultKind>(&format!(r#"{{"kind":"capacity","to":{to}}}"#))
        };
        assert_eq!(read("0.4").unwrap(), cut(0.4, CapacityMode::Slow));
        assert_eq!(read("\"40%\"").unwrap(), cut(0.4, CapacityMode::Slow));
        for to in ["0", "0.0", "-0.4", "1.1", "\"0%\""] {
            assert!(read(to).is_err(), "{to}");
        }
        assert!(read("0").unwrap_err().to_string().contains("stall"));
    }
}
