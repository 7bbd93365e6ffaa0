//! The distribution of random scenarios, as it is written here and nowhere else.
//!
//! Case `n` of a seed is drawn from streams of its own, so that one case can be repeated alone.
//! Cases take turns: of ten in a row six come from recipes that aim at an outcome ([`Family`]) and
//! four are free. A recipe draws its free parts from the same functions as a free case.
//!
//! | what | how it is drawn |
//! |---|---|
//! | rate | 2 to 500/s, each ratio equally likely |
//! | arrivals | Poisson 3 in 5, constant 1 in 5, batches of 2 to 50 (at most a second's) 1 in 5 |
//! | load ÷ capacity of the last tier | 0.3 to 0.95 |
//! | service | constant, exponential, log-normal with sigma 0.3 to 1.5 |
//! | innermost time-out | 0.2 to 10 s, and (9 in 10) several mean services and the queue of a calm hour |
//! | layers | 1 (13 in 20), 2 (5 in 20), 3 (2 in 20); 0 to 3 retries each, at most 16 attempts of one request |
//! | backoff | at once (1 in 10) or 50 ms to 5 s; factor 1 to 3; cap 1 to 8 times the first; four jitters |
//! | budget | off (half), or one of five kinds with all their keys; either scope |
//! | clients | 1, or 2 to 40; either protocol; all orders of the pool; a deadline (1 in 3) |
//! | queue | FIFO 4 in 5, LIFO 1 in 5; unbounded, or 0.3 to 20 time-outs' worth |
//! | expired, abandoned | dropped 1 in 4, cancelled 1 in 4; charged at admission 1 in 7 |
//! | gateways | none 3 in 4, one, or two; unlimited or 1.2 to 4 times the rate, with 0 to 2 retries |
//! | trigger | cut (slow, slots), stall, spike, steps; one (5 in 6), two or three; on any tier with a capacity |
//! | its length | 100 ms to 10 min, each ratio equally likely |
//! | lever | none 9 in 10, or one of all kinds in the tail |
//! | no trigger | 1 in 25 of the free |
//! | band | `goodput_ratio` 0.95 mostly, 0.8 to 0.97 (above 0.98 every share is near the edge); `hold` 5 to 20 s; `within` 30 to 120 s |
//! | tail | `within`, 300 requests, three windows and (9 in 10) three lives of a request, and up to 3/10 more |

use std::fmt::Write as _;

use goodput_clock::Seed;

use crate::draft::{Draft, Family, Layer, Tier, Trigger, TriggerKind, time};
use crate::draw::Draw;
use crate::families;

/// Case `number` of the distribution of `seed`.
pub fn case(seed: Seed, number: u64) -> Draft {
    let family = FAMILIES[(number % FAMILIES.len() as u64) as usize];
    let mut draw = Draw::new(Seed(seed.0 ^ number.wrapping_mul(SPREAD)), "proof-case");
    let mut draft = free(&mut draw, number);
    draft.family = family;
    match family {
        Family::Metastable => families::metastable(&mut draft, &mut draw),
        Family::Recovered => families::recovered(&mut draft, &mut draw),
        Family::ComesAndGoes => families::comes_and_goes(&mut draft, &mut draw),
        Family::Overloaded => families::overloaded(&mut draft, &mut draw),
        Family::Slow => families::slow(&mut draft, &mut draw),
        Family::Untouched => families::untouched(&mut draft, &mut draw),
        Family::Free => {}
    }
    time_out_the_run(&mut draft, &mut draw);
    draft
}

/// The recipe of each of ten cases in a row.
const FAMILIES: [Family; 10] = [
    Family::Metastable,
    Family::Recovered,
    Family::ComesAndGoes,
    Family::Overloaded,
    Family::Slow,
    Family::Untouched,
    Family::Free,
    Family::Free,
    Family::Free,
    Family::Free,
];

/// The golden ratio's fraction of 2^64: neighbours share no bits.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

fn free(draw: &mut Draw, number: u64) -> Draft {
    let rate = draw.log(2.0, 500.0);
    let batch = draw.whole(2, (rate as u64).clamp(2, 50));
    let (arrivals, burst) = match draw.whole(0, 4) {
        0 => ("\"constant\"".to_owned(), 1.0),
        1 => (format!("{{ kind = \"batch\", size = {batch} }}"), batch as f64),
        _ => ("\"poisson\"".to_owned(), 1.0),
    };
    let capacity = rate / draw.between(0.3, 0.95);
    let wish = draw.log(0.2, 10.0);
    // A slot must be able to serve within the time-out.
    let slots_most = (capacity * wish / 4.0).clamp(1.0, 200.0);
    let slots = draw.log(1.0, slots_most + 0.99).floor().max(1.0);
    let service = slots / capacity;
    let room = 1.0 - rate / capacity;
    let calm = service * (2.0 + 5.0 / (slots * room)) + 1.2 * burst / capacity;
    let timeout = if draw.chance(0.9) { wish.max(calm) } else { wish.max(1.5 * service) };
    let layers = client_layers(draw, timeout, rate);
    let mut tiers = gateways(draw, timeout, rate);
    tiers.push(Tier {
        name: "server".into(),
        slots: slots as u64,
        capacity: Some(capacity),
        more: limiter(draw, (capacity * timeout).max(burst), timeout),
        layers: Vec::new(),
    });
    let clients = if draw.chance(0.5) { 1 } else { draw.whole(2, 40) };
    let protocol = draw.pick(&["http/1.1", "http/1.1", "http/1.1", "http/2"]);
    let pool = draw.pick(&["lifo", "fifo", "least-loaded"]);
    let triggers = if draw.chance(0.04) { Vec::new() } else { triggers(draw, &tiers) };
    let lever = draw.chance(0.1).then(|| lever(draw, rate, capacity));
    Draft {
        number,
        family: Family::Free,
        seed: draw.whole(1, 1 << 40),
        rate,
        arrivals,
        raise: None,
        client: format!("clients = {clients}\nprotocol = \"{protocol}\"\npool = \"{pool}\""),
        deadline: draw.chance(1.0 / 3.0).then(|| timeout * draw.between(1.0, 6.0)),
        layers,
        tiers,
        triggers,
        lever,
        start: 0.0,
        tail: 0.0,
        hold: draw.pick(&[5.0, 10.0, 10.0, 10.0, 20.0]),
        within: draw.pick(&[30.0, 60.0, 60.0, 120.0]),
        ratio: draw.pick(&[0.95, 0.95, 0.95, 0.95, 0.9, 0.8, 0.97]),
    }
}

/// Says when the trigger comes, and how long the run goes on after it: the last thing drawn, since
/// it hangs on the rest.
fn time_out_the_run(draft: &mut Draft, draw: &mut Draw) {
    let slowest = draft.rate.min(draft.last_rate());
    let block = draft.hold.max(100.0 / slowest);
    let timeout = draft.layers.last().and_then(|layer| layer.timeout).unwrap_or_default();
    draft.deadline = draft.deadline.map(|deadline| deadline.max(timeout));
    draft.start = (10.0 + draft.life().min(30.0) + block * draw.between(2.0, 5.0)).round();
    let lives = if draw.chance(0.9) { 3.0 * draft.life().min(200.0) } else { 0.0 };
    let least = draft.within.max(3.0 * block).max(lives);
    draft.tail = (least * draw.between(1.0, 1.3)).ceil();
    if let Some((after, _)) = &mut draft.lever {
        *after *= draft.tail;
    }
}

fn client_layers(draw: &mut Draw, timeout: f64, rate: f64) -> Vec<Layer> {
    let count = draw.pick(&[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3]);
    let mut attempts = 1;
    let mut bound = timeout;
    let mut layers: Vec<Layer> = Vec::new();
    for index in 0..count {
        let retries = draw.whole(0, 3).min(16 / attempts - 1);
        attempts *= retries + 1;
        let own = if index == 0 {
            Some(timeout)
        } else {
            draw.chance(0.4).then(|| bound * draw.between(1.2, 6.0))
        };
        bound = own.unwrap_or(bound * (retries + 1) as f64);
        layers.push(layer(draw, own, retries, rate));
    }
    layers.reverse();
    layers
}

/// A layer with a backoff, a budget and what it retries drawn at random.
pub(crate) fn layer(draw: &mut Draw, timeout: Option<f64>, retries: u64, rate: f64) -> Layer {
    let base = if draw.chance(0.1) { 0.0 } else { draw.log(0.05, 5.0) };
    let mut more = String::new();
    if draw.chance(0.5) {
        more.push_str(&budget(draw, rate));
    }
    if draw.chance(0.12) {
        let classes = draw.pick(&[
            "[\"timeout\"]",
            "[\"overloaded\", \"expired\"]",
            "[\"timeout\", \"connect\", \"overloaded\", \"expired\", \"error\"]",
        ]);
        let _ = writeln!(more, "retry_on = {classes}");
    }
    Layer {
        timeout,
        retries,
        base,
        factor: draw.pick(&[1.0, 1.5, 2.0, 2.0, 3.0]),
        cap: base * draw.between(1.0, 8.0),
        jitter: draw.pick(&["none", "none", "full", "equal", "decorrelated"]),
        more,
    }
}

fn budget(draw: &mut Draw, rate: f64) -> String {
    let scope = draw.pick(&["client", "shared"]);
    let window = time(draw.log(1.0, 30.0));
    let keys = match draw.whole(0, 4) {
        0 => {
            let ratio = draw.between(0.02, 0.5);
            format!("kind = \"sre-ratio\", ratio = {ratio:.3}, window = {window}")
        }
        1 => {
            let (ratio, credit) = (draw.between(0.02, 0.5), draw.pick(&["request", "success"]));
            let floor = (rate * draw.between(0.0, 0.3)).round();
            format!(
                "kind = \"finagle\", ratio = {ratio:.3}, window = {window}, \
                 min_per_second = {floor}, credit = \"{credit}\""
            )
        }
        2 => {
            let (ratio, most) = (draw.between(0.02, 0.5), draw.whole(1, 500));
            format!("kind = \"token-bucket\", ratio = {ratio:.3}, max = {most}")
        }
        3 => {
            let (tokens, back) = (draw.whole(2, 200), draw.log(0.01, 1.0));
            format!("kind = \"grpc-throttle\", max_tokens = {tokens}, token_ratio = {back:.3}")
        }
        _ => {
            let (most, cost) = (draw.whole(20, 1000), draw.whole(1, 10));
            let late = draw.whole(1, 20);
            format!("kind = \"aws-quota\", capacity = {most}, cost = {cost}, timeout_cost = {late}")
        }
    };
    format!("budget = {{ {keys} }}\nbudget_scope = \"{scope}\"\n")
}

/// The keys of a limiter but its slots and capacity; `backlog` is what it serves within a time-out.
fn limiter(draw: &mut Draw, backlog: f64, timeout: f64) -> String {
    let mut keys = match draw.whole(0, 2) {
        0 => "service = \"constant\"\n".to_owned(),
        1 => "service = \"exponential\"\n".to_owned(),
        _ => {
            let sigma = draw.between(0.3, 1.5);
            format!("service = {{ kind = \"lognormal\", sigma = {sigma:.2} }}\n")
        }
    };
    let queue = draw.pick(&["fifo", "fifo", "fifo", "fifo", "lifo"]);
    let _ = writeln!(keys, "queue = \"{queue}\"");
    if draw.chance(0.5) {
        let most = (backlog * draw.log(0.3, 20.0)).clamp(1.0, 1e6) as u64;
        let _ = writeln!(keys, "queue_limit = {most}");
    }
    if draw.chance(0.25) {
        keys.push_str("drop_expired = true\n");
        if draw.chance(0.3) {
            let margin = time(timeout * draw.between(0.0, 0.5));
            let _ = writeln!(keys, "expiry_margin = {margin}");
        }
    }
    if draw.chance(0.25) {
        keys.push_str("on_disconnect = \"cancel\"\n");
    }
    // What is reserved on arrival has an order already.
    if draw.chance(1.0 / 6.0) && queue == "fifo" {
        keys.push_str("charge = \"admission\"\n");
    }
    keys
}

fn gateways(draw: &mut Draw, timeout: f64, rate: f64) -> Vec<Tier> {
    let count = draw.pick(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2]);
    let gateway = |index: u64| {
        let capacity = draw.chance(0.5).then(|| rate * draw.between(1.2, 4.0));
        let bound = timeout * draw.between(0.3, 1.2);
        let retries = draw.whole(0, if count == 1 { 2 } else { 1 });
        let mut more = String::new();
        if draw.chance(0.3) {
            more = format!("queue_limit = {}\n", (rate * timeout).clamp(4.0, 1e6) as u64);
        }
        Tier {
            name: format!("gateway-{index}"),
            // Room for a fifth of a time-out, so that the gateway itself is quick.
            slots: capacity.map_or(10, |c| ((c * timeout / 5.0) as u64).clamp(1, 200)),
            capacity,
            more,
            layers: vec![layer(draw, Some(bound), retries, rate)],
        }
    };
    (0..count).map(gateway).collect()
}

fn triggers(draw: &mut Draw, tiers: &[Tier]) -> Vec<Trigger> {
    let count = draw.pick(&[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3]);
    let longest = if count == 1 { 600.0 } else { 60.0 };
    let one = |_| {
        let length = draw.log(0.1, longest);
        let kind = match draw.whole(0, 9) {
            0 => TriggerKind::Spike(draw.log(1.05, 6.0), draw.pick(&[0.0, 0.0, 1.0, 5.0])),
            1 => TriggerKind::Steps(draw.log(1.05, 6.0)),
            kind => TriggerKind::Fault(fault(draw, tiers, kind)),
        };
        Trigger { gap: draw.log(0.5, 40.0), length, kind }
    };
    (0..count)
        .map(one)
        .collect::<Vec<_>>()
        .into_iter()
        .map(|trigger| overlap(draw, trigger))
        .collect()
}

/// Lets a fault begin before the one before it has ended, one time in five.
fn overlap(draw: &mut Draw, mut trigger: Trigger) -> Trigger {
    if matches!(trigger.kind, TriggerKind::Fault(_)) && draw.chance(0.2) {
        trigger.gap = -draw.between(0.0, 20.0);
    }
    trigger
}

fn fault(draw: &mut Draw, tiers: &[Tier], kind: u64) -> String {
    let limited: Vec<&Tier> = tiers.iter().filter(|tier| tier.capacity.is_some()).collect();
    let innermost = limited.len() as u64 - 1;
    let at = if draw.chance(0.8) { innermost } else { draw.whole(0, innermost) };
    let tier = limited[at as usize];
    if kind <= 3 {
        return format!("kind = \"stall\"\ntier = \"{}\"\n", tier.name);
    }
    let left = draw.log(0.001, 0.9);
    let slots = tier.slots as f64;
    // Whole slots go: at least one of them goes, and one is left.
    let whole = (left * slots).round().clamp(1.0, (slots - 1.0).max(1.0)) / slots;
    let (left, mode) = if kind >= 8 && whole < 1.0 { (whole, "slots") } else { (left, "slow") };
    let tier = &tier.name;
    format!("kind = \"capacity\"\ntier = \"{tier}\"\nto = {left:.6}\nmode = \"{mode}\"\n")
}

/// A lever, and how much of the tail passes before it.
fn lever(draw: &mut Draw, rate: f64, capacity: f64) -> (f64, String) {
    let after = draw.between(0.05, 0.5);
    let keys = match draw.whole(0, 7) {
        0 => "name = \"shed-queue\"".to_owned(),
        1 => "name = \"restart\"".to_owned(),
        2 => format!("name = \"limiter\"\ncapacity = {:.3}", capacity * draw.between(1.0, 3.0)),
        3 => format!("name = \"limiter\"\ndrop_expired = {}", draw.chance(0.7)),
        4 => "name = \"budget\"\nbudget = { kind = \"sre-ratio\", ratio = 0.1 }".to_owned(),
        5 => format!("name = \"retries\"\nretries = {}", draw.whole(0, 1)),
        6 => format!("name = \"rate\"\nrate = {:.3}", rate * draw.between(0.3, 1.2)),
        _ => {
            let (share, hold) = (draw.between(0.05, 0.9), time(draw.log(2.0, 40.0)));
            let ramp = time(draw.pick(&[0.0, 0.0, 10.0]));
            format!("name = \"admit\"\nshare = {share:.3}\nfor = {hold}\nramp = {ramp}")
        }
    };
    (after, keys)
}
