"""Breaks a dashboard in every way that the lint is there for, and says what it did not notice."""

import copy
import json
import pathlib
import tempfile

import lint


def broken():
    """What to break, by the words that the lint must find for it."""
    return {
        "v2 format": lambda d: d.update(apiVersion="dashboard.grafana.app/v2"),
        "export for sharing": lambda d: d.update(__inputs=[]),
        "`schemaVersion`": lambda d: d.update(schemaVersion="41"),
        "`timezone`": lambda d: d.update(timezone=""),
        "not unique": lambda d: d["panels"][1].update(id=d["panels"][0]["id"]),
        "overlaps": lambda d: d["panels"][1]["gridPos"].update(x=0),
        "24 columns": lambda d: d["panels"][7]["gridPos"].update(w=25),
        "description": lambda d: d["panels"][3].update(description="Utilisation."),
        "no unit": lambda d: d["panels"][1]["fieldConfig"]["defaults"].pop("unit"),
        "unknown unit": lambda d: d["panels"][1]["fieldConfig"]["defaults"].update(unit="req/s"),
        "wired in": lambda d: d["panels"][1]["targets"][0].update(datasource={"uid": "prometheus"}),
        "`interval`": lambda d: d["panels"][1].update(interval="15s"),
        "no query": lambda d: d["panels"][1].update(targets=[]),
        "heatmap": lambda d: of_kind(d, "heatmap")["targets"][0].update(format="time_series"),
        "by its text": lambda d: d["panels"][1]["targets"][0].update(expr='rate(x_bucket{le="1"}[$__rate_interval])'),
        "not over `$__rate_interval`": lambda d: d["panels"][1]["targets"][0].update(expr="rate(x_total[1m])"),
        "not under a rate": lambda d: d["panels"][1]["targets"][0].update(expr="sum(x_total)"),
        "unknown variable": lambda d: d["panels"][1]["targets"][0].update(expr='x{a="$tier"}'),
        "`refresh`": lambda d: d["templating"]["list"][1].update(refresh=1),
        "step": lambda d: d["annotations"]["list"][1].pop("step"),
        "`target.expr`": lambda d: d["annotations"]["list"][1].update(expr="up"),
    }


def of_kind(dashboard, kind):
    return next(panel for panel in dashboard["panels"] if panel["type"] == kind)


def misses(path):
    """What the lint does not notice in copies of the dashboard at `path`."""
    good = json.loads(path.read_text(encoding="utf-8"))
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        for words, harm in broken().items():
            bad = copy.deepcopy(good)
            harm(bad)
            file = pathlib.Path(folder) / "broken.json"
            file.write_text(json.dumps(bad), encoding="utf-8")
            problems = []
            lint.lint(file, problems)
            if not any(words in problem for problem in problems):
                missed.append(f"the lint does not notice: {words}; it says {problems}")
    return missed
