//! Measures whether a server's throughput is its configured capacity while its queue is never empty.
//!
//! Run by `scripts/bench-capacity`; the one argument is the seconds that each row measures. Exits with 1
//! where a row is off by more than 1 %.

#![expect(clippy::print_stdout, reason = "the table is what it is run for")]

use std::error::Error;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use goodput_clock::{Rate, Ratio};
use goodput_control::ControlClient;
use goodput_control::api::{Cause, FaultRequest};
use goodput_order_status::{Server, ServerConfig};
use goodput_policy::fault::{CapacityMode, FaultKind};
use goodput_policy::limiter::{Capacity, LimiterConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let seconds: f64 = std::env::args().nth(1).as_deref().unwrap_or("20").parse()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    println!("| capacity | slots | state | expected /s | measured /s | off by | shortest queue |");
    println!("|---:|---:|---|---:|---:|---:|---:|");
    let mut worst: f64 = 0.0;
    for capacity in [100.0, 1_000.0] {
        for cut in [None, Some(CapacityMode::Slow), Some(CapacityMode::Slots)] {
            worst = worst.max(runtime.block_on(row(capacity, cut, seconds))?);
        }
    }
    println!("\nworst: {:.3} %", worst * 100.0);
    Ok(if worst <= 0.01 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Measures one server and returns by what share it is off.
async fn row(
    capacity: f64,
    cut: Option<CapacityMode>,
    seconds: f64,
) -> Result<f64, Box<dyn Error>> {
    let limiter = LimiterConfig {
        slots: SLOTS,
        capacity: Capacity::Limited(Rate::new(capacity)?),
        ..LimiterConfig::default()
    };
    let server = Server::start(ServerConfig { limiter, ..ServerConfig::default() })?;
    let control = ControlClient::new(&server.control_addr().to_string(), None)?;
    let (state, expected) = match cut {
        None => ("healthy", capacity),
        Some(CapacityMode::Slow) => ("40 %, slow", capacity * 0.4),
        Some(CapacityMode::Slots) => ("40 %, slots", capacity * 0.4),
    };
    if let Some(mode) = cut {
        let fault = FaultKind::Capacity { to: Ratio::new(0.4)?, mode };
        let cause = Cause::new("bench-capacity", "");
        control.install(&FaultRequest::new("cut", fault, Duration::from_mins(50), &cause)).await?;
    }
    let (answered, mut answers) = mpsc::unbounded_channel();
    let callers: Vec<_> =
        (0..CALLERS).map(|_| tokio::spawn(call(server.data_addr(), answered.clone()))).collect();
    // The first answers come while the callers are still connecting.
    next(&mut answers, CALLERS).await?;
    let count = ((expected * seconds) as usize).next_multiple_of(SLOTS as usize);
    let begun = next(&mut answers, SLOTS as usize).await?;
    let mut shortest = control.server_state().await?.queued;
    let (mut ended, mut looked) = (begun, begun);
    for _ in 0..count / SLOTS as usize {
        ended = next(&mut answers, SLOTS as usize).await?;
        if ended.duration_since(looked) > Duration::from_millis(200) {
            looked = ended;
            shortest = shortest.min(control.server_state().await?.queued);
        }
    }
    let measured = count as f64 / ended.duration_since(begun).as_secs_f64();
    callers.iter().for_each(tokio::task::JoinHandle::abort);
    let off = measured / expected - 1.0;
    println!(
        "| {capacity:.0} | {SLOTS} | {state} | {expected:.0} | {measured:.2} | {:+.3} % | {shortest} |",
        off * 100.0
    );
    if shortest == 0 {
        return Err("the queue ran empty: this is no measurement of capacity".into());
    }
    Ok(off.abs())
}

/// Waits for `count` answers and returns when the last of them came.
async fn next(
    answers: &mut mpsc::UnboundedReceiver<Instant>,
    count: usize,
) -> Result<Instant, Box<dyn Error>> {
    let mut last = Instant::now();
    for _ in 0..count {
        last = answers.recv().await.ok_or("all callers have failed")?;
    }
    Ok(last)
}

/// Asks again as soon as it has an answer.
async fn call(addr: SocketAddr, answered: mpsc::UnboundedSender<Instant>) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(addr).await?;
    stream.set_nodelay(true)?;
    let mut answer = [0; 4096];
    loop {
        stream.write_all(b"GET /orders/1 HTTP/1.1\r\nhost: bench\r\n\r\n").await?;
        // An order fits one segment, so one read takes the whole answer.
        if stream.read(&mut answer).await? == 0 || !answer.starts_with(b"HTTP/1.1 200") {
            return Err(std::io::ErrorKind::InvalidData.into());
        }
        if answered.send(Instant::now()).is_err() {
            return Ok(());
        }
    }
}

const SLOTS: u32 = 10;
/// Enough that the queue is never empty, and few enough that it moves within a row.
const CALLERS: usize = 60;
