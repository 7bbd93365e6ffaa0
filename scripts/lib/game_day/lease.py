"""The lease of a stack: a game day leads the load itself, and is the one run that uses the stack.

Each control plane keeps the lease on its own clock. What the game day has set there ends with it, also
where this process dies.
"""

import datetime
import os
import secrets
import threading
import urllib.parse

from .plane import PlaneError
from .stack import Unusable

NAME = "game-day"
LENGTH, RENEW_EVERY = 5.0, 1.5


def new_run():
    """An id that no other run has."""
    began = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    return f"{began}-{os.getpid():x}-{secrets.token_hex(4)}"


class Lease:
    """The leases of a stack's control planes, from `take` to `release`."""

    def __init__(self, stack, by):
        self.planes = stack.leased()
        self.run = new_run()
        self.cause = {"by": by, "reason": "game day", "run": self.run}
        self.lost = lambda what: None
        self.over = threading.Event()
        self.threads = []
        self.held = False

    def tell(self, lost):
        """Tells `lost(what)`, on a thread of its own, where one is lost from now on."""
        self.lost = lost

    def take(self):
        """Takes the lease of each; raises Unusable where another run holds one, and holds none then."""
        for plane in self.planes:
            self.held = True
            try:
                self.ask(plane)
            except PlaneError as error:
                self.release()
                raise Unusable(str(error)) from None
        # Each on a thread of its own, so that one that does not answer delays none of the others.
        self.threads = [threading.Thread(target=self.keep, args=(plane,), name="lease", daemon=True)
                        for plane in self.planes]
        for thread in self.threads:
            thread.start()

    def ask(self, plane):
        """Takes the lease of one, or goes on with it."""
        plane.post("/runs", {"name": NAME, "lease": f"{LENGTH:.0f}s", **self.cause}, wait=1.0)

    def keep(self, plane):
        """Renews one until the end; one that was lost is told and taken again."""
        told = False
        while not self.over.wait(RENEW_EVERY):
            try:
                plane.call("PATCH", self.path(), {"lease": f"{LENGTH:.0f}s", **self.cause}, 1.0)
                told = False
            except PlaneError as error:
                if error.status == 404 and not told:
                    told = True
                    self.lost(f"the lease of {plane.role} was lost: {error}")
                self.again(plane, error)

    def again(self, plane, error):
        """Takes a lost lease again: whatever is set from now on is to end with it too."""
        if error.status != 404 or self.over.is_set():
            return
        try:
            self.ask(plane)
        except PlaneError:
            return  # The next turn tries again.

    def renew_now(self):
        """Takes every lease again at once, where a process may have started anew."""
        for plane in self.planes:
            try:
                self.ask(plane)
            except PlaneError:
                continue  # Its thread goes on trying.

    def release(self):
        """Gives every lease back; what this run has set ends with it. Once is enough."""
        if not self.held:
            return
        self.held = False
        self.over.set()
        for thread in self.threads:
            thread.join(timeout=3.0)
        for plane in self.planes:
            try:
                plane.delete(self.path(), self.cause)
            except PlaneError:
                continue  # It ends by itself after its length.

    def path(self):
        return "/runs/" + urllib.parse.quote(self.run, safe="")
