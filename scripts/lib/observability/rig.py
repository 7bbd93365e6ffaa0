"""Starts the processes of the rig on free ports of loopback, and ends them by their ids."""

import json
import os
import pathlib
import re
import secrets
import socket
import subprocess
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent


def build(release=False):
    """Builds the program and returns its path; GOODPUT names one that is built already."""
    if os.environ.get("GOODPUT"):
        return pathlib.Path(os.environ["GOODPUT"])
    # Of the whole workspace, so that what the tests have built serves here too.
    profile = ["--release", "--package", "goodput"] if release else ["--workspace", "--bins"]
    subprocess.run(["cargo", "build", "--quiet", *profile], cwd=ROOT, check=True)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / ("release" if release else "debug") / "goodput"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Rig:
    """Processes of `goodput` that share a token. Used with `with`; ends what it started."""

    def __init__(self, goodput, folder):
        self.goodput, self.folder = str(goodput), pathlib.Path(folder)
        self.token = secrets.token_urlsafe(24)
        self.token_file = self.folder / "token"
        self.token_file.write_text(self.token, encoding="utf-8")
        self.running = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for name in reversed(list(self.running)):
            self.stop(name)

    def start(self, name, *arguments, environment=None):
        """Starts a process; what it prints goes to the file `name`.log."""
        log = open(self.folder / f"{name}.log", "wb")
        environment = {**os.environ, "GOODPUT_TOKEN": self.token, **(environment or {})}
        self.running[name] = subprocess.Popen(
            [str(argument) for argument in arguments], stdout=log, stderr=log, env=environment
        )
        log.close()

    def stop(self, name):
        process = self.running.pop(name)
        process.terminate()
        try:
            process.wait(timeout=40)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def pid(self, name):
        return self.running[name].pid

    def printed(self, name, pattern, patience=20):
        """The first match in what a process printed, once it is there."""
        path = self.folder / f"{name}.log"
        until = time.monotonic() + patience
        while time.monotonic() < until:
            found = re.search(pattern, path.read_text(encoding="utf-8", errors="replace"))
            if found:
                return found[1]
            if self.running[name].poll() is not None:
                break
            time.sleep(0.05)
        raise SystemExit(f"{name} did not print {pattern}:\n{path.read_text(encoding='utf-8')}")

    def serve(self, name, *flags):
        """Starts a server; returns the addresses of its data and control planes."""
        self.start(
            name, self.goodput, "serve", "--listen=127.0.0.1:0", "--control=127.0.0.1:0",
            f"--audit={self.folder / name}.audit.jsonl", *flags,
        )
        control = self.printed(name, r"control +http://(\S+)")
        return self.printed(name, r"(?:order-status|gateway) +http://(\S+)"), control

    def load(self, name, target, *flags):
        """Starts a load generator; returns the address of its control plane."""
        self.start(
            name, self.goodput, "load", f"--target=http://{target}", "--control=127.0.0.1:0",
            f"--audit={self.folder / name}.audit.jsonl", f"--windows={self.folder / name}.windows.jsonl",
            "--quiet", *flags,
        )
        return self.printed(name, r"control: http://(\S+)")

    def injector(self, name, controls):
        """Starts a fault injector over control planes by tier; returns its address."""
        tiers = [f"--control={tier}=http://{address}" for tier, address in controls.items()]
        self.start(name, self.goodput, "fault", "serve", "--listen=127.0.0.1:0", *tiers)
        return self.printed(name, r"http://(127\.0\.0\.1:\d+)")

    def ask(self, address, path, body=None):
        """Asks a control plane; with a body it is a command."""
        request = urllib.request.Request(
            f"http://{address}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as refused:
            raise SystemExit(f"{address}{path}: {refused.status} {refused.read().decode()}") from refused

    def lever(self, address, *arguments):
        """Pulls a lever with the program itself."""
        command = [self.goodput, "lever", *arguments, f"--control=http://{address}"]
        environment = {**os.environ, "GOODPUT_TOKEN": self.token}
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
