"""How durations, shares and times are read and written."""

import datetime
import re

UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
DURATION = re.compile(r"(\d+(?:\.\d+)?)(ns|us|ms|s|m|h)")


def duration(text):
    """Reads `200ms`, `20s` or `1m30s` as seconds; raises ValueError with a valid example."""
    found = DURATION.findall(text)
    if not found or "".join(number + unit for number, unit in found) != text:
        raise ValueError(f"{text!r} is not a duration; such as 20s, 1m30s or 500ms")
    seconds = sum(float(number) * UNITS[unit] for number, unit in found)
    if not 0 < seconds <= 24 * 3600:
        raise ValueError(f"{text!r} is not above 0 and at most 24h; such as 20s")
    return seconds


def share(text):
    """Reads `0.4` or `40%` as a share; raises ValueError with a valid example."""
    number, percent = (text[:-1], True) if text.endswith("%") else (text, False)
    try:
        value = float(number) / (100 if percent else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ValueError(f"{text!r} is not a share from 0 to 1; such as 40% or 0.4")
    return value


def wire(seconds):
    """A duration as the control planes read it: whole milliseconds."""
    return f"{max(1, round(seconds * 1000))}ms"


def seconds(value):
    """A duration for people; `-` where it is unknown."""
    if value is None:
        return "-"
    if value < 10:
        return f"{number(value)} s"
    if value < 120:
        return f"{value:.0f} s"
    return f"{int(value) // 60} min {int(value) % 60} s"


def percent(value):
    """A share for people; `-` where it is unknown."""
    return "-" if value is None else f"{value * 100:.0f} %"


def number(value, digits=1):
    """A figure for people, without digits that say nothing; `-` where it is unknown."""
    if value is None:
        return "-"
    if abs(value) >= 100 or digits == 0:
        return f"{value:,.0f}"
    return f"{value:.{digits}f}".rstrip("0").rstrip(".")


def utc(timestamp):
    """A Unix time as RFC 3339 in UTC, to the millisecond."""
    moment = datetime.datetime.fromtimestamp(timestamp, datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def unix(moment):
    """The Unix time of what `utc` wrote."""
    parsed = datetime.datetime.strptime(moment, "%Y-%m-%dT%H:%M:%S.%fZ")
    return parsed.replace(tzinfo=datetime.timezone.utc).timestamp()


def clock(t):
    """Seconds since the beginning as `m:ss`."""
    sign, t = ("-", -t) if t < 0 else ("", t)
    return f"{sign}{int(t) // 60}:{int(t) % 60:02d}"
