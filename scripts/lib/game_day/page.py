"""The report as one HTML page that needs nothing else: no script, no font, no network."""

import json
from html import escape

from . import findings, text
from .chart import chart
from .series import Series

STYLE = """
:root { color-scheme: light dark; --page: #f7f7f5; --card: #fff; --text: #1b1f24; --muted: #59636e;
  --line: #dfe2e6; --good: #00795c; --served: #0a66b0; --offered: #5b6470; --wasted: #c24a00;
  --attempts: #7a4fb5; --alert: #b3261e; --shade: rgba(194, 74, 0, .12); }
@media (prefers-color-scheme: dark) { :root { --page: #111417; --card: #191d21; --text: #e9ecef;
  --muted: #a0aab4; --line: #2e343a; --good: #2fc79c; --served: #5fb0f0; --offered: #a9b2bc;
  --wasted: #ff8a4a; --attempts: #b796ea; --alert: #ff7b72; --shade: rgba(255, 138, 74, .16); } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 28px 20px 64px; }
h1 { font-size: 1.15rem; } h2 { font-size: 1.25rem; margin: 40px 0 12px; }
h3 { font-size: 1.05rem; margin: 24px 0 8px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 16px 20px; }
.outcome { border-left: 8px solid var(--tone); }
.outcome strong { color: var(--tone); font-size: 1.6rem; line-height: 1.2; }
.outcome strong::first-letter { text-transform: uppercase; }
.recovered { --tone: var(--good); } .not-recovered { --tone: var(--wasted); }
.aborted, .inconclusive, .cut-short, .unusable { --tone: var(--attempts); }
.muted { color: var(--muted); } .scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: 7px 12px;
  border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
thead th { color: var(--muted); font-weight: 600; font-size: .82rem; overflow-wrap: normal; }
tbody th { font-weight: 600; }
.w { white-space: nowrap; font-variant-numeric: tabular-nums; }
.yes { color: var(--good); font-weight: 600; } .no { color: var(--wasted); font-weight: 600; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: .84rem; }
svg { display: block; width: 100%; height: auto; min-width: 640px; }
svg text { font-size: 12px; fill: var(--muted); }
svg .y { text-anchor: end; } svg .x { text-anchor: middle; } svg .grid { stroke: var(--line); }
svg .shade { fill: var(--shade); } svg .title { fill: var(--text); }
svg .line { fill: none; stroke: var(--ink); stroke-width: 1.8; stroke-linejoin: round; }
svg .end { fill: var(--ink); font-weight: 600; }
svg .offered { --ink: var(--offered); }
svg .line.offered { stroke-dasharray: 5 4; stroke-width: 1.1; }
svg .served { --ink: var(--served); } svg .good { --ink: var(--good); }
svg .attempts { --ink: var(--attempts); }
svg .mark path { stroke: var(--ink); stroke-width: 1.3; } svg .mark text { fill: var(--ink); }
svg .mark.fault { --ink: var(--wasted); } svg .mark.lever { --ink: var(--attempts); }
svg .mark.alert { --ink: var(--alert); } svg .mark.person { --ink: var(--text); }
svg .mark.alert path { stroke-dasharray: 2 4; }
"""


def page(taken, figures):
    """The whole page."""
    title = f"Game day of {figures['began']}"
    parts = [head(taken, figures), *pictures(taken, figures), figures_part(figures),
             levers_part(figures), alerts_part(figures), timeline_part(taken),
             sheets_part(figures), conditions_part(taken)]
    return (f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
            f"<h1>{escape(title)}</h1>\n" + "\n".join(parts) + "\n</main>\n</body>\n</html>\n")


def head(taken, figures):
    link = findings.dashboard(taken)
    word = findings.OUTCOMES.get(figures["outcome"], figures["outcome"])
    return (f'<section class="card outcome {escape(figures["outcome"])}">'
            f"<strong>{escape(word)}</strong>"
            f"<p>{escape(capital(figures['ended']))}. "
            f"{escape(findings.reverted_words(figures))}</p>"
            f"<p><b>Hypothesis:</b> {escape(figures['hypothesis'])}</p>"
            f'<p class="muted">{escape(taken.settings["vulnerability"])}</p>'
            + (f'<p><a href="{escape(link)}">The dashboard over this time</a></p>' if link else "")
            + "</section>")


def pictures(taken, figures):
    series = Series(taken.samples, gap=max(1.5, 3 * taken.settings["unit"]))
    found = []
    for part in figures["rounds"]:
        drawn = chart(taken, part, series)
        if drawn:
            found.append(f'<h2>Round {part["round"]}</h2><figure class="card scroll" '
                         f'style="margin:0">{drawn}</figure>')
    return found or ["<p>No round was seen that could be drawn.</p>"]


def figures_part(figures):
    parts = figures["rounds"]
    if not parts:
        return ""
    columns = [dict(findings.figure_rows(figures, part)) for part in parts]
    names = list(dict.fromkeys(name for column in columns for name in column))
    rows = [[name] + [column.get(name, "-") for column in columns] for name in names]
    return ("<h2>Figures</h2>" + table(["figure"] + [f"round {p['round']}" for p in parts], rows)
            + f'<p class="muted">{escape(findings.FIGURES_NOTE)}</p>')


def levers_part(figures):
    rows = []
    for number, step in findings.step_rows(figures):
        good = step["outcome"] in ("recovered", "partly")
        words = findings.LEVER_WORDS[step["outcome"]]
        rows.append([number, text.clock(step["at"]), step["name"],
                     Cell(words, "yes" if good else "no"), text.seconds(step["after"]),
                     text.seconds(step["goodput_for"])])
    names = ["round", "at", "lever", "did it help", "back after", "longest with half of goodput"]
    return "<h2>Levers</h2>" + (table(names, rows) if rows else "<p>None was pulled.</p>")


def alerts_part(figures):
    rows = [[part["round"], alert["alert"], alert["severity"] or "-", text.seconds(alert["after"]),
             text.seconds(alert["after_fault"])]
            for part in figures["rounds"] for alert in part["alerts"]]
    names = ["round", "alert", "severity", "after the cut", "after the fault's end"]
    return (f"<h2>Alerts</h2><p>{escape(findings.prometheus_words(figures))}</p>"
            + (table(names, rows) if rows else ""))


def timeline_part(taken):
    rows = [[Cell(when, "w"), Cell(utc, "w"), event["source"], event["what"]]
            for event, when, utc in findings.timeline(taken)]
    return "<h2>Timeline</h2>" + table(["at", "UTC", "source", "what"], rows)


def sheets_part(figures):
    found = ["<h2>Scoring sheet</h2>"]
    for part in figures["rounds"]:
        rows = [list(row) for row in findings.score_rows(part)]
        rows += [["harmful or needless actions (0 to -2)", "", "", ""],
                 ["runbook followed, or its gap written down (0 to 2)", "", "", ""]]
        found.append(f"<h3>Round {part['round']}</h3>"
                     + table(["what", "measured", "par", "points"], rows))
    found.append('<p class="muted">2 points within par, 1 within twice of it.</p>')
    found.append("<h2>After-action questions</h2><ol>" + "".join(
        f"<li>{escape(question)}</li>" for question in findings.QUESTIONS) + "</ol>")
    return "".join(found)


def conditions_part(taken):
    settings = taken.settings
    checks = "".join(f"<li>{escape(event['what'])}</li>" for event in taken.events
                     if event["kind"] == "preflight")
    shown = json.dumps({"limiter": settings["limiter"], "layers": settings["layers"]}, indent=1)
    return (f"<h2>Conditions</h2><p>goodput {escape(str(settings.get('version', '-')))}; to do it "
            f"again:</p><pre class=\"card\">{escape(settings['command'])}</pre>"
            f'<details><summary>Limiter and layers</summary><pre class="card">{escape(shown)}'
            f"</pre></details><details><summary>Preflight</summary><ul>{checks}</ul></details>")


class Cell:
    """A cell with a style of its own."""

    def __init__(self, content, style):
        self.content = content
        self.style = style


def table(names, rows):
    """A table whose first column names its rows."""
    top = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    body = []
    for row in rows:
        cells = []
        for cell in row:
            style = f' class="{cell.style}"' if isinstance(cell, Cell) else ""
            content = cell.content if isinstance(cell, Cell) else cell
            cells.append(f"<td{style}>{escape(str(content))}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    return (f'<div class="scroll"><table><thead><tr>{top}</tr></thead>'
            f"<tbody>{''.join(body)}</tbody></table></div>")


def capital(words):
    """The words with a capital at the beginning."""
    return words[:1].upper() + words[1:]
