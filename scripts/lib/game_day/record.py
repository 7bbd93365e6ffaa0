"""What a game day leaves behind, written as it comes.

`game-day.json` holds what was asked for, `events.jsonl` and `samples.jsonl` what was done and seen,
one JSON object a line, flushed at once: whatever ends the script, what came before is kept. A last
line that was cut short is left out when the folder is read.
"""

import fcntl
import json
import os
import pathlib
import threading
import time

from . import text

SETTINGS, EVENTS, SAMPLES = "game-day.json", "events.jsonl", "samples.jsonl"
ABORT, LOCK = "abort-asked.json", ".game-day.lock"


class Busy(Exception):
    """Another game day holds the lock."""


class Record:
    """The folder of a game day that goes on. Its times are seconds since it began, monotonic."""

    def __init__(self, parent, settings):
        self.began = time.monotonic()
        self.began_utc = time.time()
        self.path = new_folder(pathlib.Path(parent), self.began_utc)
        self.events, self.samples = [], []
        self.guard = threading.RLock()
        self.files = {
            name: open(self.path / name, "a", encoding="utf-8") for name in (EVENTS, SAMPLES)
        }
        self.failure = None
        settings = {"schema": 1, "began": text.utc(self.began_utc), **settings}
        self.settings = settings
        write_whole(self.path / SETTINGS, json.dumps(settings, indent=2) + "\n")

    def now(self):
        """Seconds since the beginning."""
        return time.monotonic() - self.began

    def event(self, kind, what, source="script", t=None, **more):
        """Writes an event down and returns it."""
        t = self.now() if t is None else t
        event = {"t": round(t, 3), "utc": text.utc(self.began_utc + t), "source": source,
                 "kind": kind, "what": what, **more}
        with self.guard:
            self.events.append(event)
            self.write(EVENTS, event)
        return event

    def sample(self, sample):
        """Writes a sample down."""
        with self.guard:
            self.samples.append(sample)
            self.write(SAMPLES, sample)

    def write(self, name, value):
        """Appends a line. A full disk must not end a game day with a fault in force."""
        try:
            self.files[name].write(json.dumps(value, separators=(",", ":")) + "\n")
            self.files[name].flush()
        except (OSError, ValueError) as error:
            self.failure = self.failure or f"cannot write to {self.path / name}: {error}"

    def taken(self):
        """What has been recorded so far, as [`read`] gives it."""
        with self.guard:
            return Taken(self.path, self.settings, list(self.events), list(self.samples))

    def abort_asked(self):
        """Who asked for an abort from outside and why; none where nobody did."""
        try:
            return json.loads((self.path / ABORT).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            return {"by": "unknown", "reason": ""}

    def close(self):
        """Closes the files; what is written is on its way to the disk already."""
        with self.guard:
            for file in self.files.values():
                try:
                    file.flush()
                    os.fsync(file.fileno())
                    file.close()
                except OSError as error:
                    self.failure = self.failure or f"cannot write to {self.path}: {error}"


class Taken:
    """A record that was read: the settings, the events and the samples, in order of time."""

    def __init__(self, path, settings, events, samples):
        self.path = path
        self.settings = settings
        self.events = sorted(events, key=lambda event: event["t"])
        self.samples = sorted(samples, key=lambda sample: sample["t"])


def read(folder):
    """Reads the folder of a game day; raises ValueError where it is none."""
    folder = pathlib.Path(folder)
    try:
        settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{folder} is no folder of a game day: it holds no {SETTINGS}") from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{folder / SETTINGS} cannot be read: {error}") from None
    if not isinstance(settings, dict) or settings.get("schema") != 1:
        raise ValueError(f"{folder / SETTINGS} is of another version of this script")
    return Taken(folder, settings, lines(folder / EVENTS), lines(folder / SAMPLES))


def lines(path):
    """The JSON objects of a file with one a line; what is no whole object is left out."""
    found = []
    try:
        content = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return found
    for line in content.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict) and isinstance(value.get("t"), (int, float)):
            found.append(value)
    return found


class Lock:
    """At most one game day for a folder of runs; the lock ends with the process that holds it."""

    def __init__(self, parent):
        self.path = pathlib.Path(parent) / LOCK
        self.file = None
        self.made = []

    def take(self):
        """Takes the lock; raises Busy where another game day holds it."""
        around = [self.path.parent, *self.path.parent.parents]
        self.made = [folder for folder in around if not folder.exists()]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        file = open(self.path, "a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            holder = self.holder() or {}
            raise Busy(
                f"a game day is going on already (process {holder.get('pid', 'unknown')}, "
                f"{holder.get('folder', 'folder not known yet')}); end it with "
                f"scripts/game-day abort, or give another folder with --runs") from None
        self.file = file

    def name(self, folder):
        """Says in the lock which folder belongs to it."""
        self.file.seek(0)
        self.file.truncate()
        json.dump({"pid": os.getpid(), "folder": str(folder)}, self.file)
        self.file.flush()

    def is_held(self):
        """Whether a game day goes on."""
        try:
            with open(self.path, "r", encoding="utf-8") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def holder(self):
        """What the lock says of the game day that took it last."""
        try:
            value = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return value if isinstance(value, dict) else None

    def release(self):
        """Gives the lock back; folders that were made for it and hold nothing else go away again."""
        if self.file is None:
            return
        self.file.seek(0)
        self.file.truncate()
        if self.made and [entry.name for entry in self.path.parent.iterdir()] == [LOCK]:
            self.path.unlink()
            for folder in self.made:
                folder.rmdir()
        self.file.close()
        self.file = None


def ask_abort(folder, by, reason):
    """Asks the game day of that folder to end; it looks several times a second."""
    write_whole(pathlib.Path(folder) / ABORT, json.dumps({"by": by, "reason": reason}) + "\n")


def write_whole(path, content):
    """Writes a file so that nobody reads half of it."""
    partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
    partial.write_text(content, encoding="utf-8")
    partial.replace(path)


def new_folder(parent, began):
    """Makes a folder for a game day that began then."""
    parent.mkdir(parents=True, exist_ok=True)
    stem = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(began)) + "-game-day"
    for number in range(1, 1000):
        path = parent / (stem if number == 1 else f"{stem}-{number}")
        try:
            path.mkdir()
            return path
        except FileExistsError:
            continue
    raise OSError(f"{parent} holds a thousand game days of one second")
