use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::mpsc;

use crate::any_port;

/// One request as a [`PathServer`] read it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// When its head had come.
    pub at: Instant,
    /// The connection's number, from 1.
    pub connection: usize,
    /// What it asked for.
    pub path: String,
    /// Its `x-envoy-attempt-count`; empty without one.
    pub attempt: String,
    /// Its `grpc-timeout`; empty without one.
    pub timeout: String,
}

#[derive(Debug, Default)]
struct Counts {
    accepted: AtomicUsize,
    open: AtomicUsize,
    most_open: AtomicUsize,
    seen: Mutex<Vec<Seen>>,
    instead: Mutex<Option<String>>,
}

/// A server whose behaviour each request chooses by its path, and that counts what it sees.
///
/// It runs on a thread of its own until dropped. Paths: `/status/CODE`, `/slow/MILLIS`, `/silent`,
/// `/garbage`, `/truncated`, `/reset`, `/close` (answers, closes 20 ms later), `/last` (answers with
/// `connection: close`), `/body/BYTES`, `/every/N` (503 to every Nth request), `/half/CODE` (to one
/// request of two, in no order); all others answer 200.
#[derive(Debug)]
pub struct PathServer {
    /// Where it listens.
    pub addr: SocketAddr,
    counts: Arc<Counts>,
    freeze: mpsc::UnboundedSender<Duration>,
}

impl PathServer {
    /// A server on any free port of loopback.
    ///
    /// # Panics
    ///
    /// Where there is no free port.
    pub fn start() -> Self {
        let counts = Arc::new(Counts::default());
        let (freeze, mut frozen) = mpsc::unbounded_channel::<Duration>();
        let (bound, addr) = std::sync::mpsc::channel();
        let shared = Arc::clone(&counts);
        std::thread::spawn(move || {
            crate::block_on(async move {
                let socket = TcpSocket::new_v4().expect("the system has sockets");
                socket.bind(any_port()).expect("loopback has a free port");
                let listener = socket.listen(4096).expect("loopback can be listened on");
                let addr = listener.local_addr().expect("a listener has an address");
                bound.send(addr).expect("whoever started it waits");
                loop {
                    tokio::select! {
                        length = frozen.recv() => match length {
                            // The whole thread sleeps: nothing is accepted and nothing read.
                            Some(length) => std::thread::sleep(length),
                            None => return,
                        },
                        accepted = listener.accept() => {
                            let (stream, _) = accepted.expect("a connection is accepted");
                            let number = shared.accepted.fetch_add(1, Ordering::SeqCst) + 1;
                            tokio::spawn(serve(stream, number, Arc::clone(&shared)));
                        }
                    }
                }
            });
        });
        Self { addr: addr.recv().expect("it listens"), counts, freeze }
    }

    /// Its address as a target.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Lets it accept and read nothing for so long.
    ///
    /// # Panics
    ///
    /// Where its thread has ended.
    pub fn freeze(&self, length: Duration) {
        self.freeze.send(length).expect("it runs");
    }

    /// Answers from now on as though each request asked for this path.
    pub fn answer_as(&self, path: &str) {
        *locked(&self.counts.instead) = Some(path.to_owned());
    }

    /// How many connections it has accepted.
    pub fn accepted(&self) -> usize {
        self.counts.accepted.load(Ordering::SeqCst)
    }

    /// How many connections are open.
    pub fn open(&self) -> usize {
        self.counts.open.load(Ordering::SeqCst)
    }

    /// How many connections were open at once.
    pub fn most_open(&self) -> usize {
        self.counts.most_open.load(Ordering::SeqCst)
    }

    /// The requests that it has read, in order.
    pub fn seen(&self) -> Vec<Seen> {
        locked(&self.counts.seen).clone()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Open(Arc<Counts>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn serve(mut stream: TcpStream, number: usize, counts: Arc<Counts>) {
    stream.set_nodelay(true).expect("a fresh connection takes options");
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
            let mut seen = locked(&counts.seen);
            seen.push(Seen {
                at: Instant::now(),
                connection: number,
                path: path.clone(),
                attempt: header("x-envoy-attempt-count"),
                timeout: header("grpc-timeout"),
            });
            seen.len()
        };
        let path = locked(&counts.instead).clone().unwrap_or(path);
        let (kind, value) = path[1..].split_once('/').unwrap_or((&path[1..], ""));
        let value: usize = value.parse().unwrap_or_default();
        let mut status = 200;
        let mut body = number.to_string();
        let mut last = "";
        match kind {
            "status" => status = value,
            "slow" => tokio::time::sleep(Duration::from_millis(value as u64)).await,
            "every" if index % value == 0 => status = 503,
            "half" if is_hit(index) => status = value,
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
                stream.set_zero_linger().expect("a connection takes options");
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

/// Whether a request is one of the half that is hit: as good as by chance, and the same each time.
const fn is_hit(index: usize) -> bool {
    // Knuth's multiplicative hash, whose upper bits are mixed best.
    (index as u32).wrapping_mul(2_654_435_769) >> 31 == 1
}

async fn next_head(stream: &mut TcpStream, read: &mut Vec<u8>) -> Option<String> {
    loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = read.split_off(end + 4);
            let head = std::mem::replace(read, rest);
            return Some(String::from_utf8(head).expect("a client's head is ASCII"));
        }
        match stream.read_buf(read).await {
            Ok(0) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}
