//! Runs of which a part is a process of its own: a server that is killed, and a load generator that
//! gets no CPU time.

use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use goodput_control::Audit;
use goodput_order_status::{Server, ServerConfig};
use goodput_rig::Target;
use goodput_runlog::EventKind;
use goodput_test_support::{SHORT_CUT, alone};
use goodput_verdict::{DoubtKind, Verdict};

use crate::support::{Ran, config, options, remote, run_with, scenario, state};

const SPEED: f64 = 5.0;
/// Data and control port of the server that the other process is.
const SERVE_AT: &str = "GOODPUT_TEST_SERVE_AT";
/// Set where the process is the one that starves.
const STARVE: &str = "GOODPUT_TEST_STARVE";

/// What another process runs: a server, for a minute unless it is killed.
#[test]
#[ignore = "what the tests of this module start as a process of its own"]
fn the_server() {
    let Ok(ports) = std::env::var(SERVE_AT) else { return };
    let ports: Vec<u16> = ports.split(',').map(|port| port.parse().unwrap()).collect();
    let server = Server::start(ServerConfig {
        data_addr: local(ports[0]),
        control_addr: local(ports[1]),
        audit: Audit::off(),
        ..config(&scenario(SHORT_CUT), SPEED)
    });
    let server = server.unwrap();
    std::thread::sleep(Duration::from_mins(1));
    drop(server);
}

struct Served {
    ports: (u16, u16),
    child: Child,
}

impl Served {
    fn start() -> Self {
        let ports = free_ports();
        let served = Self { ports, child: spawn(ports) };
        let until = Instant::now() + Duration::from_secs(20);
        while std::net::TcpStream::connect(local(ports.1)).is_err() {
            assert!(Instant::now() < until, "the server never listens");
            std::thread::sleep(Duration::from_millis(5));
        }
        served
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn restart(&mut self) {
        self.kill();
        self.child = spawn(self.ports);
    }

    fn target(&self) -> Target {
        remote(local(self.ports.0), Some(local(self.ports.1)))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(ports: (u16, u16)) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::the_server", "--ignored"])
        .env(SERVE_AT, format!("{},{}", ports.0, ports.1))
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn local(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// Two ports that nobody has, below those that the system gives to outgoing connections: a client that
/// finds no server there cannot take the port itself.
fn free_ports() -> (u16, u16) {
    let first = 20_000 + u16::try_from(std::process::id() % 10_000).unwrap();
    let mut free = (first..first + 2_000).filter(|port| TcpListener::bind(local(*port)).is_ok());
    (free.next().unwrap(), free.next().unwrap())
}

/// A run at whose second 19, amid its fault, something is done to the server.
fn run_amid(mut served: Served, harm: fn(&mut Served)) -> (Served, Ran) {
    let scenario = scenario(&SHORT_CUT.replace("for = \"5s\"", "for = \"10s\""));
    let ran = run_with(options(&scenario, SPEED, served.target()), |second, _, _| {
        if second == 19 {
            harm(&mut served);
        }
    });
    assert!(ran.when(|kind| matches!(kind, EventKind::FaultStarted { .. })).is_some());
    assert_eq!(ran.judgement.verdict, Verdict::Inconclusive);
    (served, ran)
}

#[test]
fn a_server_that_is_killed_and_restarted_is_seen_and_holds_no_fault() {
    let _turn = alone();
    let (served, ran) = run_amid(Served::start(), Served::restart);
    let doubt = ran.doubt(DoubtKind::ServerRestarted).unwrap_or_default();
    assert!(doubt.contains("`order-status` started anew by itself"), "{}", ran.judgement.summary);
    assert_eq!(ran.exit(), 3, "{}", ran.judgement.summary);
    let state = state(local(served.ports.1));
    assert_eq!(state.faults, []);
    assert!((state.capacity.unwrap() - 500.0).abs() < 1.0, "{:?}", state.capacity);
}

#[test]
fn a_server_that_is_killed_for_good_takes_the_fault_with_it() {
    let _turn = alone();
    let (_served, ran) = run_amid(Served::start(), Served::kill);
    let doubt = ran.doubt(DoubtKind::Engine).unwrap_or_default();
    assert!(doubt.contains("nobody listens"), "{}", ran.judgement.summary);
    assert_eq!(ran.doubt(DoubtKind::FaultUnreverted), None);
    assert_eq!(ran.exit(), 3, "{}", ran.judgement.summary);
}

/// What another process runs: a load that wants more CPU time than twelve busy threads leave it.
#[test]
#[ignore = "what the tests of this module start as a process of its own"]
fn the_starved() {
    if std::env::var_os(STARVE).is_none() {
        return;
    }
    let text =
        SHORT_CUT.replace("rate = 80", "rate = 200").replace("capacity = 100", "capacity = 250");
    let ended = Arc::new(AtomicBool::new(false));
    let until = Instant::now() + Duration::from_mins(1);
    for _ in 0..12 {
        let ended = Arc::clone(&ended);
        std::thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) && Instant::now() < until {
                std::hint::spin_loop();
            }
        });
    }
    let ran = run_with(options(&scenario(&text), 20.0, Target::Loopback), |_, _, _| {});
    ended.store(true, Ordering::Relaxed);
    let doubt = ran.doubt(DoubtKind::GeneratorLate).unwrap_or_default();
    assert!(doubt.contains("the load generator was late"), "{}", ran.judgement.summary);
    assert_eq!(ran.judgement.verdict, Verdict::Inconclusive);
    assert_eq!(ran.exit(), 3, "{}", ran.judgement.summary);
    println!("{doubt}");
}

#[test]
fn a_load_generator_without_cpu_time_knows_that_it_was_late() {
    let _turn = alone();
    let ended = Command::new("taskset")
        .args(["--cpu-list", &first_core()])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "processes::the_starved", "--ignored", "--nocapture"])
        .env(STARVE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && said.contains("was late"), "{said}");
}

/// The first core that this process may use.
fn first_core() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    list.trim().split([',', '-']).next().unwrap().to_owned()
}
