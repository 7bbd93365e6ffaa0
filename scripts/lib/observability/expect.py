"""What must be seen of the run that replay.py plays."""

import json
import math

from evaluate import names
from rig import ROOT

ALERTED = {
    "RigVulnerable", "RigMetastable", "RigGoodputBelowThroughput", "RigAmplificationOutlastsTrigger",
    "RigQueueDelayAboveTimeout",
}
# An arm that is vulnerable and left alone says only that.
ELSEWHERE = {("RigVulnerable", "three-layers")}


def fault_times(prometheus, arm, end):
    """When the fault of an arm began and ended, as its server says, in Unix seconds."""
    at = lambda what: prometheus.at(
        f'max(rig_fault_{what}_timestamp_seconds{{job="rig-server",arm="{arm}"}})', end
    )[0][1]
    return at("start"), at("end")


def fault_windows(prometheus, evaluation):
    """The shaded regions must be the faults: one for each arm that had one, to the second."""
    problems = []
    regions = evaluation.regions("Fault window")
    arms = [evaluation.chosen["arm"]] if isinstance(evaluation.chosen["arm"], str) else ["defended", "undefended"]
    if sorted(region["labels"]["arm"] for region in regions) != sorted(arms):
        problems.append(f"fault windows of {[region['labels'] for region in regions]}, not of {arms}")
    for region in regions:
        arm = region["labels"]["arm"]
        began, ended = fault_times(prometheus, arm, evaluation.end)
        # It is seen from the first scrape after it began to the last one before it ended.
        if not began <= region["from"] <= began + 2 or not ended - 2 <= region["to"] <= ended + 1:
            problems.append(f"the fault window of {arm} is {region}, and the fault was {began} to {ended}")
        if not 19 <= ended - began <= 22:
            problems.append(f"the fault of {arm} lasted {ended - began} s, not 20")
    return problems


def levers(evaluation, at):
    """Both levers must be marked where they were pulled, and no other."""
    seen = {region["labels"]["lever"]: region["from"] for region in evaluation.regions("Levers")}
    problems = []
    if set(seen) != {"budget", "shed-queue"}:
        problems.append(f"levers marked: {sorted(seen)}, not budget and shed-queue")
    problems += [
        f"the lever {name} is marked at {when}, and was pulled at {at}"
        for name, when in seen.items() if not at - 1 <= when <= at + 3
    ]
    return problems


def states(prometheus, moments):
    """`rig:state` of each arm, second by second."""
    begin, end = moments["begin"], moments["end"]
    seen = {labels["arm"]: points for labels, points in prometheus.range("rig:state", begin, end)}
    problems = []
    _, ended = fault_times(prometheus, "undefended", end)
    changes = [(at, state) for (at, state), before in zip(
        seen["undefended"], [(0, None), *seen["undefended"]]) if state != before[1]]
    print("rig:state of undefended:", ", ".join(f"{at - moments['cut']:+.0f} s {state:.0f}" for at, state in changes))
    order = [state for _, state in changes]
    # After the levers the backlog is gone and a window of 10 s passes: degraded, then stable.
    if order[:3] != [1, 2, 3] or order[-1] != 0 or 1 in order[1:]:
        problems.append(f"rig:state of undefended goes {order}, not 1, 2, 3 and back to 0")
    metastable = [at for at, state in seen["undefended"] if state == 3]
    if not metastable or not ended <= metastable[0] <= ended + 5 or metastable[-1] > moments["back"] + 1:
        problems.append("undefended is not metastable from the fault's end to the levers")
    if len(metastable) != metastable[-1] - metastable[0] + 1 if metastable else False:
        problems.append("undefended is not metastable throughout")
    # In the first second of the fault its capacity is cut and its users do not feel it yet.
    if not {state for _, state in seen["defended"]} <= {0, 1, 2}:
        problems.append("defended was metastable")
    late = [at for at, state in seen["defended"] if state and at > ended + 12]
    if late:
        problems.append(f"defended was degraded {late[-1] - ended:.0f} s after the fault")
    if {state for _, state in seen["three-layers"]} != {1}:
        problems.append("three-layers was not vulnerable throughout")
    return problems


def alerts(prometheus, moments):
    """Which alerts fired, and which must not have."""
    begin, end = moments["begin"], moments["end"]
    fired = {}
    for labels, points in prometheus.range('ALERTS{alertstate="firing"}', begin, end):
        fired[labels["alertname"], labels.get("arm", "")] = (points[0][0], points[-1][0])
    for (name, arm), (first, last) in sorted(fired.items(), key=lambda one: one[1]):
        print(f"fired: {name} {arm} from {first - moments['cut']:+.0f} s to {last - moments['cut']:+.0f} s")
    wanted = {(name, "undefended") for name in ALERTED} | ELSEWHERE
    problems = [f"{name} of {arm} did not fire" for name, arm in sorted(wanted - set(fired))]
    problems += [f"{name} of {arm} fired" for name, arm in sorted(set(fired) - wanted)]
    for name, arm in wanted & set(fired):
        if arm == "undefended" and fired[name, arm][1] > moments["back"] + 15:
            problems.append(f"{name} still fires 15 s after goodput is back")
    return problems


def catalogue(prometheus, moments):
    """What is exported is used by a panel or a rule, and what they use is exported or recorded."""
    found = prometheus.ask("label/__name__/values", start=moments["begin"], end=moments["end"])
    exported = {name for name in found if name.startswith("rig_")}
    recorded = {name for name in found if ":" in name}
    family = lambda name: next(
        (name.removesuffix(end) for end in ("_bucket", "_sum", "_count") if name.endswith(end)
         and name.removesuffix(end) + "_bucket" in exported), name,
    )
    texts = [path.read_text(encoding="utf-8") for folder, ending in (
        ("prometheus/rules", "*.yml"), ("grafana/dashboards", "*.json")) for path in (ROOT / folder).glob(ending)]
    used = set().union(*(names(text) for text in texts))
    problems = [f"{name} is exported, and no panel or rule uses it" for name in sorted(
        {family(name) for name in exported} - {family(name) for name in used})]
    problems += [f"{name} is used, and neither exported nor recorded" for name in sorted(used - exported - recorded)]
    return problems


def counters(rig, prometheus, arm, load, moments):
    """Over each phase the raw counter of good requests must rise by what the run log counts."""
    end = moments["end"]
    selector = f'rig_client_requests_total{{job="rig-client",arm="{arm}",outcome="good"}}'
    started = prometheus.at(f'rig_run_start_timestamp_seconds{{arm="{arm}"}}', end)[0][1]
    began, ended = (at - started for at in fault_times(prometheus, arm, end))
    lines = (rig.folder / f"{load}.windows.jsonl").read_text(encoding="utf-8").splitlines()
    windows = [json.loads(line) for line in lines]
    good = {window["second"]: window["good"] for window in windows}
    # Whole windows: those that the fault touches are the fault's.
    last = min(max(good), int(end - started) - 1)
    # The load is older than the first scrape.
    first = math.ceil(moments["begin"] - started)
    phases = [("baseline", first, int(began)), ("fault", int(began), math.ceil(ended)), ("after", math.ceil(ended), last)]
    problems = []
    for phase, first, until in phases:
        logged = sum(good[second] for second in range(first, until))
        samples = prometheus.samples(selector, started + first - 3, started + until)
        counted = value_at(samples, started + until) - value_at(samples, started + first)
        print(f"{arm} {phase}: {until - first} s, good {logged} in the run log, {counted:.1f} in Prometheus")
        if abs(counted - logged) >= 80:
            problems.append(f"{arm} {phase}: good differs by {counted - logged:.1f}, a second of load is 80")
    return problems


def value_at(samples, at):
    """A counter between two scrapes, by a straight line."""
    for (left, low), (right, high) in zip(samples, samples[1:]):
        if left <= at <= right:
            return low + (high - low) * (at - left) / (right - left)
    raise SystemExit(f"no scrapes around {at}")
