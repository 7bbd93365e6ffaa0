"""A stack of local processes on loopback ports that the system chooses, five times as fast."""

import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "game-day"
TOKEN = "a-token-of-the-check"
SPEED = 5
# As the stack, 80 of 100, but a quarter of it, so that other work beside it does no harm.
RATE, CAPACITY = 20, 25
# Shorter than on a stack in real time, in multiples of what goodput needs to come back.
QUICK = ["--baseline", "5s", "--observe", "9s", "--watch", "5s", "--block-for", "6s",
         "--readmit-step", "1s", "--patience", "40s"]


class Process:
    """A process whose output is collected, and that ends with the check."""

    def __init__(self, arguments, env=None, terminal=False):
        self.lines = []
        self.keys, stdin = pty.openpty() if terminal else (None, subprocess.DEVNULL)
        self.child = subprocess.Popen(
            [str(argument) for argument in arguments], stdin=stdin,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "GOODPUT_TOKEN": TOKEN, **(env or {})})
        self.reader = threading.Thread(target=self.collect, daemon=True)
        self.reader.start()
        if terminal:
            os.close(stdin)

    def type(self, line):
        """Types a line at its terminal."""
        os.write(self.keys, (line + "\n").encode())

    def collect(self):
        for line in self.child.stdout:
            self.lines.append(line.rstrip("\n"))

    def text(self):
        return "\n".join(self.lines)

    def wait_for(self, pattern, seconds=20.0, flags=0):
        """The first match of a pattern in the output."""
        found = []

        def seen():
            match = re.search(pattern, self.text(), flags)
            if match:
                found.append(match)
            return bool(match)

        if not wait_until(lambda: seen() or self.child.poll() is not None, seconds) or not found:
            raise AssertionError(f"no {pattern!r} in:\n{self.text()[-4000:]}")
        return found[0]

    def ended(self, seconds):
        """The exit code, once it has ended."""
        self.child.wait(seconds)
        self.reader.join(5.0)
        return self.child.returncode

    def kill(self, number=signal.SIGKILL):
        if self.child.poll() is None:
            self.child.send_signal(number)

    def stop(self):
        """Ends it for certain."""
        self.kill()
        self.child.wait(10)
        self.reader.join(5.0)
        if not self.child.stdout.closed:
            self.child.stdout.close()
        if self.keys is not None:
            os.close(self.keys)
            self.keys = None


class LocalStack:
    """Server, load generator and fault injector, and game days on them."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="goodput-game-day-")
        self.path = pathlib.Path(self.folder.name)
        self.started = []
        goodput = os.environ["GOODPUT"]
        self.server = self.start(
            [goodput, "serve", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0", "--slots",
             5, "--capacity", CAPACITY, "--queue-limit", 20 * CAPACITY, "--speed", SPEED])
        data = self.data_url = self.server.wait_for(r"order-status\s+(http://\S+)").group(1)
        self.server_url = self.server.wait_for(r"control\s+(http://\S+)").group(1)
        self.load = self.start(
            [goodput, "load", "--target", data, "--rate", RATE, "--timeout", "5s", "--retries", 3,
             "--backoff", "1s", "--duration", "2h", "--speed", SPEED, "--control", "127.0.0.1:0",
             "--quiet"])
        self.load_url = self.load.wait_for(r"control:\s+(http://\S+)").group(1)
        self.injector = self.start(
            [goodput, "fault", "serve", "--listen", "127.0.0.1:0", "--control",
             f"order-status={self.server_url}", "--load-control", self.load_url, "--lease", "2s",
             "--renew", "500ms"])
        self.injector_url = self.injector.wait_for(r"(http://127\.0\.0\.1:\d+)").group(1)

    def start(self, arguments, env=None, terminal=False):
        process = Process(arguments, env, terminal)
        self.started.append(process)
        return process

    def game_day(self, *arguments, env=None, terminal=False, runs="runs"):
        """Starts the script on this stack; nobody answers where it looks for Prometheus."""
        where = ["--server", self.server_url, "--load", self.load_url, "--injector",
                 self.injector_url, "--prometheus", "http://127.0.0.1:1", "--runs",
                 self.path / runs]
        return self.start([sys.executable, SCRIPT, *arguments, *where], env, terminal)

    def run(self):
        """Starts `goodput run` against this stack, which has its own load."""
        return self.start([os.environ["GOODPUT"], "run", "steady", "--quiet", "--speed", SPEED,
                           "--target", self.data_url, "--control", self.server_url])

    def state(self, url=None):
        """The state of a control plane, without the script's own client."""
        request = urllib.request.Request(f"{url or self.server_url}/state")
        request.add_header("Authorization", f"Bearer {TOKEN}")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=5) as answer:
            return json.load(answer)

    def last_run(self):
        """The folder of the latest game day."""
        runs = (self.path / "runs").glob("*-game-day*")
        return max((run for run in runs if run.is_dir()), key=lambda run: run.stat().st_mtime_ns)

    def close(self):
        for process in reversed(self.started):
            process.stop()
        self.folder.cleanup()


def wait_until(holds, seconds):
    """Waits until something holds; says whether it does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.05)
    return holds()
