"""Measures load generators against nginx on loopback. Run it by scripts/bench-load.

Every figure is taken from outside of the tools: requests from nginx's own counter or from the wire,
processor time and memory from the kernel.
"""

import json
import os
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

GOODPUT = os.environ["GOODPUT_LOAD"].split()
FOLDER = Path(tempfile.mkdtemp(prefix="bench-load-"))
GET = 0x47455420


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Nginx:
    """One worker process that answers 200, with a counter of requests."""

    def __init__(self):
        self.port, self.count_port = free_port(), free_port()
        config = FOLDER / "nginx.conf"
        config.write_text(f"""
            worker_processes 1;
            worker_rlimit_nofile 60000;
            pid {FOLDER}/nginx.pid;
            error_log {FOLDER}/nginx.log;
            daemon off;
            events {{ worker_connections 30000; }}
            http {{
              access_log off;
              keepalive_requests 1000000000;
              server {{
                listen 127.0.0.1:{self.port} backlog=4096;
                location / {{ default_type text/plain; return 200 "shipped"; }}
              }}
              server {{
                listen 127.0.0.1:{self.count_port};
                location / {{ stub_status; }}
              }}
            }}
        """)
        self.process = subprocess.Popen(["nginx", "-p", FOLDER, "-c", config])
        self.url = f"http://127.0.0.1:{self.port}/"
        for _ in range(100):
            try:
                self.count()
                break
            except OSError:
                time.sleep(0.05)
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        self.worker = int(children.read_text().split()[0])

    def count(self):
        """Requests so far, without those of this function."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.count_port}/") as answer:
            handled = answer.read().decode().splitlines()[2].split()
        self.own = getattr(self, "own", 0) + 1
        return int(handled[2]) - self.own

    def stop(self):
        os.kill(self.worker, signal.SIGCONT)
        self.process.terminate()
        self.process.wait()


class Run:
    """What one run of a tool used and sent."""

    def __init__(self, nginx, command, freeze=None, capture=False):
        self.rss, self.memory = [], 0.0
        dump = self.capture(nginx) if capture else None
        before = nginx.count()
        start = time.time()
        with open(FOLDER / "tool.log", "w") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
        if freeze:
            timer = threading.Thread(target=self.freeze, args=(nginx, before, *freeze))
            timer.start()
        self.over = threading.Event()
        watcher = threading.Thread(target=self.watch, args=(process.pid,))
        watcher.start()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.seconds = time.time() - start
        self.over.set()
        watcher.join()
        if freeze:
            timer.join()
        self.sent = nginx.count() - before
        self.cpu = usage.ru_utime + usage.ru_stime
        self.output = (FOLDER / "tool.log").read_text()
        if dump:
            time.sleep(0.5)
            dump.terminate()
            dump.wait()
            self.times = read_capture(FOLDER / "capture")
        if process.returncode != 0 and not freeze:
            print(f"! {command[0]} ended with {process.returncode}: {self.output[-500:]}")

    @property
    def per_100k(self):
        return self.cpu / max(self.sent, 1) * 1e5

    def watch(self, pid):
        """Resident memory twice a second. The kernel's maximum of a child would count this process too,
        which the child was before it became the tool."""
        while not self.over.wait(0.5):
            try:
                pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
                status = Path(f"/proc/{pid}/status").read_text()
            except (OSError, IndexError):
                return
            self.rss.append(pages * resource.getpagesize() / 2**20)
            peak = [line for line in status.splitlines() if line.startswith("VmHWM:")]
            self.memory = max([self.memory, *(int(line.split()[1]) / 1024 for line in peak)])

    def freeze(self, nginx, before, after, length):
        # Some tools take seconds to start.
        while nginx.count() < before + 200:
            time.sleep(0.05)
        time.sleep(after)
        self.frozen = time.time()
        os.kill(nginx.worker, signal.SIGSTOP)
        time.sleep(length)
        self.thawed = time.time()
        os.kill(nginx.worker, signal.SIGCONT)

    def capture(self, nginx):
        wanted = f"tcp dst port {nginx.port} and tcp[((tcp[12:1] & 0xf0) >> 2):4] = {GET:#x}"
        dump = subprocess.Popen(
            ["tcpdump", "-i", "lo", "-s", "96", "-B", "65536", "-w", FOLDER / "capture", wanted],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        dump.stderr.readline()
        time.sleep(0.3)
        return dump


def read_capture(path):
    """When each request left, in seconds."""
    data = path.read_bytes()
    nanos = struct.unpack_from("<I", data)[0] == 0xA1B23C4D
    times, place = [], 24
    while place + 16 <= len(data):
        seconds, part, length, _ = struct.unpack_from("<IIII", data, place)
        times.append(seconds + part / (1e9 if nanos else 1e6))
        place += 16 + length
    return sorted(times)


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


def goodput(url, rate, seconds):
    return [*GOODPUT, "--target", url, "--rate", str(rate), "--duration", f"{seconds}s",
            "--arrivals", "constant", "--timeout", "2s", "--max-connections", "8000",
            "--connect-rate", "20000"]


def oha(url, rate, seconds):
    return ["oha", "--no-tui", "-q", str(rate), "-z", f"{seconds}s", "-c", "100", url]


def h2load(url, rate, seconds):
    return ["h2load", "--h1", "-c", "100", f"--rps={rate / 100}", "-D", str(seconds), url]


def hey(url, rate, seconds):
    return ["hey", "-z", f"{seconds}s", "-c", "50", "-q", str(rate / 50), url]


def vegeta(url, rate, seconds):
    attack = f"echo GET {url} | vegeta attack -rate {rate} -duration {seconds}s > /dev/null"
    return ["sh", "-c", attack]


def k6(url, rate, seconds):
    script = FOLDER / "script.js"
    # Enough to carry a second's freeze at the lowest rate.
    workers = max(3000 if rate <= 2000 else 100, rate // 20)
    script.write_text(f"""
        import http from 'k6/http';
        export const options = {{ discardResponseBodies: true, scenarios: {{ load: {{
          executor: 'constant-arrival-rate', rate: {rate}, timeUnit: '1s',
          duration: '{seconds}s', preAllocatedVUs: {workers}, maxVUs: {workers + 5000} }} }} }};
        export default function () {{ http.get('{url}'); }}
    """)
    return ["k6", "run", "--quiet", "--no-usage-report", "--no-summary", str(script)]


def wrk2(url, rate, seconds):
    return ["wrk2", "-t1", "-c100", f"-R{rate}", f"-d{seconds}s", url]


ALL = {"goodput": goodput, "oha": oha, "h2load": h2load, "hey": hey, "k6": k6, "vegeta": vegeta,
       "wrk2": wrk2}
THERE = {name: make for name, make in ALL.items() if name == "goodput" or shutil.which(name)}


def table(title, head, rows):
    print(f"\n## {title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(str(cell) for cell in row)} |", flush=True)


def schedule(nginx):
    """(a) 2,000/s; the server is stopped for 1 s."""
    rate, rows = 2000, []
    for name, make in THERE.items():
        run = Run(nginx, make(nginx.url, rate, 5), freeze=(1.5, 1), capture=True)
        during = sum(run.frozen <= at < run.thawed for at in run.times)
        asked = rate * (run.thawed - run.frozen)
        after = [at for at in run.times if at >= run.thawed]
        burst, first = 0, 0
        for last, at in enumerate(after):
            while after[first] <= at - 0.1:
                first += 1
            burst = max(burst, last - first + 1)
        kept, factor = during / asked, burst / (rate / 10)
        passes = "yes" if kept >= 0.99 and factor <= 1.3 else "no"
        rows.append([name, f"{kept:.1%}", f"{factor:.2f} x", f"{len(run.times)}", passes])
    table("(a) the schedule at 2,000/s while nginx is stopped for 1 s, on the wire",
          ["tool", "sent while stopped", "most in 100 ms after", "sent in all", ">= 99 % and <= 1.3 x"],
          rows)


def cost(nginx):
    """(b) processor time, in turns so that all tools see the same machine."""
    rows = []
    for rate in (10_000, 20_000):
        used = {name: [] for name in THERE}
        for _ in range(3):
            for name, make in THERE.items():
                run = Run(nginx, make(nginx.url, rate, 5))
                used[name].append((run.per_100k, run.sent / (rate * 5)))
        ours = quantile([cpu for cpu, _ in used["goodput"]], 0.5)
        for name, runs in used.items():
            cpu = quantile([cpu for cpu, _ in runs], 0.5)
            sent = quantile([sent for _, sent in runs], 0.5)
            rows.append([f"{rate:,}/s", name, f"{cpu:.2f}", f"{sent:.1%}", f"{ours / cpu:.2f}"])
    table("(b) processor seconds per 100,000 requests, median of 3",
          ["rate", "tool", "CPU s / 100k", "sent of asked", "goodput / tool"], rows)


def reach(nginx):
    """(c) the highest constant rate that is held within 1 %."""
    best = {}
    for name, make in THERE.items():
        best[name] = 0
        misses = 0
        for rate in range(10_000, 90_000, 2_500):
            run = Run(nginx, make(nginx.url, rate, 4))
            held = abs(run.sent / (rate * 4) - 1) <= 0.01 and run.seconds < 5.5
            if held:
                best[name], misses = rate, 0
            else:
                misses += 1
            if misses == 3:
                break
    rows = [[name, f"{rate:,}/s", f"{best['goodput'] / max(rate, 1):.2f}"] for name, rate in best.items()]
    table("(c) the highest constant rate held within 1 %, 4 s each", ["tool", "rate", "goodput / tool"], rows)


def lag(nginx):
    """(d) how far each request leaves from its place in the schedule, on the wire."""
    rows = []
    for rate in (5_000, 20_000):
        for name, make in THERE.items():
            run = Run(nginx, make(nginx.url, rate, 5), capture=True)
            offsets = [at - index / rate for index, at in enumerate(run.times)]
            # The schedule's own start is the earliest that fits, but for a few stray requests.
            origin = quantile(offsets, 0.001)
            late = [abs(offset - origin) * 1e3 for offset in offsets]
            rows.append([f"{rate:,}/s", name, f"{quantile(late, 0.5):.3f}", f"{quantile(late, 0.99):.3f}",
                         f"{quantile(late, 1):.1f}", f"{len(run.times) / (rate * 5):.1%}",
                         own_word(run.output) if name == "goodput" else ""])
    table("(d) distance from the schedule on the wire, in ms",
          ["rate", "tool", "p50", "p99", "max", "sent of asked", "p99 by its own word"], rows)


def own_word(output):
    for line in output.splitlines():
        if "lag" in line:
            return line.strip()
    return ""


def memory(nginx):
    """(e) memory over a million requests."""
    rows = []
    for name in ("goodput", "oha"):
        run = Run(nginx, THERE[name](nginx.url, 20_000, 50))
        at = [run.rss[min(len(run.rss) - 1, int(len(run.rss) * share))] for share in (0.1, 0.5, 0.98)]
        rows.append([name, f"{run.sent:,}", *[f"{value:.1f}" for value in at], f"{run.memory:.1f}"])
    table("(e) resident memory in MB at 20,000/s over a million requests",
          ["tool", "requests", "at 10 %", "at 50 %", "at the end", "peak"], rows)


def layers(nginx):
    """(f) three retry layers with budgets against one without."""
    def scenario(count):
        names = ["edge", "service", "client"][-count:]
        retries = 'retries = 3\nbudget = "sre-ratio"\n' if count > 1 else ""
        tries = "".join(f'[[client.layer]]\nname = "{name}"\n{retries}' for name in names)
        path = FOLDER / f"layers-{count}.toml"
        path.write_text(f"""name = "layers"\nduration = "6s"
[load]\nrate = 10000\narrivals = "constant"\n[request]\npath = "/"
[client]\nmax_connections = 8000\nconnect_rate = 20000\n{tries}timeout = "2s"
[[tier]]\nname = "order-status"\ncapacity = 100000
[expect]\nhold = "1s"
""")
        return [*GOODPUT, str(path), "--target", nginx.url]
    used = {1: [], 3: []}
    for _ in range(5):
        for count, runs in used.items():
            runs.append(Run(nginx, scenario(count)).per_100k)
    one, three = (quantile(runs, 0.5) for runs in used.values())
    table("(f) processor seconds per 100,000 requests at 10,000/s, median of 5",
          ["layers", "CPU s / 100k", "ratio"],
          [["1, no retries", f"{one:.2f}", "1.00"], ["3, budgets on", f"{three:.2f}", f"{three / one:.2f}"]])


PARTS = {part.__name__: part for part in (schedule, cost, reach, lag, memory, layers)}


def main():
    asked = sys.argv[1:] or ["all"]
    unknown = [part for part in asked if part not in PARTS and part != "all"]
    if unknown:
        sys.exit(f"scripts/bench-load: there is no part {unknown[0]}; there is all, {', '.join(PARTS)}")
    absent = [name for name in ALL if name not in THERE]
    print(f"{os.cpu_count()} cores, {os.uname().release}; not to be had here: {', '.join(absent) or 'none'}")
    nginx = Nginx()
    try:
        for name, part in PARTS.items():
            if name in asked or "all" in asked:
                part(nginx)
    finally:
        nginx.stop()
        shutil.rmtree(FOLDER, ignore_errors=True)


if __name__ == "__main__":
    main()
