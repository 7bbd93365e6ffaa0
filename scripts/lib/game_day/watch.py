"""Sampling the stack while a game day goes on, beside whatever the facilitator does.

One thread asks the control planes, another Prometheus, so that neither waits for the other: the
figures come from the control planes, and a Prometheus that hangs costs nothing but the alerts.
"""

import hashlib
import json
import threading
import urllib.parse

from .plane import PlaneError

FAULT = "game-day"
ROLES = {"server": "order-status", "load": "the load generator"}
ALERTS = urllib.parse.quote('ALERTS{alertstate="firing"}', safe="")


class Watch:
    """Samples a stack into a record until it is stopped."""

    def __init__(self, stack, record, interval, arm, alert_interval=1.0):
        self.stack = stack
        self.record = record
        self.interval = interval
        self.arm = arm
        self.alert_interval = alert_interval
        self.stopped = threading.Event()
        self.latest = {"server": None, "load": None}
        self.seen_at = {"server": 0.0, "load": 0.0}
        self.own_until = 0.0
        self.firing = {}
        self.prometheus_up = None
        self.life = 0
        self.threads = [threading.Thread(target=self.sample_on, name="sampler", daemon=True)]
        if stack.prometheus:
            self.threads.append(threading.Thread(target=self.alerts_on, name="alerts", daemon=True))

    def start(self):
        """Begins to sample."""
        for thread in self.threads:
            thread.start()

    def stop(self):
        """Stops, and waits a bounded time for the last sample."""
        self.stopped.set()
        for thread in self.threads:
            if thread.is_alive():
                thread.join(timeout=5.0)

    def own(self, seconds):
        """Changes that are seen within so many seconds are this script's."""
        self.own_until = self.record.now() + seconds

    def silent_for(self):
        """For how many seconds the server or the load has not answered, and which."""
        now = self.record.now()
        role = min(self.seen_at, key=self.seen_at.get)
        return now - self.seen_at[role], ROLES[role]

    def sample_on(self):
        due = self.record.now()
        while not self.stopped.is_set():
            self.sample_once()
            due = max(due + self.interval, self.record.now())
            self.stopped.wait(max(0.0, due - self.record.now()))

    def sample_once(self):
        """Takes one sample and notes what has changed since the one before."""
        sample = {"t": round(self.record.now(), 4), "server": None, "load": None}
        for role, plane, read in (("server", self.stack.server, server_figures),
                                  ("load", self.stack.load, load_figures)):
            begin = self.record.now()
            try:
                state = plane.get("/state", wait=1.0)
                figures = read(state)
            except PlaneError as error:
                sample.setdefault("errors", {})[role] = error.kind
                continue
            except (KeyError, TypeError, AttributeError):
                sample.setdefault("errors", {})[role] = "foreign"
                continue
            # The state was taken somewhere between question and answer.
            figures["t"] = round((begin + self.record.now()) / 2, 4)
            if role == "load":
                figures["life"] = self.life_of(figures)
            sample[role] = figures
            self.changes(role, state, figures)
            self.seen_at[role] = self.record.now()
        self.record.sample(sample)

    def life_of(self, figures):
        """Counts the lives of the load generator, whose counters begin anew with each."""
        before = self.latest["load"]
        if before and figures["elapsed"] < before[1]["elapsed"]:
            self.life += 1
        return self.life

    def changes(self, role, state, figures):
        """Notes what differs from the sample before, whoever did it."""
        before, self.latest[role] = self.latest[role], (state, figures)
        if before is None:
            return
        old_state, old = before
        own = figures["t"] <= self.own_until
        look = server_changes if role == "server" else load_changes
        for change, what in look(old_state, old, state, figures):
            own_fault = change in ("fault", "fault-over") and f"fault {FAULT} " in what
            self.record.event("seen", what, "rig", t=figures["t"], change=change,
                              own=own or own_fault)

    def alerts_on(self):
        while not self.stopped.is_set():
            self.alerts_once()
            self.stopped.wait(self.alert_interval)

    def alerts_once(self):
        """Asks Prometheus what fires, and notes what began and what ended."""
        try:
            answer = self.stack.prometheus.get(f"/api/v1/query?query={ALERTS}", wait=2.0)
            found = firing_alerts(answer, self.arm)
        except (PlaneError, KeyError, TypeError, ValueError, AttributeError) as error:
            if self.prometheus_up is not False:
                said = str(error) if isinstance(error, PlaneError) else "it answers no alerts"
                self.record.event("prometheus", f"Prometheus cannot be asked: {said}", up=False)
            self.prometheus_up = False
            return
        if self.prometheus_up is not True:
            self.record.event("prometheus", "Prometheus answers", up=True)
        self.prometheus_up = True
        for name in sorted(found.keys() - self.firing.keys()):
            self.record.event("alert", f"{name} fires", "alert", alert=name, firing=True,
                              severity=found[name])
        for name in sorted(self.firing.keys() - found.keys()):
            self.record.event("alert", f"{name} is over", "alert", alert=name, firing=False,
                              severity=self.firing[name])
        self.firing = found


def server_figures(state):
    """What a sample keeps of a server's state."""
    counters = state["counters"]
    return {
        "instance": state["instance"], "restarts": state["restarts"], "uptime": state["uptime"],
        "capacity": state.get("capacity"), "slots": state["slots"], "admitted": state["admitted"],
        "queued": state["queued"], "in_service": state["in_service"],
        "oldest_age": round(state["oldest_age"], 3), "received": counters["received"],
        "served": counters["served"], "refused": sum(counters["refused"].values()),
        "useful": round(counters["busy_useful"], 4), "wasted": round(counters["busy_wasted"], 4),
        "faults": [fault["name"] for fault in state["faults"]],
        "limiter": short_hash(state["limiter"]),
    }


def load_figures(state):
    """What a sample keeps of a load generator's state."""
    return {
        "elapsed": state["elapsed"], "rate": state["rate"], "halted": state["halted"],
        "offered": state["offered"], "good": state["good"], "in_flight": state["in_flight"],
        "layers": short_hash(state["layers"]),
    }


def server_changes(old_state, old, state, now):
    """What changed at the server, as (kind, words)."""
    found = []
    if now["instance"] != old["instance"]:
        found.append(("restart", "the server's process is another one"))
    elif now["restarts"] != old["restarts"]:
        found.append(("restart", "the lever `restart` was pulled"))
    for name in sorted(set(now["faults"]) - set(old["faults"])):
        found.append(("fault", f"fault {name} is in force"))
    for name in sorted(set(old["faults"]) - set(now["faults"])):
        found.append(("fault-over", f"fault {name} is gone"))
    if (now["admitted"] < 1) != (old["admitted"] < 1):
        found.append(("admitted", f"{now['admitted'] * 100:.0f} % of the traffic is admitted"))
    if now["limiter"] != old["limiter"]:
        found.append(("limiter", "the limiter is now " + difference(old_state["limiter"],
                                                                    state["limiter"])))
    return found


def load_changes(old_state, old, state, now):
    """What changed at the load generator, as (kind, words)."""
    found = []
    if now["life"] != old["life"]:
        found.append(("load-restart", "the load generator started anew"))
    if now["halted"] != old["halted"]:
        found.append(("halted", "the load is halted" if now["halted"] else "the load goes on"))
    if now["rate"] != old["rate"]:
        found.append(("rate", f"{now['rate']:.0f} requests a second are asked for"))
    if now["layers"] != old["layers"]:
        pairs = zip(old_state["layers"], state["layers"])
        words = [difference(was, is_) for was, is_ in pairs if was != is_]
        found.append(("layers", "the clients' layers are now " + "; ".join(words)))
    return found


def difference(old, new):
    """The keys of an object that changed, as `key = value`."""
    keys = sorted(key for key in set(old) | set(new) if old.get(key) != new.get(key))
    return ", ".join(f"{key} = {json.dumps(new.get(key))}" for key in keys)


def firing_alerts(answer, arm):
    """Names and severities of the alerts in Prometheus's answer that are not another arm's."""
    found = {}
    for result in answer["data"]["result"]:
        labels = result["metric"]
        if labels.get("arm", arm) == arm:
            found[labels["alertname"]] = labels.get("severity", "")
    return found


def short_hash(value):
    """Tells whether a JSON value is another one."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]
