"""The fault of a game day: what is asked of the server, and in words."""

from . import text

# What an arm can bear is what another falls over from: each has the fault that pushes it over.
STANDARD = {
    "undefended": ("slow", 20), "defended": ("slow", 20),
    # 40 % of the capacity are still four times what is offered there.
    "three-layers": ("stall", 10),
}
MODES = ["slow", "slots", "stall"]


def standard(arm):
    """The mode of an arm's fault where none was given, and its length in seconds."""
    return STANDARD[arm]


def body(options):
    """The fault as the control plane takes it."""
    if options.mode == "stall":
        return {"kind": "stall"}
    return {"kind": "capacity", "to": options.cut_to, "mode": options.mode}


def asked(options):
    """What will be done."""
    length = text.seconds(options.cut_for)
    if options.mode == "stall":
        return f"stall all service for {length}"
    return f"cut capacity to {text.percent(options.cut_to)} for {length} ({options.mode})"


def hypothesis(options):
    """What is expected of a system that is in order."""
    length = text.seconds(options.cut_for)
    what = ("service stalls" if options.mode == "stall" else
            f"capacity falls to {text.percent(options.cut_to)}")
    return (f"When {what} for {length}, goodput is back at {text.percent(options.band)} of "
            f"its baseline within {text.seconds(options.within)} of the cut's end, and nobody has "
            "to act.")


def felt(options, capacity, rate):
    """A warning where what the fault leaves is enough for what is offered; none where it is not."""
    if capacity is None or options.mode == "stall":
        return None
    left = capacity * options.cut_to
    if rate >= left:
        return None
    return (f"what is left is {left:.0f}/s for {rate:.0f}/s offered: hardly anybody will feel it; "
            "cut deeper with --cut-to, or use --mode stall")
