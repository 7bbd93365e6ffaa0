//! What is wrong is said with an example, ends with exit code 2, and leaves nothing behind.

mod common;

use std::fs;
use std::net::TcpListener;

use common::{goodput, goodput_in};
use goodput_test_support::nobody;

#[test]
fn a_bad_scenario_is_refused_with_file_line_key_and_example() {
    let dir = tempfile::tempdir().unwrap();
    let text = "name = \"x\"\nduration = \"240s\"\n[load]\nrate = -1\nspeed = 3\n\
                [[client.layer]]\ntimeout = \"5\"\n[[tier]]\nname = \"a\"\ncapacity = 0\n";
    fs::write(dir.path().join("bad.toml"), text).unwrap();
    for command in [&["validate", "bad.toml"][..], &["run", "bad.toml"], &["compare", "bad.toml"]] {
        goodput_in(dir.path(), command).assert_code(2).assert_error(&[
            "bad.toml:4:",
            "`load.rate`",
            "bad.toml:5:",
            "`load.speed`: unknown key",
            "bad.toml:7:",
            "`client.layer.timeout`",
            "bad.toml:10:",
            "`tier.capacity`",
            "for example: ",
        ]);
    }
    assert!(!dir.path().join("runs").join("x").exists());
}

#[test]
fn a_file_that_is_not_there_or_not_text_is_named() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("binary.toml"), [0xff, 0xfe, 0x00]).unwrap();
    goodput_in(dir.path(), &["validate", "none.toml", "binary.toml", "steady"])
        .assert_code(2)
        .assert_error(&["none.toml: no such file", "database-failover", "binary.toml: not a text"]);
    goodput_in(dir.path(), &["validate", "."]).assert_code(2).assert_error(&[".: cannot read it"]);
}

#[test]
fn an_unknown_arm_is_answered_with_the_arms_that_there_are() {
    for command in [
        &["run", "database-failover", "--arm", "nave"][..],
        &["compare", "database-failover", "--arms", "naive,nave"],
        &["demo", "--arms", "nave"],
        &["load", "database-failover", "--arm", "nave", "--target", "http://127.0.0.1:1"],
    ] {
        goodput(command).assert_code(2).assert_error(&["no arm `nave`", "naive", "drop-expired"]);
    }
}

#[test]
fn a_scenario_without_arms_cannot_be_compared() {
    goodput(&["compare", "steady"]).assert_code(2).assert_error(&["no arms", "[[arm]]"]);
}

#[test]
fn values_of_flags_are_refused_with_an_example() {
    let cases: &[(&[&str], &str)] = &[
        (&["run", "steady", "--speed", "0"], "such as 10"),
        (&["run", "steady", "--seed=-1"], "invalid value"),
        (
            &["run", "steady", "--engine", "simulator", "--target", "http://127.0.0.1:1"],
            "--engine simulator out",
        ),
        (
            &["run", "steady", "--engine", "simulator", "--load-control", "127.0.0.1:0"],
            "listens nowhere",
        ),
        (&["run", "steady", "--target", "127.0.0.1:80"], "http://127.0.0.1:8080"),
        (&["run", "steady", "--target", "https://a"], "TLS"),
        (&["run", "steady", "--control", "http://127.0.0.1:1"], "--target"),
        (&["run", "steady", "--json", "nowhere/result.json"], "--json nowhere/result.json"),
        (&["run", "steady", "short-dip", "--html", "a.html"], "--html holds one scenario"),
        (&["serve", "--slots", "0"], "must be from 1 to 1000000"),
        (&["serve", "--orders", "0"], "whole number from 1 to 10000000"),
        (&["serve", "--retries", "3"], "--retries belongs to a gateway"),
        (&["serve", "--backoff", "1s"], "--backoff belongs to a gateway"),
        (&["serve", "--upstream", "http://127.0.0.1:1"], "--upstream belongs to a gateway"),
        (
            &["serve", "--role", "gateway", "--upstream", "http://127.0.0.1:1", "--orders", "5"],
            "--orders belongs to an order-status server",
        ),
        (&["run", "steady", "--token", "@/nope"], "no effect without --target or --load-control"),
        (&["run", "steady", "--engine", "simulator", "--speed", "5"], "--speed is for the rig"),
        (&["run", "steady", "--json", "a", "--junit", "./a"], "--json and --junit both name"),
        (&["run", "steady", "--json", "/proc/x"], "--json /proc/x: cannot write"),
        (&["run", "steady", "--out", "/proc/x"], "--out /proc/x: cannot write"),
        (
            &["load", "--target", "http://127.0.0.1:1", "-r", "5", "-d", "2s", "--arm", "naive"],
            "--arm names an arm of a scenario",
        ),
        (
            &["load", "--target", "http://127.0.0.1:1", "-r", "5", "-d", "2s", "--clients", "0"],
            "--clients: 0 is not a whole number from 1 to 10000; for example: --clients 1",
        ),
        (
            &["load", "--target", "http://127.0.0.1:1", "-r", "5", "-d", "2s", "-X", "GE T"],
            "--method: ",
        ),
        (
            &["load", "--target", "http://me:secret@127.0.0.1:1", "-r", "5", "-d", "2s"],
            "no password",
        ),
        (&["serve", "--capacity=-5"], "requests per second above 0"),
        (&["serve", "--queue-limit", "many"], "150"),
        (&["serve", "--service", "pareto"], "lognormal,sigma=1.0"),
        (&["serve", "--listen", "8080"], "127.0.0.1:8080"),
        (&["serve", "--token", "secret", "--listen", "127.0.0.1:0"], "16 to 512"),
        (&["serve", "--role", "gateway"], "--upstream http://127.0.0.1:8080"),
        (&["load", "--target", "http://127.0.0.1:1", "-r", "0", "-d", "1s"], "80/s"),
        (&["load", "--target", "http://127.0.0.1:1", "-r", "5", "-d", "5"], "200ms"),
        (&["load", "--target", "http://127.0.0.1:1", "-r", "5"], "--duration"),
        (
            &["load", "--target", "http://127.0.0.1:1", "-r", "5", "-d", "2s", "-t", "3s"],
            "--timeout: 3s is longer than the run of 2s; for example: --timeout 5s",
        ),
        (&["load", "steady", "--target", "http://127.0.0.1:1", "-r", "5"], "cannot be used with"),
        (&["fault", "cut", "--to", "140%", "--for", "20s"], "40%"),
        (&["fault", "cut", "--to", "0", "--for", "20s"], "fault stall"),
        (&["fault", "cut", "--to", "40%", "--for", "0s"], "20s"),
        (&["fault", "cut", "--to", "40%"], "--for"),
        (&["lever", "admit", "2"], "40%"),
        (&["lever", "budget", "none"], "sre-ratio"),
        (&["lever", "budget", "sre-ratio,share=2"], "finagle,ratio=0.2"),
        (&["lever", "limiter"], "--queue-limit"),
        (&["lever", "rate", "-5"], "80/s"),
        (&["report", "nowhere"], "it is not there; give a folder"),
    ];
    for (command, part) in cases {
        let ended = goodput(command);
        ended.assert_code(2).assert_error(&[part]);
        assert!(!ended.stderr.contains("secret"), "{ended:#?}");
    }
}

#[test]
fn what_is_refused_leaves_nothing_behind() {
    for command in [
        &["run", "nothing.toml"][..],
        &["run", "steady", "--arm", "nave"],
        &["run", "steady", "--json", "result.json", "--junit", "no/junit.xml"],
        &["run", "steady", "--out", "a/b/c", "--target", "http://127.0.0.1:1"],
        &["compare", "steady"],
    ] {
        let dir = tempfile::tempdir().unwrap();
        goodput_in(dir.path(), command).assert_code(2);
        let left: Vec<_> = fs::read_dir(dir.path()).unwrap().collect();
        assert!(left.is_empty(), "{command:?}: {left:?}");
    }
}

#[test]
fn a_port_in_use_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let free = "127.0.0.1:0";
    goodput(&["serve", "--listen", &address, "--control", free])
        .assert_code(2)
        .assert_error(&[&address, "in use"]);
    let port = format!("port {}", taken.local_addr().unwrap().port());
    goodput(&["serve", "--listen", free, "--control", &address])
        .assert_code(2)
        .assert_error(&[&port, "in use"]);
    goodput(&["fault", "serve", "--listen", &address]).assert_code(2).assert_error(&["in use"]);
}

#[test]
fn control_beyond_loopback_needs_a_token() {
    goodput(&["serve", "--listen", "127.0.0.1:0", "--control", "0.0.0.0:0"])
        .assert_code(2)
        .assert_error(&["open to the network", "GOODPUT_TOKEN"]);
    goodput(&["fault", "serve", "--listen", "0.0.0.0:0"])
        .assert_code(2)
        .assert_error(&["open to the network"]);
}

#[test]
fn a_target_or_a_control_plane_that_is_not_there_is_named() {
    let address = nobody().to_string();
    let url = format!("http://{address}");
    goodput(&["load", "--target", &url, "-r", "10", "-d", "1s"])
        .assert_code(2)
        .assert_error(&[&address, "is the service running?"]);
    for command in [
        &["lever", "shed-queue"][..],
        &["lever", "rate", "50"],
        &["fault", "list"],
        &["fault", "reset"],
        &["fault", "clear", "cut"],
        &["fault", "stall", "--for", "5s"],
        &["fault", "cut", "--to", "40%", "--for", "5s", "--detach"],
    ] {
        let command = [command, &["--control", &url][..]].concat();
        goodput(&command).assert_code(2).assert_error(&[&address, "is the process running?"]);
    }
    goodput(&["healthcheck", "--control", &url]).assert_code(1).assert_error(&[&address]);
}

#[test]
fn what_is_no_control_plane_is_not_taken_for_one() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let garbage = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 1024]);
        let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.6\r\n");
    });
    goodput(&["lever", "shed-queue", "--control", &url])
        .assert_code(2)
        .assert_error(&["no control plane"]);
    garbage.join().unwrap();
}

#[test]
fn a_file_for_windows_that_cannot_be_written_is_named_before_a_load_is_sent() {
    let target = format!("http://{}", nobody());
    let load = ["load", "--target", &target, "-r", "10", "-d", "1s", "--windows", "none/w.jsonl"];
    goodput(&load).assert_code(2).assert_error(&["--windows none/w.jsonl", "windows.jsonl"]);
}

#[test]
fn a_variable_that_names_no_control_plane_is_told_by_its_name() {
    let dir = tempfile::tempdir().unwrap();
    for (variable, lever) in
        [("GOODPUT_CONTROL", &["shed-queue"][..]), ("GOODPUT_LOAD_CONTROL", &["rate", "50"])]
    {
        let mut command = common::command(dir.path(), &[&["lever"], lever].concat());
        let output = command.env(variable, "load-generator:9902").output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(variable) && told.contains("http://127.0.0.1:8080"), "{told}");
    }
}

#[test]
fn a_file_without_an_end_is_not_read_to_its_end() {
    let refused = |args: &[&str], parts: &[&str]| {
        goodput(args).assert_code(2).assert_error(parts);
    };
    refused(&["validate", "/dev/zero"], &["more than the 1048576 bytes"]);
    let serve = ["serve", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0"];
    refused(&[&serve[..], &["--token", "@/dev/zero"]].concat(), &["--token", "more than"]);
    let target = format!("http://{}", nobody());
    let load = ["load", "--target", &target, "-r", "10", "-d", "1s", "--body", "@/dev/zero"];
    refused(&load, &["--body", "more than"]);
}

#[test]
fn a_value_that_is_none_is_answered_with_one() {
    for (args, example) in [
        (&["run", "steady", "--seed", "x"][..], "such as 7"),
        (&["compare", "database-failover", "--jobs", "x"], "from 1 to 64; write such as 2"),
        (&["drill", "database-failover", "--within", "200h"], "7 days"),
        (&["serve", "--control-host", "order-status:9901"], "such as order-status"),
        (&["boundary", "steady", "--vary", "load.rate=10..90", "--resolution", "0"], "above 0"),
        (&["validate", ""], "``: no such file"),
    ] {
        goodput(args).assert_code(2).assert_error(&[example]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_stdout_keeps_no_file_from_being_written() {
    let dir = tempfile::tempdir().unwrap();
    let run = ["run", "short-dip", "--engine", "simulator", "--json", "r.json", "-q"];
    for args in [&run[..], &["hysteresis", "steady", "--json", "r.json", "-q"]] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = common::command(dir.path(), args).stdout(full).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && told.contains("stdout"), "{told}");
        fs::remove_file(dir.path().join("r.json")).unwrap();
    }
}
