//! The order book: what an order-status query is answered from.
//!
//! Every order is drawn once, at start, from the seed, so that the same seed gives the same answers.
//! Orders and their items lie in two flat tables; an order takes about 36 bytes.

use goodput_clock::{Seed, Stream};
use serde::Serialize;

/// Orders by number, from 1 to [`OrderBook::len`].
#[derive(Debug)]
pub(crate) struct OrderBook {
    orders: Vec<Entry>,
    items: Vec<Item>,
}

/// An order as it is answered.
#[derive(Debug, Serialize)]
pub(crate) struct Order<'a> {
    /// The order's number.
    pub(crate) id: u32,
    /// How far it is.
    pub(crate) status: Status,
    /// Whose it is.
    pub(crate) customer: u32,
    /// When it was placed, in seconds since the beginning of 1970 (UTC).
    pub(crate) placed_at: u64,
    /// What was ordered, at least one item.
    pub(crate) items: &'a [Item],
    /// The sum of quantity × price over the items, in cents.
    pub(crate) total_cents: u64,
}

/// An order in a list.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    /// The order's number.
    pub(crate) id: u32,
    /// How far it is.
    pub(crate) status: Status,
    /// What it costs, in cents.
    pub(crate) total_cents: u64,
}

/// How far an order is.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// Ordered, not yet paid.
    Placed,
    /// Paid, not yet packed.
    Paid,
    /// Packed, not yet handed to the carrier.
    Packed,
    /// On its way.
    Shipped,
    /// With the customer.
    Delivered,
    /// Called off.
    Cancelled,
}

/// One line of an order.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Item {
    /// The article's number.
    pub(crate) sku: u16,
    /// How many of it, at least one.
    pub(crate) quantity: u16,
    /// What one costs, in cents.
    pub(crate) price_cents: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    customer: u32,
    /// Seconds after [`FIRST_PLACED`].
    placed: u32,
    first_item: u32,
    items: u8,
    status: Status,
}

impl OrderBook {
    /// The most orders that a book holds.
    pub(crate) const MAX_ORDERS: u32 = 10_000_000;

    /// A book of `orders` orders (at most [`Self::MAX_ORDERS`]) drawn from `seed`.
    pub(crate) fn new(seed: Seed, orders: u32) -> Self {
        let orders = orders.min(Self::MAX_ORDERS);
        let mut random = seed.stream("order-book");
        let mut book = Self { orders: Vec::with_capacity(orders as usize), items: Vec::new() };
        for _ in 0..orders {
            book.add(&mut random);
        }
        book.items.shrink_to_fit();
        book
    }

    /// How many orders there are; the numbers run from 1 to this.
    pub(crate) fn len(&self) -> u32 {
        self.orders.len() as u32
    }

    /// The order of this number, or none.
    pub(crate) fn get(&self, id: u64) -> Option<Order<'_>> {
        let index = usize::try_from(id.checked_sub(1)?).ok()?;
        let entry = self.orders.get(index)?;
        let first = entry.first_item as usize;
        let items = self.items.get(first..first + usize::from(entry.items))?;
        Some(Order {
            id: index as u32 + 1,
            status: entry.status,
            customer: entry.customer,
            placed_at: FIRST_PLACED + u64::from(entry.placed),
            items,
            total_cents: items.iter().map(|item| item.cost_cents()).sum(),
        })
    }

    /// The first `limit` orders.
    pub(crate) fn list(&self, limit: usize) -> Vec<Summary> {
        (1..=u64::from(self.len()))
            .take(limit)
            .filter_map(|id| self.get(id))
            .map(|order| Summary {
                id: order.id,
                status: order.status,
                total_cents: order.total_cents,
            })
            .collect()
    }

    fn add(&mut self, random: &mut Stream) {
        let items = 1 + random.below(4) as u8;
        self.orders.push(Entry {
            customer: 1 + random.below(1_000_000) as u32,
            placed: random.below(YEAR_SECONDS) as u32,
            first_item: self.items.len() as u32,
            items,
            status: STATUSES[random.below(STATUSES.len() as u64) as usize],
        });
        for _ in 0..items {
            self.items.push(Item {
                sku: 1 + random.below(50_000) as u16,
                quantity: 1 + random.below(5) as u16,
                price_cents: 99 + random.below(50_000) as u32,
            });
        }
    }
}

impl Item {
    fn cost_cents(self) -> u64 {
        u64::from(self.quantity) * u64::from(self.price_cents)
    }
}

/// 2026-01-01, in seconds since the beginning of 1970.
const FIRST_PLACED: u64 = 1_767_225_600;
const YEAR_SECONDS: u64 = 365 * 24 * 3600;
const STATUSES: [Status; 6] = [
    Status::Placed,
    Status::Paid,
    Status::Packed,
    Status::Shipped,
    Status::Delivered,
    Status::Cancelled,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_book_and_another_seed_another() {
        let written =
            |seed| serde_json::to_string(&OrderBook::new(Seed(seed), 50).get(50)).unwrap();
        assert_eq!(written(1), written(1));
        assert_ne!(written(1), written(2));
    }

    #[test]
    fn numbers_run_from_one_to_the_size() {
        let book = OrderBook::new(Seed(7), 10);
        assert!(book.get(0).is_none());
        assert!(book.get(1).is_some());
        assert!(book.get(10).is_some());
        assert!(book.get(11).is_none());
        assert!(book.get(u64::MAX).is_none());
        assert_eq!(book.list(1000).len(), 10);
        assert_eq!(book.list(3).len(), 3);
    }

    #[test]
    fn an_order_takes_less_than_forty_bytes() {
        let book = OrderBook::new(Seed(7), 10_000);
        let bytes = book.orders.len() * size_of::<Entry>() + book.items.len() * size_of::<Item>();
        assert!(bytes < 40 * 10_000, "{bytes}");
    }
}
