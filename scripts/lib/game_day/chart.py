"""The one picture of a round as SVG: offered load, throughput and goodput, with the fault's window
shaded, the levers and the alerts; below it, the attempts per request."""

import math
from html import escape

from . import text
from .series import divide

WIDTH, LEFT, RIGHT = 1040, 52, 118
PLOT, SMALL, LANE = 260, 90, 18
LINES = [("offered", "offered load", "offered"), ("served", "throughput", "served"),
         ("good", "goodput", "good")]


def chart(taken, part, series):
    """The SVG of a round; an empty text where nothing was seen of it."""
    begin, end = span(taken, part, series)
    if end - begin < 2 * taken.settings["unit"]:
        return ""
    rows = series.bins(taken.settings["unit"], begin, end)
    marks = marks_of(taken, part, begin, end)
    lanes = place(marks, begin, end)
    top = 8 + LANE * lanes
    most = max([row[name] or 0 for row in rows for name, _, _ in LINES] + [1.0]) * 1.08
    attempts = [per_request(row) for row in rows]
    most_attempts = max([value or 0 for value in attempts] + [1.0]) * 1.1
    small_top = top + PLOT + 48
    height = small_top + SMALL + 26
    x = lambda t: LEFT + (t - begin) / (end - begin) * (WIDTH - LEFT - RIGHT)  # noqa: E731
    y = lambda value: top + PLOT * (1 - value / most)  # noqa: E731
    small_y = lambda value: small_top + SMALL * (1 - value / most_attempts)  # noqa: E731
    body = [shade(part, begin, end, x, top, small_top + SMALL)]
    body += grid(begin, end, x, top, small_top, most, most_attempts, y, small_y)
    for name, _, style in LINES:
        body.append(line([(row["t"], row[name]) for row in rows], x, y, style))
    body.append(line(list(zip([row["t"] for row in rows], attempts)), x, small_y, "attempts"))
    body += ends(rows, attempts, y, small_y)
    body += [mark(item, x, top, small_top + SMALL) for item in marks]
    label = f"round {part['round']}: offered load, throughput and goodput per second over time"
    return (f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label)}">'
            + "".join(body) + "</svg>")


def span(taken, part, series):
    """From when to when a round is drawn."""
    base = part["baseline"]
    begin = base["from"] if base else 0.0
    ended = [e["t"] for e in taken.events
             if e["kind"] == "round-ended" and e.get("round") == part["round"]]
    return begin, min(ended[0] if ended else series.end(), series.end())


def per_request(row):
    """Attempts per request of one row; none where it is not known."""
    return divide(row["received"], row["offered"])


def marks_of(taken, part, begin, end):
    """What is written above the picture: the cut, the levers, alerts, and what people said."""
    marks = []
    if part["cut_at"] is not None:
        marks.append({"t": part["cut_at"], "label": "cut", "style": "fault"})
    for step in part["steps"]:
        marks.append({"t": step["at"], "label": step["name"], "style": "lever"})
    for event in taken.events:
        if event["kind"] == "alert" and event["firing"]:
            marks.append({"t": event["t"], "label": "▲ " + event["alert"], "style": "alert"})
        elif event["kind"] in ("detected", "diagnosed"):
            marks.append({"t": event["t"], "label": event["kind"], "style": "person"})
    inside = [mark for mark in marks if begin <= mark["t"] <= end]
    return sorted(inside, key=lambda mark: mark["t"])


def place(marks, begin, end):
    """Gives each mark a lane in which its label covers no other; returns how many there are."""
    scale = (WIDTH - LEFT - RIGHT) / (end - begin)
    free = []
    for item in marks:
        left = LEFT + (item["t"] - begin) * scale
        width = 7 * len(item["label"]) + 14
        item["flip"] = left + width > WIDTH
        first = left - width if item["flip"] else left
        lane = next((i for i, until in enumerate(free) if until <= first), len(free))
        if lane == len(free):
            free.append(0.0)
        free[lane] = first + width
        item["lane"] = lane
    return len(free)


def mark(item, x, top, bottom):
    """A line through the picture with its label."""
    at, lane = x(item["t"]), 14 + LANE * item["lane"]
    anchor, shift = ("end", -4) if item["flip"] else ("start", 4)
    return (f'<g class="mark {item["style"]}"><path d="M{at:.1f} {lane - 10}V{bottom}"/>'
            f'<text x="{at + shift:.1f}" y="{lane}" text-anchor="{anchor}">'
            f'{escape(item["label"])}</text></g>')


def shade(part, begin, end, x, top, bottom):
    """The fault's window."""
    if part["cut_at"] is None:
        return ""
    left = max(begin, part["cut_at"])
    right = min(end, part["fault_ended_at"] if part["fault_ended_at"] is not None else end)
    return (f'<rect class="shade" x="{x(left):.1f}" y="{top}" '
            f'width="{max(1.0, x(right) - x(left)):.1f}" height="{bottom - top}"/>')


def grid(begin, end, x, top, small_top, most, most_attempts, y, small_y):
    """Axes with round figures."""
    found = []
    for value in ticks(most, 5):
        found.append(f'<path class="grid" d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}"/>'
                     f'<text class="y" x="{LEFT - 8}" y="{y(value) + 4:.1f}">{value:g}</text>')
    for value in ticks(most_attempts, 3):
        found.append(f'<path class="grid" d="M{LEFT} {small_y(value):.1f}H{WIDTH - RIGHT}"/>'
                     f'<text class="y" x="{LEFT - 8}" y="{small_y(value) + 4:.1f}">'
                     f"{value:g}</text>")
    for value in times(begin, end):
        found.append(f'<text class="x" x="{x(value):.1f}" y="{top + PLOT + 18}">'
                     f'{text.clock(value)}</text>')
    found.append(f'<text class="title" x="{LEFT}" y="{small_top - 6}">attempts per request</text>')
    return found


def ticks(most, count):
    """At most `count` round figures from 0 to `most`."""
    for step in (base * 10**power for power in range(-3, 7) for base in (1, 2, 5)):
        if most / step <= count:
            return [index * step for index in range(int(most / step) + 1)]
    return [0.0]


def times(begin, end):
    """At most ten round times between two."""
    step = next((s for s in (1, 2, 5, 10, 15, 30, 60, 120, 300) if (end - begin) / s <= 10), 600)
    return [index * step for index in range(math.ceil(begin / step), int(end / step) + 1)]


def line(points, x, y, style):
    """A line that breaks where nothing is known."""
    path, pen = [], "M"
    for t, value in points:
        if value is None:
            pen = "M"
            continue
        path.append(f"{pen}{x(t):.1f} {y(value):.1f}")
        pen = "L"
    return f'<path class="line {style}" d="{"".join(path)}"/>'


def ends(rows, attempts, y, small_y):
    """The lines' names at their right ends, moved apart where they meet."""
    found = []
    for name, label, style in LINES:
        values = [row[name] for row in rows if row[name] is not None]
        if values:
            found.append([y(values[-1]), label, style])
    found.sort()
    for before, after in zip(found, found[1:]):
        after[0] = max(after[0], before[0] + 15)
    values = [value for value in attempts if value is not None]
    if values:
        found.append([small_y(values[-1]), "attempts", "attempts"])
    return [f'<text class="end {style}" x="{WIDTH - RIGHT + 6}" y="{at + 4:.1f}">{label}</text>'
            for at, label, style in found]
