"""Records made from a story: how goodput and the queue went, second by second."""

import pathlib

from game_day.record import Taken

SETTINGS = {
    "schema": 1, "began": "2026-11-30T12:00:00.000Z", "command": "scripts/game-day --yes",
    "hypothesis": "goodput comes back by itself", "unit": 1.0, "hold": 10.0, "band": 0.95,
    "within": 60.0, "prometheus": "http://127.0.0.1:9090", "vulnerability": "vulnerable",
    "limiter": {"capacity": 100.0}, "layers": [{"name": "client", "retries": 3}],
    "version": "0.1.0",
}


def samples(story, interval=0.25):
    """Samples of a story: (seconds, good/s, received/s, queued) one after the other, 80/s offered.

    Throughput is 100/s where the queue is not empty, else what is received.
    """
    found, t = [], 0.0
    offered = good = received = served = wasted = useful = 0.0
    for seconds, good_rate, received_rate, queued in story:
        for _ in range(round(seconds / interval)):
            found.append(sample(t, offered, good, received, served, useful, wasted, queued))
            served_rate = 100 if queued else received_rate
            offered += 80 * interval
            good += good_rate * interval
            received += received_rate * interval
            served += served_rate * interval
            useful += good_rate * interval / 10
            wasted += max(0, served_rate - good_rate) * interval / 10
            t += interval
    found.append(sample(t, offered, good, received, served, useful, wasted, queued))
    return found


def sample(t, offered, good, received, served, useful, wasted, queued, instance="a"):
    server = {"t": t, "instance": instance, "restarts": 0, "uptime": t, "capacity": 100.0,
              "slots": 10, "admitted": 1.0, "queued": queued, "oldest_age": queued / 100,
              "received": received, "served": served, "useful": useful, "wasted": wasted,
              "faults": []}
    load = {"t": t, "life": 0, "elapsed": t, "rate": 80.0, "halted": False, "offered": offered,
            "good": good, "in_flight": 10}
    return {"t": t, "server": server, "load": load}


def event(t, kind, what="", source="script", **more):
    return {"t": t, "utc": "2026-11-30T12:00:00.000Z", "kind": kind, "what": what or kind,
            "source": source, **more}


def round_events(steps=(), end=180.0, cut=30.0, fault_end=50.0):
    """The events of a round: baseline to `cut`, fault to `fault_end`, steps as (t, levers)."""
    found = [
        event(0, "round", round=1, plan=[]), event(cut, "baseline", **{"from": 0.0}),
        event(cut, "fault", "the cut is in force", "rig", round=1),
        event(fault_end, "fault-ended", "the fault is gone", "rig"),
    ]
    for index, (t, levers) in enumerate(steps, 1):
        found.append(event(t, "step", step=index, name=levers))
        found.append(event(t, "action", levers, "person", lever=levers))
        until = steps[index][0] if index < len(steps) else end
        found.append(event(until - 0.01, "step-ended", step=index))
    found.append(event(end, "round-ended", round=1))
    return found


def taken(story, events, **settings):
    """A whole record."""
    return Taken(pathlib.Path("nowhere"), {**SETTINGS, **settings}, events, samples(story))


# Healthy, cut, down for good, a restart that relapses, and a shed queue with a budget that helps.
HEADLINE = [(30, 79, 80, 0), (20, 20, 300, 1500), (60, 0, 328, 2000), (6, 70, 320, 100),
            (24, 0, 328, 2000), (40, 79, 82, 0)]
HEADLINE_STEPS = [(110.0, "restart"), (140.0, "budget+shed-queue")]


def headline():
    """The record of the headline."""
    events = round_events(HEADLINE_STEPS)
    end = [event(181, "reverted", confirmed=True, rows=[]), event(182, "end", outcome="complete")]
    return taken(HEADLINE, events + end)
