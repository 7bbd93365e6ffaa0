//! Runs the real binary, in a folder of its own and without what the caller's environment says.

#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A finished command.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    /// Asserts an exit code, and that no panic was shown.
    #[track_caller]
    pub(crate) fn assert_code(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
        self
    }

    /// Asserts that stderr holds each of these.
    #[track_caller]
    pub(crate) fn assert_error(&self, parts: &[&str]) -> &Self {
        for part in parts {
            assert!(self.stderr.contains(part), "no `{part}` in {self:#?}");
        }
        self
    }
}

/// The command, ready to be started in `dir`.
pub(crate) fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_goodput"));
    command.args(args).current_dir(dir).stdin(Stdio::null());
    for name in ["GOODPUT_CONTROL", "GOODPUT_LOAD_CONTROL", "GOODPUT_TOKEN", "COLUMNS"] {
        command.env_remove(name);
    }
    command.env("TERM", "dumb").env("NO_COLOR", "1");
    command
}

/// Runs the command to its end in `dir`.
pub(crate) fn goodput_in(dir: &Path, args: &[&str]) -> Ended {
    Ended::of(&command(dir, args).output().unwrap())
}

/// Runs the command to its end in a folder that goes away.
pub(crate) fn goodput(args: &[&str]) -> Ended {
    let dir = tempfile::tempdir().unwrap();
    goodput_in(dir.path(), args)
}

/// A command that goes on; it is killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    child: Option<Child>,
    /// The first lines of stdout.
    pub(crate) head: Vec<String>,
}

impl Running {
    /// Starts a command and waits for so many lines on stdout.
    pub(crate) fn start(dir: &Path, args: &[&str], lines: usize) -> Self {
        let mut child =
            command(dir, args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut head = Vec::new();
        if lines > 0 {
            let mut stdout = BufReader::new(child.stdout.take().unwrap());
            for _ in 0..lines {
                let mut line = String::new();
                stdout.read_line(&mut line).unwrap();
                head.push(line.trim_end().to_owned());
            }
            child.stdout = Some(stdout.into_inner());
        }
        Self { child: Some(child), head }
    }

    /// A server with a capacity of 100/s on free ports.
    pub(crate) fn server(dir: &Path) -> Self {
        let args = ["serve", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0"];
        Self::start(dir, &[&args[..], &["--slots", "10", "--capacity", "100"]].concat(), 2)
    }

    /// The address in the line of the head that begins with `name`.
    pub(crate) fn url(&self, name: &str) -> String {
        let line = self.head.iter().find(|line| line.starts_with(name));
        let line = line.unwrap_or_else(|| panic!("no `{name}` in {self:#?}"));
        line.rsplit(' ').next().unwrap().to_owned()
    }

    /// Waits for a line of stderr that holds `part`, at most 30 s. The lines up to it are gone from
    /// what [`end`](Self::end) returns.
    #[track_caller]
    pub(crate) fn wait_for_note(&mut self, part: &str) {
        use std::io::Read;
        let child = self.child.as_mut().unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let part = part.to_owned();
        let (told, said) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut line = Vec::new();
            let mut byte = [0];
            // One byte at a time, so that nothing after the line is taken.
            while stderr.read(&mut byte).is_ok_and(|read| read == 1) {
                line.push(byte[0]);
                if byte[0] == b'\n' {
                    if String::from_utf8_lossy(&line).contains(&part) {
                        let _ = told.send(stderr);
                        return;
                    }
                    line.clear();
                }
            }
        });
        let rest = said.recv_timeout(Duration::from_secs(30));
        child.stderr = Some(rest.unwrap_or_else(|_| panic!("never said")));
    }

    /// Sends a signal such as `INT`.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.as_ref().unwrap().id();
        let sent = Command::new("sh").args(["-c", &format!("kill -{name} {id}")]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits until it has ended, at most 30 s.
    pub(crate) fn end(mut self) -> Ended {
        let mut child = self.child.take().unwrap();
        let began = Instant::now();
        while child.try_wait().unwrap().is_none() {
            if began.elapsed() > Duration::from_secs(30) {
                child.kill().unwrap();
                panic!("did not end: {:#?}", Ended::of(&child.wait_with_output().unwrap()));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ended::of(&child.wait_with_output().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Waits until `is_so`, at most 10 s.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(10), "never: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
