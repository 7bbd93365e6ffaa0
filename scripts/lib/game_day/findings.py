"""What the figures of a game day mean in words; Markdown and HTML say the same."""

from . import text

OUTCOMES = {
    "recovered": "goodput was back at the end of every round",
    "not-recovered": "goodput was not back at the end of a round",
    "aborted": "the game day was aborted",
    "inconclusive": "the game day is inconclusive",
    "unusable": "the stack could not be used",
    "cut-short": "the record ends before the game day did",
}

LEVER_WORDS = {
    "recovered": "helped: goodput is back",
    "partly": "helped in part",
    "relapsed": "did not help: goodput came and went again",
    "no-effect": "did not help",
    "not-needed": "not needed: goodput was back already",
    "unknown": "unknown: too little was seen",
}

# Kinds of events that a timeline leaves out, since another says the same.
LEFT_OUT = {"preflight", "step", "hypothesis", "fault-asked"}

FIGURES_NOTE = (
    "Times of alerts and people count from the cut. Mitigation is at least half of the baseline's "
    "good ÷ offered, recovery all of its band, both to the end of the round.")

QUESTIONS = [
    "Did the hypothesis hold? If not, which of its assumptions was wrong?",
    "What told us first: an alert, a dashboard, a user? Would it have woken the right person?",
    "Which figure told a metastable system from an overloaded one, and who looked at it?",
    "Which lever did we reach for first, and why? Was there a runbook for it?",
    "Which lever would have made things worse in production, and what does it cost the users?",
    "What did we not know about our own system before today?",
    "Which defence would have made the levers needless: a budget, a bounded queue, deadlines?",
    "What did anybody find confusing, missing or slow: tools, permissions, names, documents?",
]

SCORES = [
    ("time to alert, from the cut", "time_to_alert", "60 s"),
    ("time until a person said so", "time_to_detect", "2 min"),
    ("time to the first action", "time_to_first_action", "3 min"),
    ("time to mitigation (half of goodput back for good)", "time_to_mitigate", "5 min"),
    ("recovery, from the fault's end", "recovered_after", "5 min"),
]


def figure_rows(figures, part):
    """The figures of a round as (name, value)."""
    base = part["baseline"]
    rows = [("before anybody acted", verdict(part))]
    if base:
        rows.append(("goodput at the baseline", f"{text.number(base['goodput'])}/s of "
                     f"{text.number(base['offered'])}/s offered ({text.percent(base['ratio'])})"))
    rows += [
        ("hypothesis", {True: "held", False: "did not hold", None: "cannot be told"}
         [part["hypothesis_held"]]),
        ("time to alert", time_to_alert(figures, part)),
        ("time to detect", text.seconds(part["time_to_detect"])),
        ("time to first action", text.seconds(part["time_to_first_action"])),
        ("time to mitigation", text.seconds(part["time_to_mitigate"])),
        ("recovery after the fault's end", recovery(part)),
        ("goodput lost", "-" if part["goodput_lost"] is None else
         f"{part['goodput_lost']:,.0f} requests"),
        ("peak attempts per request", text.number(part["peak_attempts"])),
        ("wasted work before the levers", text.percent(part["wasted_work"])),
    ]
    return rows


def verdict(part):
    """The verdict and its reasons."""
    word = part["verdict"] or "no verdict"
    return f"{word} ({'; '.join(part['reasons'])})" if part["reasons"] else word


def recovery(part):
    """When and by what goodput was back for good."""
    if part["recovered_after"] is None:
        return "not until the end of the round"
    return f"{text.seconds(part['recovered_after'])}, by {part['recovered_by']}"


def time_to_alert(figures, part):
    """The time to alert, or why there is none; no alert is not the same as nobody to ask."""
    if part["time_to_alert"] is not None:
        first = next(alert for alert in part["alerts"] if alert["counts"])
        return f"{text.seconds(part['time_to_alert'])} ({first['alert']})"
    state = figures["prometheus"]["state"]
    if state in ("off", "down"):
        return "unknown: " + ("Prometheus was not asked" if state == "off" else
                              "Prometheus could not be asked")
    gaps = "; Prometheus could not be asked all the time" if state == "gaps" else ""
    return "no alert fired" + gaps


def prometheus_words(figures):
    """Whether the times of alerts can be trusted."""
    found = figures["prometheus"]
    words = {
        "off": "Prometheus was not asked: the times of alerts are unknown.",
        "down": "Prometheus could not be asked at any time: the times of alerts are unknown.",
        "gaps": "Prometheus could not be asked all the time: alerts may be missing or late.",
        "up": "Prometheus answered throughout.",
    }[found["state"]]
    return words + "".join(f" {problem}." for problem in found["problems"])


def reverted_words(figures):
    """Whether the clean-up was confirmed."""
    return {
        True: "At the end everything was put back, as read back from every process.",
        False: "At the end it could not be read back everywhere that nothing is in force.",
        None: "The record does not say that anything was put back: run scripts/game-day abort.",
    }[figures["reverted"]]


def dashboard(taken):
    """The stack's dashboard over the time of this game day; none without Prometheus."""
    settings = taken.settings
    if not settings.get("grafana"):
        return None
    began = text.unix(settings["began"]) * 1000
    ended = began + 1000 * max([entry["t"] for entry in taken.events + taken.samples] + [0])
    return (f"{settings['grafana']}/d/rig-metastability?var-arm={settings.get('arm', '')}"
            f"&from={began - 30_000:.0f}&to={ended + 30_000:.0f}")


def timeline(taken):
    """The events that a reader wants: (event, when as m:ss, UTC without its date)."""
    rows, said = [], None
    for event in taken.events:
        if event["kind"] in LEFT_OUT or (event["kind"] == "seen" and event.get("own")):
            continue
        if event["kind"] == "reverted" and event["what"] == said:
            continue
        said = event["what"]
        rows.append((event, text.clock(event["t"]), event["utc"][11:23]))
    return rows


def step_rows(figures):
    """The levers of all rounds as (round, step)."""
    return [(part["round"], step) for part in figures["rounds"] for step in part["steps"]]


def score_rows(part):
    """The scoring sheet of a round: (what, measured, par, points)."""
    rows = []
    for name, key, par in SCORES:
        value = part[key]
        points = "-" if value is None else str(points_of(value, par))
        rows.append((name, text.seconds(value), par, points))
    return rows


def points_of(value, par):
    """2 within par, 1 within twice of it, else 0."""
    number, unit = par.split()
    least = float(number) * (60 if unit == "min" else 1)
    return 2 if value <= least else 1 if value <= 2 * least else 0
