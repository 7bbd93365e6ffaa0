//! Targets and control planes that are not what they should be.

use std::net::TcpListener;

use goodput_control::{Guard, Token};
use goodput_order_status::{Server, ServerConfig};
use goodput_rig::{RigError, Target};
use goodput_test_support::{
    CALM, Peer, SHORT_CUT, alone, any_port, garbage, listen, nobody, reset, silence,
};
use goodput_verdict::{DoubtKind, Verdict};

use crate::support::{
    at_gate, config, gate, gated, options, remote, run_with, scenario, server, try_run,
};

/// A run against a target without a control plane must be inconclusive and say why.
fn is_inconclusive(peer: Peer, why: &str) {
    let _turn = alone();
    let target = remote(listen(peer), None);
    let ran = run_with(options(&scenario(CALM), 10.0, target), |_, _, _| {});
    assert_eq!(ran.judgement.verdict, Verdict::Inconclusive);
    assert_eq!(ran.exit(), 3);
    let doubt = ran.doubt(DoubtKind::BaselineNotHealthy).unwrap_or_default();
    assert!(doubt.contains(why), "{}", ran.judgement.summary);
}

#[test]
fn a_target_that_resets_is_inconclusive_since_connections_break() {
    is_inconclusive(reset, " × reset");
}

#[test]
fn a_target_that_answers_garbage_is_inconclusive_since_answers_make_no_sense() {
    is_inconclusive(garbage, " × malformed");
}

#[test]
fn a_target_that_never_answers_is_inconclusive_since_requests_time_out() {
    is_inconclusive(silence, " × timeout");
}

/// A run that cannot begin must say why.
fn is_refused(text: &str, target: Target, why: &[&str]) {
    let _turn = alone();
    let refused = try_run(options(&scenario(text), 1.0, target), |_, _, _| {});
    let Err(RigError::Target(said)) = &refused else { panic!("{refused:?}") };
    for why in why {
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn a_target_that_refuses_is_no_target() {
    let addr = nobody();
    is_refused(CALM, remote(addr, None), &[&addr.to_string(), "is the server running?"]);
}

#[test]
fn a_fault_without_a_control_plane_cannot_be_injected() {
    let server = server(&scenario(SHORT_CUT), 1.0);
    let why = ["`order-status`", "--control"];
    is_refused(SHORT_CUT, remote(server.data_addr(), None), &why);
}

#[test]
fn a_control_port_must_be_that_of_a_control_plane() {
    let server = server(&scenario(CALM), 1.0);
    let data = server.data_addr();
    is_refused(CALM, remote(data, Some(nobody())), &["nobody listens for control"]);
    is_refused(CALM, remote(data, Some(data)), &[&data.to_string(), "control"]);
    let no_plane = "no control plane of goodput";
    is_refused(CALM, remote(data, Some(listen(garbage))), &[no_plane]);
    is_refused(CALM, remote(data, Some(listen(silence))), &["did not answer within 2000 ms"]);
    is_refused(CALM, remote(data, Some(listen(reset))), &["cannot reach control"]);
}

#[test]
fn a_token_must_be_the_right_one() {
    let token = |text| Token::new(text).unwrap();
    let guard = Guard::loopback().with_token(token("0123456789abcdef"));
    let server = Server::start(ServerConfig { guard, ..config(&scenario(CALM), 1.0) }).unwrap();
    let target = |text: Option<&str>| match remote(server.data_addr(), Some(server.control_addr()))
    {
        Target::Remote(mut remote) => {
            remote.token = text.map(str::to_owned);
            Target::Remote(remote)
        }
        Target::Loopback => Target::Loopback,
    };
    is_refused(CALM, target(None), &["401", "token"]);
    is_refused(CALM, target(Some("abcdef0123456789")), &["401", "token"]);
    is_refused(CALM, target(Some("short")), &["16 to 512"]);
    let _turn = alone();
    let right = options(&scenario(CALM), 1.0, target(Some("0123456789abcdef")));
    let ran = run_with(right, |_, _, cancel| cancel.cancel());
    assert_eq!(ran.exit(), 4);
}

#[test]
fn servers_that_run_otherwise_are_not_taken_over() {
    let server = server(&scenario(CALM), 1.0);
    let target = || remote(server.data_addr(), Some(server.control_addr()));
    let _turn = alone();
    let refused = try_run(options(&scenario(CALM), 10.0, target()), |_, _, _| {});
    let said = refused.unwrap_err().to_string();
    assert!(said.contains("start it with `--speed 10`"), "{said}");
}

#[test]
fn a_gateway_that_retries_otherwise_is_not_taken_over() {
    let one_tier = scenario(CALM);
    let (scenario, speed) = (gated(), 10.0);
    let last = server(&scenario, speed);
    let _turn = alone();
    let other = gate(&scenario, speed, &last, |gateway| gateway.layers[0].retries = 3);
    let refused = try_run(options(&scenario, speed, at_gate(&other)), |_, _, _| {});
    let said = refused.unwrap_err().to_string();
    assert!(said.contains("tier `gate` retries with retries 3, and the scenario says 2"), "{said}");
    let direct = try_run(options(&scenario, speed, at_gate(&last)), |_, _, _| {});
    assert!(direct.unwrap_err().to_string().contains("0 retry layers"));
    let lone = remote(other.data_addr(), Some(other.control_addr()));
    let lone = try_run(options(&one_tier, speed, lone), |_, _, _| {});
    let said = lone.unwrap_err().to_string();
    assert!(said.contains("with a [[tier.layer]]"), "{said}");
    let same = gate(&scenario, speed, &last, |_| {});
    let ran = run_with(options(&scenario, speed, at_gate(&same)), |_, _, cancel| cancel.cancel());
    assert_eq!(ran.exit(), 4);
}

#[test]
fn a_port_in_use_is_named() {
    let taken = TcpListener::bind(any_port()).unwrap();
    let addr = taken.local_addr().unwrap();
    for config in [
        ServerConfig { data_addr: addr, ..ServerConfig::default() },
        ServerConfig { control_addr: addr, ..ServerConfig::default() },
    ] {
        let said = Server::start(config).unwrap_err().to_string();
        assert!(said.contains(&addr.port().to_string()) && said.contains("another"), "{said}");
    }
    // The address is free again once whoever had it has gone.
    drop(taken);
    drop(Server::start(ServerConfig { data_addr: addr, ..ServerConfig::default() }).unwrap());
}
