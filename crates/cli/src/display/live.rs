//! The live display: an inline picture below the prompt that reacts to keys.

use std::io;
use std::panic;
use std::rc::Rc;
use std::sync::Once;
use std::time::{Duration, Instant};

use goodput_policy::budget::{BudgetConfig, SreRatio};
use goodput_policy::lever::Lever;
use ratatui::backend::Backend;
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::{cursor, execute, terminal};
use ratatui::{Terminal, TerminalOptions, Viewport};

use crate::display::Session;
use crate::display::board::{Run, Stage};
use crate::display::draw::{self, Palette, Scene};
use crate::display::keyboard::Keyboard;
use crate::display::screen::Screen;

/// Draws until all runs have ended, and leaves the last picture above the prompt.
pub(crate) fn show(
    session: &Session<'_>,
    on_stdout: bool,
    done: &dyn Fn() -> bool,
) -> io::Result<()> {
    let _raw = RawMode::enter()?;
    let (_, rows) = terminal::size()?;
    let height = draw::height(session.board.runs().len()).min(rows.saturating_sub(1)).max(1);
    let options = TerminalOptions { viewport: Viewport::Inline(height) };
    let keyboard = Rc::new(Keyboard::listen()?);
    let screen = Screen::new(on_stdout, Rc::clone(&keyboard));
    let mut terminal = Terminal::with_options(screen, options)?;
    let mut state = State::new();
    loop {
        let ended = done();
        state.draw(&mut terminal, session)?;
        if ended {
            break;
        }
        let next = Instant::now() + FRAME;
        while let Some(event) = keyboard.next(next.saturating_duration_since(Instant::now())) {
            if let Event::Key(key) = event {
                state.on_key(key, session);
            }
        }
    }
    let bottom = terminal.get_frame().area().bottom().saturating_sub(1);
    terminal.set_cursor_position((0, bottom))?;
    terminal.backend_mut().append_lines(1)?;
    Ok(())
}

/// What the keys have done.
#[derive(Debug)]
struct State {
    begun: Instant,
    /// The run that a person chose; without one, the first that goes on.
    selected: Option<usize>,
    notice: Option<(Instant, String)>,
    palette: Palette,
}

impl State {
    fn new() -> Self {
        let coloured = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self {
            begun: Instant::now(),
            selected: None,
            notice: None,
            palette: Palette::new(coloured),
        }
    }

    fn draw(&self, terminal: &mut Terminal<Screen>, session: &Session<'_>) -> io::Result<()> {
        let runs = session.board.runs();
        let notice = self.notice.as_ref().filter(|(since, _)| since.elapsed() < NOTICE);
        let scene = Scene {
            title: session.title,
            selected: self.selected(&runs),
            runs: &runs,
            elapsed: self.begun.elapsed().as_secs_f64(),
            stopping: session.cancel.is_cancelled(),
            levers: !session.levers.is_empty(),
            notice: notice.map(|(_, text)| text.as_str()),
            palette: self.palette,
        };
        terminal.draw(|frame| draw::draw(frame, &scene)).map(|_| ())
    }

    fn selected(&self, runs: &[Run]) -> usize {
        let running = || runs.iter().position(|run| run.stage == Stage::Running);
        self.selected.or_else(running).unwrap_or_default().min(runs.len().saturating_sub(1))
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "all other keys do nothing")]
    fn on_key(&mut self, key: KeyEvent, session: &Session<'_>) {
        if key.kind == KeyEventKind::Release {
            return;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let runs = session.board.runs().len();
        match key.code {
            KeyCode::Char('c' | 'd') if control => session.cancel.cancel(),
            KeyCode::Char('q') | KeyCode::Esc => session.cancel.cancel(),
            KeyCode::Up | KeyCode::Char('k') => self.select(session, runs.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => self.select(session, 1),
            KeyCode::Char(letter) if !session.levers.is_empty() => {
                if let Some((lever, what)) = lever(letter) {
                    self.pull(session, lever, what);
                }
            }
            _ => {}
        }
    }

    fn select(&mut self, session: &Session<'_>, step: usize) {
        let runs = session.board.runs();
        self.selected = Some((self.selected(&runs) + step) % runs.len().max(1));
    }

    fn pull(&mut self, session: &Session<'_>, lever: Lever, what: &str) {
        let runs = session.board.runs();
        let index = self.selected(&runs);
        let running = runs.get(index).filter(|run| run.stage == Stage::Running);
        let sent = running
            .zip(session.levers.get(index))
            .is_some_and(|(_, levers)| levers.send(lever).is_ok());
        let label = runs.get(index).map_or("", |run| run.label.as_str());
        let text = if sent { format!("{label}: {what}") } else { format!("{label} does not run") };
        self.notice = Some((Instant::now(), text));
    }
}

/// The lever of a key, and what it does in words.
fn lever(key: char) -> Option<(Lever, &'static str)> {
    match key {
        's' => Some((Lever::ShedQueue, "shed the queue")),
        'x' => Some((Lever::Restart, "restart the server")),
        'n' => Some((Lever::Retries { layer: None, retries: 0 }, "switch retries off")),
        'b' => {
            let budget = BudgetConfig::SreRatio(SreRatio::default());
            Some((Lever::Budget { layer: None, budget }, "turn a retry budget of 10% on"))
        }
        _ => None,
    }
}

/// Raw mode while it lives: keys come one by one, and Ctrl-C comes as a key.
#[derive(Debug)]
struct RawMode;

impl RawMode {
    fn enter() -> io::Result<Self> {
        restore_on_panic();
        terminal::enable_raw_mode()?;
        Ok(Self)
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        restore();
    }
}

/// A message of a panic must not end up in the middle of a picture in raw mode.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            restore();
            previous(info);
        }));
    });
}

fn restore() {
    let _ = terminal::disable_raw_mode();
    let _ = execute!(io::stderr(), cursor::Show);
}

/// Ten pictures a second.
const FRAME: Duration = Duration::from_millis(100);
const NOTICE: Duration = Duration::from_secs(4);
