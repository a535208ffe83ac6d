"""Several `mete serve`, each with devices and a meted of its own, and programs of another machine that run on one of them."""
import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from memory import METE, MIB, RESIDER, Resider, mete  # noqa: E402
from harness import Control  # noqa: E402

place = tempfile.TemporaryDirectory(prefix="mete-t-")
KEYS = os.path.join(place.name, "keys")
subprocess.run([METE, "key", "new", "alice", "--keys", KEYS], check=True, capture_output=True)


opened = []


@atexit.register
def leave_nothing():
    """Also when a test stops half-way: a private meted ends when nobody asks it any more."""
    for server in opened:
        if server.process.poll() is None:
            server.process.terminate()
            server.process.wait(20)


class Server:
    """A `mete serve` with devices and a meted of its own."""

    def __init__(self, name, quota=40 * MIB, **env):
        self.dir = os.path.join(place.name, name)
        os.mkdir(self.dir)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("METE_")}
        self.env.update({"METE_SOFT_DIR": os.path.join(self.dir, "soft"), "METE_SOFT_DEVICES": "1", "METE_SOFT_SMS": "16", "METE_SOFT_MEMORY": "64M",
                         "METE_SOFT_CONTEXT_MEMORY": "3M", "OCL_ICD_VENDORS": "/nonexistent", **env})
        self.words = ("serve", "--soft", "--json", "--keys", KEYS, "--mem", str(quota), "--listen")
        self.start("127.0.0.1:0")

    def start(self, listen):
        self.process = subprocess.Popen([METE, *self.words, listen], env={**self.env, "METE_RUNTIME_DIR": self.dir}, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"Bail out! mete serve does not start: {self.process.stderr.read()}")
        opened.append(self)
        self.address = json.loads(line)["listen"][0]
        self.control = Control(self.dir)
        self.lines = []
        for stream in (self.process.stdout, self.process.stderr):
            threading.Thread(target=self.lines.extend, args=(stream,), daemon=True).start()

    def grant(self):
        return self.control.grant("alice")

    def held(self):
        grant = self.grant()
        return grant["devices"][0]["held_bytes"] if grant else 0

    def workers(self):
        grant = self.grant()
        return [p["pid"] for p in grant["processes"]] if grant else []

    def mete(self, *words):
        return mete(self, *words)

    def kill(self):
        """All of it: the machine is gone."""
        meted = self.control.ask("hello")["pid"] if self.control else None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pid in [meted, *workers_under(meted)]:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, TypeError):
                pass

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(20)
        try:
            self.control.ask("stop")
        except OSError:
            pass


def workers_under(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


class Remote(Resider):
    def __init__(self, server, size, rounds, *mode, program=RESIDER):
        env = {k: v for k, v in os.environ.items() if not k.startswith("METE_")}
        env["XDG_RUNTIME_DIR"] = place.name
        self.process = subprocess.Popen([METE, "run", "--remote", server.address, "--key", os.path.join(KEYS, "alice.key"), "--", program,
                                         *[str(word) for word in (size, rounds, *mode) if word is not None]], env=env, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1, start_new_session=True)
        self.lines = []
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()
