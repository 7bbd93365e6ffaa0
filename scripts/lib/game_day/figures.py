"""The figures of a game day, from its record alone. Pure: the same record, the same figures.

A round runs from its baseline to its end. `hold` is how long goodput must stay in its band to count
as back, `band` the share of the baseline's good ÷ offered that the band begins at. Times are in
seconds; those of people and alerts count from the cut, recovery from the fault's end.
"""

import math

from .series import Series

HALF = 0.5
# By how much the offered load may differ from the baseline's.
LATE = 0.1
# Severities that wake nobody: such an alert is no detection.
MILD = ("info", "warning")


def figures(taken):
    """Everything the report says, as JSON."""
    settings = taken.settings
    series = Series(taken.samples, gap=max(1.5, 3 * settings["unit"]))
    rounds = [round_figures(part, series, settings) for part in rounds_of(taken.events)]
    end = last(taken.events, "end")
    return {
        "schema": 1,
        "began": settings["began"],
        "outcome": outcome(end, rounds),
        "ended": end["what"] if end else "the script ended without saying so",
        "hypothesis": settings["hypothesis"],
        "rounds": rounds,
        "prometheus": prometheus(taken.events, settings),
        "reverted": reverted(taken.events),
        "samples": len(taken.samples),
    }


def outcome(end, rounds):
    """How the whole ended: `recovered`, `not-recovered`, `aborted`, `inconclusive`, `cut-short`."""
    if end is None:
        return "cut-short"
    if end.get("outcome") != "complete":
        return end.get("outcome", "inconclusive")
    if not rounds or any(part["verdict"] == "inconclusive" for part in rounds):
        return "inconclusive"
    back = all(part["recovered_after"] is not None for part in rounds)
    return "recovered" if back else "not-recovered"


def rounds_of(events):
    """The events of each round, from its beginning to its end."""
    parts = []
    for event in events:
        if event["kind"] == "round":
            parts.append([event])
        elif parts and parts[-1][-1]["kind"] != "round-ended":
            parts[-1].append(event)
    return parts


def round_figures(events, series, settings):
    """The figures of one round."""
    base = baseline(events, series)
    cut, fault_end = first(events, "fault"), first(events, "fault-ended")
    found = {
        "round": events[0]["round"], "baseline": base, "verdict": None, "reasons": [],
        "cut_at": cut and cut["t"], "fault_ended_at": fault_end and fault_end["t"],
        "time_to_alert": None, "time_to_detect": None, "time_to_first_action": None,
        "time_to_mitigate": None, "recovered_after": None, "recovered_by": None,
        "hypothesis_held": None, "goodput_lost": None, "peak_attempts": None, "wasted_work": None,
        "alerts": [], "steps": [],
    }
    if cut is None or base is None:
        found["verdict"] = "inconclusive"
        found["reasons"] = ["nothing was cut" if base else "there is no baseline"]
        return found
    ended = last(events, "round-ended")
    end = min(ended["t"] if ended else max(series.end(), events[-1]["t"]), series.end())
    hold, unit = settings["hold"], settings["unit"]
    band = settings["band"] * (base["ratio"] or 0)
    actions = [e for e in events if e["kind"] == "action" and e["t"] > cut["t"]]
    alerts = alerts_of(events, cut["t"], fault_end)
    found["alerts"] = alerts
    found["time_to_alert"] = min((a["after"] for a in alerts if a["counts"]), default=None)
    found["time_to_detect"] = after(first(events, "detected"), cut)
    found["time_to_first_action"] = after(actions[0] if actions else None, cut)
    found["time_to_mitigate"] = mitigation(series, base, cut["t"], end, hold, unit)
    found["peak_attempts"] = peak_attempts(series, cut["t"], end, 10 * unit)
    found["steps"] = [step(s, series, base, end, settings) for s in steps_of(events, end)]
    back = settled(series, band, fault_end["t"], end, hold, unit) if fault_end else None
    if back is not None:
        found["recovered_after"] = max(0.0, back - fault_end["t"])
        helped = [s for s in found["steps"] if s["outcome"] == "recovered"]
        found["recovered_by"] = helped[-1]["name"] if helped else "itself"
    found["goodput_lost"] = lost(series, base, cut["t"], end if back is None else back)
    judge(found, events, series, settings, actions, end)
    return found


def judge(found, events, series, settings, actions, end):
    """What became of goodput before anybody acted, and whether the hypothesis held."""
    begin = found["fault_ended_at"]
    reasons = doubts(found, events, series, end)
    if reasons:
        found["verdict"], found["reasons"] = "inconclusive", reasons
        return
    until = min([end] + [action["t"] for action in actions])
    hold, unit, base = settings["hold"], settings["unit"], found["baseline"]
    if until - begin >= 2 * hold:
        found["wasted_work"] = series.wasted(until - hold, until)
    alone = settled(series, settings["band"] * base["ratio"], begin, until, hold, unit)
    if alone is not None:
        found["verdict"] = "recovered"
        found["hypothesis_held"] = alone - begin <= settings["within"]
        return
    if until - begin < 2 * hold:
        found["reasons"] = ["somebody acted before it could be told"]
        return
    found["hypothesis_held"] = False
    middle = series.level("queued", (begin + until) / 2)
    last_queue = series.level("queued", until - unit)
    falls = middle and last_queue is not None and last_queue < 0.8 * middle
    found["verdict"] = "slow-recovery" if falls else "metastable"


def doubts(found, events, series, end):
    """Why a round cannot be judged."""
    reasons = []
    begin = found["fault_ended_at"]
    if begin is None:
        return ["the fault's end was not seen"]
    if first(events, "no-bite"):
        reasons.append("the fault did not bite: capacity read back as before")
    if end - begin < 1e-9 or series.ratio(begin, end) is None:
        reasons.append("too few samples after the fault")
        return reasons
    for event in events:
        if event["kind"] == "seen" and event.get("change") == "restart" and not event.get("own"):
            if event["t"] < begin:
                reasons.append("the server restarted by itself during the fault")
        if event["kind"] == "lost":
            reasons.append(event["what"])
    reasons += another_load(found["baseline"], series, begin, end)
    return reasons


def another_load(base, series, begin, end):
    """Whether the offered load differs from the baseline's by more than chance explains."""
    offered, asked = series.rate("offered", begin, end), base["offered"]
    if not offered or not asked:
        return ["nothing was offered"]
    chance = math.sqrt(1 / (asked * (base["to"] - base["from"])) + 1 / (offered * (end - begin)))
    if abs(offered / asked - 1) <= max(LATE, 4 * chance):
        return []
    return [f"the offered load was {offered:.0f}/s after {asked:.0f}/s at the baseline"]


def baseline(events, series):
    """The figures of the time before the cut; none where it was not held."""
    held = first(events, "baseline")
    if held is None:
        return None
    begin, end = held["from"], held["t"]
    ratio = series.ratio(begin, end)
    return {
        "from": begin, "to": end, "ratio": None if ratio is None else min(1.0, ratio),
        "offered": series.rate("offered", begin, end), "goodput": series.rate("good", begin, end),
        "throughput": series.rate("served", begin, end),
        "attempts": series.attempts(begin, end), "utilisation": series.utilisation(begin, end),
    }


def settled(series, band, begin, end, hold, unit):
    """Since when good ÷ offered has been in its band without a break until `end`; none if not."""
    since = None
    t = end - hold
    while t >= begin - 1e-9:
        ratio = series.ratio(t, t + hold)
        if ratio is None or ratio < band:
            break
        since = t
        t -= unit
    return since


def mitigation(series, base, cut, end, hold, unit):
    """How long after the cut at least half of goodput was back for good, once it had gone."""
    fell = None
    t = cut
    while t + 2 * unit <= end:
        ratio = series.ratio(t, t + 2 * unit)
        if ratio is not None and ratio < HALF * (base["ratio"] or 0):
            fell = t
            break
        t += unit
    if fell is None:
        return None
    back = settled(series, HALF * (base["ratio"] or 0), fell, end, min(hold, 5 * unit), unit)
    return None if back is None else back - cut


def peak_attempts(series, begin, end, window):
    """The most attempts per request in any `window` seconds."""
    most, t = None, begin
    while t + window <= end + 1e-9:
        attempts = series.attempts(t, t + window)
        if attempts is not None and (most is None or attempts > most):
            most = attempts
        t += window / 5
    return most


def lost(series, base, begin, end):
    """Good answers that the baseline would have given and the users did not get."""
    offered, good = series.total("offered", begin, end), series.total("good", begin, end)
    if offered is None or base["ratio"] is None:
        return None
    return max(0.0, base["ratio"] * offered - good)


def steps_of(events, end):
    """The steps of a round as (event, until)."""
    begins = [event for event in events if event["kind"] == "step"]
    found = []
    for index, event in enumerate(begins):
        until = begins[index + 1]["t"] if index + 1 < len(begins) else end
        ended = [e["t"] for e in events if e["kind"] == "step-ended" and e["step"] == event["step"]]
        found.append((event, min(ended + [until])))
    return found


def step(begun, series, base, end, settings):
    """What a step did: `recovered`, `partly`, `relapsed`, `no-effect`, `not-needed`, `unknown`."""
    event, until = begun
    begin, until = event["t"], min(until, end)
    hold, unit, half = settings["hold"], settings["unit"], HALF * (base["ratio"] or 0)
    band = settings["band"] * (base["ratio"] or 0)
    found = {"name": event["name"], "at": begin, "until": until, "after": None, "goodput_for": None,
             "failed": event.get("failed"), "outcome": "unknown"}
    window = min(hold, max(unit, (until - begin) / 2))
    if until - begin < unit or series.ratio(until - window, until) is None:
        return found
    found["goodput_for"] = longest_stretch(series, half, begin, until, unit)
    was = series.ratio(begin - hold, begin)
    back = settled(series, band, begin, until, window, unit)
    at_end = series.ratio(until - window, until)
    if was is not None and was >= band:
        found["outcome"] = "not-needed"
    elif back is not None:
        found["outcome"], found["after"] = "recovered", back - begin
    elif at_end >= half:
        found["outcome"] = "partly"
    elif found["goodput_for"] >= 2 * unit:
        found["outcome"] = "relapsed"
    else:
        found["outcome"] = "no-effect"
    return found


def longest_stretch(series, least, begin, end, unit):
    """The longest time without a break in which good ÷ offered was at least `least`."""
    longest, so_far, t = 0.0, 0.0, begin
    while t + unit <= end + 1e-9:
        ratio = series.ratio(t, t + unit)
        so_far = so_far + unit if ratio is not None and ratio >= least else 0.0
        longest = max(longest, so_far)
        t += unit
    return longest


def alerts_of(events, cut, fault_end):
    """Alerts that fired after the cut; one that fired before and still did tells nothing."""
    firing, found = set(), []
    for event in events:
        if event["kind"] != "alert":
            continue
        name = event["alert"]
        if event["t"] < cut:
            (firing.add if event["firing"] else firing.discard)(name)
        elif event["firing"]:
            known = any(alert["alert"] == name for alert in found)
            found.append({
                "alert": name, "severity": event.get("severity", ""), "after": event["t"] - cut,
                "after_fault": event["t"] - fault_end["t"] if fault_end else None,
                "counts": name not in firing and not known and event.get("severity") not in MILD,
            })
    return found


def prometheus(events, settings):
    """Whether Prometheus could be asked: `off`, `up`, `down` throughout, or `gaps`."""
    if settings.get("prometheus") is None:
        return {"state": "off", "problems": []}
    turns = [event for event in events if event["kind"] == "prometheus"]
    problems = [event["what"] for event in turns if not event["up"]]
    if not turns or not any(event["up"] for event in turns):
        return {"state": "down", "problems": problems}
    return {"state": "gaps" if problems else "up", "problems": problems}


def reverted(events):
    """Whether the last clean-up was confirmed by reading back; none where there was none."""
    found = last(events, "reverted")
    return None if found is None else bool(found["confirmed"])


def after(event, cut):
    """How long after the cut something was; none where it was not."""
    return None if event is None or cut is None else event["t"] - cut["t"]


def first(events, kind):
    """The first event of a kind."""
    return next((event for event in events if event["kind"] == kind), None)


def last(events, kind):
    """The last event of a kind."""
    return next((event for event in reversed(events) if event["kind"] == kind), None)
