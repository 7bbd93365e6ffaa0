//! What a change of a limiter changes, by key and in words.

use super::config::{Capacity, LimiterPatch, OnDisconnect, QueueLimit, QueueOrder};

impl LimiterPatch {
    /// The keys that it changes.
    pub fn keys(&self) -> Vec<&'static str> {
        self.pairs().into_iter().map(|(key, _)| key).collect()
    }

    /// What it changes, such as `capacity = 1000/s, drop_expired = true`.
    pub fn in_words(&self) -> String {
        let pairs = self.pairs().into_iter().map(|(key, value)| format!("{key} = {value}"));
        pairs.collect::<Vec<_>>().join(", ")
    }

    /// What it changes of these keys.
    #[must_use]
    pub fn only(&self, of: impl Fn(&str) -> bool) -> Self {
        Self {
            slots: self.slots.filter(|_| of("slots")),
            capacity: self.capacity.filter(|_| of("capacity")),
            queue: self.queue.filter(|_| of("queue")),
            queue_limit: self.queue_limit.filter(|_| of("queue_limit")),
            drop_expired: self.drop_expired.filter(|_| of("drop_expired")),
            on_disconnect: self.on_disconnect.filter(|_| of("on_disconnect")),
        }
    }

    /// What this change and then `next` come to.
    #[must_use]
    pub fn then(self, next: Self) -> Self {
        Self {
            slots: next.slots.or(self.slots),
            capacity: next.capacity.or(self.capacity),
            queue: next.queue.or(self.queue),
            queue_limit: next.queue_limit.or(self.queue_limit),
            drop_expired: next.drop_expired.or(self.drop_expired),
            on_disconnect: next.on_disconnect.or(self.on_disconnect),
        }
    }

    /// Each key that it changes, and to what.
    fn pairs(&self) -> Vec<(&'static str, String)> {
        let Self { slots, capacity, queue, queue_limit, drop_expired, on_disconnect } = self;
        let capacity = capacity.map(|capacity| match capacity {
            Capacity::Unlimited => "unlimited".to_owned(),
            Capacity::Limited(rate) => rate.to_string(),
        });
        let queue = queue.map(|queue| match queue {
            QueueOrder::Fifo => "fifo".to_owned(),
            QueueOrder::Lifo => "lifo".to_owned(),
        });
        let queue_limit = queue_limit.map(|limit| match limit {
            QueueLimit::Unbounded => "unbounded".to_owned(),
            QueueLimit::Bounded(limit) => limit.to_string(),
        });
        let on_disconnect = on_disconnect.map(|what| match what {
            OnDisconnect::Continue => "continue".to_owned(),
            OnDisconnect::Cancel => "cancel".to_owned(),
        });
        let pairs = [
            ("slots", slots.map(|slots| slots.to_string())),
            ("capacity", capacity),
            ("queue", queue),
            ("queue_limit", queue_limit),
            ("drop_expired", drop_expired.map(|drop| drop.to_string())),
            ("on_disconnect", on_disconnect),
        ];
        pairs.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::limiter::LimiterConfig;

    use super::*;

    #[test]
    fn a_change_is_told_by_key_and_taken_apart_and_together() {
        let all = LimiterPatch::to(&LimiterConfig::default());
        assert_eq!(
            all.in_words(),
            "slots = 10, capacity = unlimited, queue = fifo, queue_limit = unbounded, \
             drop_expired = false, on_disconnect = continue"
        );
        let some = all.only(|key| key == "slots" || key == "queue");
        assert_eq!(some.keys(), ["slots", "queue"]);
        assert_eq!(all.only(|_| false), LimiterPatch::default());
        let more = LimiterPatch { slots: Some(4), ..LimiterPatch::default() };
        assert_eq!(some.then(more).slots, Some(4));
        assert_eq!(more.then(some), some);
        assert_eq!(some.then(all), all);
    }
}
