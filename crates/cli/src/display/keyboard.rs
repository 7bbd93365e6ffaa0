//! What a person types, read on a thread of its own.
//!
//! crossterm does not return from a terminal that was closed under it: it reads on and finds nothing,
//! without a pause. On this thread that keeps no run from ending and no result from being written.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use ratatui::crossterm::cursor;
use ratatui::crossterm::event::{self, Event};
use ratatui::layout::Position;

/// The input of the terminal, as long as it lives.
#[derive(Debug)]
pub(crate) struct Keyboard {
    events: Receiver<Event>,
    questions: Sender<Sender<Position>>,
    stop: Arc<AtomicBool>,
}

impl Keyboard {
    /// Listens from now on.
    pub(crate) fn listen() -> io::Result<Self> {
        let (sender, events) = channel();
        let (questions, asked) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        thread::Builder::new()
            .name("keyboard".to_owned())
            .spawn(move || listen(&sender, &asked, &stopped))?;
        Ok(Self { events, questions, stop })
    }

    /// The next that is typed within `wait`, or that the terminal's size has changed.
    pub(crate) fn next(&self, wait: Duration) -> Option<Event> {
        match self.events.recv_timeout(wait) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                thread::sleep(wait);
                None
            }
        }
    }

    /// Where the cursor is; none where the terminal does not say.
    pub(crate) fn cursor(&self) -> Option<Position> {
        let (answer, position) = channel();
        self.questions.send(answer).ok()?;
        position.recv_timeout(ANSWER).ok()
    }
}

impl Drop for Keyboard {
    /// Waits a little for the thread, so that what is typed next goes to whoever reads next.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let until = Instant::now() + TURN * 4;
        while self.events.recv_timeout(until.saturating_duration_since(Instant::now())).is_ok() {}
    }
}

fn listen(events: &Sender<Event>, questions: &Receiver<Sender<Position>>, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        while let Ok(answer) = questions.try_recv() {
            // Without an answer the sender is dropped, which is one.
            if let Ok((x, y)) = cursor::position() {
                let _ = answer.send(Position::new(x, y));
            }
        }
        let read = match event::poll(TURN) {
            Ok(false) => continue,
            Ok(true) => event::read(),
            Err(error) => Err(error),
        };
        let heard = read.is_ok_and(|event| events.send(event).is_ok());
        if !heard {
            return;
        }
    }
}

/// How long a look at the input takes at most.
const TURN: Duration = Duration::from_millis(50);
/// How long a terminal may take to say where the cursor is; crossterm gives up after 2 s.
const ANSWER: Duration = Duration::from_millis(2_500);
