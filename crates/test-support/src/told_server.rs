use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use goodput_clock::{Rate, Ratio, Scale};
use goodput_control::api::{FaultView, ServerCounters, ServerState};
use goodput_control::wall::limiter_view;
use goodput_control::{Audit, ControlClient, Guard, Listener, ServerControl, server_plane};
use goodput_policy::fault::Effect;
use goodput_policy::lever::Lever;
use goodput_policy::limiter::{Capacity, LimiterConfig, LimiterPatch};

use crate::any_port;

/// A server of 100 requests per second that only remembers what its control plane tells it.
#[derive(Debug)]
pub struct ToldServer {
    told: Arc<Mutex<Told>>,
    /// Its audit log, in memory.
    pub audit: Audit,
    listener: Listener,
}

/// What a [`ToldServer`] has been told, and when.
#[derive(Debug)]
pub struct Told {
    limiter: LimiterConfig,
    admitted: Ratio,
    /// The sums of all faults, each from when it held.
    pub effects: Vec<(Instant, Effect)>,
    /// The levers pulled.
    pub levers: Vec<(Instant, Lever)>,
    /// How often it was reset.
    pub resets: u32,
}

impl ToldServer {
    /// One that takes commands from loopback.
    pub fn start() -> Self {
        Self::start_with(Guard::loopback())
    }

    /// One that takes commands from whom `guard` lets in.
    ///
    /// # Panics
    ///
    /// Where there is no free port or no thread.
    pub fn start_with(guard: Guard) -> Self {
        let told = Arc::new(Mutex::new(Told {
            limiter: limiter(),
            admitted: Ratio::ONE,
            effects: Vec::new(),
            levers: Vec::new(),
            resets: 0,
        }));
        let audit = Audit::memory();
        let plane = server_plane(Arc::new(Remembering(Arc::clone(&told))), audit.clone());
        let listener = Listener::start(any_port(), guard, plane).expect("loopback has a free port");
        Self { told, audit, listener }
    }

    /// Where its control plane listens.
    pub const fn addr(&self) -> SocketAddr {
        self.listener.addr()
    }

    /// A client of its control plane.
    pub fn client(&self) -> ControlClient {
        client(self.addr())
    }

    /// What it has been told.
    pub fn told<T>(&self, look: impl FnOnce(&Told) -> T) -> T {
        look(&locked(&self.told))
    }

    /// The sum of all faults that it feels, without a word to the control plane.
    pub fn effect(&self) -> Effect {
        self.told(Told::effect)
    }

    /// Whether it feels a fault, without a word to the control plane.
    pub fn is_hurt(&self) -> bool {
        self.effect() != Effect::NONE
    }

    /// When its first fault began, and for how long that was felt.
    ///
    /// # Panics
    ///
    /// Where there was none, or it has not ended.
    pub fn first_fault(&self) -> (Instant, Duration) {
        self.told(|told| {
            let mut effects = told.effects.iter().skip_while(|(_, effect)| *effect == Effect::NONE);
            let (began, _) = *effects.next().expect("there was a fault");
            let (ended, _) =
                effects.find(|(_, effect)| *effect == Effect::NONE).expect("the fault has ended");
            (began, *ended - began)
        })
    }
}

impl Told {
    fn effect(&self) -> Effect {
        self.effects.last().map_or(Effect::NONE, |(_, effect)| *effect)
    }
}

struct Remembering(Arc<Mutex<Told>>);

impl ServerControl for Remembering {
    fn state(&self, faults: Vec<FaultView>) -> ServerState {
        let told = locked(&self.0);
        let effect = told.effect();
        let capacity = match told.limiter.capacity {
            Capacity::Unlimited => None,
            Capacity::Limited(_) if effect.stalled => Some(0.0),
            Capacity::Limited(rate) => Some(rate.per_second() * effect.speed * effect.slots),
        };
        ServerState {
            role: "order-status".to_owned(),
            version: "test".to_owned(),
            instance: "test".to_owned(),
            restarts: 0,
            uptime: 1.0,
            speed: 1.0,
            memory: 0,
            limiter: limiter_view(&told.limiter, Scale::REAL),
            layers: Vec::new(),
            slots: told.limiter.slots,
            capacity,
            admitted: told.admitted.get(),
            queued: 0,
            in_service: 0,
            oldest_age: 0.0,
            counters: ServerCounters::default(),
            queue_delay: Vec::new(),
            faults,
        }
    }

    fn metrics(&self) -> String {
        format!("rig_stalled {}\n", u8::from(locked(&self.0).effect().stalled))
    }

    fn set_effect(&self, effect: Effect) {
        locked(&self.0).effects.push((Instant::now(), effect));
    }

    fn patch_limiter(&self, patch: LimiterPatch) -> Result<(), String> {
        let mut told = locked(&self.0);
        told.limiter = told.limiter.patched(patch).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn pull(&self, lever: &Lever) -> Result<String, String> {
        if let Lever::Limiter(patch) = lever {
            self.patch_limiter(*patch)?;
        }
        let mut told = locked(&self.0);
        if let Lever::Admit { share, .. } = lever {
            told.admitted = *share;
        }
        told.levers.push((Instant::now(), lever.clone()));
        Ok(format!("pulled {}", lever.name()))
    }

    fn limiter(&self) -> LimiterPatch {
        LimiterPatch::to(&locked(&self.0).limiter)
    }

    fn reset(&self) {
        let mut told = locked(&self.0);
        (told.limiter, told.admitted) = (limiter(), Ratio::ONE);
        told.resets += 1;
    }
}

/// A client of the control plane at `addr`, without a token.
///
/// # Panics
///
/// Where no client can be made.
pub fn client(addr: SocketAddr) -> ControlClient {
    ControlClient::new(&addr.to_string(), None).expect("an address is one of a control plane")
}

fn limiter() -> LimiterConfig {
    let capacity = Rate::new(100.0).map_or(Capacity::Unlimited, Capacity::Limited);
    LimiterConfig { capacity, ..LimiterConfig::default() }
}

fn locked(told: &Mutex<Told>) -> MutexGuard<'_, Told> {
    told.lock().unwrap_or_else(PoisonError::into_inner)
}
