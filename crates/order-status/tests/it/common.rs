//! A small blocking HTTP/1.1 client, so that tests see exactly what is on the wire.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use goodput_clock::Rate;
use goodput_control::api::ServerState;
use goodput_order_status::{Server, ServerConfig};
use goodput_policy::limiter::{Capacity, LimiterConfig};

pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {}", self.body))
    }

    /// Checks the shape of an error and returns its message.
    pub(crate) fn error(&self) -> String {
        let json = self.json();
        assert_eq!(json["status"], self.status);
        assert_eq!(json.as_object().unwrap().len(), 2);
        json["error"].as_str().unwrap().to_owned()
    }
}

pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    pub(crate) fn open(addr: SocketAddr) -> Self {
        let stream = TcpStream::connect(addr).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    pub(crate) fn send(&mut self, method: &str, path: &str, headers: &str, body: &str) {
        let length = if body.is_empty() && method == "GET" {
            String::new()
        } else {
            format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len())
        };
        let head = format!("{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n{length}{headers}\r\n");
        self.write(&(head + body));
    }

    pub(crate) fn write(&mut self, text: &str) {
        self.stream.get_mut().write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn get(&mut self, path: &str, headers: &str) -> Reply {
        self.send("GET", path, headers, "");
        self.receive().expect("an answer")
    }

    /// The next answer, or none where the connection ended first.
    pub(crate) fn receive(&mut self) -> Option<Reply> {
        let mut line = String::new();
        if self.stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let status = line.split(' ').nth(1)?.parse().ok()?;
        let mut headers = BTreeMap::new();
        loop {
            line.clear();
            self.stream.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        let length = headers.get("content-length").map_or(0, |text| text.parse().unwrap());
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).ok()?;
        Some(Reply { status, headers, body: String::from_utf8(body).unwrap() })
    }

    /// Whether the other end has closed the connection within a second.
    pub(crate) fn is_closed(&mut self) -> bool {
        self.stream.get_mut().set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        match self.stream.read(&mut [0; 16]) {
            Ok(count) => count == 0,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

pub(crate) fn get(server: &Server, path: &str) -> Reply {
    Connection::open(server.data_addr()).get(path, "")
}

/// Sends a command to the control plane and expects success.
pub(crate) fn command(server: &Server, method: &str, path: &str, body: &str) -> serde_json::Value {
    let mut connection = Connection::open(server.control_addr());
    connection.send(method, path, "", body);
    let reply = connection.receive().unwrap();
    assert!(reply.status < 300, "{method} {path}: {} {}", reply.status, reply.body);
    reply.json()
}

pub(crate) fn state(server: &Server) -> ServerState {
    let reply = Connection::open(server.control_addr()).get("/state", "");
    assert_eq!(reply.status, 200, "{}", reply.body);
    serde_json::from_str(&reply.body).unwrap()
}

pub(crate) fn metrics(server: &Server) -> String {
    Connection::open(server.control_addr()).get("/metrics", "").body
}

/// The value of one series of the metrics.
pub(crate) fn series(server: &Server, name: &str) -> f64 {
    let text = metrics(server);
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
}

pub(crate) fn start(limiter: LimiterConfig) -> Server {
    let config = ServerConfig { limiter, ..ServerConfig::default() };
    Server::start(config).unwrap()
}

pub(crate) fn limited(slots: u32, capacity: f64) -> LimiterConfig {
    let capacity = Capacity::Limited(Rate::new(capacity).unwrap());
    LimiterConfig { slots, capacity, ..LimiterConfig::default() }
}
