"""
What the attacks share: a system's meted of root on software devices, and other users who act against it.

Every test here is one line of docs/threats.md. The attacker is an unprivileged user (UID, or another one), who has what a
local user has: the sockets of meted, the folders that all may enter, and programs of his own. Only root can become
another user: elsewhere the test is skipped, with the reason.
"""
import os
import pickle
import re
import signal
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "daemon"))
sys.path.insert(0, os.path.join(HERE, "..", "kill"))
import device  # noqa: E402
import harness  # noqa: E402
from harness import *  # noqa: E402,F401,F403

UID = 61001    # the attacker
VICTIM = 61002  # another user of the same machine
WALL_CLIENT = os.path.join(harness.BUILD, "tests/remote/wall_client")
TURN_CLIENT = os.path.join(harness.BUILD, "tests/daemon/turn_client")


def root_only(what):
    """Ends the test, skipped, where it cannot become another user."""
    if os.getuid() == 0:
        return
    harness.skip(what, "only root can become another user")
    harness.finish()


class Child:
    """A process of `uid` that runs `act(*given)`; value() waits for it and returns what act returned."""

    groups = []  # of the process, besides that of the same number

    def __init__(self, uid, act, *given):
        self.read, write = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(write)
            return
        try:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.setgroups(self.groups)
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            answer = (True, act(*given))
        except BaseException:
            answer = (False, traceback.format_exc())
        with os.fdopen(write, "wb") as out:
            pickle.dump(answer, out)
        os._exit(0)

    def value(self):
        with os.fdopen(self.read, "rb") as answer:
            text = answer.read()
        os.waitpid(self.pid, 0)
        if not text:
            raise RuntimeError("the attacker's process has died")
        good, value = pickle.loads(text)
        if not good:
            raise RuntimeError(value)
        return value

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        os.close(self.read)
        os.waitpid(self.pid, 0)


def as_user(uid, act, *given):
    """Runs act(*given) in a process of another user and returns its value."""
    return Child(uid, act, *given).value()


def ask_as(uid, directory, *requests):
    """The answers to requests on the control socket, asked by a user on one connection; None: it was closed."""
    def act():
        c = harness.Control(directory)
        answers = [c.ask(**r) for r in requests]
        c.close()
        return answers
    return as_user(uid, act)


def system(*options, **more):
    """A meted as the service is, with software devices only."""
    return harness.Meted("--system", "--soft-only", *options, **more)


def judge(s):
    """The software device's own count of its memory; a system's meted does not say it, as each user has devices of his own."""
    return device.Device(s.env["METE_SOFT_DIR"], os.path.join(s.dir, "judge"), s.env)


def soft(mem="1G", name=None, **fields):
    """A request for a grant on software device 0."""
    return {"op": "grant_create", **({"name": name} if name else {}), "driver": "soft",
            "devices": [{"device": "0", "mem_bytes": size_bytes(mem)}], **fields}


def size_bytes(text):
    if isinstance(text, int):
        return text
    return int(text[:-1]) << {"K": 10, "M": 20, "G": 30}[text[-1]]


def turn_client(path, *words, nice=0):
    """A program that takes turns on the first device of its grant, as its words say; `nice`: its priority."""
    command = [*(["nice", "-n", str(nice)] if nice else []), TURN_CLIENT, path, "0", *words]
    return harness.subprocess.Popen(command, stdin=harness.subprocess.PIPE, stdout=harness.subprocess.PIPE, text=True)


def turns_spent(s):
    """The processor's time that the thread which gives turns has had, in s."""
    for task in os.listdir(f"/proc/{s.process.pid}/task"):
        with open(f"/proc/{s.process.pid}/task/{task}/stat") as f:
            name, rest = f.read().rsplit(")", 1)
        if name.endswith("(meted turns"):
            return sum(int(w) for w in rest.split()[11:13]) / os.sysconf("SC_CLK_TCK")
    raise RuntimeError("no thread gives turns")


class Program:
    """A program behind a wall: status() waits until it has its worker, or not; ms, text: after how long, the line."""

    def __init__(self, path):
        self.process = harness.subprocess.Popen([WALL_CLIENT, path], stdin=harness.subprocess.PIPE, stdout=harness.subprocess.PIPE, text=True)

    def status(self):
        words = self.process.stdout.readline().split(" ", 2)
        self.ms, self.text = float(words[1]), words[-1].strip()
        return int(words[0])

    def end(self):
        self.process.kill()
        self.process.communicate()
