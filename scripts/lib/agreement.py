"""Compares runs on sockets with runs in virtual time: measure-agreement's other half.

    agreement.py GOODPUT CASES FOLDER SPEED

CASES holds scenario files; FOLDER gets the runs. Prints a row a case and the sums, and ends with 1 where a case differs.
"""

import json
import pathlib
import re
import statistics
import subprocess
import sys

SEEDS = 5
SHARE, DEVIATIONS = 0.05, 3.0
DELAY_SHARE, DELAY_SECONDS = 0.10, 0.020


def run(goodput, case, folder, *flags):
    """The verdict, the doubts and the run log of a run."""
    command = [goodput, "run", str(case), "--quiet", "--format", "json", "--out", str(folder), *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        result = json.loads(done.stdout)["runs"][0]
    except (ValueError, LookupError):
        sys.exit(f"{' '.join(command)}\n{done.stderr or done.stdout}")
    (log,) = folder.rglob("runlog*.json")
    return result["verdict"], result["doubts"], json.loads(log.read_text())


def sums(log):
    """What is compared within deviations."""
    tiers = [tier for window in log["windows"] for tier in window["tiers"]]
    return {
        "attempts": sum(window["client"]["attempts"] for window in log["windows"]),
        "refusals": sum(sum(tier["refused"].values()) for tier in tiers),
        "wasted work": sum(tier["busy_wasted"] for tier in tiers),
    }


def delays(log):
    """Of each tier the mean of the seconds' median queue delays, each by how many it is of."""
    found = {}
    for window in log["windows"]:
        for tier in window["tiers"]:
            delay = tier["queue_delay"]
            count, total = found.get(tier["name"], (0, 0.0))
            found[tier["name"]] = count + delay["count"], total + delay["count"] * delay["p50"]
    return {name: total / count for name, (count, total) in found.items() if count}


def differences(rig, simulated):
    """What differs by more than it may, in words; `simulated` begins with the run of the same seed."""
    wrong = []
    for name, measured in sums(rig).items():
        values = [sums(log)[name] for log in simulated]
        mean, deviation = statistics.mean(values), statistics.stdev(values)
        if abs(measured - mean) > max(SHARE * mean, DEVIATIONS * deviation):
            wrong.append(f"{name} {measured:.4g}, simulated {mean:.4g} ± {deviation:.2g}")
    seen, predicted = delays(rig), delays(simulated[0])
    for name in sorted(seen.keys() | predicted.keys()):
        measured, value = seen.get(name, 0.0), predicted.get(name, 0.0)
        if abs(measured - value) > max(DELAY_SHARE * value, DELAY_SECONDS):
            wrong.append(f"queue delay of {name} {measured * 1e3:.0f} ms, simulated {value * 1e3:.0f} ms")
    return wrong


def main():
    goodput, cases, folder, speed = sys.argv[1:]
    folder = pathlib.Path(folder)
    compared = agreed = left_out = wrong = 0
    for case in sorted(pathlib.Path(cases).glob("*.toml"), key=lambda path: int(path.stem)):
        seed = int(re.search(r"^seed = (\d+)", case.read_text(), re.MULTILINE).group(1))
        simulated = [
            run(goodput, case, folder / f"{case.stem}-{step}", "--engine", "simulator", "--seed", str(seed + step))
            for step in range(SEEDS)
        ]
        verdicts = {verdict for verdict, _, _ in simulated}
        if len(verdicts) > 1:
            left_out += 1
            print(f"{case.stem:>5}  left out, seeds differ: {', '.join(sorted(verdicts))}", flush=True)
            continue
        (verdict,) = verdicts
        measured, doubts, log = run(goodput, case, folder / f"{case.stem}-rig", "--speed", speed)
        found = differences(log, [log for _, _, log in simulated])
        if measured != verdict:
            reasons = "; ".join(doubt["text"] for doubt in doubts)
            found.insert(0, f"{measured} on sockets{': ' if reasons else ''}{reasons}")
        compared += 1
        agreed += measured == verdict
        wrong += bool(found)
        print(f"{case.stem:>5}  {verdict:14} {'; '.join(found) or 'agrees'}", flush=True)
    print(f"\nThe verdicts agree in {agreed} of {compared}; {wrong} differ in it or in a figure; {left_out} left out.")
    sys.exit(1 if wrong else 0)


main()
