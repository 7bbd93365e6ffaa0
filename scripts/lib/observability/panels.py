"""Building blocks of Grafana's classic dashboard format (what file provisioning reads)."""

SCHEMA_VERSION = 41
DATA_SOURCE = {"type": "prometheus", "uid": "${datasource}"}

COLOURS = {
    "offered": "text",
    "throughput": "blue",
    "goodput": "green",
    "capacity": "purple",
    "safe capacity C/k": "yellow",
    "good": "green",
    "ok": "green",
    "timeout": "red",
    "late": "dark-red",
    "shed": "orange",
    "error": "purple",
    "given_up": "text",
    "wasted work": "red",
    "utilisation": "blue",
    "admitted": "text",
    "smallest time-out": "red",
}
DASHED = {"offered", "capacity", "safe capacity C/k", "smallest time-out", "limit", "slots", "bound", "admitted"}

STATES = [("stable", "green"), ("vulnerable", "yellow"), ("degraded", "orange"), ("METASTABLE", "red")]
PHASES = [("before the fault", "blue"), ("fault", "red"), ("after the fault", "semi-dark-blue")]


def mappings(names):
    options = {
        str(value): {"text": text, "color": colour, "index": value}
        for value, (text, colour) in enumerate(names)
    }
    return [{"type": "value", "options": options}]


def steps(*pairs):
    """Thresholds from pairs of (from, colour); the first is the base."""
    return {
        "mode": "absolute",
        "steps": [{"color": colour, "value": value} for value, colour in pairs],
    }


def query(expr, legend, instant=False, form="time_series"):
    return {"expr": " ".join(expr.split()), "legend": legend, "instant": instant, "format": form}


class Board:
    """Lays panels out from left to right and top to bottom on 24 columns."""

    def __init__(self):
        self.panels = []
        self.x = self.y = self.line = 0

    def add(self, kind, title, text, size, queries, **parts):
        """Adds a panel; `text` says what a person on call reads from it."""
        width, height = size
        if self.x + width > 24:
            self.x, self.y = 0, self.y + self.line
            self.line = 0
        panel = {
            "id": len(self.panels) + 1,
            "type": kind,
            "title": title,
            "description": " ".join(text.split()),
            "datasource": DATA_SOURCE,
            "gridPos": {"x": self.x, "y": self.y, "w": width, "h": height},
            "fieldConfig": {"defaults": parts.pop("defaults", {}), "overrides": []},
            "options": parts.pop("options", {}),
            "targets": [target(index, one) for index, one in enumerate(queries)],
        }
        panel["fieldConfig"]["overrides"] = parts.pop("overrides", [])
        panel.update(parts)
        self.panels.append(panel)
        self.x, self.line = self.x + width, max(self.line, height)

    def row(self):
        """Begins a new line."""
        self.x, self.y, self.line = 0, self.y + self.line, 0

    def stat(self, title, text, size, expr, unit=None, names=None, limits=None, decimals=None):
        defaults = {"color": {"mode": "thresholds"}, "noValue": "–"}
        if names:
            defaults["mappings"] = mappings(names)
            limits = list(enumerate(colour for _, colour in names))
            limits[0] = (None, limits[0][1])
        defaults["thresholds"] = steps(*(limits or [(None, "blue")]))
        if unit:
            defaults["unit"] = unit
        if decimals is not None:
            defaults["decimals"] = decimals
        options = {
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
            "colorMode": "background" if names else "value",
            "graphMode": "none" if names else "area",
            "textMode": "value",
            "justifyMode": "center",
            "orientation": "auto",
        }
        self.add("stat", title, text, size, [query(expr, title.lower())], defaults=defaults, options=options)

    def lines(self, title, text, size, unit, queries, stacked=False, log=False, **limits):
        custom = {
            "drawStyle": "line",
            "lineInterpolation": "linear",
            "lineWidth": 2,
            "fillOpacity": 50 if stacked else 8,
            "showPoints": "never",
            # A missed scrape is no gap; an outage is.
            "spanNulls": 3000,
            "stacking": {"mode": "normal" if stacked else "none", "group": "A"},
            "thresholdsStyle": {"mode": "off"},
        }
        if log:
            custom["scaleDistribution"] = {"type": "log", "log": 10}
        defaults = {"unit": unit, "color": {"mode": "palette-classic"}, "custom": custom}
        if not log:
            defaults["min"] = 0
        no_value = limits.pop("no_value", None)
        if no_value:
            defaults["noValue"] = no_value
        defaults.update(limits)
        names = {one["legend"] for one in queries} | (set(COLOURS) if any("{{" in one["legend"] for one in queries) else set())
        overrides = [override for name in sorted(names) if (override := look(name))]
        options = {
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
            "tooltip": {"mode": "multi", "sort": "desc"},
        }
        self.add("timeseries", title, text, size, queries, defaults=defaults, overrides=overrides, options=options)

    def states(self, title, text, size, queries, names, other=None, no_value=None):
        """Bars of states over time; `other` gives series of a legend names of their own."""
        limits = [(None if index == 0 else index, colour) for index, (_, colour) in enumerate(names)]
        defaults = {
            "mappings": mappings(names),
            "thresholds": steps(*limits),
            "color": {"mode": "thresholds"},
            "custom": {"lineWidth": 0, "fillOpacity": 80, "spanNulls": 3000},
        }
        if no_value:
            defaults["noValue"] = no_value
        overrides = [
            {
                "matcher": {"id": "byName", "options": legend},
                "properties": [{"id": "mappings", "value": mappings(own)}],
            }
            for legend, own in (other or {}).items()
        ]
        options = {
            "mergeValues": True,
            "showValue": "auto",
            "alignValue": "center",
            "rowHeight": 0.85,
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": False},
            "tooltip": {"mode": "single", "sort": "none"},
        }
        self.add("state-timeline", title, text, size, queries, defaults=defaults, overrides=overrides, options=options)

    def heatmap(self, title, text, size, expr):
        options = {
            "calculate": False,
            "cellGap": 1,
            "cellValues": {"unit": "reqps"},
            "color": {
                "mode": "scheme",
                "scheme": "Turbo",
                "steps": 64,
                "exponent": 0.5,
                "fill": "dark-orange",
                "reverse": False,
                "scale": "exponential",
            },
            "filterValues": {"le": 1e-9},
            "rowsFrame": {"layout": "auto"},
            "yAxis": {"axisPlacement": "left", "unit": "s", "reverse": False},
            "exemplars": {"color": "rgba(255,0,255,0.7)"},
            "legend": {"show": True},
            "tooltip": {"mode": "single", "yHistogram": True, "showColorScale": True},
            "showValue": "never",
        }
        custom = {
            "scaleDistribution": {"type": "linear"},
            "hideFrom": {"legend": False, "tooltip": False, "viz": False},
        }
        self.add(
            "heatmap", title, text, size, [query(expr, "{{le}}", form="heatmap")],
            defaults={"custom": custom}, options=options,
        )

    def table(self, title, text, size, queries, transformations, overrides):
        options = {"showHeader": True, "cellHeight": "sm"}
        self.add(
            "table", title, text, size, queries, defaults={"custom": {"align": "auto"}},
            options=options, overrides=overrides, transformations=transformations,
        )


def target(index, one):
    return {
        "refId": chr(ord("A") + index),
        "datasource": DATA_SOURCE,
        "editorMode": "code",
        "expr": one["expr"],
        "legendFormat": one["legend"],
        "range": not one["instant"],
        "instant": one["instant"],
        "format": one["format"],
    }


def look(name):
    """The same series looks the same in every panel."""
    properties = []
    if name in COLOURS:
        properties.append({"id": "color", "value": {"mode": "fixed", "fixedColor": COLOURS[name]}})
    if name in DASHED:
        properties.append({"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [8, 6]}})
        properties.append({"id": "custom.fillOpacity", "value": 0})
    return {"matcher": {"id": "byName", "options": name}, "properties": properties} if properties else None


def variable(name, label, source, chosen, many):
    """A query variable; `source` is a `label_values(…)`."""
    current = ["$__all"] if many and chosen is None else chosen
    text = ["All"] if many and chosen is None else chosen
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": DATA_SOURCE,
        "definition": source,
        "query": {"query": source, "refId": "PrometheusVariableQueryEditor-VariableQuery", "qryType": 1},
        "current": {"selected": True, "text": text, "value": current},
        "includeAll": many,
        "multi": many,
        **({"allValue": ".+"} if many else {}),
        "options": [],
        "refresh": 2,
        "regex": "",
        "sort": 1,
        "hide": 0,
    }


def annotation(name, colour, expr, title, text, keys):
    """Points above 0 that touch merge into one region."""
    return {
        "name": name,
        "datasource": DATA_SOURCE,
        "enable": True,
        "hide": False,
        "iconColor": colour,
        "expr": expr,
        # Regions whose gap is at most a step merge: two faults must not.
        "step": "1s",
        "titleFormat": title,
        "textFormat": text,
        "tagKeys": keys,
        "useValueForTime": False,
        "target": {"expr": expr, "interval": "1s", "refId": "Anno", "range": True},
    }


def dashboard(uid, title, text, board, variables, annotations, links):
    source = {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "current": {"selected": True, "text": "Prometheus", "value": "prometheus"},
        "hide": 0,
        "includeAll": False,
        "multi": False,
        "options": [],
        "refresh": 1,
        "regex": "",
    }
    built_in = {
        "builtIn": 1,
        "datasource": {"type": "grafana", "uid": "-- Grafana --"},
        "enable": True,
        "hide": True,
        "iconColor": "rgba(0, 211, 255, 1)",
        "name": "Annotations & Alerts",
        "type": "dashboard",
    }
    return {
        "uid": uid,
        "title": title,
        "description": text,
        "tags": ["goodput", "metastable"],
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        "id": None,
        "editable": False,
        "graphTooltip": 1,
        "refresh": "5s",
        "timezone": "utc",
        "time": {"from": "now-15m", "to": "now"},
        "timepicker": {"refresh_intervals": ["1s", "5s", "10s", "30s", "1m"]},
        "fiscalYearStartMonth": 0,
        "links": links,
        "templating": {"list": [source, *variables]},
        "annotations": {"list": [built_in, *annotations]},
        "panels": board.panels,
    }


def link(title, uid):
    return {
        "title": title,
        "type": "link",
        "url": f"/d/{uid}",
        "icon": "dashboard",
        "asDropdown": False,
        "includeVars": False,
        "keepTime": True,
        "tags": [],
        "targetBlank": False,
        "tooltip": "",
    }
