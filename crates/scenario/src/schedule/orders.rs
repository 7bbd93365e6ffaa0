use goodput_clock::{Seed, Stream};

/// The seeded choice of order ids for `{order}`: uniform over `1..=orders`, from a stream of its own,
/// so that the number of orders shifts no arrival.
#[derive(Clone, Debug)]
pub struct OrderIds {
    orders: u32,
    random: Stream,
}

impl OrderIds {
    /// The order ids of a run over a book of `orders` orders; a book of none counts as one of one.
    pub fn new(orders: u32, seed: Seed) -> Self {
        Self { orders: orders.max(1), random: seed.stream("orders") }
    }

    /// The order that the next request asks for.
    pub fn draw(&mut self) -> u32 {
        1 + self.random.below(u64::from(self.orders)) as u32
    }
}
