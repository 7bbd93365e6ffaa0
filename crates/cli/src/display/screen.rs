//! The terminal behind the live display, whichever stream leads to it.

use std::io::{self, IsTerminal, Write};
use std::rc::Rc;

use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};

use crate::display::keyboard::Keyboard;

/// A terminal on stderr or stdout.
///
/// It is crossterm's but for one thing: crossterm asks for the position of the cursor over stdout,
/// which would spoil results that are piped. Where stdout is no terminal, the picture goes to the
/// bottom of the screen instead. The answer comes by the keyboard.
pub(crate) struct Screen {
    inner: CrosstermBackend<Box<dyn Write>>,
    keyboard: Rc<Keyboard>,
}

impl Screen {
    /// The terminal on stdout or on stderr.
    pub(crate) fn new(on_stdout: bool, keyboard: Rc<Keyboard>) -> Self {
        let stream: Box<dyn Write> =
            if on_stdout { Box::new(io::stdout()) } else { Box::new(io::stderr()) };
        Self { inner: CrosstermBackend::new(stream), keyboard }
    }
}

impl Backend for Screen {
    type Error = io::Error;

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        if io::stdout().is_terminal()
            && let Some(position) = self.keyboard.cursor()
        {
            return Ok(position);
        }
        Ok(Position::new(0, self.inner.size()?.height.saturating_sub(1)))
    }

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        self.inner.draw(content)
    }

    fn append_lines(&mut self, lines: u16) -> io::Result<()> {
        self.inner.append_lines(lines)
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.inner.hide_cursor()
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        // ratatui prints an error here when it drops the terminal, and panics where that is closed.
        let _ = self.inner.show_cursor();
        Ok(())
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.inner.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.inner.clear()
    }

    fn clear_region(&mut self, clear_type: ClearType) -> io::Result<()> {
        self.inner.clear_region(clear_type)
    }

    fn size(&self) -> io::Result<Size> {
        self.inner.size()
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        self.inner.window_size()
    }

    fn flush(&mut self) -> io::Result<()> {
        Backend::flush(&mut self.inner)
    }
}
