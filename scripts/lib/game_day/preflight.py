"""What is checked before anything is cut, and the settings that a record begins with."""

import math
import shutil

from . import fault, text
from .levers import NAMES
from .plane import PlaneError
from .stack import Unusable, default_url, leftovers

DISK_MIN = 100 * 1024 * 1024


def preflight(stack, states, options, record, say, cause):
    """Checks the stack and rehearses the abort; writes each check down. Raises Unusable."""

    def check(name, good, what):
        word = {True: "ok", False: "NOT OK", None: "note"}[good]
        record.event("preflight", f"{name}: {what}", check=name, ok=good)
        say(f"  {word:6}  {name}: {what}")
        if good is False:
            raise Unusable(f"preflight, {name}: {what}")

    server, load, gateways = states
    for plane in stack.planes():
        check(plane.role, True, f"answers at {plane.url}")
    if stack.injector is None:
        check("fault injector", None, "none: the cut goes on a lease of its whole length")
    left = leftovers(server) + leftovers(load)
    check("nothing in force", not left, "; ".join(left) or "no fault, no block, no halt")
    free = shutil.disk_usage(record.path).free
    check("disk", free >= DISK_MIN, f"{free // 2**20} MiB free for {record.path}")
    rows = stack.revert({**cause, "reason": "rehearsal of the abort"})
    bad = [f"{row['role']}: {row['what']}" for row in rows if not row["confirmed"]]
    check("abort rehearsed", not bad, "; ".join(bad) or "reset, and read back everywhere")
    check_prometheus(stack, options.arm, check)
    check("can it stick?", None, vulnerability(server, load, gateways))
    unfelt = fault.felt(options, server.get("capacity"), load.get("rate", 0))
    if unfelt:
        check("does it bite?", None, unfelt)


def check_prometheus(stack, arm, check):
    """Prometheus adds the times of alerts and is needed for nothing else."""
    if stack.prometheus is None:
        check("Prometheus", None, "not asked: times to alert stay unknown")
        return
    try:
        answer = stack.prometheus.get("/api/v1/targets?state=active")
        targets = [t for t in answer["data"]["activeTargets"]
                   if t["labels"].get("arm", arm) == arm]
        down = [t["labels"].get("job", "?") for t in targets if t.get("health") == "down"]
        what = f"answers, {len(targets)} targets" + (f", down: {', '.join(down)}" if down else "")
        check("Prometheus", None if down or not targets else True, what)
    except (PlaneError, KeyError, TypeError, AttributeError) as error:
        said = error if isinstance(error, PlaneError) else "whoever answers is no Prometheus"
        check("Prometheus", None, f"{said}; the game day goes on without the times of alerts")


def vulnerability(server, load, gateways):
    """Whether a trigger can stick: offered load against capacity ÷ the attempts of all layers."""
    capacity, rate = server.get("capacity"), load.get("rate", 0)
    layers = [layer for state in (load, *gateways) for layer in state.get("layers", [])]
    k = math.prod(layer.get("retries", 0) + 1 for layer in layers)
    if capacity is None:
        return "capacity is unlimited: nothing can be cut in proportion"
    stable = capacity / k
    state = "vulnerable: a trigger can stick" if rate > stable else "stable: no trigger sticks"
    return (f"{rate:.0f}/s offered, capacity {capacity:.0f}/s, {k} attempts a request at most, "
            f"C_stable {text.number(stable)}/s; {state}")


def smallest_timeout(states):
    """The smallest time-out of attempts in any layer in seconds; none where unknown."""
    found = []
    for layer in (layer for state in states for layer in state.get("layers", [])):
        try:
            found.append(text.duration(layer["timeout"].replace(" ", "")))
        except (KeyError, AttributeError, ValueError):
            continue
    return min(found, default=None)


def fill_defaults(options, states):
    """Durations that were not given: those of a stack in real time, divided by its speed."""
    server, load, gateways = states
    unit = 1 / max(server.get("speed") or 1, load.get("speed") or 1)
    options.unit = unit
    mode, length = fault.standard(options.arm)
    options.mode = options.mode or mode
    standard = {"baseline": 30, "cut_for": length, "observe": 60, "pause": 6, "watch": 30,
                "block_for": 60, "readmit_step": 10, "hold": 10, "within": 60, "patience": 120}
    for name, seconds in standard.items():
        if getattr(options, name) is None:
            setattr(options, name, seconds * unit)
    options.interval = max(0.1, min(0.25, unit / 4))
    options.smallest_timeout = smallest_timeout((load, *gateways))
    if options.hypothesis is None:
        options.hypothesis = fault.hypothesis(options)


def settings(stack, states, options, command):
    """What a record says of how it was made. It holds no token."""
    server, load, gateways = states
    return {
        "command": command,
        "arm": options.arm, "server": stack.server.url, "load": stack.load.url,
        "injector": stack.injector and stack.injector.url,
        "gateways": [plane.url for plane in stack.gateways],
        "edge": stack.edge and stack.edge.url,
        "prometheus": stack.prometheus and stack.prometheus.url,
        "grafana": default_url("GRAFANA_PORT", 3000) if stack.prometheus else None,
        "version": server.get("version"), "scenario": load.get("scenario"), "unit": options.unit,
        "limiter": server["limiter"], "layers": load["layers"], "rate": load.get("rate"),
        "hypothesis": options.hypothesis, "band": options.band, "hold": options.hold,
        "within": options.within, "fault": fault.asked(options), "cut_for": options.cut_for,
        "mode": options.mode, "baseline": options.baseline, "observe": options.observe,
        "watch": options.watch, "rounds": options.rounds, "levers": NAMES,
        "vulnerability": vulnerability(server, load, gateways),
    }
