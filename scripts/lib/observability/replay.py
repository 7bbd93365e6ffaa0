"""A real run of three arms, scraped live by a real Prometheus; then all that anybody would see of it.

The arms are those of docker-compose.yml. Two are cut to 40 % for 20 s: the undefended one must go vulnerable,
degraded, metastable, and come back after two levers; the defended one must not need any; the third, with
three layers that retry, only runs.
"""

import argparse
import json
import pathlib
import sys
import tempfile
import time

import expect
from evaluate import Evaluation
from prometheus import Prometheus
from rig import ROOT, Rig, build

BASELINE, CUT, METASTABLE, RECOVERY = 50, 20, 28, 30


def start(rig):
    """Starts the stack; returns its addresses by service."""
    capacity = ["--slots=10", "--capacity=100"]
    retrying = ["--timeout=5s", "--retries=3", "--backoff=1s,factor=2", "--duration=1h"]
    data, plain = rig.serve("order-status", *capacity, "--queue-limit=2000")
    guarded, defended = rig.serve("order-status-defended", *capacity, "--queue-limit=150", "--drop-expired")
    inner, layers = rig.serve("order-status-three-layers", *capacity, "--queue-limit=2000")
    hop = ["--role=gateway", "--slots=10000", "--retries=3", "--backoff=100ms,factor=2"]
    middle, gateway = rig.serve("gateway", *hop, f"--upstream=http://{inner}", "--timeout=1s")
    outer, edge = rig.serve("edge-gateway", *hop, f"--upstream=http://{middle}", "--timeout=6s")
    tiers = {"order-status": plain, "order-status-defended": defended}
    return {
        "order-status:9901": plain,
        "order-status-defended:9901": defended,
        "order-status-three-layers:9901": layers,
        "gateway:9901": gateway,
        "edge-gateway:9901": edge,
        "load-generator:9902": rig.load("load-generator", data, "--rate=80", *retrying),
        "load-generator-defended:9902": rig.load(
            "load-generator-defended", guarded, "--rate=80", *retrying, "--budget=sre-ratio"
        ),
        "load-generator-three-layers:9902": rig.load(
            "load-generator-three-layers", outer, "--rate=10", "--timeout=25s", "--retries=3",
            "--backoff=100ms,factor=2", "--duration=1h",
        ),
        "fault-injector:9903": rig.injector("fault-injector", tiers),
    }


def play(rig, addresses, prometheus):
    """Plays the story; returns its moments in Unix seconds."""
    say = lambda what: print(f"{time.strftime('%H:%M:%S', time.gmtime())} {what}", flush=True)
    moments = {"begin": time.time() + 12}
    say("baseline")
    time.sleep(BASELINE)
    moments["cut"] = time.time()
    say("cut to 40 % for 20 s")
    for tier in ("order-status", "order-status-defended"):
        body = {"name": f"cut-{tier}", "tier": tier, "fault": {"kind": "capacity", "to": 0.4}, "for": f"{CUT}s"}
        rig.ask(addresses["fault-injector:9903"], "/faults", body)
    time.sleep(CUT + METASTABLE)
    took = prometheus.wait(
        'ALERTS{alertname="RigMetastable",alertstate="firing",arm="undefended"}', 30, "RigMetastable fires"
    )
    say(f"metastable, and alerting {METASTABLE + took:.0f} s after the fault at the latest")
    moments["lever"] = time.time()
    rig.lever(addresses["load-generator:9902"], "budget", "sre-ratio")
    rig.lever(addresses["order-status:9901"], "shed-queue")
    say("levers: budget sre-ratio, shed-queue")
    moments["back"] = moments["lever"] + prometheus.wait('rig:state{arm="undefended"} < 2', 40, "goodput is back")
    say(f"back {moments['back'] - moments['lever']:.0f} s after the levers")
    time.sleep(RECOVERY)
    moments["end"] = time.time() - 2
    return {name: int(at) for name, at in moments.items()}


def check(rig, prometheus, moments):
    """Everything that must hold of what was seen; returns the problems."""
    begin, end = moments["begin"], moments["end"]
    problems, queries = [], 0
    for uid, arm in (("rig-metastability", "undefended"), ("rig-arms", ["defended", "undefended", "three-layers"])):
        path = ROOT / f"grafana/dashboards/{uid}.json"
        evaluation = Evaluation(prometheus, path, begin, end, arm=arm, layer=".+")
        queries += evaluation.everything()
        problems += evaluation.problems
        problems += expect.fault_windows(prometheus, evaluation)
        problems += expect.levers(evaluation, moments["lever"])
        keep(rig, evaluation)
    print(f"{queries} queries of dashboards evaluated over {end - begin} s")
    problems += expect.states(prometheus, moments)
    problems += expect.alerts(prometheus, moments)
    problems += expect.catalogue(prometheus, moments)
    problems += expect.counters(rig, prometheus, "undefended", "load-generator", moments)
    problems += expect.counters(rig, prometheus, "defended", "load-generator-defended", moments)
    return problems


def keep(rig, evaluation):
    """Leaves the data of a dashboard beside it, for a drawing."""
    frames = {
        "board": evaluation.board, "frames": evaluation.frames, "begin": evaluation.begin, "end": evaluation.end,
        "regions": {name: evaluation.regions(name) for name in ("Fault window", "Levers", "Alerts")},
    }
    path = rig.folder / f"{evaluation.board['uid']}.frames.json"
    path.write_text(json.dumps(frames), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for logs and data, kept afterwards")
    arguments = parser.parse_args()
    goodput = build()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or temporary
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        with Rig(goodput, folder) as rig:
            addresses = start(rig)
            prometheus = Prometheus(rig, addresses)
            moments = play(rig, addresses, prometheus)
            problems = check(rig, prometheus, moments)
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
