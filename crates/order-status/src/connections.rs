//! The data plane's connections: accepted up to a bound, and all dropped by a restart.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::shape::Shaped;

/// What hyper hands each request of the data plane to.
pub(crate) type Service = TowerToHyperService<Router>;

/// What the control plane asks of the data plane's thread.
#[derive(Debug)]
pub(crate) enum Command {
    /// Drops every connection, also those not yet accepted, and what has come in over them.
    Restart,
    /// Ends the data plane.
    Shutdown,
}

/// Binds a listener with a backlog; must be called inside a runtime.
///
/// # Errors
///
/// Where the address cannot be had.
pub(crate) fn listen(addr: SocketAddr, backlog: u32) -> io::Result<TcpListener> {
    let socket = if addr.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // Without it a restarted process would wait for its old connections to time out.
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    socket.listen(backlog)
}

/// Serves until told to shut down. `open` shows how many connections there are; `drop_requests`
/// empties the limiter.
pub(crate) async fn serve(
    listener: TcpListener,
    service: Service,
    limit: usize,
    mut commands: mpsc::UnboundedReceiver<Command>,
    open: &AtomicUsize,
    drop_requests: impl Fn(),
) {
    let mut connections = JoinSet::new();
    loop {
        open.store(connections.len(), Ordering::Relaxed);
        tokio::select! {
            command = commands.recv() => match command {
                Some(Command::Restart) => {
                    drop_unaccepted(&listener).await;
                    connections.shutdown().await;
                    // What came in since the lever was pulled belongs to these connections too.
                    drop_requests();
                }
                Some(Command::Shutdown) | None => return,
            },
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if connections.len() < limit => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(converse(stream, service.clone()));
                }
                // What fails is mostly one connection; where files have run out, give them time.
                Err(error) if is_of_one_connection(&error) => {}
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
        }
    }
}

async fn converse(stream: TcpStream, service: Service) {
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http2().max_concurrent_streams(MAX_STREAMS);
    // An error ends this connection and concerns nobody else.
    let _ = builder.serve_connection(TokioIo::new(Shaped::new(stream)), service).await;
}

async fn drop_unaccepted(listener: &TcpListener) {
    poll_fn(|context| {
        while let Poll::Ready(Ok(_)) = listener.poll_accept(context) {}
        Poll::Ready(())
    })
    .await;
}

fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
    )
}

const ACCEPT_PAUSE: Duration = Duration::from_millis(10);
/// Requests in flight on one HTTP/2 connection: a queue may be long, and streams are cheap.
const MAX_STREAMS: u32 = 100_000;
