"""The report as Markdown."""

import json

from . import findings, text


def markdown(taken, figures):
    """The whole report."""
    settings = taken.settings
    lines = [
        f"# Game day of {figures['began']}", "",
        f"**{findings.OUTCOMES.get(figures['outcome'], figures['outcome'])}** "
        f"({figures['ended']}). " + findings.reverted_words(figures), "",
        f"Hypothesis: {figures['hypothesis']}", "",
        f"Before: {settings['vulnerability']}.", "",
    ]
    link = findings.dashboard(taken)
    lines += [f"The dashboard over this time: <{link}>", ""] if link else []
    lines += figures_table(figures) + levers_table(figures) + alerts_table(figures)
    lines += timeline_table(taken) + conditions(taken) + sheets(figures)
    return "\n".join(lines) + "\n"


def figures_table(figures):
    """A column a round."""
    parts = figures["rounds"]
    if not parts:
        return ["No round was begun.", ""]
    columns = [dict(findings.figure_rows(figures, part)) for part in parts]
    names = list(dict.fromkeys(name for column in columns for name in column))
    rows = [[name] + [column.get(name, "-") for column in columns] for name in names]
    head = ["figure"] + [f"round {part['round']}" for part in parts]
    return ["## Figures", "", *table(head, rows), "",
            findings.FIGURES_NOTE, ""]


def levers_table(figures):
    rows = [[number, text.clock(step["at"]), step["name"], findings.LEVER_WORDS[step["outcome"]],
             text.seconds(step["after"]), text.seconds(step["goodput_for"])]
            for number, step in findings.step_rows(figures)]
    if not rows:
        return []
    head = ["round", "at", "lever", "did it help", "back after", "longest with half of goodput"]
    return ["## Levers", "", *table(head, rows), ""]


def alerts_table(figures):
    rows = [[part["round"], alert["alert"], alert["severity"] or "-", text.seconds(alert["after"]),
             text.seconds(alert["after_fault"])]
            for part in figures["rounds"] for alert in part["alerts"]]
    lines = ["## Alerts", "", findings.prometheus_words(figures), ""]
    if rows:
        head = ["round", "alert", "severity", "after the cut", "after the fault's end"]
        lines += [*table(head, rows), ""]
    return lines


def timeline_table(taken):
    rows = [[when, utc, event["source"], event["what"]]
            for event, when, utc in findings.timeline(taken)]
    return ["## Timeline", "", *table(["at", "UTC", "source", "what"], rows), ""]


def conditions(taken):
    settings = taken.settings
    checks = [f"- {event['what']}" for event in taken.events if event["kind"] == "preflight"]
    return [
        "## Conditions", "", f"goodput {settings.get('version', '-')}; to do it again:", "",
        "```", settings["command"], "```", "", "```json",
        json.dumps({"limiter": settings["limiter"], "layers": settings["layers"]}, indent=1),
        "```", "", "Preflight:", "", *(checks or ["- none was made"]), "",
    ]


def sheets(figures):
    lines = ["## Scoring sheet", ""]
    for part in figures["rounds"]:
        rows = [list(row) for row in findings.score_rows(part)]
        rows += [["harmful or needless actions (0 to -2)", "", "", ""],
                 ["runbook followed, or its gap written down (0 to 2)", "", "", ""]]
        lines += [f"Round {part['round']}: 2 points within par, 1 within twice of it.", "",
                  *table(["what", "measured", "par", "points"], rows), ""]
    lines += ["## After-action questions", ""]
    lines += [f"{index}. {question}" for index, question in enumerate(findings.QUESTIONS, 1)]
    head = ["finding", "severity", "owner", "ticket", "test again on"]
    return [*lines, "", *table(head, [[""] * len(head)])]


def table(head, rows):
    """A Markdown table; a bar or a line break in a cell would end it."""
    clean = lambda cell: str(cell).replace("|", "\\|").replace("\n", " ")  # noqa: E731
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(clean(cell) for cell in line) + " |" for line in lines]
