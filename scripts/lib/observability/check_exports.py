"""That every rule and alert has its test, and that promtool finds nothing in what is exported."""

import re
import subprocess
import sys
import tempfile

from rig import ROOT, Rig, build


def untested():
    """Recording rules that no test expects a sample of, and alerts not tested both ways."""
    read = lambda folder: "\n".join(
        path.read_text(encoding="utf-8") for path in sorted((ROOT / "prometheus" / folder).glob("*.yml"))
    )
    rules, tests = read("rules"), read("tests")
    missing = []
    for record in re.findall(r"- record: (\S+)", rules):
        if not re.search(rf"expr: '?(?:round\()?{re.escape(record)}\b", tests):
            missing.append(f"no test expects a sample of {record}")
    for alert in re.findall(r"- alert: (\S+)", rules):
        if not re.search(rf"alertname: {alert}, exp_alerts: \[\]", tests):
            missing.append(f"no test has {alert} stay silent")
        if not re.search(rf"alertname: {alert}\n +exp_alerts:\n +- exp_labels", tests):
            missing.append(f"no test has {alert} fire")
    for alert in re.split(r"(?=- alert: )", rules)[1:]:
        if "goodput lever" not in alert and "Lever" not in alert and "lever" not in alert:
            missing.append(f"no lever in the runbook of {alert.split()[2]}")
    return missing


def exports():
    """The metrics of each kind of process, by name."""
    with tempfile.TemporaryDirectory() as folder, Rig(build(), folder) as rig:
        data, control = rig.serve("order-status", "--capacity=1000")
        edge, gateway = rig.serve("gateway", "--role=gateway", f"--upstream=http://{data}")
        load = rig.load("load-generator", edge, "--rate=20", "--duration=1h")
        injector = rig.injector("fault-injector", {"order-status": control})
        planes = {
            "order-status": control, "gateway": gateway, "load-generator": load, "fault-injector": injector,
        }
        return {name: rig.ask(address, "/metrics") for name, address in planes.items()}


def main():
    problems = untested()
    for name, text in exports().items():
        checked = subprocess.run(
            ["promtool", "check", "metrics"], input=text, text=True, capture_output=True, check=False
        )
        series = sum(not line.startswith("#") for line in text.splitlines())
        print(f"{name}: {series} series, {len(text) // 1000} kB")
        found = (checked.stdout + checked.stderr).strip()
        problems.extend(f"{name}: {line}" for line in found.splitlines())
        if checked.returncode and not found:
            problems.append(f"{name}: promtool check metrics exits with {checked.returncode}")
        # Infinity has one spelling in the format.
        problems.extend(
            f"{name}: {line}" for line in text.splitlines() if re.search(r" [-+]?inf$| NaN$", line)
        )
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
