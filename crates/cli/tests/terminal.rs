//! A terminal that is closed under a run.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use goodput_test_support::wait_for;

/// Starts a run on a terminal of its own, which `script` (bsdutils) makes, and closes the terminal
/// when the run has begun. Whether the process ends in time, and what it leaves, is what is asked.
#[test]
fn a_terminal_that_is_closed_ends_the_run_which_leaves_its_report() {
    let dir = tempfile::tempdir().unwrap();
    let goodput = env!("CARGO_BIN_EXE_goodput");
    let run = format!("sh -c 'echo $$ >pid; exec {goodput} run steady --speed 1'");
    let mut script = Command::new("script")
        .args(["--quiet", "--flush", "--return", "--command", &run, "typed"])
        .current_dir(dir.path())
        .env("TERM", "xterm")
        .env_remove("CI")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("script of bsdutils, which Debian always has");
    let id = || fs::read_to_string(dir.path().join("pid")).unwrap_or_default().trim().to_owned();
    wait_for("the run is drawn", || has_drawn(dir.path()) && !id().is_empty());
    script.kill().unwrap();
    script.wait().unwrap();
    let state = Path::new("/proc").join(id()).join("stat");
    // One that nobody has waited for is a zombie.
    let ended = || fs::read_to_string(&state).map_or(true, |stat| stat.contains(") Z "));
    wait_for("the process has ended", ended);
    let folders: Vec<_> = fs::read_dir(dir.path().join("runs")).unwrap().collect();
    assert_eq!(folders.len(), 1, "{folders:?}");
    assert!(folders[0].as_ref().unwrap().path().join("report.html").exists());
}

/// Whether anything of the picture has been shown: `script` notes what it passes on.
fn has_drawn(dir: &Path) -> bool {
    fs::read(dir.join("typed")).is_ok_and(|shown| shown.len() > 500)
}
