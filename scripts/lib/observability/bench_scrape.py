"""What scraping costs, and how fast it is answered while the server is metastable."""

import http.client
import pathlib
import statistics
import sys
import tempfile
import time

from prometheus import Prometheus
from rig import Rig, build

RATE, SPEED = 1000, 10
COST_MAX, P99_MAX = 0.02, 0.020


def main():
    rounds, seconds = int(sys.argv[1]), float(sys.argv[2])
    goodput = build(release=True)
    with tempfile.TemporaryDirectory() as folder, Rig(goodput, folder) as rig:
        fine = cost(rig, rounds, seconds)
    with tempfile.TemporaryDirectory() as folder, Rig(goodput, folder) as rig:
        fine &= latency(rig)
    return 0 if fine else 1


def cost(rig, rounds, seconds):
    """CPU of both processes with and without a scrape every second, in turns."""
    data, control = rig.serve("server", "--slots=20", "--capacity=2000")
    load = rig.load("client", data, f"--rate={RATE}", "--timeout=5s", "--retries=3", "--duration=1h")
    time.sleep(3)
    used = {name: {True: [], False: []} for name in ("server", "client")}
    for turn in range(rounds):
        # The order changes, so that a drift of the machine does not count for one side.
        for scraped in ((False, True), (True, False))[turn % 2]:
            if scraped:
                scraper(rig, control, load)
                time.sleep(2)
            before = {name: cpu_seconds(rig.pid(name)) for name in used}
            began = time.monotonic()
            time.sleep(seconds)
            lasted = time.monotonic() - began
            for name, sides in used.items():
                sides[scraped].append((cpu_seconds(rig.pid(name)) - before[name]) / lasted)
            if scraped:
                rig.stop("prometheus")
    fine = True
    print(f"CPU at {RATE} requests a second, share of a core, {rounds} rounds of {seconds:.0f} s each way")
    print(f"{'':8} {'without':>9} {'scraped':>9} {'cost':>8}   (median of the rounds; cost: median of their differences)")
    for name, sides in used.items():
        added = statistics.median(w - o for w, o in zip(sides[True], sides[False]))
        fine &= added < COST_MAX
        print(f"{name:8} {statistics.median(sides[False]):9.2%} {statistics.median(sides[True]):9.2%} {added:8.2%}")
    return fine


def scraper(rig, control, load):
    """A Prometheus that scrapes these two every second; the other targets of its configuration are nobody."""
    nobody = "127.0.0.1:9"
    services = [
        "order-status-defended:9901", "order-status-three-layers:9901", "gateway:9901", "edge-gateway:9901",
        "load-generator-defended:9902", "load-generator-three-layers:9902", "fault-injector:9903",
    ]
    Prometheus(rig, {
        **{service: nobody for service in services}, "order-status:9901": control, "load-generator:9902": load,
    })


def cpu_seconds(pid):
    """Time on a core of all threads that live, to the nanosecond."""
    tasks = pathlib.Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text(encoding="utf-8").split()[0]) for task in tasks) / 1e9


def latency(rig):
    """Asks for /metrics 20 times a second while the headline's system is metastable, at ten times the rates."""
    data, control = rig.serve("server", "--slots=10", "--capacity=100", f"--speed={SPEED}")
    load = rig.load(
        "client", data, "--rate=80", "--timeout=5s", "--retries=3", "--backoff=1s,factor=2", "--duration=10000s",
        f"--speed={SPEED}",
    )
    time.sleep(2)
    injector = rig.injector("fault-injector", {"order-status": control})
    rig.ask(injector, "/faults", {"name": "cut", "fault": {"kind": "capacity", "to": 0.4}, "for": "2s"})
    time.sleep(4)
    before = figures(rig, control, load)
    taken = {"server": [], "client": []}
    connections = {"server": connect(control), "client": connect(load)}
    began = time.monotonic()
    for count in range(400):
        time.sleep(max(0.0, began + count / 20 - time.monotonic()))
        for name, connection in connections.items():
            asked = time.monotonic()
            connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {rig.token}"})
            connection.getresponse().read()
            taken[name].append(time.monotonic() - asked)
    lasted = time.monotonic() - began
    offered, good, served, received = (
        (now - then) / lasted for now, then in zip(figures(rig, control, load), before)
    )
    print(f"\nmetastable: offered {offered:.0f}/s, goodput {good:.0f}/s, throughput {served:.0f}/s, arrivals {received:.0f}/s")
    fine = good < offered / 20 and served > offered
    if not fine:
        print("the system is not metastable: the figures below are not of an overload", file=sys.stderr)
    print(f"{'/metrics':8} {'p50':>9} {'p99':>9} {'max':>9}")
    for name, times in taken.items():
        times.sort()
        p99 = times[int(len(times) * 0.99)]
        fine &= p99 < P99_MAX
        print(f"{name:8} {times[len(times) // 2] * 1e3:6.2f} ms {p99 * 1e3:6.2f} ms {times[-1] * 1e3:6.2f} ms")
    return fine


def connect(address):
    host, port = address.split(":")
    return http.client.HTTPConnection(host, int(port), timeout=10)


def figures(rig, control, load):
    """Requests offered, good, served and received so far."""
    lines = (rig.ask(load, "/metrics") + rig.ask(control, "/metrics")).splitlines()
    series = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return [float(series[name]) for name in (
        "rig_client_requests_started_total", 'rig_client_requests_total{outcome="good"}',
        'rig_server_requests_total{outcome="ok"}', "rig_server_requests_received_total")]


if __name__ == "__main__":
    sys.exit(main())
