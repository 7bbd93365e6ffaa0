//! The lease of a control plane, over the wire: one run at a time, and what it has set ends with it.

use std::time::Duration;

use goodput_clock::{Rate, Ratio};
use goodput_control::api::{
    ANY_FAULT, Cause, FaultRequest, LoadState, Owner, ResetScope, RunRequest, ServerState,
};
use goodput_control::{ControlClient, new_run_id};
use goodput_policy::fault::FaultKind;
use goodput_policy::lever::Lever;
use goodput_policy::limiter::{Capacity, LimiterPatch};
use goodput_test_support::{ToldServer, block_on, client, eventually, wait_for};
use http::Method;

use crate::support::load;

const LONG: Duration = Duration::from_mins(10);
const SHORT: Duration = Duration::from_millis(500);

fn run(id: &str) -> Cause {
    Cause::new("host", "a run").of_run(id)
}

fn guest() -> Cause {
    Cause::new("guest", "a drill of their own")
}

fn capacity(rate: f64) -> LimiterPatch {
    let capacity = Some(Capacity::Limited(Rate::new(rate).unwrap()));
    LimiterPatch { capacity, ..LimiterPatch::default() }
}

const BLOCK: Lever = Lever::Admit { share: Ratio::ZERO, hold: None, ramp: Duration::ZERO };

async fn stall(client: &ControlClient, name: &str, cause: &Cause) {
    client.install(&FaultRequest::new(name, FaultKind::Stall, LONG, cause)).await.unwrap();
}

async fn take(client: &ControlClient, id: &str, lease: Duration) {
    client.take_lease(&RunRequest::new("steady", lease, &run(id))).await.unwrap();
}

fn names(state: &ServerState) -> Vec<&str> {
    state.faults.iter().map(|fault| fault.name.as_str()).collect()
}

#[test]
fn a_second_run_is_refused_by_name_and_people_are_not() {
    let server = ToldServer::start();
    block_on(async {
        let client = server.client();
        take(&client, "first", LONG).await;
        let request = RunRequest::new("other", LONG, &run("second"));
        let refused = client.take_lease(&request).await.unwrap_err();
        assert_eq!(refused.status().unwrap().as_u16(), 409);
        let said = refused.to_string();
        for words in ["`steady` (first) of host", "since 20", "one run at a time"] {
            assert!(said.contains(words), "{said}");
        }
        for refused in [
            client.patch_limiter(&capacity(50.0), &run("second")).await.map(drop),
            client.pull_at_server(&BLOCK, &run("second")).await.map(drop),
            client
                .install(&FaultRequest::new("f", FaultKind::Stall, LONG, &run("second")))
                .await
                .map(drop),
        ] {
            assert_eq!(refused.unwrap_err().status().unwrap().as_u16(), 409);
        }
        take(&client, "first", LONG).await;
        client.patch_limiter(&capacity(50.0), &guest()).await.unwrap();
        stall(&client, "theirs", &guest()).await;
        let view = client.server_state().await.unwrap().run.unwrap();
        assert_eq!(
            (view.id.as_str(), view.name.as_str(), view.by.as_str()),
            ("first", "steady", "host")
        );
        client.release_lease::<ServerState>("first", &run("first")).await.unwrap();
        client.take_lease(&request).await.unwrap();
    });
}

/// A run that has adopted the limiter, cut, and blocked, beside a guest who did things of their own.
async fn busy_run(client: &ControlClient, lease: Duration) {
    client.patch_limiter(&capacity(70.0), &guest()).await.unwrap();
    take(client, "mine", lease).await;
    let all = LimiterPatch { slots: Some(3), drop_expired: Some(true), ..capacity(20.0) };
    client.patch_limiter(&all, &run("mine")).await.unwrap();
    stall(client, "cut", &run("mine")).await;
    client.pull_at_server(&BLOCK, &run("mine")).await.unwrap();
    stall(client, "theirs", &guest()).await;
    let slots = LimiterPatch { slots: Some(8), ..LimiterPatch::default() };
    client.patch_limiter(&slots, &guest()).await.unwrap();
}

/// Only what the guest did is left.
fn is_as_the_guest_has_it(state: &ServerState) {
    assert_eq!(names(state), ["theirs"]);
    assert!((state.admitted - 1.0).abs() < 1e-9, "{}", state.admitted);
    assert_eq!(state.limiter["capacity"], 70.0);
    assert_eq!(state.limiter["slots"], 8);
    assert_eq!(state.limiter["drop_expired"], false);
    assert_eq!(state.run, None);
}

#[test]
fn a_run_that_gives_its_lease_back_leaves_what_others_did_and_nothing_else() {
    let server = ToldServer::start();
    block_on(async {
        let client = server.client();
        busy_run(&client, LONG).await;
        let state: ServerState = client.release_lease("mine", &run("mine")).await.unwrap();
        is_as_the_guest_has_it(&state);
        assert_eq!(server.told(|told| told.sheds), 1, "no queue is left behind");
        let again: ServerState = client.release_lease("mine", &run("mine")).await.unwrap();
        assert_eq!(again.commands.count, state.commands.count, "it held none any more");
    });
}

#[test]
fn a_lease_that_nobody_renews_ends_with_what_the_run_has_set() {
    let server = ToldServer::start();
    block_on(async { busy_run(&server.client(), SHORT).await });
    // Only what the server was told is looked at: a read of the state would end the lease itself.
    let took = wait_for("the end of the run", || server.told(|told| told.sheds) == 1);
    assert!(took < SHORT + Duration::from_secs(1), "{took:?}");
    block_on(async {
        let client = server.client();
        is_as_the_guest_has_it(&client.server_state().await.unwrap());
        let late = client.renew_lease("mine", LONG, &run("mine")).await.unwrap_err();
        assert_eq!(late.status().unwrap().as_u16(), 404, "{late}");
        let late = client.pull_at_server(&BLOCK, &run("mine")).await.unwrap_err();
        assert!(late.to_string().contains("does not hold the lease"), "{late}");
    });
    let entries = server.audit.entries();
    let end = entries.iter().find(|entry| entry.command == "end run mine").unwrap();
    assert_eq!(end.by, "lease keeper");
    for words in ["the lease of the run ran out", "capacity", "ended 1 faults"] {
        assert!(end.outcome.contains(words), "{}", end.outcome);
    }
    assert_eq!(end.before["limiter"]["capacity"], 20.0);
    assert_eq!(end.after["limiter"]["capacity"], 70.0);
}

#[test]
fn a_lease_that_is_renewed_goes_on() {
    let server = ToldServer::start();
    block_on(async {
        let client = server.client();
        take(&client, "mine", SHORT).await;
        client.patch_limiter(&capacity(20.0), &run("mine")).await.unwrap();
        for _ in 0..10 {
            tokio::time::sleep(SHORT / 5).await;
            client.renew_lease("mine", SHORT, &run("mine")).await.unwrap();
        }
        assert_eq!(client.server_state().await.unwrap().capacity, Some(20.0));
        eventually("the end", || server.told(|told| told.sheds) == 1).await;
        assert_eq!(client.server_state().await.unwrap().capacity, Some(100.0));
    });
}

#[test]
fn a_reset_ends_what_is_ones_own_unless_all_is_asked_for() {
    let server = ToldServer::start();
    block_on(async {
        let client = server.client();
        busy_run(&client, LONG).await;
        let stranger = Cause::new("stranger", "");
        let before = client.server_state().await.unwrap();
        let state = client.reset_server(ResetScope::Own, &stranger).await.unwrap();
        assert_eq!(names(&state), ["cut", "theirs"]);
        assert_eq!(state.commands.count, before.commands.count, "nothing of theirs was there");
        let state = client.reset_server(ResetScope::Own, &guest()).await.unwrap();
        assert_eq!(names(&state), ["cut"]);
        assert_eq!(
            (&state.limiter["slots"], &state.limiter["capacity"]),
            (&10.into(), &20.0.into())
        );
        assert_eq!(server.told(|told| told.sheds), 0, "the queue is the run's");
        let state = client.reset_server(ResetScope::Own, &run("mine")).await.unwrap();
        assert!(names(&state).is_empty() && (state.admitted - 1.0).abs() < 1e-9);
        assert_eq!(
            state.limiter["capacity"], 100.0,
            "what the guest had set went with their reset"
        );
        assert_eq!(state.run.unwrap().id, "mine", "the run goes on");
        assert_eq!(server.told(|told| told.sheds), 1);
        busy_run(&client, LONG).await;
        let state = client.reset_server(ResetScope::All, &stranger).await.unwrap();
        assert_eq!((names(&state), &state.run), (Vec::new(), &None));
        assert_eq!(
            (&state.limiter["slots"], &state.limiter["capacity"]),
            (&10.into(), &100.0.into())
        );
    });
}

#[test]
fn the_state_shows_what_was_asked_for_lately_and_by_whom() {
    let server = ToldServer::start();
    block_on(async {
        let client = server.client();
        take(&client, "mine", LONG).await;
        stall(&client, "cut", &run("mine")).await;
        client.pull_at_server(&Lever::Limiter(capacity(1000.0)), &guest()).await.unwrap();
        client.renew_lease("mine", LONG, &run("mine")).await.unwrap();
        client.renew("cut", ANY_FAULT, LONG, &run("mine")).await.unwrap();
        let removal = client.remove("cut", ANY_FAULT, &guest()).await.unwrap();
        assert_eq!(removal.removed.unwrap().owner, Owner::Run("mine".to_owned()));
        let commands = removal.state.commands;
        let told: Vec<_> = commands
            .recent
            .iter()
            .map(|one| (one.did.as_str(), one.by.as_str(), one.run.as_deref()))
            .collect();
        assert_eq!(
            told,
            [
                ("the run steady holds the lease", "host", Some("mine")),
                ("fault `cut` in force: full stall", "host", Some("mine")),
                ("lever limiter: the limiter now has capacity = 1000/s", "guest", None),
                ("fault `cut` of the run mine ended", "guest", None),
            ]
        );
        assert_eq!(commands.count, 4, "renewals are no news");
    });
}

#[test]
fn a_load_generator_is_leased_too_and_put_back() {
    let (listener, _) = load();
    block_on(async {
        let client = client(listener.addr());
        take(&client, "mine", SHORT).await;
        let rate = |rate| Lever::Rate { rate: Rate::new(rate).unwrap() };
        client.pull_at_load(&rate(20.0), &run("mine")).await.unwrap();
        let halt = serde_json::json!({ "run": "mine" });
        client.ask::<LoadState>(Method::POST, &["halt"], Some(halt)).await.unwrap();
        let state = async || client.ask::<LoadState>(Method::GET, &["state"], None).await.unwrap();
        assert_eq!(state().await.commands.count, 3);
        tokio::time::sleep(2 * SHORT).await;
        let back = state().await;
        assert_eq!((back.rate, back.halted, back.run), (80.0, false, None));
        client.pull_at_load(&rate(30.0), &guest()).await.unwrap();
        take(&client, "next", LONG).await;
        let released: LoadState = client.release_lease("next", &run("next")).await.unwrap();
        assert!((released.rate - 30.0).abs() < 1e-9, "what people set stays");
    });
}

#[test]
fn no_two_runs_have_the_same_id() {
    let ids = [(); 3].map(|()| new_run_id());
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2], "{ids:?}");
}
