"""Evaluates what a dashboard asks, as Grafana would, and says what would be empty or NaN on it."""

import json
import math
import re

# Grafana's $__rate_interval for a scrape every second and a step of one second.
RATE_INTERVAL = "4s"


class Evaluation:
    """One dashboard over one range of time, with values for its variables."""

    def __init__(self, prometheus, path, begin, end, **chosen):
        self.prometheus, self.begin, self.end = prometheus, begin, end
        self.board = json.loads(path.read_text(encoding="utf-8"))
        self.chosen = {"datasource": "prometheus", "__rate_interval": RATE_INTERVAL, **chosen}
        self.problems, self.frames = [], {}

    def substitute(self, expr):
        """The expression with its variables put in; a multiple choice as Grafana joins it."""
        def value(name):
            chosen = self.chosen[name]
            return "(" + "|".join(chosen) + ")" if isinstance(chosen, list) else chosen

        return re.sub(r"\$\{?(\w+)\}?", lambda found: value(found[1]), expr)

    def everything(self):
        """Evaluates variables, panels and annotations; returns how many queries that were."""
        count = 0
        for variable in self.board["templating"]["list"]:
            if variable["type"] == "query":
                self.variable(variable)
                count += 1
        for panel in self.board["panels"]:
            for target in panel["targets"]:
                self.target(panel, target)
                count += 1
        for annotation in self.board["annotations"]["list"]:
            if not annotation.get("builtIn"):
                self.regions(annotation["name"])
                count += 1
        return count

    def variable(self, variable):
        selector, label = re.fullmatch(r"label_values\((.+), *(\w+)\)", variable["definition"]).groups()
        values = self.prometheus.ask(
            f"label/{label}/values", start=self.begin, end=self.end, **{"match[]": self.substitute(selector)}
        )
        if not values:
            self.problems.append(f"variable {variable['name']} has no values")
        return values

    def target(self, panel, target):
        expr = self.substitute(target["expr"])
        where = f"{self.board['uid']} / {panel['title']} {target['refId']} ({expr})"
        if target["instant"]:
            series = [(labels, [(self.end, value)]) for labels, value in self.prometheus.at(expr, self.end)]
            steps = 1
        else:
            series = self.prometheus.range(expr, self.begin, self.end)
            steps = self.end - self.begin + 1
        values = [value for _, points in series for _, value in points]
        if not values:
            self.problems.append(f"{where}: empty")
        elif any(math.isnan(value) or math.isinf(value) for value in values):
            self.problems.append(f"{where}: NaN or infinite")
        elif not is_filter(expr) and len({at for _, points in series for at, _ in points}) < steps / 2:
            self.problems.append(f"{where}: empty for more than half of the time")
        self.frames[f"{panel['id']}{target['refId']}"] = series

    def regions(self, name):
        """The regions that an annotation draws, merged as Grafana's Prometheus plug-in merges points."""
        annotation = next(one for one in self.board["annotations"]["list"] if one["name"] == name)
        regions = []
        for labels, points in self.prometheus.range(
            self.substitute(annotation["target"]["expr"]), self.begin, self.end
        ):
            current = None
            for at, value in points:
                if value <= 0:
                    continue
                if current and current["to"] + 1 >= at:
                    current["to"] = at
                else:
                    current = {"labels": labels, "from": at, "to": at}
                    regions.append(current)
        if not regions:
            self.problems.append(f"{self.board['uid']}: the annotation {name} draws nothing")
        return regions


def is_filter(expr):
    """Whether an expression is there for a part of the time only, on purpose."""
    return "ALERTS" in expr or "< Inf" in expr or expr.endswith("> 0")


def names(text):
    """The metrics and recorded series that an expression or a file of rules mentions."""
    return set(re.findall(r"\b((?:rig|layer):[\w:]+|rig_\w+)", text))
