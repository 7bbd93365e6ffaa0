//! A load generator that only remembers what it is told, and raw HTTP.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use goodput_control::api::{Held, LoadState};
use goodput_control::{Audit, CommandLog, Guard, Listener, LoadControl, load_plane};
use goodput_policy::lever::Lever;
use goodput_test_support::any_port;

/// A load generator that is a rate.
pub(crate) struct TestLoad(Mutex<(f64, bool)>);

impl LoadControl for TestLoad {
    fn state(&self, held: Held) -> LoadState {
        let (rate, halted) = *self.0.lock().unwrap();
        LoadState {
            version: "test".to_owned(),
            scenario: "test".to_owned(),
            target: "nowhere".to_owned(),
            elapsed: 0.0,
            speed: 1.0,
            rate,
            halted,
            layers: Vec::new(),
            layer_counters: Vec::new(),
            offered: 0,
            good: 0,
            in_flight: 0,
            connections: 0,
            run: held.run,
            commands: held.commands,
        }
    }

    fn metrics(&self) -> String {
        String::new()
    }

    fn pull(&self, lever: &Lever) -> Result<String, String> {
        if let Lever::Rate { rate } = lever {
            self.0.lock().unwrap().0 = rate.per_second();
            return Ok(format!("rate is {rate}"));
        }
        if let Lever::Retries { layer: Some(layer), .. } = lever {
            return Err(format!("no layer named `{layer}`"));
        }
        Ok(String::new())
    }

    fn halt(&self) {
        self.0.lock().unwrap().1 = true;
    }

    fn resume(&self) {
        self.0.lock().unwrap().1 = false;
    }

    fn reset_layers(&self) {}

    fn reset_rate(&self) {
        self.0.lock().unwrap().0 = 80.0;
    }
}

pub(crate) fn load() -> (Listener, Audit) {
    let audit = Audit::memory();
    let load = Arc::new(TestLoad(Mutex::new((80.0, false))));
    let plane = load_plane(load, Arc::new(CommandLog::default()), None, audit.clone());
    (Listener::start(any_port(), Guard::loopback(), plane).unwrap(), audit)
}

/// Sends bytes as they are and reads the answer to its end.
pub(crate) fn raw(addr: SocketAddr, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    // A server that refuses a body early may close before it is all sent.
    let _ = stream.write_all(request.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or_else(|| panic!("no answer: {answer:?}")), answer)
}

/// A request with the headers that a client sends, and more.
pub(crate) fn ask(
    addr: SocketAddr,
    method: &str,
    path: &str,
    headers: &[&str],
    body: &str,
) -> (u16, String) {
    let mut head = vec![format!("{method} {path} HTTP/1.1"), "Connection: close".to_owned()];
    if !headers.iter().any(|header| header.to_ascii_lowercase().starts_with("host:")) {
        head.push(format!("Host: {addr}"));
    }
    head.extend(headers.iter().map(|header| (*header).to_owned()));
    if !body.is_empty() {
        head.push(format!("Content-Length: {}", body.len()));
    }
    raw(addr, &format!("{}\r\n\r\n{body}", head.join("\r\n")))
}

/// The same with a JSON body.
pub(crate) fn ask_json(addr: SocketAddr, method: &str, path: &str, body: &str) -> (u16, String) {
    ask(addr, method, path, &["Content-Type: application/json"], body)
}

/// The JSON body of an answer.
pub(crate) fn json(answer: &str) -> serde_json::Value {
    let body = answer.split_once("\r\n\r\n").expect("an answer has a body").1;
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error} in {answer:?}"))
}
