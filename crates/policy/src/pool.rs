//! Which idle connection is used next.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// In what order idle connections are reused.
///
/// LIFO keeps few connections warm and prefers the one that came back last, FIFO keeps all of them
/// warm, and least-loaded prefers the connection with the fewest answers outstanding, which differs
/// from FIFO only where a connection carries several requests (HTTP/2).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PoolOrder {
    /// The connection that came back last.
    #[default]
    Lifo,
    /// The connection that has been idle longest.
    Fifo,
    /// The connection with the fewest requests outstanding; among equals the one idle longest.
    LeastLoaded,
}

/// Idle connections, each of which carries one request at a time.
#[derive(Debug)]
pub struct IdlePool<C> {
    order: PoolOrder,
    idle: VecDeque<C>,
}

impl<C> IdlePool<C> {
    /// An empty pool.
    pub const fn new(order: PoolOrder) -> Self {
        Self { order, idle: VecDeque::new() }
    }

    /// Takes the connection that is next in order.
    pub fn take(&mut self) -> Option<C> {
        match self.order {
            PoolOrder::Lifo => self.idle.pop_back(),
            PoolOrder::Fifo | PoolOrder::LeastLoaded => self.idle.pop_front(),
        }
    }

    /// Gives a connection back.
    pub fn put(&mut self, connection: C) {
        self.idle.push_back(connection);
    }

    /// How many are idle.
    pub fn len(&self) -> usize {
        self.idle.len()
    }

    /// Whether none is idle.
    pub fn is_empty(&self) -> bool {
        self.idle.is_empty()
    }

    /// Drops every idle connection and says how many there were.
    pub fn clear(&mut self) -> usize {
        let count = self.idle.len();
        self.idle.clear();
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_order_takes_the_connection_that_it_promises() {
        for (order, expected) in [
            (PoolOrder::Lifo, [3, 2, 1]),
            (PoolOrder::Fifo, [1, 2, 3]),
            (PoolOrder::LeastLoaded, [1, 2, 3]),
        ] {
            let mut pool = IdlePool::new(order);
            (1..=3).for_each(|connection| pool.put(connection));
            assert_eq!(pool.len(), 3);
            assert_eq!([(); 3].map(|()| pool.take().unwrap()), expected, "{order:?}");
            assert!(pool.is_empty() && pool.take().is_none());
        }
        let mut pool = IdlePool::new(PoolOrder::Lifo);
        pool.put('a');
        assert_eq!((pool.clear(), pool.clear()), (1, 0));
    }
}
