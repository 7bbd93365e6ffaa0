//! Work that is offered again and again, against work that is refused.

/// Arrivals against a capacity that is cut for a spell of ticks.
///
/// Whatever is not served in a tick is offered again in the next, on top of what arrives. A server
/// that is offered more than it can serve divides itself: of its capacity the share capacity ÷ offered
/// is useful.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Naive {
    /// Requests that arrive each tick.
    pub arrivals: u64,
    /// What can be served in a tick.
    pub capacity: u64,
    /// The spell with less capacity.
    pub spell: Spell,
    /// How many ticks are played.
    pub ticks: u64,
}

/// A spell with less capacity.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Spell {
    /// Its first tick.
    pub from: u64,
    /// The first tick after it.
    pub to: u64,
    /// The capacity meanwhile.
    pub capacity: u64,
}

impl Naive {
    /// 80 arrivals a tick against a capacity of 100, and of 20 during ticks 100 to 149.
    pub const fn example() -> Self {
        let spell = Spell { from: 100, to: 150, capacity: 20 };
        Self { arrivals: 80, capacity: 100, spell, ticks: 300 }
    }

    /// Goodput tick by tick where everything that was not served is offered again.
    pub fn reoffered(&self) -> Vec<f64> {
        let mut left_over = 0.0;
        (0..self.ticks)
            .map(|tick| {
                let capacity = self.capacity_at(tick) as f64;
                let offered = self.arrivals as f64 + left_over;
                let useful =
                    if offered <= capacity { offered } else { capacity * capacity / offered };
                left_over = offered - useful;
                useful
            })
            .collect()
    }

    /// Goodput tick by tick where the server sheds what is beyond its capacity, and a breaker keeps
    /// those who were shed from trying again.
    pub fn shed(&self) -> Vec<f64> {
        (0..self.ticks).map(|tick| self.arrivals.min(self.capacity_at(tick)) as f64).collect()
    }

    /// The mean before the spell, during it and after it.
    pub fn by_phase(&self, goodput: &[f64]) -> [f64; 3] {
        let mean = |from: u64, to: u64| {
            let ticks = goodput.iter().skip(from as usize).take((to - from) as usize);
            ticks.sum::<f64>() / (to - from).max(1) as f64
        };
        let Spell { from, to, .. } = self.spell;
        [mean(0, from), mean(from, to), mean(to, self.ticks)]
    }

    const fn capacity_at(&self, tick: u64) -> u64 {
        if self.spell.from <= tick && tick < self.spell.to {
            self.spell.capacity
        } else {
            self.capacity
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenths(figures: [f64; 3]) -> [String; 3] {
        figures.map(|figure| format!("{figure:.1}"))
    }

    /// Reference numbers C.
    #[test]
    fn offering_again_loses_nearly_all_for_good_and_refusing_only_what_is_cut() {
        let model = Naive::example();
        let (naive, shed) = (model.reoffered(), model.shed());
        assert_eq!(tenths(model.by_phase(&naive)), ["80.0", "0.5", "1.2"]);
        assert_eq!(tenths(model.by_phase(&shed)), ["80.0", "20.0", "80.0"]);
        let total = |goodput: &[f64]| format!("{:.0}", goodput.iter().sum::<f64>());
        assert_eq!((total(&naive), total(&shed)), ("8197".to_owned(), "21000".to_owned()));
    }

    #[test]
    fn without_a_spell_both_serve_everything() {
        let mut model = Naive::example();
        model.spell.to = model.spell.from;
        assert_eq!(model.reoffered(), vec![80.0; 300]);
        assert_eq!(model.reoffered(), model.shed());
    }
}
