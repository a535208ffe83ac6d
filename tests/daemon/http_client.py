"""HTTP as the tests of meted speak it: http.sock as a connection, and a request with its answer."""
import http.client
import os
import socket


class Local(http.client.HTTPConnection):
    """A connection to http.sock."""

    def __init__(self, directory):
        super().__init__("localhost", timeout=30)
        self.path = os.path.join(directory, "http.sock")

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect(self.path)


def get(connection, path, method="GET", body=None, **headers):
    """status, body, headers"""
    connection.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
    r = connection.getresponse()
    return r.status, r.read(), dict(r.getheaders())
