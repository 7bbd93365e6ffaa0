use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::any_port;

/// A wire to a server that can be cut: then nothing gets through in either direction, and no end of
/// a connection is told the other.
#[derive(Debug)]
pub struct Wire {
    /// The near end.
    pub addr: SocketAddr,
    cut: Arc<AtomicBool>,
}

impl Wire {
    /// A whole wire to `server`.
    ///
    /// # Panics
    ///
    /// Where there is no free port.
    pub fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind(any_port()).expect("loopback has a free port");
        let addr = listener.local_addr().expect("a listener has an address");
        let cut = Arc::new(AtomicBool::new(false));
        let is_cut = Arc::clone(&cut);
        std::thread::spawn(move || {
            for near in listener.incoming() {
                let (Ok(near), Ok(far)) = (near, TcpStream::connect(server)) else { break };
                let (Ok(near_too), Ok(far_too)) = (near.try_clone(), far.try_clone()) else {
                    break;
                };
                for (from, to) in [(near_too, far_too), (far, near)] {
                    let is_cut = Arc::clone(&is_cut);
                    std::thread::spawn(move || forward(from, to, &is_cut));
                }
            }
        });
        Self { addr, cut }
    }

    /// Cuts it.
    pub fn cut(&self) {
        self.cut.store(true, Ordering::SeqCst);
    }

    /// Mends it; what was sent meanwhile is lost.
    pub fn mend(&self) {
        self.cut.store(false, Ordering::SeqCst);
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream, is_cut: &AtomicBool) {
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        if !is_cut.load(Ordering::SeqCst) && to.write_all(&buffer[..read]).is_err() {
            return;
        }
    }
    if !is_cut.load(Ordering::SeqCst) {
        // The other way may have ended already.
        let _ = to.shutdown(Shutdown::Both);
    }
}
