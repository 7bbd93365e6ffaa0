"""A real Prometheus on loopback with the repository's own configuration, and questions to it."""

import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request

from rig import ROOT, free_port


class Prometheus:
    """Scrapes the addresses that stand for the services of prometheus.yml."""

    def __init__(self, rig, addresses):
        port = free_port()
        self.base = f"http://127.0.0.1:{port}"
        config = rig.folder / "prometheus.yml"
        config.write_text(configuration(rig, {**addresses, "localhost:9090": f"127.0.0.1:{port}"}), encoding="utf-8")
        rig.start(
            "prometheus", "prometheus", f"--config.file={config}", f"--storage.tsdb.path={rig.folder}/tsdb",
            f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn",
        )
        until = time.monotonic() + 20
        while time.monotonic() < until:
            try:
                urllib.request.urlopen(f"{self.base}/-/ready", timeout=1).close()
                return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        raise SystemExit((rig.folder / "prometheus.log").read_text(encoding="utf-8"))

    def ask(self, path, **parameters):
        text = urllib.parse.urlencode(parameters)
        try:
            with urllib.request.urlopen(f"{self.base}/api/v1/{path}?{text}", timeout=30) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as refused:
            problem = refused.read().decode()
            raise SystemExit(f"prometheus: {parameters.get('query', path)}: {problem}") from refused

    def range(self, expr, begin, end, step=1):
        """Series as pairs of labels and [(time, value)]."""
        found = self.ask("query_range", query=expr, start=begin, end=end, step=step)["result"]
        return [(one["metric"], [(at, float(value)) for at, value in one["values"]]) for one in found]

    def at(self, expr, time):
        """Series as pairs of labels and value at one moment."""
        found = self.ask("query", query=expr, time=time)["result"]
        return [(one["metric"], float(one["value"][1])) for one in found]

    def samples(self, selector, begin, end):
        """The raw samples of one series, as they were scraped."""
        seconds = int(end - begin) + 3
        found = self.ask("query", query=f"{selector}[{seconds}s]", time=end + 2)["result"]
        if len(found) != 1:
            raise SystemExit(f"{selector}: {len(found)} series, not one")
        return [(at, float(value)) for at, value in found[0]["values"]]

    def wait(self, expr, patience, what):
        """Waits until `expr` has a result; returns how long that took."""
        began = time.monotonic()
        while time.monotonic() < began + patience:
            if self.at(expr, time.time()):
                return time.monotonic() - began
            time.sleep(0.5)
        raise SystemExit(f"not within {patience} s: {what} ({expr})")


def configuration(rig, addresses):
    """prometheus.yml with other addresses, token and folder of rules, and nothing else changed."""
    text = (ROOT / "prometheus/prometheus.yml").read_text(encoding="utf-8")
    for service in re.findall(r"targets: \[(\S+)\]", text):
        if service not in addresses:
            raise SystemExit(f"prometheus.yml scrapes {service}, which is not started here")
        text = text.replace(f"[{service}]", f"[{addresses[service]}]")
    text = text.replace("/run/goodput/token", str(rig.token_file))
    return text.replace("rules/*.yml", str(ROOT / "prometheus/rules/*.yml"))
