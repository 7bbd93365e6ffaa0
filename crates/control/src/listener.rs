use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Extension;
use axum::extract::Request;
use axum::middleware::{self, Next};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

use crate::guard::{self, Guard};
use crate::plane::{Peer, Plane};
use crate::{TOKEN_FLAG, TOKEN_VARIABLE};

/// A control plane that listens, on its own OS thread with its own runtime.
///
/// It ends with [`Listener::shutdown`] or when dropped.
#[derive(Debug)]
pub struct Listener {
    addr: SocketAddr,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

/// Why a control plane cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It would listen beyond loopback without a token.
    #[error(
        "control on {0} would be open to the network; give `{TOKEN_FLAG} TOKEN`, set \
         {TOKEN_VARIABLE}, or bind a loopback address such as 127.0.0.1:9901"
    )]
    NeedsToken(SocketAddr),
    /// Somebody listens there already.
    #[error("port {port} of {ip} is in use; stop what listens there or give another port", port = .0.port(), ip = .0.ip())]
    PortInUse(SocketAddr),
    /// The address cannot be bound.
    #[error("cannot listen on {addr}: {source}")]
    Bind {
        /// The address.
        addr: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The thread or its runtime cannot be made.
    #[error("cannot start the control plane's thread: {0}")]
    Thread(io::Error),
}

impl Listener {
    /// Binds and starts; returns once connections are taken.
    ///
    /// # Errors
    ///
    /// Where `bind` is beyond loopback and `guard` has no token, where the port is in use or the
    /// address is not this machine's, or where no thread can be made.
    pub fn start(bind: SocketAddr, guard: Guard, plane: Plane) -> Result<Self, StartError> {
        if !guard.may_bind(bind) {
            return Err(StartError::NeedsToken(bind));
        }
        let socket = std::net::TcpListener::bind(bind).map_err(|source| {
            if source.kind() == io::ErrorKind::AddrInUse {
                StartError::PortInUse(bind)
            } else {
                StartError::Bind { addr: bind, source }
            }
        })?;
        let bound = |source| StartError::Bind { addr: bind, source };
        socket.set_nonblocking(true).map_err(bound)?;
        let addr = socket.local_addr().map_err(bound)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(StartError::Thread)?;
        let entered = runtime.enter();
        let socket = TcpListener::from_std(socket).map_err(bound)?;
        drop(entered);
        let (stop, stopped) = watch::channel(false);
        let thread = std::thread::Builder::new()
            .name("control".to_owned())
            .spawn(move || runtime.block_on(serve(socket, guard, plane, stopped)))
            .map_err(StartError::Thread)?;
        Ok(Self { addr, stop, thread: Some(thread) })
    }

    /// Where it listens, with the port that was chosen for port 0.
    pub const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Ends it: requests in progress have half a second to end.
    pub fn shutdown(mut self) {
        self.stop();
    }

    fn stop(&mut self) {
        // Nobody listens where the thread has ended by itself, which is as good.
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed by its hook.
            let _ = thread.join();
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn serve(
    socket: TcpListener,
    guard: Guard,
    plane: Plane,
    mut stopped: watch::Receiver<bool>,
) {
    let mut tasks = JoinSet::new();
    plane.tasks.into_iter().for_each(|task| {
        tasks.spawn(task);
    });
    let lent = Arc::new((guard, plane.audit));
    let router = plane.router.layer(middleware::from_fn(move |request: Request, next: Next| {
        let lent = Arc::clone(&lent);
        async move { guard::guard(&lent.0, &lent.1, request, next).await }
    }));
    let mut connections = JoinSet::new();
    let mut oldest: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        tokio::select! {
            () = pulled(&mut stopped) => break,
            Some(_) = connections.join_next() => oldest.retain(|known| !known.is_finished()),
            accepted = socket.accept() => match accepted {
                Ok((stream, peer)) => {
                    make_room(&mut oldest);
                    let router = router.clone().layer(Extension(Peer(peer)));
                    oldest.push_back(connections.spawn(connection(stream, router, stopped.clone())));
                }
                // Out of file descriptors, say: the next try may find one.
                Err(_) => tokio::time::sleep(ACCEPT_RETRY).await,
            },
        }
    }
    let ended = async { while connections.join_next().await.is_some() {} };
    // What has not ended by then is cut off.
    let _ = tokio::time::timeout(GRACE, ended).await;
}

/// Cuts the oldest connection off where as many are open as may be. Peers that say nothing thus keep no
/// command out, and no renewal of a lease; a command that has begun goes on by itself.
fn make_room(oldest: &mut VecDeque<AbortHandle>) {
    while oldest.len() >= CONNECTIONS_MAX
        && let Some(first) = oldest.pop_front()
    {
        first.abort();
    }
}

async fn connection(stream: TcpStream, router: axum::Router, mut stopped: watch::Receiver<bool>) {
    // Without it answers wait for more; with an error the connection is gone anyway.
    let _ = stream.set_nodelay(true);
    let mut connection = std::pin::pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(IDLE)
            .max_buf_size(BUFFER_MAX)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
    );
    tokio::select! {
        _ = connection.as_mut() => {}
        () = pulled(&mut stopped) => {
            connection.as_mut().graceful_shutdown();
            // How a connection ends is of no interest once its answer is out.
            let _ = connection.await;
        }
    }
}

/// Waits for the end; a listener that is gone is one too.
async fn pulled(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stop| *stop).await;
}

const CONNECTIONS_MAX: usize = 256;
const ACCEPT_RETRY: Duration = Duration::from_millis(50);
const GRACE: Duration = Duration::from_millis(500);
/// How long a connection may idle, or take for the head of a request.
const IDLE: Duration = Duration::from_secs(30);
/// The largest head of a request, in bytes.
const BUFFER_MAX: usize = 64 * 1024;
