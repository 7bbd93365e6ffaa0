//! Gives hyper's own refusals the shape of all others.
//!
//! What is not HTTP, or has too many headers, never becomes a request: hyper answers it by itself,
//! without a body, and closes the connection. This stream sees such an answer on its way out and
//! writes one with a body instead.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use goodput_control::api::ErrorBody;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// A connection of the data plane.
#[derive(Debug)]
pub(crate) struct Shaped {
    stream: TcpStream,
    /// What is still to be written of an answer that replaces hyper's.
    replacement: Vec<u8>,
}

impl Shaped {
    pub(crate) const fn new(stream: TcpStream) -> Self {
        Self { stream, replacement: Vec::new() }
    }

    /// Writes what is left of a replacement.
    fn poll_replacement(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.replacement.is_empty() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.replacement))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.replacement.drain(..written);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Shaped {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Shaped {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if let Some(replacement) = replacement(bytes) {
            // It counts as written at once; the flush that follows sees to it.
            self.replacement = replacement;
            return Poll::Ready(Ok(bytes.len()));
        }
        ready!(self.poll_replacement(cx))?;
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let [only] = slices {
            return self.poll_write(cx, only);
        }
        ready!(self.poll_replacement(cx))?;
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_replacement(cx))?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_replacement(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// The answer to write instead of one that hyper made by itself; none for every other.
fn replacement(bytes: &[u8]) -> Option<Vec<u8>> {
    let status = bytes.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
    let (status, error) = match status {
        b"400" => (400, "the request is not HTTP/1.1; write GET /orders/1042 HTTP/1.1"),
        b"414" => (414, "the path is too long; write GET /orders/1042"),
        b"431" => (431, "there are too many headers, or they are too large; send at most 100"),
        _ => return None,
    };
    let head = std::str::from_utf8(bytes).ok()?;
    let mut lines = head.strip_suffix("\r\n\r\n")?.split("\r\n");
    let first = lines.next()?;
    // A handler's answer has a type, or a body, or keeps the connection.
    let is_bare = lines.clone().all(|line| {
        ["connection: close", "content-length: 0"].contains(&line) || line.starts_with("date: ")
    });
    if !is_bare || !lines.any(|line| line == "connection: close") {
        return None;
    }
    let body = ErrorBody { error: error.to_owned(), status };
    let body = serde_json::to_string(&body).ok()?;
    let length = body.len();
    let head = format!(
        "{first}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n"
    );
    Some((head + &body).into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_without_a_body_that_closes_is_replaced() {
        let bare = "HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\n\
                    connection: close\r\ndate: Mon, 30 Nov 2026 09:00:00 GMT\r\n\r\n";
        let replaced = String::from_utf8(replacement(bare.as_bytes()).unwrap()).unwrap();
        assert!(replaced.starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\n"));
        assert!(replaced.ends_with("\"status\":431}"), "{replaced}");
        for kept in [
            bare.replace("431", "200"),
            bare.replace("connection: close\r\n", ""),
            bare.replace("content-length: 0", "content-length: 2") + "{}",
            bare.replace("date:", "content-type: application/json\r\ndate:"),
            bare.trim_end().to_owned(),
        ] {
            assert!(replacement(kept.as_bytes()).is_none(), "{kept}");
        }
    }
}
