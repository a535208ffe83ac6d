"""
Programs of `mete run --remote` go from one `mete serve` to another while they run: bit-equal, at the same addresses, by
one call that takes longer. Whatever becomes of the other server, they go on where they were: server_test.py BUILD
"""
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from memory import METE, MIB, RESIDER, Resider, mete  # noqa: E402
from harness import PATIENCE, Control, finish, ok, same, until  # noqa: E402
import harness  # noqa: E402

SIZE, QUOTA = 8 * MIB, 40 * MIB
MOVES = 100 if os.environ.get("METE_TEST_LONG") else 8
KILLS = 100 if os.environ.get("METE_TEST_LONG") else 6
place = tempfile.TemporaryDirectory(prefix="mete-t-")
KEYS = os.path.join(place.name, "keys")


class Server:
    """A `mete serve` with devices and a meted of its own."""

    def __init__(self, name, quota=QUOTA, **env):
        self.dir = os.path.join(place.name, name)
        os.mkdir(self.dir)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("METE_")}
        self.env.update({"METE_SOFT_DIR": os.path.join(self.dir, "soft"), "METE_SOFT_DEVICES": "1", "METE_SOFT_MEMORY": "64M",
                         "METE_SOFT_CONTEXT_MEMORY": "3M", "OCL_ICD_VENDORS": "/nonexistent", **env})
        self.words = ("serve", "--soft", "--json", "--keys", KEYS, "--mem", str(quota), "--listen")
        self.start("127.0.0.1:0")

    def start(self, listen):
        self.process = subprocess.Popen([METE, *self.words, listen], env={**self.env, "METE_RUNTIME_DIR": self.dir}, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"Bail out! mete serve does not start: {self.process.stderr.read()}")
        self.address = json.loads(line)["listen"][0]
        self.control = Control(self.dir)
        for stream in (self.process.stdout, self.process.stderr):
            threading.Thread(target=stream.read, daemon=True).start()

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


def goes(a, b):
    """From one to the other, and back, while it computes."""
    r = Remote(a, SIZE, 60, 10)
    ok(r.has("holds"), "it runs on the first server", r.lines)
    for turn in range(4):
        here, there = (a, b) if turn % 2 == 0 else (b, a)
        r.done(turn * 5 + 1)
        status, text = here.mete("move", "alice", "--remote", there.address)
        ok(not status and there.held() >= SIZE and not here.held(), "it has gone to the other server, and holds nothing on the one before", text,
           here.held(), there.held(), r.lines[-3:])
    same(r.end(), 0, "every word is what it has to be")
    ok(r.stays_in_place(), "all addresses stayed")
    ok(until(lambda: not a.held() and not b.held(), 20), "and nothing is left", a.held(), b.held())


def many_moves(a, b):
    r = Remote(a, SIZE, MOVES * 3, 0)
    r.has("holds")
    done = 0
    while done < MOVES and r.process.poll() is None:
        here, there = (a, b) if done % 2 == 0 else (b, a)
        status, text = here.mete("move", "alice", "--remote", there.address)
        if status:
            break
        done += 1
    ok(done >= min(MOVES, 4) and (done == MOVES or r.process.poll() is not None), f"{done} moves in a row under load", text, r.lines[-3:])
    same(r.end(), 0, "every word is what it has to be")
    ok(r.stays_in_place(), "all addresses stayed")


def stays(r, server, part, *words):
    before, done = server.held(), len(r.rounds())
    status, text = server.mete(*words)
    ok(status == 1 and part in text and "\n" not in text, f"refused in one line: {part}", status, text)
    ok(server.held() == before and r.done(done + 2), "and it goes on where it was", server.held(), before, r.lines[-3:])


def refused(a, b):
    r = Remote(a, SIZE, 100000, 5)
    r.has("holds")
    stays(r, a, "refuses connections", "move", "alice", "--remote", "127.0.0.1:1")
    stays(r, a, "nowhere.invalid", "move", "alice", "--remote", "nowhere.invalid")
    stays(r, a, "no offer", "move", "alice", "--remote", b.address + "/gold")
    small = Server("small", 20 * MIB)
    stays(r, a, "bytes of memory", "move", "alice", "--remote", small.address)
    small.end()
    other = Server("other", METE_SOFT_SMS="7")
    stays(r, a, "attribute", "move", "alice", "--remote", other.address)
    other.end()
    for words, part in ((("--remote", "/tmp/x"), "no server"), (("--remote", b.address, "--device", "0"), "where to"), ((), "where to")):
        status, text = a.mete("move", "alice", *words)
        ok(status and part in text and "\n" not in text, f"refused in one line: {words}", status, text)
    status, text = a.mete("set", "alice", "--suspend")
    ok(not status and not a.held() and a.grant()["devices"][0]["away_bytes"] >= SIZE, "a program of another machine is suspended", text, a.grant())
    done = len(r.rounds())
    ok(not r.done(done + 2, 0.3), "and waits")
    status, text = a.mete("set", "alice", "--resume")
    ok(not status and r.done(done + 2), "and goes on when it is resumed", text, r.lines[-3:])
    r.process.stdin.close()
    os.killpg(r.process.pid, signal.SIGKILL)
    r.process.wait()
    ok(until(lambda: not a.held(), 20), "nothing is left", a.held())


def killed(a):
    """The other server is gone in the middle: at every step that chance gives."""
    r = Remote(a, SIZE, 1000000, 0)
    r.has("holds")
    there = Server("there")
    stayed = 0
    for turn in range(KILLS):
        done = len(r.rounds())
        mover = threading.Thread(target=a.mete, args=("move", "alice", "--remote", there.address))
        mover.start()
        time.sleep(random.uniform(0, 0.25) * PATIENCE)
        there.kill()
        mover.join()
        if not a.workers():
            break
        stayed += r.done(done + 2)
        there = Server(f"there{turn}")
    if a.workers():
        ok(stayed == KILLS, f"{KILLS} times the other server was killed in the middle, and the program went on", stayed, r.lines[-5:])
    else:
        ok(until(lambda: any("UNAVAILABLE" in line or ": 46" in line for line in list(r.lines)), 30),
           "it had gone to a server that was killed: the documented error", r.lines[-5:])
    r.process.stdin.close()
    there.end()
    os.killpg(r.process.pid, signal.SIGKILL)
    r.process.wait()


subprocess.run([METE, "key", "new", "alice", "--keys", KEYS], check=True, capture_output=True)
a, b = Server("a"), Server("b")
goes(a, b)
many_moves(a, b)
refused(a, b)
killed(a)
a.end()
b.end()
finish()
