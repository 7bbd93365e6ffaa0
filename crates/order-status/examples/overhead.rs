//! Compares what a request costs at an unlimited server with what it costs at a bare axum handler that
//! returns the same body.
//!
//! Run by `scripts/bench-server`; the arguments are rounds and the seconds of each. Both servers are processes
//! of their own with one thread for requests; their processor time is read from the kernel. Exits with 1
//! where the ratio is below 0.85.

#![expect(clippy::print_stdout, reason = "the table is what it is run for")]

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use goodput_order_status::{Server, ServerConfig};
use http::header::CONTENT_TYPE;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve-goodput"] => serve_goodput(),
        ["serve-bare", body] => serve_bare(body.to_owned()),
        [] => compare(15, 2.0),
        [rounds, seconds] => compare(rounds.parse()?, seconds.parse()?),
        _ => Err("write overhead ROUNDS SECONDS, such as overhead 15 2".into()),
    }
}

fn compare(rounds: usize, seconds: f64) -> Result<ExitCode, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let goodput = Process::start(&["serve-goodput"])?;
    let body = runtime.block_on(fetch(goodput.addr))?;
    let bare = Process::start(&["serve-bare", &body])?;
    if runtime.block_on(fetch(bare.addr))? != body {
        return Err("the bare handler returns another body".into());
    }
    println!("| round | bare, requests per CPU-second | goodput | ratio |");
    println!("|---:|---:|---:|---:|");
    let mut ratios = Vec::new();
    for round in 1..=rounds {
        let bare = runtime.block_on(per_cpu_second(&bare, seconds))?;
        let goodput = runtime.block_on(per_cpu_second(&goodput, seconds))?;
        ratios.push(goodput / bare);
        println!("| {round} | {bare:.0} | {goodput:.0} | {:.3} |", goodput / bare);
    }
    ratios.sort_by(f64::total_cmp);
    let median = ratios.get(ratios.len() / 2).copied().ok_or("no round")?;
    println!("\nmedian ratio: {median:.3} (at least 0.85 is asked for)");
    Ok(if median >= 0.85 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A server in a process of its own, which ends with its standard input.
struct Process {
    child: Child,
    addr: SocketAddr,
}

impl Process {
    fn start(arguments: &[&str]) -> Result<Self, Box<dyn Error>> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        Ok(Self { child, addr: line.trim().parse()? })
    }

    /// Processor time of the process so far, in seconds.
    fn cpu_seconds(&self) -> Result<f64, Box<dyn Error>> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let fields = stat.rsplit(')').next().ok_or("an odd /proc/PID/stat")?;
        let ticks = |field: usize| -> Result<f64, Box<dyn Error>> {
            Ok(fields.split_whitespace().nth(field).ok_or("a short stat")?.parse()?)
        };
        // User and system time, in hundredths of a second.
        Ok((ticks(11)? + ticks(12)?) / 100.0)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // It has ended by itself, or is gone already.
        let _ = self.child.wait();
    }
}

/// Drives a server for so long and returns the requests that it served per second of its processor time.
async fn per_cpu_second(process: &Process, seconds: f64) -> Result<f64, Box<dyn Error>> {
    let served = Arc::new(AtomicU64::new(0));
    let callers: Vec<_> =
        (0..CALLERS).map(|_| tokio::spawn(call(process.addr, Arc::clone(&served)))).collect();
    tokio::time::sleep(Duration::from_millis(500)).await;
    let (count, cpu) = (served.load(Ordering::Relaxed), process.cpu_seconds()?);
    tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
    let count = served.load(Ordering::Relaxed) - count;
    let cpu = process.cpu_seconds()? - cpu;
    if callers.iter().any(tokio::task::JoinHandle::is_finished) || count == 0 {
        return Err("a caller failed".into());
    }
    callers.iter().for_each(tokio::task::JoinHandle::abort);
    Ok(count as f64 / cpu)
}

async fn call(addr: SocketAddr, served: Arc<AtomicU64>) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(addr).await?;
    stream.set_nodelay(true)?;
    let mut answer = [0; 4096];
    loop {
        stream.write_all(REQUEST).await?;
        // An order fits one segment, so one read takes the whole answer.
        if stream.read(&mut answer).await? == 0 || !answer.starts_with(b"HTTP/1.1 200") {
            return Err(std::io::ErrorKind::InvalidData.into());
        }
        served.fetch_add(1, Ordering::Relaxed);
    }
}

async fn fetch(addr: SocketAddr) -> Result<String, Box<dyn Error>> {
    let mut stream = TcpStream::connect(addr).await?;
    stream.write_all(REQUEST).await?;
    let mut answer = vec![0; 4096];
    let length = stream.read(&mut answer).await?;
    let answer = std::str::from_utf8(answer.get(..length).ok_or("no answer")?)?;
    Ok(answer.split_once("\r\n\r\n").ok_or("no body")?.1.to_owned())
}

fn serve_goodput() -> Result<ExitCode, Box<dyn Error>> {
    let server = Server::start(ServerConfig::default())?;
    announce(server.data_addr())?;
    wait_for_the_end();
    Ok(ExitCode::SUCCESS)
}

fn serve_bare(body: String) -> Result<ExitCode, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let body = axum::body::Bytes::from(body);
        let handler = || async move { ([(CONTENT_TYPE, "application/json")], body) };
        let router = Router::new().route("/orders/{id}", get(handler));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        announce(listener.local_addr()?)?;
        tokio::spawn(async move { axum::serve(listener, router).await });
        tokio::task::spawn_blocking(wait_for_the_end).await?;
        Ok(ExitCode::SUCCESS)
    })
}

fn announce(addr: SocketAddr) -> std::io::Result<()> {
    println!("{addr}");
    std::io::stdout().flush()
}

fn wait_for_the_end() {
    // The parent's end of the pipe has closed, one way or another.
    let _ = std::io::stdin().lines().next();
}

/// What a client of this rig sends.
const REQUEST: &[u8] = b"GET /orders/1042 HTTP/1.1\r\nhost: bench\r\ngrpc-timeout: 5S\r\n\
    x-envoy-attempt-count: 1\r\n\r\n";
const CALLERS: usize = 32;
