//! A server whose behaviour each request chooses by its path, and that counts what it sees.

#![expect(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "shared by the tests of two crates, neither of which uses all of it"
)]

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// One request as the server read it.
#[derive(Clone, Debug)]
pub struct Seen {
    pub at: Instant,
    /// The connection's number, from 1.
    pub connection: usize,
    pub path: String,
    pub attempt: String,
    pub timeout: String,
}

#[derive(Debug, Default)]
pub struct Counts {
    pub accepted: AtomicUsize,
    pub open: AtomicUsize,
    pub most_open: AtomicUsize,
    pub seen: Mutex<Vec<Seen>>,
}

/// Runs on a thread of its own until dropped. Paths: `/status/CODE`, `/slow/MILLIS`, `/silent`,
/// `/garbage`, `/truncated`, `/reset`, `/close` (answers, closes 20 ms later), `/last` (answers with
/// `connection: close`), `/body/BYTES`, `/every/N` (503 to every Nth request); all others answer 200.
#[derive(Debug)]
pub struct Server {
    pub addr: SocketAddr,
    pub counts: Arc<Counts>,
    freeze: tokio::sync::mpsc::UnboundedSender<Duration>,
}

impl Server {
    pub fn start() -> Self {
        let counts = Arc::new(Counts::default());
        let (freeze, mut frozen) = tokio::sync::mpsc::unbounded_channel::<Duration>();
        let (bound, addr) = std::sync::mpsc::channel();
        let shared = Arc::clone(&counts);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async move {
                let socket = TcpSocket::new_v4().unwrap();
                socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
                let listener = socket.listen(4096).unwrap();
                bound.send(listener.local_addr().unwrap()).unwrap();
                loop {
                    tokio::select! {
                        length = frozen.recv() => match length {
                            // The whole thread sleeps: nothing is accepted and nothing read.
                            Some(length) => std::thread::sleep(length),
                            None => return,
                        },
                        accepted = listener.accept() => {
                            let (stream, _) = accepted.unwrap();
                            let number = shared.accepted.fetch_add(1, Ordering::SeqCst) + 1;
                            tokio::spawn(serve(stream, number, Arc::clone(&shared)));
                        }
                    }
                }
            });
        });
        Self { addr: addr.recv().unwrap(), counts, freeze }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    pub fn freeze(&self, length: Duration) {
        self.freeze.send(length).unwrap();
    }

    pub fn accepted(&self) -> usize {
        self.counts.accepted.load(Ordering::SeqCst)
    }

    pub fn open(&self) -> usize {
        self.counts.open.load(Ordering::SeqCst)
    }

    pub fn most_open(&self) -> usize {
        self.counts.most_open.load(Ordering::SeqCst)
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.counts.seen.lock().unwrap().clone()
    }
}

struct Open(Arc<Counts>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn serve(mut stream: TcpStream, number: usize, counts: Arc<Counts>) {
    stream.set_nodelay(true).unwrap();
    let open = counts.open.fetch_add(1, Ordering::SeqCst) + 1;
    counts.most_open.fetch_max(open, Ordering::SeqCst);
    let _open = Open(Arc::clone(&counts));
    let mut read = Vec::new();
    loop {
        let Some(head) = next_head(&mut stream, &mut read).await else { return };
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let header = |name: &str| {
            let line = head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            line.unwrap_or_default().to_owned()
        };
        let index = {
            let mut seen = counts.seen.lock().unwrap();
            seen.push(Seen {
                at: Instant::now(),
                connection: number,
                path: path.clone(),
                attempt: header("x-envoy-attempt-count"),
                timeout: header("grpc-timeout"),
            });
            seen.len()
        };
        let (kind, value) = path[1..].split_once('/').unwrap_or((&path[1..], ""));
        let value: usize = value.parse().unwrap_or_default();
        let mut status = 200;
        let mut body = number.to_string();
        let mut last = "";
        match kind {
            "status" => status = value,
            "slow" => tokio::time::sleep(Duration::from_millis(value as u64)).await,
            "every" if index % value == 0 => status = 503,
            "body" => body = "x".repeat(value),
            "last" => last = "connection: close\r\n",
            "silent" => {
                let _ = stream.read(&mut [0]).await;
                return;
            }
            "garbage" => {
                let _ = stream.write_all(b"\x16\x03\x01 this is not HTTP\r\n\r\n").await;
                continue;
            }
            "truncated" => {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n1").await;
                return;
            }
            "reset" => {
                stream.set_zero_linger().unwrap();
                return;
            }
            _ => {}
        }
        let length = body.len();
        let answer = format!("HTTP/1.1 {status} X\r\n{last}content-length: {length}\r\n\r\n{body}");
        if stream.write_all(answer.as_bytes()).await.is_err() || kind == "last" {
            return;
        }
        if kind == "close" {
            tokio::time::sleep(Duration::from_millis(20)).await;
            return;
        }
    }
}

async fn next_head(stream: &mut TcpStream, read: &mut Vec<u8>) -> Option<String> {
    loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = read.split_off(end + 4);
            let head = std::mem::replace(read, rest);
            return Some(String::from_utf8(head).unwrap());
        }
        match stream.read_buf(read).await {
            Ok(0) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}

/// Waits until `is_so`, for at most ten seconds.
pub async fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(Instant::now() < give_up, "not within ten seconds: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
