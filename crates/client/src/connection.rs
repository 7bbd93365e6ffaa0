//! One task a connection: it connects, carries attempts one after another (HTTP/1.1) or side by side
//! (HTTP/2), and notices when the server closes.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use goodput_policy::attempt::{AttemptResult, Reply, Transport};
use http::Response;
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;

use crate::client::Shared;
use crate::core::{Ended, Job};
use crate::observer::Observer;
use crate::pool::ConnectionId;
use crate::request::{Answer, reply_of, result_of, was_turned_away};
use crate::timers::Ticket;

type Http1 = http1::Connection<TokioIo<TcpStream>, Full<Bytes>>;

/// Starts the task of a connection that has been asked for.
pub(crate) fn spawn<O: Observer>(shared: &Arc<Shared<O>>, id: ConnectionId) -> AbortHandle {
    let of_task = Arc::clone(shared);
    let task = shared.runtime.spawn(async move {
        // Made here and not outside: a task that is dropped before it ran must not take the lock,
        // which whoever spawns it holds.
        let mut worker = Worker { shared: of_task, id, gone: Transport::Closed };
        worker.run().await;
    });
    task.abort_handle()
}

/// Tells the client that its connection is gone when it is dropped.
struct Worker<O: Observer> {
    shared: Arc<Shared<O>>,
    id: ConnectionId,
    /// Why the connection is gone, once it is.
    gone: Transport,
}

impl<O: Observer> Drop for Worker<O> {
    fn drop(&mut self) {
        let mut core = self.shared.lock();
        let now = core.clock.now();
        core.on_gone(&self.shared, now, self.id, self.gone);
    }
}

impl<O: Observer> Worker<O> {
    async fn run(&mut self) {
        {
            let mut core = self.shared.lock();
            let now = core.clock.now();
            core.on_connecting(now, self.id);
        }
        let stream = match TcpStream::connect(self.shared.address).await {
            Ok(stream) => stream,
            Err(error) => {
                self.gone = why(&error);
                return;
            }
        };
        // Without it an answer to a small request may wait for an acknowledgement; it is never
        // refused on a fresh socket.
        let _ = stream.set_nodelay(true);
        let io = TokioIo::new(stream);
        if self.shared.http2 { self.run_http2(io).await } else { self.run_http1(io).await }
    }

    fn is_wanted(&self) -> bool {
        let mut core = self.shared.lock();
        let now = core.clock.now();
        core.on_established(now, self.id)
    }

    async fn run_http1(&self, io: TokioIo<TcpStream>) {
        let mut builder = http1::Builder::new();
        builder.writev(false).max_buf_size(MAX_HEAD);
        let Ok((mut sender, mut connection)) = builder.handshake(io).await else { return };
        if !self.is_wanted() {
            return;
        }
        while let Some(job) = poll_fn(|cx| self.poll_job(&mut connection, cx)).await {
            let answer = pin!(sender.send_request(job.request));
            let mut exchange = Exchange::new(answer, self.shared.keep_answers);
            let (ended, reusable) = poll_fn(|cx| {
                let closed = Pin::new(&mut connection).poll(cx).is_ready();
                let done = ready_or_broken(exchange.poll(cx), closed);
                let ended = ready!(done);
                // The connection learns in this poll that the answer was read to its end.
                let closed = closed || Pin::new(&mut connection).poll(cx).is_ready();
                Poll::Ready((ended, !closed && sender.is_ready()))
            })
            .await;
            let mut core = self.shared.lock();
            let now = core.clock.now();
            core.on_ended(&self.shared, now, self.id, job.ticket, ended, reusable);
        }
    }

    /// The next attempt to send, or none once the connection is closed.
    fn poll_job(&self, connection: &mut Http1, cx: &mut Context<'_>) -> Poll<Option<Job>> {
        if Pin::new(connection).poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        let mut core = self.shared.lock();
        match core.take_job(self.id) {
            Some(job) => Poll::Ready(Some(job)),
            None if core.wait(self.id, cx.waker()) => Poll::Pending,
            None => Poll::Ready(None),
        }
    }

    async fn run_http2(&self, io: TokioIo<TcpStream>) {
        let builder = http2::Builder::new(TokioExecutor::new());
        let Ok((sender, mut connection)) = builder.handshake(io).await else { return };
        if !self.is_wanted() {
            return;
        }
        poll_fn(|cx| {
            if Pin::new(&mut connection).poll(cx).is_ready() {
                return Poll::Ready(());
            }
            let mut core = self.shared.lock();
            while let Some(job) = core.take_job(self.id) {
                let answer = Box::pin(sender.clone().send_request(job.request));
                let exchange = Exchange::new(answer, self.shared.keep_answers);
                let stream = stream(Arc::clone(&self.shared), self.id, job.ticket, exchange);
                let task = self.shared.runtime.spawn(stream).abort_handle();
                core.note_stream(self.id, job.ticket, task);
            }
            if core.wait(self.id, cx.waker()) { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
    }
}

/// Waits for the answer on one stream of an HTTP/2 connection. To drop it resets the stream.
async fn stream<O: Observer, F>(
    shared: Arc<Shared<O>>,
    id: ConnectionId,
    ticket: Ticket,
    mut exchange: Exchange<F>,
) where
    F: Future<Output = hyper::Result<Response<Incoming>>> + Unpin,
{
    let ended = poll_fn(|cx| exchange.poll(cx)).await;
    let mut core = shared.lock();
    let now = core.clock.now();
    core.on_ended(&shared, now, id, ticket, ended, true);
}

fn ready_or_broken(polled: Poll<Ended>, closed: bool) -> Poll<Ended> {
    if closed && polled.is_pending() {
        return Poll::Ready(Ended::without_answer(Transport::Closed));
    }
    polled
}

/// What an error of a socket says. Where this process's own limits are to blame it says nothing of the
/// server.
fn why(error: &io::Error) -> Transport {
    use rustix::io::Errno;
    let own = [Errno::ADDRNOTAVAIL, Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    match Errno::from_io_error(error) {
        Some(errno) if own.contains(&errno) => Transport::OwnLimit,
        Some(Errno::CONNREFUSED) => Transport::Refused,
        Some(Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::TIMEDOUT) => Transport::Unreachable,
        Some(Errno::CONNRESET | Errno::PIPE) => Transport::Reset,
        _ => Transport::Closed,
    }
}

/// A request that was handed over, until its answer is read to the end.
struct Exchange<F> {
    answer: State<F>,
    keep: Option<usize>,
}

enum State<F> {
    Head(F),
    Body {
        head: Option<http::response::Parts>,
        result: AttemptResult,
        reply: Reply,
        turned_away: bool,
        body: Incoming,
        read: Vec<u8>,
    },
}

impl<F> Exchange<F>
where
    F: Future<Output = hyper::Result<Response<Incoming>>> + Unpin,
{
    fn new(answer: F, keep: Option<usize>) -> Self {
        Self { answer: State::Head(answer), keep }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Ended> {
        loop {
            match &mut self.answer {
                State::Head(answer) => match ready!(Pin::new(answer).poll(cx)) {
                    Err(error) => return Poll::Ready(broken(&error)),
                    Ok(response) => {
                        let (head, body) = response.into_parts();
                        let result = result_of(head.status, &head.headers);
                        let reply = reply_of(head.status, &head.headers);
                        let turned_away = was_turned_away(&head.headers);
                        let head = self.keep.map(|_| head);
                        let read = Vec::new();
                        self.answer = State::Body { head, result, reply, turned_away, body, read };
                    }
                },
                State::Body { head, result, reply, turned_away, body, read } => {
                    if !body.is_end_stream() {
                        match ready!(Pin::new(body).poll_frame(cx)) {
                            Some(Ok(frame)) => {
                                let (Some(limit), Some(data)) = (self.keep, frame.data_ref())
                                else {
                                    continue;
                                };
                                if read.len() + data.len() > limit {
                                    return Poll::Ready(Ended::without_answer(Transport::TooLarge));
                                }
                                read.extend_from_slice(data);
                                continue;
                            }
                            Some(Err(error)) => {
                                return Poll::Ready(broken(&error));
                            }
                            None => {}
                        }
                    }
                    let answer = head.take().map(|head| Answer {
                        status: head.status,
                        headers: head.headers,
                        body: std::mem::take(read).into(),
                    });
                    let (result, reply, turned_away) = (*result, *reply, *turned_away);
                    let unsent = false;
                    return Poll::Ready(Ended { result, reply, turned_away, answer, unsent });
                }
            }
        }
    }
}

/// Something that is no HTTP answer is an error; a connection that broke is not an answer at all.
fn broken(error: &hyper::Error) -> Ended {
    let of_socket = std::error::Error::source(error).and_then(|source| source.downcast_ref());
    Ended::without_answer(match of_socket {
        _ if error.is_parse() => Transport::Malformed,
        Some(error) => why(error),
        None => Transport::Closed,
    })
}

/// How large the head of an answer may be.
const MAX_HEAD: usize = 64 * 1024;
