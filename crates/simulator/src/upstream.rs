//! What a gateway does with an attempt that its limiter has served: it forwards it to the next tier.

use goodput_policy::attempt::{AttemptResult, FailureClass};
use goodput_policy::limiter::{OnDisconnect, Refusal};
use goodput_policy::retry::Outcome;

use crate::call::Key;
use crate::server::{Sent, refused};
use crate::simulation::{Answer, Simulation};

impl Simulation<'_> {
    /// Forwards an attempt through the gateway's own retry layers.
    pub(crate) fn forward(&mut self, level: usize, sent: Sent) {
        if self.cancels(level) && !self.callers[level].calls.is_current(sent.key) {
            self.tiers[level].counts.cancelled += 1;
            return;
        }
        let slot = self.begin(level + 1, 0, sent.deadline, Some(sent.key));
        self.tiers[level].forwarded.insert(sent.key, slot);
    }

    /// Passes on to the caller what a gateway's own request came to.
    pub(crate) fn on_upstream_end(
        &mut self,
        level: usize,
        key: Key,
        outcome: Outcome,
        last: Answer,
    ) {
        let tier = &mut self.tiers[level];
        tier.forwarded.remove(&key);
        let counts = &mut tier.counts;
        let answer = match outcome {
            Outcome::Good | Outcome::Late => {
                counts.served += 1;
                Answer::of(AttemptResult::Success)
            }
            Outcome::Failed { class, .. } => {
                // The caller is told what the last attempt came to, also where a layer's time ran out
                // while it waited for the next.
                let class = match last.result {
                    AttemptResult::Failure(class) => class,
                    AttemptResult::Success => class,
                };
                match class {
                    FailureClass::Overloaded => counts.upstream_overloaded += 1,
                    FailureClass::Expired | FailureClass::Timeout => counts.upstream_expired += 1,
                    FailureClass::Connect | FailureClass::Error => counts.errors += 1,
                }
                Answer {
                    result: AttemptResult::Failure(class.through_a_gateway()),
                    reply: last.reply.through_a_gateway(),
                    turned_away: last.turned_away,
                }
            }
        };
        self.answer(level, key, answer);
    }

    /// A gateway learns that the caller of an attempt has gone, and gives its own request up where it
    /// is told to cancel.
    pub(crate) fn on_abandoned(&mut self, level: usize, key: Key) {
        if self.cancels(level)
            && let Some(slot) = self.tiers[level].forwarded.remove(&key)
        {
            self.tiers[level].counts.cancelled += 1;
            self.cancel(level + 1, slot);
        }
    }

    /// Drops everything that a tier is doing, as the restart of its process does; says how many
    /// requests there were.
    pub(crate) fn restart(&mut self, level: usize) -> (usize, u32) {
        let forwarded = std::mem::take(&mut self.tiers[level].forwarded);
        let dropped = self.tiers[level].limiter.restart(self.now) + forwarded.len();
        for (key, slot) in forwarded {
            self.tiers[level].counts.refused[Refusal::Restart as usize] += 1;
            self.cancel(level + 1, slot);
            self.answer(level, key, refused(Refusal::Restart));
        }
        let idle = self.callers[level].connections.drop_idle();
        if level == 0 {
            for _ in 0..idle {
                self.recorder.connection_closed(self.now);
            }
        }
        self.settle(level);
        (dropped, idle)
    }

    /// Whether a tier takes back work whose caller has gone.
    pub(crate) fn cancels(&self, level: usize) -> bool {
        self.tiers[level].limiter.config().on_disconnect == OnDisconnect::Cancel
    }
}
