use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use crate::any_port;

/// How a peer treats a connection.
pub type Peer = fn(TcpStream);

/// Listens on loopback and treats each connection so, on a thread of its own, to the end of the
/// process.
///
/// # Panics
///
/// Where there is no free port.
pub fn listen(peer: Peer) -> SocketAddr {
    let listener = TcpListener::bind(any_port()).expect("loopback has a free port");
    let addr = listener.local_addr().expect("a listener has an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || peer(stream));
        }
    });
    addr
}

/// Closes with what was sent unread, which resets the connection.
pub fn reset(stream: TcpStream) {
    let mut byte = [0];
    // A peer that is gone needs no reset.
    let _ = stream.peek(&mut byte);
    drop(stream);
}

/// Answers with what is no HTTP.
pub fn garbage(mut stream: TcpStream) {
    let mut buffer = [0; 4096];
    // A peer that is gone needs no answer.
    let _ = stream.read(&mut buffer);
    let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.9\r\n");
}

/// Reads and never answers.
pub fn silence(mut stream: TcpStream) {
    let mut buffer = [0; 4096];
    while matches!(stream.read(&mut buffer), Ok(1..)) {}
}
