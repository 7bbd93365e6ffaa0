use std::collections::{BTreeMap, BTreeSet};

use crate::api::Owner;

/// Who has changed which knob of a process from how it was started: people by the name that they give,
/// and the one run that holds the lease. A knob is the key of a limiter, or such as `admitted`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Touched {
    /// By whom of the people each knob was changed last.
    people: BTreeMap<String, String>,
    /// What the run changed last.
    run: BTreeSet<String>,
}

impl Touched {
    /// Takes that `owner` has changed these knobs.
    pub(crate) fn note(&mut self, owner: &Owner, knobs: impl IntoIterator<Item = String>) {
        for knob in knobs {
            match owner {
                Owner::Run(_) => {
                    self.run.insert(knob);
                }
                Owner::By(name) => {
                    self.run.remove(&knob);
                    self.people.insert(knob, name.clone());
                }
            }
        }
    }

    /// Takes out what the run has changed last.
    pub(crate) fn take_of_run(&mut self) -> BTreeSet<String> {
        std::mem::take(&mut self.run)
    }

    /// Takes out what somebody of this name has changed last among the people, and says of which of it
    /// the run has made something else since.
    pub(crate) fn take_by(&mut self, name: &str) -> (BTreeSet<String>, BTreeSet<String>) {
        let theirs: BTreeSet<_> =
            self.people.extract_if(.., |_, by| by == name).map(|(knob, _)| knob).collect();
        let overridden = theirs.intersection(&self.run).cloned().collect();
        (theirs, overridden)
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(knobs: &[&str]) -> BTreeSet<String> {
        knobs.iter().map(|knob| (*knob).to_owned()).collect()
    }

    #[test]
    fn each_knob_is_of_whoever_changed_it_last() {
        let mut touched = Touched::default();
        let (me, you) = (Owner::By("me".to_owned()), Owner::By("you".to_owned()));
        let run = Owner::Run("r".to_owned());
        touched.note(&me, set(&["slots", "capacity"]));
        touched.note(&you, set(&["slots", "queue"]));
        touched.note(&run, set(&["queue", "capacity", "admitted"]));
        touched.note(&me, set(&["admitted"]));
        assert_eq!(touched.take_by("nobody"), (set(&[]), set(&[])));
        assert_eq!(touched.take_by("you"), (set(&["slots", "queue"]), set(&["queue"])));
        assert_eq!(touched.take_by("me"), (set(&["capacity", "admitted"]), set(&["capacity"])));
        assert_eq!(touched.take_of_run(), set(&["queue", "capacity"]));
        assert_eq!(touched, Touched::default());
    }
}
