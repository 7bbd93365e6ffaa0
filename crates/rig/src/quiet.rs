//! Whether a load is there already: a run on top of it would see that load's requests served and refused,
//! and its own retries in that load's queue.

use std::time::{Duration, Instant};

use goodput_control::ControlClient;
use tokio::time::sleep;

use crate::options::RigError;

/// Watches what servers receive before a run's first request. What is left of an earlier run, such as the
/// retries of a gateway, dies down; it is waited for as long as it falls.
///
/// # Errors
///
/// Where one goes on to receive more than [`MOST`] a second.
pub(crate) async fn check(tiers: &[(String, ControlClient)]) -> Result<(), RigError> {
    let mut before = f64::INFINITY;
    for _ in 0..LOOKS {
        let Some((tier, rate)) = busiest(tiers).await? else { return Ok(()) };
        if rate <= MOST {
            return Ok(());
        }
        if rate > FALLS * before {
            return Err(loaded(&tier, rate));
        }
        before = rate;
    }
    Err(RigError::Target(format!(
        "what the servers receive falls and has not ended in {} s; start the run again later",
        (LOOKS * LOOK).as_secs()
    )))
}

fn loaded(tier: &str, rate: f64) -> RigError {
    RigError::Target(format!(
        "tier `{tier}` receives {rate:.1} requests a second before this run has sent one: somebody's load \
         is there already, and no verdict could tell it from this run's. Stop it first: a stack's \
         permanent generator with `docker compose stop load-generator`, a `goodput load` with Ctrl-C; or \
         lead a game day on it with `scripts/game-day`"
    ))
}

/// The tier that receives most over one look, and how many a second; none where there is no tier.
async fn busiest(tiers: &[(String, ControlClient)]) -> Result<Option<(String, f64)>, RigError> {
    let mut first = Vec::new();
    for (_, control) in tiers {
        first.push((received(control).await?, Instant::now()));
    }
    if tiers.is_empty() {
        return Ok(None);
    }
    sleep(LOOK).await;
    let mut most: Option<(String, f64)> = None;
    for ((name, control), (before, at)) in tiers.iter().zip(first) {
        let rate =
            received(control).await?.saturating_sub(before) as f64 / at.elapsed().as_secs_f64();
        if most.as_ref().is_none_or(|(_, other)| rate > *other) {
            most = Some((name.clone(), rate));
        }
    }
    Ok(most)
}

async fn received(control: &ControlClient) -> Result<u64, RigError> {
    let state = control.server_state().await;
    let state = state.map_err(|error| RigError::Target(error.to_string()))?;
    Ok(state.counters.received)
}

/// How many requests a second are no load yet, such as a health check at the data plane; wall time.
const MOST: f64 = 0.5;
/// How long what is received is watched, in wall time.
const LOOK: Duration = Duration::from_secs(2);
/// How often, where it falls.
const LOOKS: u32 = 5;
/// What is at most this share of what it was in the look before falls.
const FALLS: f64 = 0.7;
