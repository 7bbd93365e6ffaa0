use super::*;

const CLIENT: u32 = 0;

fn pool(order: PoolOrder, streams: u32, max: u32, rate: f64) -> Pool {
    Pool::new(2, order, streams, max, Rate::new(rate).unwrap())
}

fn opened(pool: &mut Pool, count: usize) -> Vec<ConnectionId> {
    let ids: Vec<_> =
        (0..count).map(|_| pool.open(Timestamp::from_secs(9), CLIENT).unwrap()).collect();
    for id in &ids {
        assert!(pool.on_established(*id));
    }
    ids
}

fn order_of_reuse(order: PoolOrder) -> Vec<usize> {
    let mut pool = pool(order, 1, 10, 100.0);
    let ids = opened(&mut pool, 3);
    for id in [ids[1], ids[0], ids[2]] {
        pool.give_back(id);
    }
    std::iter::from_fn(|| pool.check_out(CLIENT))
        .map(|id| ids.iter().position(|other| *other == id).unwrap())
        .collect()
}

#[test]
fn idle_connections_are_reused_in_the_pools_order() {
    assert_eq!(order_of_reuse(PoolOrder::Lifo), [2, 0, 1]);
    assert_eq!(order_of_reuse(PoolOrder::Fifo), [1, 0, 2]);
    assert_eq!(order_of_reuse(PoolOrder::LeastLoaded), [1, 0, 2]);
}

#[test]
fn the_least_loaded_of_shared_connections_is_used_and_none_beyond_its_streams() {
    let mut pool = pool(PoolOrder::LeastLoaded, 2, 10, 100.0);
    let ids = opened(&mut pool, 2);
    let mut used = Vec::new();
    while let Some(id) = pool.check_out(CLIENT) {
        used.push(id);
        pool.assign(id, Ticket { serial: used.len() as u64, slot: 0 });
    }
    assert_eq!(used, [ids[0], ids[1], ids[0], ids[1]]);
}

#[test]
fn a_connection_that_closed_while_idle_is_not_used() {
    let mut pool = pool(PoolOrder::Lifo, 1, 10, 100.0);
    let ids = opened(&mut pool, 2);
    pool.give_back(ids[0]);
    pool.give_back(ids[1]);
    assert!(pool.remove(ids[1]).is_some());
    assert!(pool.remove(ids[1]).is_none());
    assert_eq!(pool.check_out(CLIENT), Some(ids[0]));
    assert_eq!(pool.check_out(CLIENT), None);
}

#[test]
fn connections_that_closed_while_idle_do_not_pile_up() {
    let mut pool = pool(PoolOrder::Lifo, 1, 10, 1e6);
    for second in 0..10_000 {
        let ids = [0, 1].map(|_| pool.open(Timestamp::from_secs(second), CLIENT).unwrap());
        for id in ids {
            pool.give_back(id);
        }
        for id in ids {
            assert!(pool.remove(id).is_some());
        }
    }
    assert!(pool.instances[0].idle.len() <= 70, "{}", pool.instances[0].idle.len());
}

#[test]
fn no_more_connections_are_opened_than_the_cap_allows() {
    let mut pool = pool(PoolOrder::Lifo, 1, 3, 1000.0);
    let ids = opened(&mut pool, 3);
    assert_eq!(pool.open(Timestamp::from_secs(10), CLIENT), None);
    pool.remove(ids[1]);
    assert!(pool.open(Timestamp::from_secs(10), 1).is_some());
}

#[test]
fn new_connections_keep_to_their_rate() {
    let mut pool = pool(PoolOrder::Lifo, 1, 1_000_000, 50.0);
    let mut opened = 0;
    for millis in 0..10_000 {
        let now = Timestamp::from(Duration::from_millis(millis));
        while pool.open(now, CLIENT).is_some() {
            opened += 1;
        }
    }
    // Ten seconds' worth, and the second's worth that may come at once.
    assert!((545..=550).contains(&opened), "{opened}");
}

#[test]
fn attempts_wait_in_line_and_the_wait_for_the_rate_ends() {
    let mut pool = pool(PoolOrder::Lifo, 1, 10, 1.0);
    let now = Timestamp::from_secs(5);
    assert!(pool.open(now, CLIENT).is_some());
    assert_eq!(pool.next_open(now), None);
    for serial in 0..3 {
        pool.queue(CLIENT, Ticket { serial, slot: 0 }, |_| true);
    }
    let next = pool.next_open(now).unwrap();
    assert!(next > now);
    assert!(pool.open(now, CLIENT).is_none());
    assert!(pool.open(next, CLIENT).is_some());
    assert_eq!(pool.next_client_waiting(), Some(CLIENT));
    let timed_out = |ticket: Ticket| ticket.serial > 0;
    assert_eq!(pool.next_waiting(CLIENT, timed_out).map(|ticket| ticket.serial), Some(1));
}
