"""What the facilitator sees and types."""

import os
import select
import sys
import threading
import time

from . import text


class Console:
    """Plain lines out, and, where a person sits there, lines in. A reader of the output who goes
    away does not end a game day."""

    def __init__(self, interactive):
        self.interactive = interactive
        self.guard = threading.Lock()
        self.rest = b""
        self.ended = False

    def say(self, line="", t=None):
        """Prints a line, with the time since the beginning where it is given."""
        with self.guard:
            try:
                print(line if t is None else f"{text.clock(t):>6}  {line}", flush=True)
            except (OSError, ValueError):
                # Nobody reads any more; the next write must not fail either.
                sys.stdout = open(os.devnull, "w", encoding="utf-8")

    def line(self, wait):
        """A line that was typed, within `wait` seconds; none where there is none."""
        if not self.interactive or self.ended:
            return self.pause(wait)
        if b"\n" not in self.rest:
            ready, _, _ = select.select([0], [], [], wait)
            if not ready:
                return None
            read = os.read(0, 4096)
            if not read:
                self.ended = True
            self.rest += read
        typed, separator, rest = self.rest.partition(b"\n")
        if not separator:
            return None
        self.rest = rest
        return typed.decode("utf-8", "replace").strip()

    @staticmethod
    def pause(wait):
        time.sleep(wait)
        return None
