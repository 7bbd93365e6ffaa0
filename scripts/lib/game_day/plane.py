"""One process that is spoken to over HTTP: a control plane, or Prometheus.

Every wait is bounded, no proxy of the environment is asked, and every failure is told apart by
its kind, since what it means for a fault in force differs.
"""

import http.client
import json
import socket
import urllib.parse

ANSWER_MAX = 8 * 1024 * 1024


class PlaneError(Exception):
    """A process did not do what it was asked.

    `kind` is one of `refused` (nobody listens), `unreachable`, `timeout`, `broken` (the connection
    ended without an answer), `unauthorized`, `status` (another refusal) and `foreign` (whoever
    answers is no such process).
    """

    def __init__(self, kind, message, status=None):
        super().__init__(message)
        self.kind = kind
        self.status = status


class Plane:
    """A process under its role, such as `order-status`, and its address."""

    def __init__(self, role, url, token=None, wait=2.0):
        self.role = role
        self.url = url.rstrip("/")
        self.token = token
        self.wait = wait
        self.host, self.port = address(role, self.url)

    def get(self, path, wait=None):
        """The JSON at `path`."""
        return self.call("GET", path, None, wait)

    def post(self, path, body=None, wait=None):
        """Gives a command and returns the JSON answered."""
        return self.call("POST", path, {} if body is None else body, wait)

    def delete(self, path, body=None, wait=None):
        """Takes something away and returns the JSON answered."""
        return self.call("DELETE", path, {} if body is None else body, wait)

    def call(self, method, path, body, wait):
        """One request on a connection of its own."""
        headers = {"Accept": "application/json"}
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        connection = http.client.HTTPConnection(self.host, self.port, timeout=wait or self.wait)
        try:
            connection.request(method, path, data, headers)
            response = connection.getresponse()
            content = response.read(ANSWER_MAX + 1)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self.failure(error) from error
        finally:
            connection.close()
        return self.read(response.status, content)

    def failure(self, error):
        """Tells why no answer came."""
        where = f"{self.role} at {self.url}"
        if isinstance(error, ConnectionRefusedError):
            return PlaneError("refused", f"nobody listens for {where}")
        if isinstance(error, (socket.timeout, TimeoutError)):
            return PlaneError("timeout", f"{where} did not answer in time")
        if isinstance(error, socket.gaierror):
            return PlaneError("unreachable", f"{where} has no address: {error.strerror}")
        if isinstance(error, (http.client.HTTPException, ConnectionError, ValueError)):
            return PlaneError("broken", f"{where} ended the connection without an answer")
        return PlaneError("unreachable", f"{where} cannot be reached: {error}")

    def read(self, status, content):
        """The JSON of an answer, or the error that it is."""
        try:
            value = json.loads(content)
        except ValueError:
            value = None
        if status in (401, 403):
            said = value.get("error", "") if isinstance(value, dict) else ""
            raise PlaneError("unauthorized", f"{self.role} at {self.url}: {said or status}", status)
        if status >= 400:
            said = value.get("error") if isinstance(value, dict) else None
            kind = "status" if said else "foreign"
            raise PlaneError(kind, f"{self.role} at {self.url}: {said or status}", status)
        if not isinstance(value, (dict, list)):
            raise PlaneError("foreign", f"{self.role} at {self.url} answers no JSON")
        return value


def address(role, url):
    """Host and port of `url`; raises ValueError with a valid example."""
    parts = urllib.parse.urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = -1
    plain = parts.path in ("", "/") and not parts.query and not parts.fragment
    if parts.scheme != "http" or not parts.hostname or port == -1 or not plain:
        raise ValueError(f"{url!r} is no address of {role}; such as http://127.0.0.1:9901")
    return parts.hostname, port or 80
