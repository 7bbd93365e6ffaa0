"""The report of a game day, from its record: `result.json`, `report.md` and `report.html`."""

import json

from . import figures as figures_of
from . import markdown, page
from .findings import LEVER_WORDS, OUTCOMES, figure_rows
from .record import write_whole


def write(taken):
    """Writes the report into the record's folder; returns the figures and the files."""
    figures = figures_of.figures(taken)
    forms = [
        ("report.html", page.page(taken, figures)),
        ("report.md", markdown.markdown(taken, figures)),
        ("result.json", json.dumps(figures, indent=2) + "\n"),
    ]
    for name, content in forms:
        write_whole(taken.path / name, content)
    return figures, [taken.path / name for name, _ in forms]


def brief(figures):
    """The figures in a few lines for a terminal."""
    lines = [OUTCOMES.get(figures["outcome"], figures["outcome"]) + f" ({figures['ended']})"]
    for part in figures["rounds"]:
        lines.append(f"round {part['round']}:")
        lines += [f"  {name:30} {value}" for name, value in figure_rows(figures, part)]
        for step in part["steps"]:
            lines.append(f"  lever {step['name']:24} {LEVER_WORDS[step['outcome']]}")
    return "\n".join(lines)
