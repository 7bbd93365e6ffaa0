//! What the command says about itself, as transcripts. `GOODPUT_BLESS=1` writes them anew.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{command, goodput, goodput_in};

/// Every command, by the words that lead to it.
const COMMANDS: &[&[&str]] = &[
    &[],
    &["demo"],
    &["run"],
    &["compare"],
    &["hysteresis"],
    &["drill"],
    &["boundary"],
    &["map"],
    &["serve"],
    &["load"],
    &["fault"],
    &["fault", "cut"],
    &["fault", "stall"],
    &["fault", "list"],
    &["fault", "clear"],
    &["fault", "reset"],
    &["fault", "serve"],
    &["lever"],
    &["lever", "shed-queue"],
    &["lever", "admit"],
    &["lever", "restart"],
    &["lever", "limiter"],
    &["lever", "budget"],
    &["lever", "retries"],
    &["lever", "rate"],
    &["report"],
    &["lesson"],
    &["validate"],
    &["healthcheck"],
    &["completions"],
    &["man"],
];

fn transcript(words: &[&str]) -> PathBuf {
    let name = if words.is_empty() { "goodput".to_owned() } else { words.join("-") };
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/help/{name}.txt"))
}

#[test]
fn the_help_of_every_command_is_as_in_its_transcript() {
    for words in COMMANDS {
        let help = goodput(&[words, &["--help"][..]].concat());
        help.assert_code(0);
        let path = transcript(words);
        if std::env::var_os("GOODPUT_BLESS").is_some() {
            fs::write(&path, &help.stdout).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(help.stdout, expected, "{}: GOODPUT_BLESS=1 writes it anew", path.display());
    }
}

#[test]
fn every_command_shows_examples_and_every_command_that_acts_its_exit_codes() {
    for words in COMMANDS {
        let help = goodput(&[words, &["--help"][..]].concat()).stdout;
        assert!(help.contains("Examples:\n  goodput "), "{words:?}");
        if !matches!(words.first(), Some(&("completions" | "man"))) {
            assert!(help.contains("Exit codes:\n  0  "), "{words:?}");
        }
    }
}

#[test]
fn lines_of_help_fit_a_terminal() {
    for words in COMMANDS {
        let help = goodput(&[words, &["--help"][..]].concat()).stdout;
        let long = help.lines().find(|line| line.chars().count() > 100);
        assert_eq!(long, None, "{words:?}");
    }
}

#[test]
fn examples_and_exit_codes_are_not_broken_at_80_columns() {
    let dir = tempfile::tempdir().unwrap();
    let end = |words: &[&str], columns: &str| {
        let args = [words, &["--help"][..]].concat();
        let output = command(dir.path(), &args).env("COLUMNS", columns).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let from = text.find("Examples:").unwrap();
        text[from..].to_owned()
    };
    let indented =
        |text: &str| text.lines().filter(|line| line.starts_with(' ')).map(str::to_owned).collect();
    for words in COMMANDS {
        let (narrow, wide) = (end(words, "80"), end(words, "100"));
        let (narrow, wide): (Vec<String>, Vec<String>) = (indented(&narrow), indented(&wide));
        assert_eq!(narrow, wide, "{words:?}");
    }
}

#[test]
fn without_a_command_the_help_is_shown_and_the_command_is_wrong() {
    goodput(&[]).assert_code(2).assert_error(&["Usage: goodput <COMMAND>", "Exit codes:"]);
}

#[test]
fn completions_come_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let completions = goodput(&["completions", shell]);
        completions.assert_code(0);
        assert!(completions.stdout.contains("shed-queue"), "{shell}");
    }
    goodput(&["completions", "csh"]).assert_code(2).assert_error(&["bash", "zsh"]);
}

#[test]
fn a_manual_page_is_written_for_every_command() {
    let page = goodput(&["man"]);
    page.assert_code(0);
    assert!(page.stdout.contains(".TH goodput 1"), "{}", page.stdout);

    let dir = tempfile::tempdir().unwrap();
    goodput_in(dir.path(), &["man", "pages"]).assert_code(0);
    for words in COMMANDS {
        let name = [&["goodput"], *words].concat().join("-");
        let page = fs::read_to_string(dir.path().join(format!("pages/{name}.1"))).unwrap();
        assert!(page.contains("EXTRA"), "{name}");
        for named in page.lines().filter_map(|line| line.strip_suffix("(1)")) {
            let named = named.replace("\\-", "-");
            assert!(dir.path().join(format!("pages/{named}.1")).exists(), "{name} names {named}");
        }
    }
}
