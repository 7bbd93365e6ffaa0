"""Lints dashboards of Grafana's classic format, and the provisioning that brings them in.

Each rule guards against a fault that others have met: see the comments. Standard library only.
"""

import json
import re

# Units that are used here; a misspelt one is shown as a suffix, without a word of warning.
UNITS = {"reqps", "s", "percentunit", "none", "short", "bytes", "dateTimeAsIso"}
KINDS = {"stat", "timeseries", "state-timeline", "heatmap", "table", "alertlist"}
# Panels of these kinds say what their numbers are by mappings or by an axis of their own.
WITHOUT_UNIT = {"state-timeline", "heatmap", "table", "alertlist"}


def lint(path, problems):
    """Appends what is wrong with one file to `problems`, and returns the dashboard."""
    say = lambda problem: problems.append(f"{path.name}: {problem}")
    text = path.read_text(encoding="utf-8")
    dashboard = json.loads(text)
    # File provisioning reads the classic format only; v2 is what Grafana 13 exports.
    for key in ("apiVersion", "kind", "spec", "elements", "layout"):
        if key in dashboard:
            say(f"`{key}` is of the v2 format, which file provisioning refuses")
    # Left over from "export for sharing"; provisioning does not resolve it, and panels stay empty.
    if "__inputs" in dashboard or "${DS_" in text:
        say("`__inputs` or `${DS_…}` comes from an export for sharing")
    head(dashboard, say)
    variables(dashboard, say)
    for one in dashboard["annotations"]["list"]:
        if not one.get("builtIn"):
            annotation(one, say)
    layout(dashboard["panels"], say)
    for each in dashboard["panels"]:
        panel(each, say)
    return dashboard


def head(dashboard, say):
    for key in ("uid", "title", "description", "tags", "refresh"):
        if not dashboard.get(key):
            say(f"`{key}` is missing")
    if len(dashboard.get("uid", "")) > 40:
        say("`uid` is longer than 40 characters")
    # A newer number than the server knows is not migrated; 41 is read from 11.6 on.
    if not isinstance(dashboard.get("schemaVersion"), int) or not 36 <= dashboard["schemaVersion"] <= 42:
        say("`schemaVersion` is a whole number from 36 to 42")
    # Blank means the browser's, and figures would not match logs and reports.
    if dashboard.get("timezone") != "utc":
        say("`timezone` is not utc")
    if dashboard.get("editable") is not False or dashboard.get("id") is not None:
        say("`editable` is not false, or `id` not null: the file is what counts")


def variables(dashboard, say):
    sources = [one for one in dashboard["templating"]["list"] if one["type"] == "datasource"]
    if [one["name"] for one in sources] != ["datasource"] or sources[0]["current"]["value"] != "prometheus":
        say("there is not exactly one variable `datasource`, at `prometheus`")
    for one in dashboard["templating"]["list"]:
        if one["type"] != "query":
            continue
        # 1 leaves it empty after a cold start.
        if one["refresh"] != 2:
            say(f"variable {one['name']}: `refresh` is not 2, on time range change")
        if one["definition"] != one["query"]["query"]:
            say(f"variable {one['name']}: `definition` and `query` differ")
        if one["includeAll"] and one.get("allValue") != ".+":
            say(f"variable {one['name']}: `allValue` is not `.+`")
        if one["datasource"].get("uid") != "${datasource}":
            say(f"variable {one['name']}: the data source is wired in")


def annotation(one, say):
    # What the plug-in runs is `target.expr`; older ones read `expr`.
    if one["expr"] != one["target"]["expr"]:
        say(f"annotation {one['name']}: `expr` and `target.expr` differ")
    # Without a step of one second two faults 30 s apart are drawn as one.
    if one.get("step") != "1s" or one["target"].get("interval") != "1s":
        say(f"annotation {one['name']}: the step is not 1s")
    if one["datasource"].get("uid") != "${datasource}":
        say(f"annotation {one['name']}: the data source is wired in")


def layout(panels, say):
    ids = [one["id"] for one in panels]
    if len(ids) != len(set(ids)):
        say("panel ids are not unique")
    titles = [one["title"] for one in panels]
    if len(titles) != len(set(titles)):
        say("panel titles are not unique")
    taken = {}
    for one in panels:
        at = one["gridPos"]
        if at["x"] < 0 or at["w"] < 1 or at["h"] < 1 or at["x"] + at["w"] > 24:
            say(f"panel {one['title']}: not within 24 columns")
        for x in range(at["x"], at["x"] + at["w"]):
            for y in range(at["y"], at["y"] + at["h"]):
                if (x, y) in taken:
                    say(f"panel {one['title']}: overlaps {taken[x, y]}")
                    return
                taken[x, y] = one["title"]


def panel(one, say):
    name, kind = f"panel {one['title']}", one["type"]
    if kind not in KINDS:
        say(f"{name}: `{kind}` is not among {sorted(KINDS)}")
    if len(one.get("description", "")) < 60:
        say(f"{name}: the description does not say what to read from it")
    unit = one["fieldConfig"]["defaults"].get("unit")
    mapped = one["fieldConfig"]["defaults"].get("mappings")
    if unit is None and not mapped and kind not in WITHOUT_UNIT:
        say(f"{name}: no unit")
    properties = [p for o in one["fieldConfig"]["overrides"] for p in o["properties"]]
    for used in [unit, *(p["value"] for p in properties if p["id"] == "unit")]:
        if used is not None and used not in UNITS:
            say(f"{name}: unknown unit `{used}`")
    for part in (one, *one["targets"]):
        if part["datasource"].get("uid") != "${datasource}":
            say(f"{name}: the data source is wired in")
    # A floor on the step that does not follow the data source hides seconds.
    if "interval" in one or "maxDataPoints" in one:
        say(f"{name}: `interval` and `maxDataPoints` are left to the data source")
    if not one["targets"] and kind != "alertlist":
        say(f"{name}: no query")
    refs = [target["refId"] for target in one["targets"]]
    if len(refs) != len(set(refs)):
        say(f"{name}: refIds are not unique")
    for target in one["targets"]:
        query(name, kind, target, say)
    if kind == "heatmap" and one["options"].get("calculate") is not False:
        say(f"{name}: a heatmap of buckets does not calculate")


def query(name, kind, target, say):
    expr = target["expr"]
    if kind == "heatmap" and (target["format"] != "heatmap" or target["legendFormat"] != "{{le}}"):
        say(f"{name}: a heatmap needs the format heatmap and the legend {{{{le}}}}")
    if target["instant"] == target["range"]:
        say(f"{name}: a query is either instant or over a range")
    # 3.x stores le="1.0" where 2.42 stores le="1".
    if re.search(r'le=~?"\d', expr):
        say(f"{name}: matches a bucket by its text: {expr}")
    # A fixed window hides seconds when the range is short; the process collector counts whole seconds.
    for window in re.findall(r"(?:rate|irate|increase)\([^()]*\[([^\]]+)\]", expr):
        if window != "$__rate_interval" and "process_cpu_seconds_total" not in expr:
            say(f"{name}: a rate over `{window}`, not over `$__rate_interval`: {expr}")
    bare = re.sub(r"(?:rate|irate|increase)\([^()]*\)", "", expr)
    if re.search(r"\b[a-z_]+_total\b(?!\w)", bare) and "injector" not in bare:
        say(f"{name}: a counter that is not under a rate: {expr}")
    unknown = set(re.findall(r"\$\{?(\w+)", expr)) - {"arm", "layer", "datasource", "__rate_interval"}
    if unknown:
        say(f"{name}: unknown variable {sorted(unknown)}")


def provisioning(root, dashboards, problems):
    """What the files around the dashboards must agree on."""
    source = (root / "grafana/provisioning/datasources/prometheus.yml").read_text(encoding="utf-8")
    scrape = (root / "prometheus/prometheus.yml").read_text(encoding="utf-8")
    # Grafana makes a uid up where there is none, and every panel is empty without an error.
    if not re.search(r"^ *uid: prometheus$", source, re.M):
        problems.append("datasources/prometheus.yml: the uid is not `prometheus`")
    interval = re.search(r"^ *timeInterval: (\S+)$", source, re.M)
    scraped = re.search(r"^ *scrape_interval: (\S+)$", scrape, re.M)
    # Longer hides a trigger of 20 s in averages of a minute; shorter shows no data.
    if not interval or not scraped or interval[1] != scraped[1]:
        problems.append("datasources/prometheus.yml: `timeInterval` is not the scrape interval")
    for what in ("uid", "title"):
        values = [one[what] for one in dashboards]
        # Two of one name in a folder, and the provider saves nothing any more.
        if len(values) != len(set(values)):
            problems.append(f"dashboards: a {what} is there twice: {values}")
    home = (root / "docker-compose.yml").read_text(encoding="utf-8")
    path = re.search(r"GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH: \S*/([\w-]+)\.json", home)
    if not path or path[1] not in {one["uid"] for one in dashboards}:
        problems.append("docker-compose.yml: the home page is not a dashboard of grafana/dashboards")
