"""Runs OUT/hour.toml against a server that is up, and watches both: hour.py GOODPUT SERVER_PID OUT"""

import json
import pathlib
import re
import subprocess
import sys
import time
import urllib.request


def address(log, name):
    for _ in range(100):
        found = re.search(rf"^{name}\s+(http://\S+)", log.read_text(), re.MULTILINE)
        if found:
            return found.group(1)
        time.sleep(0.1)
    sys.exit(f"the server does not say its {name} address: {log.read_text()}")


def resident_mib(pid):
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return 0.0
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found.group(1)) / 1024 if found else 0.0


def sockets():
    """Sockets in use and in TIME_WAIT."""
    text = pathlib.Path("/proc/net/sockstat").read_text()
    return tuple(int(re.search(rf"TCP:.* {name} (\d+)", text).group(1)) for name in ("inuse", "tw"))


def answer_ms(url):
    begun = time.monotonic()
    with urllib.request.urlopen(url, timeout=5) as answer:
        answer.read()
    return (time.monotonic() - begun) * 1000


def main():
    goodput, server, out = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3])
    target = address(out / "serve.log", "order-status")
    control = address(out / "serve.log", "control")
    run = subprocess.Popen(
        [goodput, "run", out / "hour.toml", "--arm", "naive", "--speed", "30", "--target", target,
         "--control", control, "--out", out, "--quiet"],
        stdout=(out / "run.log").open("w"), stderr=subprocess.STDOUT,
    )
    times, memory, peak_sockets = [], {"server": [], "load generator": []}, (0, 0)
    while run.poll() is None:
        times.append(answer_ms(f"{control}/state"))
        memory["server"].append(resident_mib(server))
        memory["load generator"].append(resident_mib(run.pid))
        peak_sockets = max(peak_sockets, sockets())
        time.sleep(0.05)
    times.sort()
    print((out / "run.log").read_text().strip())
    print(f"control plane, {len(times)} states: p50 {times[len(times) // 2]:.1f} ms, "
          f"p99 {times[int(len(times) * 0.99)]:.1f} ms, max {times[-1]:.1f} ms")
    for name, series in memory.items():
        quarter = max(1, len(series) // 4)
        print(f"{name}: {max(series):.0f} MiB at most; "
              + ", ".join(f"{series[min(i * quarter, len(series) - 1)]:.0f}" for i in range(5))
              + " MiB by quarter of the run")
    print(f"sockets: {peak_sockets[0]} in use, {peak_sockets[1]} in TIME_WAIT at the same time")
    state = json.load(urllib.request.urlopen(f"{control}/state", timeout=5))
    print(f"queue at the end: {state['queued']} attempts; exit code {run.returncode}")


main()
