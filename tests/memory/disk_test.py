"""
Memory that leaves its device and finds no room in the host's memory goes to a disk, up to bounds, into a file without a name, encrypted; what
goes wrong there is one line, and the tenant as it was. The judge is the device's own count: disk_test.py BUILD [walled | NAME...]
"""
import contextlib
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from memory import MIB, Resider, fall, mete  # noqa: E402
from device import Device  # noqa: E402
from harness import BUILD, METED, OK, Meted, disk_folder, finish, ok, same, skip, until  # noqa: E402

SIZE, QUOTA = 24 * MIB, 40 * MIB
ENV = {"METE_SOFT_DEVICES": "1", "METE_SOFT_MEMORY": "64M", "METE_SOFT_CONTEXT_MEMORY": "0"}
FOLDER = disk_folder()
if not FOLDER:
    skip("memory on a disk", "no folder here has direct writes to files without a name")
    finish()


class Place:
    def __init__(self, memory, env=ENV, wrap=(), folder=FOLDER):
        self.yaml = tempfile.NamedTemporaryFile("w", suffix=".yaml")
        self.folder = folder
        self.say(memory, folder)
        self.m = Meted("--soft-only", env={**env, "METE_CONFIG": self.yaml.name}, wrap=wrap)
        self.c = self.m.control()
        self.judge = Device(self.m.env["METE_SOFT_DIR"], os.path.join(self.m.dir, "judge"), self.m.env)

    def say(self, memory, folder=FOLDER):
        self.yaml.seek(0)
        self.yaml.truncate()
        self.yaml.write(f"memory: {{{memory}, disk: {folder}}}\n")
        self.yaml.flush()

    def share(self, name):
        return self.c.grant(name)["devices"][0]

    def disk(self):
        return self.c.ask("devices")["disk"]

    def suspend(self, name):
        return mete(self.m, "set", name, "--suspend")

    def resume(self, name):
        return mete(self.m, "set", name, "--resume")

    def events(self):
        return [e["text"] for e in self.c.ask("events")["events"]]

    def close(self):
        self.judge.close()
        self.c.close()
        self.m.close()
        self.yaml.close()


def files(pid, folder=FOLDER):
    """Descriptors of a process that name a file of the folder: they have no name any more."""
    found = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            if os.readlink(f"/proc/{pid}/fd/{fd}").startswith(folder + "/"):
                found.append(int(fd))
        except OSError:
            pass
    return found


def content(pid):
    with open(f"/proc/{pid}/fd/{files(pid)[0]}", "rb") as f:
        return f.read()


def pid_of(p, name):
    return p.c.grant(name)["processes"][0]["pid"]


def comes_and_goes(p, wall, ordered=False):
    name = "ordered" if ordered else "wall" if wall else "local"
    p.m.make(name, QUOTA, spill=True, wall=wall)
    r = Resider(p.m, name, SIZE, 4, wall=wall, ordered=ordered)
    r.has("holds")
    r.go_on()
    r.done(1)
    held = p.share(name)["held_bytes"]
    for turn in range(2):
        status, text = p.suspend(name)
        s = p.share(name)
        ok(not status and s["residence"] == "away" and not s["held_bytes"] and not p.judge.used(), f"{name}: suspended", text, s)
        same(s["disk_bytes"], s["away_bytes"], f"{name}: all of it is on the disk")
        ok(SIZE <= p.disk()["taken_bytes"] <= held + 2 * MIB, f"{name}: which counts it", p.disk())
        status, text = mete(p.m, "ps", "--wide")
        ok("away, on disk" in text, f"{name}: mete ps says so", text)
        status, text = mete(p.m, "devices")
        ok(re.search(rf"^disk: \S+ \S+ of 64 MiB taken by memory that has left its device, in {FOLDER}$", text, re.M), f"{name}: and mete devices", text)
        status, text = mete(p.m, "metrics")
        ok(f'mete_tenant_memory_disk_bytes{{tenant="{name}",device="0"}} {s["disk_bytes"]}\n' in text and
           f"mete_disk_bytes {p.disk()['taken_bytes']}\n" in text and f"mete_disk_most_bytes {64 * MIB}\n" in text, f"{name}: and the metrics", text)
        same(os.listdir(FOLDER), [], f"{name}: no file has a name")
        pid = pid_of(p, name)
        there = content(pid)
        zeros = sum(not any(there[i:i + 4096]) for i in range(0, s["disk_bytes"], 4096))
        ok(len(there) >= s["disk_bytes"] and not zeros, f"{name}: what is there cannot be read: not even zeros look like zeros ({zeros})")
        status, text = p.resume(name)
        ok(not status and p.share(name)["residence"] == "resident" and p.judge.used() == held, f"{name}: resumed", text)
        same((p.share(name)["disk_bytes"], files(pid)), (0, []), f"{name}: nothing of it is on the disk")
        ok(until(lambda: not p.disk()["taken_bytes"] and not files(p.m.process.pid)[1:]), f"{name}: and its file is gone", p.disk())
        r.go_on()
        ok(r.done(turn + 2), f"{name}: its program goes on", r.lines)
    r.go_on()
    same(r.end(), 0, f"{name}: every word is what it has to be")
    ok(r.stays_in_place(), f"{name}: all addresses stayed")


def holders():
    """Processes that have a file of the folder, but for meted and the process that makes them."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm") as f:
                if not f.read().startswith("meted") and files(pid):
                    found.append(int(pid))
        except OSError:
            pass
    return found


def program_of(name, p):
    """A program behind a wall that is away, and has its memory on the disk."""
    until(lambda: len(holders()) == 1, 20)
    found = holders()
    ok(len(found) == 1 and len(files(found[0])) == 1, f"{name}: the program alone has the file", found)
    return found[0] if found else os.getpid()


def drop(p, name):
    """It is promised its quota, which is more than half of the device."""
    until(lambda: not p.c.grant(name)["processes"], 20)
    p.c.ask("grant_delete", name=name)


def kept_begins(p, name, rounds=1):
    p.m.make(name, QUOTA, spill=False, wall=True)
    r = Resider(p.m, name, SIZE, rounds + 1, wall=True, spill=False)
    r.has("holds")
    r.go_on()
    r.done(1)
    status, text = p.suspend(name)
    s = p.share(name)
    ok(not status and s["residence"] == "away" and not s["held_bytes"] and not p.judge.used() and s["disk_bytes"] >= SIZE, f"{name}: suspended, to the disk", text, s)
    return r


def kept_returns(p, name, r, rounds=1):
    status, text = p.resume(name)
    ok(not status and until(lambda: p.share(name)["residence"] == "resident", 20), f"{name}: resumed", text, p.share(name))
    for _ in range(rounds):
        r.go_on()
    same(r.end(), 0, f"{name}: every word is what it has to be")
    ok(r.stays_in_place(), f"{name}: all addresses stayed")
    ok(until(lambda: not p.disk()["taken_bytes"] and not holders() and not files_or_none(keeper()), 20), f"{name}: nothing is left on the disk", p.disk(), holders())
    drop(p, name)


def kept(p):
    """A program behind a wall whose grant has no --spill: it leaves its worker, and what it keeps meanwhile is on the disk."""
    r = kept_begins(p, "kept", 2)
    ok("away, on disk" in mete(p.m, "ps", "--wide")[1], "kept: mete ps says so", mete(p.m, "ps", "--wide"))
    ok(SIZE <= p.disk()["taken_bytes"] <= SIZE + 2 * MIB, "kept: it is counted", p.disk())
    same(os.listdir(FOLDER), [], "kept: no file has a name")
    there = content(program_of("kept", p))
    zeros = sum(not any(there[i:i + 4096]) for i in range(0, SIZE, 4096))
    ok(len(there) >= SIZE and not zeros, f"kept: what is there cannot be read: not even zeros look like zeros ({zeros})")
    p.resume("kept")
    r.go_on()
    r.done(2)
    p.suspend("kept")
    ok(p.share("kept")["disk_bytes"] >= SIZE, "kept: a second time", p.share("kept"))
    kept_returns(p, "kept", r)


def kept_finds_no_room(p):
    p.say("pool: 1M, disk_size: 16M, turn: 0.2")
    p.m.process.send_signal(1)
    until(lambda: p.disk()["most_bytes"] == 16 * MIB)
    p.m.make("large", QUOTA, spill=False, wall=True)
    r = Resider(p.m, "large", SIZE, 1, wall=True, spill=False)
    r.has("holds")
    status, text = p.suspend("large")
    ok(status == 1 and "memory.pool" in text and "\n" not in text, "large: no room on the disk: one line", status, text)
    s = p.share("large")
    ok(s["residence"] == "resident" and s["held_bytes"] and not p.c.grant("large")["suspended"], "large: it is as it was", s)
    r.go_on()
    same(r.end(), 0, "large: every word is what it has to be")
    drop(p, "large")
    p.say("pool: 1M, disk_size: 64M, turn: 0.2")
    p.m.process.send_signal(1)
    until(lambda: p.disk()["most_bytes"] == 64 * MIB)


def kept_closed(p):
    """The program closes descriptors that are not its own, while what they name is needed."""
    r = kept_begins(p, "shut")
    pid = program_of("shut", p)
    r.go_on("d")
    ok(until(lambda: not files(pid), 20), "shut: it closes all descriptors of files without a name")
    ok(p.disk()["taken_bytes"], "shut: its file is there all the same", p.disk())
    p.resume("shut")
    same(r.end(), 0, "shut: every word is what it has to be")
    drop(p, "shut")


def kept_other_bytes(p):
    r = kept_begins(p, "bent")
    path = f"/proc/{program_of('bent', p)}/fd/{files(program_of('bent', p))[0]}"
    with open(path, "r+b", 0) as f:
        f.seek(5 * MIB + 77)
        byte = f.read(1)
        f.seek(5 * MIB + 77)
        f.write(bytes([byte[0] ^ 4]))
        os.fsync(f.fileno())
    p.c.ask("grant_resume", name="bent")
    r.go_on()
    ok(not r.done(2, 1), "bent: one bit is wrong: its program gets nothing, it waits")
    with open(path, "r+b", 0) as f:
        f.seek(5 * MIB + 77)
        f.write(byte)
        os.fsync(f.fileno())
    ok(r.done(2, 60), "bent: where the disk comes to its senses the program goes on", r.lines)
    same(r.end(), 0, "bent: every word is what it has to be")
    drop(p, "bent")


def kept_killed(p):
    """Whoever is killed when."""
    r = kept_begins(p, "slain")
    os.kill(program_of("slain", p), 9)
    ok(until(lambda: not p.disk()["taken_bytes"] and not holders() and not files_or_none(keeper()), 20), "slain: a program is killed: nothing is on the disk", p.disk())
    p.resume("slain")
    drop(p, "slain")
    r = kept_begins(p, "slain")
    taken = p.disk()["taken_bytes"]
    p.c.close()
    fall(p.m)
    p.c = p.m.control()
    same(files_or_none(keeper()), [], "slain: meted is killed: the next one has no file")
    ok(until(lambda: p.disk()["taken_bytes"] == taken, 20), "slain: but it hears of it", p.disk(), taken)
    kept_returns(p, "slain", r)
    r = kept_begins(p, "slain")
    answer = p.c.ask("upgrade")
    ok(answer and answer["ok"], "slain: meted is upgraded", answer)
    p.c.close()
    p.c = p.m.control()
    same(p.disk()["taken_bytes"], taken, "slain: the next one has been told")
    kept_returns(p, "slain", r)


def kept_killed_at_random(p):
    """The worker, meted or the program, at any step."""
    p.m.make("random", QUOTA, spill=False, wall=True)
    wrong = []
    for turn in range(60 if os.environ.get("METE_TEST_LONG") else 6):
        r = Resider(p.m, "random", SIZE, 1000, 5, wall=True, spill=False)
        r.has("holds")
        workers = [q["pid"] for q in p.c.grant("random")["processes"]]
        p.c.ask("grant_suspend", name="random")
        if turn % 2:
            until(lambda: p.c.grant("random")["suspension"]["state"] != "leaving", 20)
            p.c.ask("grant_resume", name="random")
        time.sleep(random.uniform(0, 0.2))
        if turn % 3 == 0:
            for pid in workers + [q["pid"] for q in p.c.grant("random")["processes"]]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, 9)
        elif turn % 3 == 1:
            p.c.close()
            fall(p.m)
            p.c = p.m.control()
        else:
            os.killpg(r.process.pid, 9)
        until(lambda: p.c.grant("random")["suspension"]["state"] != "leaving", 20)
        p.c.ask("grant_resume", name="random")
        done = len(r.rounds())
        if turn % 3 != 2 and not until(lambda: len(r.rounds()) > done or r.process.poll() is not None, 40):
            wrong.append((turn, "hangs", r.lines[-3:], p.c.grant("random")["suspension"]))
        with contextlib.suppress(ProcessLookupError):
            os.killpg(r.process.pid, 9)
        r.process.wait()
        r.thread.join(5)
        if any(line.startswith("wrong ") and line.split()[1] != "0" for line in r.lines):
            wrong.append((turn, r.lines[-3:]))
        if not until(lambda: not p.c.grant("random")["processes"] and not p.disk()["taken_bytes"] and not holders() and not files_or_none(keeper()), 20):
            wrong.append((turn, p.disk(), holders(), p.c.grant("random")["processes"]))
        until(lambda: p.c.grant("random")["suspension"]["state"] in ("none", "refused", "away"), 20)
        p.c.ask("grant_resume", name="random")
    drop(p, "random")
    ok(not wrong, "random: somebody is killed in the middle: nothing is left on the disk, and who lives has what it had", wrong)


def host_first(p):
    """The host's memory is taken first, then the disk, each to its bound; whoever finds no room stays as he was."""
    p.say("pool: 30M, disk_size: 40M, turn: 0.2")
    p.m.process.send_signal(1)
    ok(until(lambda: p.disk()["most_bytes"] == 40 * MIB), "the bounds can be changed while meted runs", p.disk())
    names = ["first", "second", "third"]
    residers = {}
    for name in names:
        p.m.make(name, QUOTA, spill=True)
        residers[name] = Resider(p.m, name, 17 * MIB, 1)
        residers[name].has("holds")
    same([p.suspend(name)[0] for name in names[:2]], [0, 0], "two tenants of 17 MiB leave; the host's memory takes 30 MiB")
    same([bool(p.share(name)["disk_bytes"]) for name in names[:2]], [False, True], "the first goes to it, the second to the disk")
    for name in ("third",):
        status, text = p.suspend(name)
        same((status, p.share(name)["disk_bytes"] > 0), (0, True), "so does the third: 40 MiB are two of them")
    p.m.make("fourth", QUOTA, spill=True)
    fourth = Resider(p.m, "fourth", 17 * MIB, 1)
    fourth.has("holds")
    status, text = p.suspend("fourth")
    ok(status == 1 and "memory.pool" in text and "memory.disk" in text and "\n" not in text, "the fourth finds no room: one line", status, text)
    s = p.share("fourth")
    ok(s["residence"] == "resident" and s["held_bytes"] and not p.c.grant("fourth")["suspended"], "and is as it was", s)
    fourth.go_on()
    same(fourth.end(), 0, "every word of it is what it has to be")
    for name in names:
        p.resume(name)
        residers[name].go_on()
    same([residers[name].end() for name in names], [0] * 3, "and of the others")
    for name in names + ["fourth"]:
        p.c.ask("grant_delete", name=name)
    p.say("pool: 1M, disk_size: 64M, turn: 0.2")
    p.m.process.send_signal(1)
    until(lambda: p.disk()["most_bytes"] == 64 * MIB)


def counts_each(p):
    """What one program of a grant has on the disk, or will have, does not hide what another one of it has in the host's memory."""
    stores, leaving, away = 1 << 31, 1, 2
    p.say("pool: 30M, disk_size: 64M, turn: 0.2")
    p.m.process.send_signal(1)
    ok(until(lambda: p.disk()["most_bytes"] == 64 * MIB), "the host's memory takes 30 MiB", p.disk())
    units = 20 * MIB // 512
    clients = []
    for name, state in (("pair", away), ("pair", leaving), ("alone", leaving)):
        if not clients or name == "alone":
            p.m.make(name, QUOTA, spill=True)
        clients.append(p.m.client())
        clients[-1].hello(os.path.join(p.m.dir, "grants", name + ".sock"))
        clients[-1].ask("place", 0, stores | state, units if state == away else 0, units if state == leaving else 0)
    same(clients[1].ask("store", 0, units), [OK, 1], "20 MiB of a grant are there: its second program goes to the disk")
    same(clients[2].ask("store", 0, units), [OK, 1], "so does another grant's")
    for client in clients:
        client.kill()
    for name in ("pair", "alone"):
        until(lambda: not p.c.grant(name)["processes"])
        p.c.ask("grant_delete", name=name)
    p.say("pool: 1M, disk_size: 60M, turn: 0.2")
    p.m.process.send_signal(1)
    ok(until(lambda: p.disk()["most_bytes"] == 60 * MIB), "the bounds are as they were", p.disk())
    p.say("pool: 1M, disk_size: 64M, turn: 0.2")
    p.m.process.send_signal(1)
    until(lambda: p.disk()["most_bytes"] == 64 * MIB)


def turns(p):
    """More tenants than fit, without a word of a user's, by way of the disk."""
    for i in range(2):
        p.m.make(f"turn-{i}", 56 * MIB, spill=True)
    residers = [Resider(p.m, f"turn-{i}", 44 * MIB, 40, 20) for i in range(2)]
    same([r.end(150) for r in residers], [0, 0], "two tenants that do not fit together take turns: every word is what it has to be")
    moved = [p.c.grant(f"turn-{i}")["moved"]["moves"] for i in range(2)]
    ok(sum(moved) >= 1, f"their memory moved {moved} times")
    ok(p.judge.most <= 64 * MIB, "never more was on the device than it has")


def limited_program(p):
    """The program's own limit of a file's size is an error of the disk like any other. The kernel would send a signal."""
    p.m.make("limit", QUOTA, spill=True)
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8 * MIB, old[1]))
    r = Resider(p.m, "limit", SIZE, 2)
    resource.setrlimit(resource.RLIMIT_FSIZE, old)
    r.has("holds")
    status, text = p.suspend("limit")
    ok(status == 1 and "stays on the device" not in text and "\n" not in text, "a program that may write no such file stays: one line", status, text)
    s = p.share("limit")
    ok(s["residence"] == "resident" and s["held_bytes"] == p.judge.used() and not p.c.grant("limit")["suspended"], "and is as it was", s)
    for _ in range(2):
        r.go_on()
    same(r.end(), 0, "every word is what it has to be")
    ok(until(lambda: not p.disk()["taken_bytes"]), "nothing is on the disk", p.disk())


def other_bytes(p):
    """A disk that gives back other bytes than it was given."""
    p.m.make("lies", QUOTA, spill=True)
    r = Resider(p.m, "lies", SIZE, 2)
    r.has("holds")
    r.go_on()
    r.done(1)
    p.suspend("lies")
    pid = pid_of(p, "lies")
    path, at = f"/proc/{pid}/fd/{files(pid)[0]}", 5 * MIB + 77
    with open(path, "r+b", 0) as f:
        f.seek(at)
        byte = f.read(1)
        f.seek(at)
        f.write(bytes([byte[0] ^ 4]))
        os.fsync(f.fileno())
    p.c.ask("grant_resume", name="lies")
    ok(until(lambda: any("does not give it back as it was" in e for e in p.events()), 20), "one bit is wrong: an event says so", p.events()[-3:])
    r.go_on()
    ok(not r.done(2, 0.5), "its program gets nothing wrong: it waits")
    s = p.share("lies")
    ok(until(lambda: p.share("lies")["residence"] == "away" and not p.judge.used(), 10) and s["disk_bytes"], "its memory stays away", s)
    same(len([e for e in p.events() if "does not give it back" in e]), 1, "the event comes once")
    with open(path, "r+b", 0) as f:
        f.seek(at)
        f.write(byte)
        os.fsync(f.fileno())
    ok(r.done(2, 40), "where the disk comes to its senses the program goes on", r.lines)
    same(r.end(), 0, "every word is what it has to be")


def closed(p):
    """A program that closes descriptors that are not its own: meted has the file as well."""
    p.m.make("closes", QUOTA, spill=True)
    r = Resider(p.m, "closes", SIZE, 2)
    r.has("holds")
    r.go_on()
    r.done(1)
    p.suspend("closes")
    pid = pid_of(p, "closes")
    same(len(files(pid)), 1, "a program's memory is on the disk")
    r.go_on("d")
    ok(until(lambda: not files(pid)), "it closes all descriptors of files without a name")
    status, text = p.resume("closes")
    ok(not status, "its memory returns all the same", text, r.lines)
    same(r.end(), 0, "every word is what it has to be")


def killed(p):
    """Whoever is killed when: no file is left, and no account of it."""
    p.m.make("killed", QUOTA, spill=True)
    r = Resider(p.m, "killed", SIZE, 2)
    r.has("holds")
    p.suspend("killed")
    os.kill(pid_of(p, "killed"), 9)
    ok(until(lambda: not p.disk()["taken_bytes"] and not p.c.grant("killed")["processes"]), "a program is killed: nothing is on the disk", p.disk())
    same(files(p.m.process.pid)[1:], [], "and no file is left")
    p.resume("killed")
    r = Resider(p.m, "killed", SIZE, 3)
    r.has("holds")
    r.go_on()
    r.done(1)
    p.suspend("killed")
    taken = p.disk()["taken_bytes"]
    p.c.close()
    fall(p.m)
    pid = [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) != p.m.process.pid and files_or_none(pid)]
    same(files(p.m.process.pid)[1:], [], "the next meted has no file")
    same(len(pid), 1, "meted is killed: the program alone has the file")
    p.c = p.m.control()
    ok(until(lambda: p.share("killed").get("disk_bytes")), "the next meted finds it")
    ok(abs(p.disk()["taken_bytes"] - taken) <= 2 * MIB, "and counts it", p.disk(), taken)
    status, text = p.resume("killed")
    ok(not status and until(lambda: not p.disk()["taken_bytes"]), "it returns", text, p.disk())
    for _ in range(2):
        r.go_on()
    same(r.end(), 0, "every word is what it has to be")


def upgraded(p):
    """In the middle of the way out, and while it is away."""
    p.m.make("upgrades", QUOTA, spill=True)
    for away in (False, True):
        r = Resider(p.m, "upgrades", SIZE, 2)
        r.has("holds")
        p.c.ask("grant_suspend", name="upgrades")
        if away:
            until(lambda: p.share("upgrades")["residence"] == "away", 20)
        answer = p.c.ask("upgrade")
        ok(answer and answer["ok"], f"meted is upgraded while memory is {'on the disk' if away else 'leaving for the disk'}", answer)
        p.c.close()
        p.c = p.m.control()
        ok(until(lambda: p.share("upgrades")["residence"] == "away", 20), "the next one sees it away", p.share("upgrades"))
        s = p.share("upgrades")
        ok(s["disk_bytes"] == s["away_bytes"] and p.disk()["taken_bytes"] >= s["disk_bytes"], "on the disk", s, p.disk())
        ok(len(files(p.m.process.pid)) <= 2, "and has kept no descriptors of it", files(p.m.process.pid))
        r.go_on()
        status, text = p.resume("upgrades")
        ok(not status and r.done(1), "and brings it back", text)
        r.go_on()
        same(r.end(), 0, "every word is what it has to be")
        ok(until(lambda: not p.disk()["taken_bytes"]), "nothing is left there", p.disk())


def files_or_none(pid):
    try:
        return files(pid)
    except OSError:
        return None


def forked(p):
    """A child of fork() does not keep the file."""
    p.m.make("forks", QUOTA, spill=True)
    r = Resider(p.m, "forks", SIZE, 2)
    r.has("holds")
    p.suspend("forks")
    pid = pid_of(p, "forks")
    r.go_on("f")
    ok(r.has("child"), "a program forks while its memory is on the disk", r.lines)
    child = int(next(line for line in r.lines if line.startswith("child")).split()[1])
    ok(until(lambda: not files(child)) and len(files(pid)) == 1, "its child has no descriptor of it", files(child), files(pid))
    p.resume("forks")
    r.go_on()
    same(r.end(), 0, "every word is what it has to be")
    os.kill(child, 9)


@contextlib.contextmanager
def disk_of(what, size):
    """The folder of a file system of its own; None where there can be none."""
    if os.geteuid() or not os.path.exists("/dev/loop-control"):
        skip(what, "it takes root and a loop device")
        yield None
        return
    with tempfile.TemporaryDirectory() as place:
        image, at = os.path.join(place, "image"), os.path.join(place, "at")
        os.mkdir(at)
        with open(image, "wb") as f:
            f.truncate(size)
        made = subprocess.run(["mkfs.ext4", "-q", "-O", "^has_journal", image], capture_output=True).returncode if os.path.exists("/usr/sbin/mkfs.ext4") else 1
        if made or subprocess.run(["mount", "-o", "loop", image, at], capture_output=True).returncode:
            skip(what, "no loop device can be mounted here")
            yield None
            return
        try:
            os.chmod(at, 0o700)
            yield at
        finally:
            subprocess.run(["umount", at], check=False)


def full_disk():
    """A disk of its own that is smaller than memory.disk_size."""
    with disk_of("a disk that is full", 24 * MIB) as at:
        if not at:
            return
        p = Place("pool: 1M, disk_size: 1G", folder=at)
        p.m.make("full", QUOTA, spill=True)
        r = Resider(p.m, "full", SIZE, 2)
        r.has("holds")
        status, text = p.suspend("full")
        ok(status == 1 and "No space left on device" in text and at in text and "\n" not in text, "the disk is full: one line", status, text)
        s = p.share("full")
        ok(s["residence"] == "resident" and s["held_bytes"] == p.judge.used() and not p.c.grant("full")["suspended"], "the tenant is as it was", s)
        ok("has room for" in p.m.log(), "meted has said at its start that there is less than it may take", p.m.log())
        for _ in range(2):
            r.go_on()
        same(r.end(), 0, "every word is what it has to be")
        p.close()


def frozen_disk():
    """Who asks the file system for anything waits in the kernel."""
    with disk_of("a disk that is frozen", 96 * MIB) as at:
        if not at:
            return
        p = Place("pool: 1M, disk_size: 1G", folder=at)
        if subprocess.run(["fsfreeze", "-f", at], capture_output=True).returncode:
            skip("a disk that is frozen", "this file system cannot be frozen here")
        else:
            try:
                refused_while_it_hangs(p, "frozen", "a disk is frozen", lambda: subprocess.run(["fsfreeze", "-u", at], check=True))
            finally:
                subprocess.run(["fsfreeze", "-u", at], capture_output=True)
        p.close()


def keeper(folder=FOLDER):
    """The process that asks the disk for files."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm") as f:
                if f.read() == "meted-disk\n" and folder in [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]:
                    return int(pid)
        except OSError:
            pass
    return None


def refused_while_it_hangs(p, name, what, go_on):
    """A disk that does not answer: who waits for it stays as he was, and nobody else waits at all."""
    p.m.make(name, QUOTA, spill=True)
    r = Resider(p.m, name, SIZE, 2)
    r.has("holds")
    p.c.ask("grant_suspend", name=name)
    longest, end = 0, time.monotonic() + 60
    while p.c.grant(name)["suspension"]["state"] == "leaving" and time.monotonic() < end:
        begun = time.monotonic()
        p.c.ask("devices")
        longest = max(longest, time.monotonic() - begun)
        time.sleep(0.05)
    s = p.c.grant(name)["suspension"]
    ok(s["state"] == "refused" and "its disk does not answer" in s["why"], f"{what}: who was to leave stays, and is told why", s)
    ok(longest < 2, f"{what}: all others are served meanwhile: the longest answer took {longest * 1000:.0f} ms")
    same((p.share(name)["residence"], p.share(name)["held_bytes"]), ("resident", p.judge.used()), f"{what}: it is as it was")
    go_on()
    ok(until(lambda: not p.suspend(name)[0], 20) and p.share(name)["disk_bytes"], f"{what}: when the disk answers again it can leave", p.share(name))
    p.resume(name)
    ok(until(lambda: not p.disk()["taken_bytes"] and not files_or_none(keeper(p.folder) or 0), 20), f"{what}: and no file is left", p.disk())
    for _ in range(2):
        r.go_on()
    same(r.end(), 0, f"{what}: every word is what it has to be")


def hangs(p):
    pid = keeper()
    os.kill(pid, signal.SIGSTOP)
    refused_while_it_hangs(p, "hangs", "a disk hangs", lambda: os.kill(pid, signal.SIGCONT))
    os.kill(pid, 9)
    p.m.make("after", QUOTA, spill=True)
    r = Resider(p.m, "after", SIZE, 1)
    r.has("holds")
    ok(until(lambda: not p.suspend("after")[0], 20) and p.share("after")["disk_bytes"] and keeper() not in (None, pid),
       "the process that asks the disk is killed: there is another one", p.share("after"))
    p.resume("after")
    r.go_on()
    same(r.end(), 0, "every word is what it has to be")
    ok(until(lambda: not p.disk()["taken_bytes"], 20), "nothing is on the disk", p.disk())


def check(folder):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write(f"memory:\n  disk: {folder}\n")
        f.flush()
        done = subprocess.run([METED, "--config", f.name, "--check-config"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return done.returncode, done.stderr.strip()


def refused_folders():
    good = os.path.join(FOLDER, "good")
    os.mkdir(good, 0o700)
    open_ = os.path.join(FOLDER, "open")
    os.mkdir(open_, 0o750)
    link = os.path.join(FOLDER, "link")
    os.symlink(good, link)
    file = os.path.join(FOLDER, "file")
    with open(file, "w"):
        pass
    rows = [(open_, "others may enter it"), (link, "symbolic link"), (link + "/..", "symbolic link"), (file, "Not a directory"), (FOLDER + "/none", "No such file"),
            ("/proc", "mode 700" if os.geteuid() else "others may enter it")]
    if os.path.isdir("/dev/shm") and os.access("/dev/shm", os.W_OK):
        shm = tempfile.mkdtemp(dir="/dev/shm")
        rows.append((shm, "host's memory itself"))
    if not os.geteuid():
        alien = os.path.join(FOLDER, "alien")
        os.mkdir(alien, 0o700)
        os.chown(alien, 65534, 65534)
        rows.append((alien, "belongs to another user"))
    for folder, said in rows:
        status, text = check(folder)
        ok(status == 1 and said in text and "\n" not in text and ":2: memory.disk " in text, f"a folder of which is said: {said}", status, text)
    same(check(good), (0, ""), "a good one")
    p = Place("pool: 1M, disk_size: 64M", folder=open_)
    same(p.disk(), None, "a meted that is started with a bad one serves without")
    ok("others may enter it: chmod 700; no memory goes to a disk" in p.m.log(), "and says so", p.m.log())
    p.m.make("local", QUOTA, spill=True)
    r = Resider(p.m, "local", SIZE, 1)
    r.has("holds")
    status, text = p.suspend("local")
    ok(status == 1 and "memory.pool" in text, "what finds no room in the host's memory stays", text)
    r.go_on()
    same(r.end(), 0, "every word is what it has to be")
    p.close()
    for path in (good, open_) + (() if os.geteuid() else (alien,)):
        os.rmdir(path)
    for path in (link, file):
        os.unlink(path)
    if os.path.isdir("/dev/shm") and os.access("/dev/shm", os.W_OK):
        os.rmdir(shm)


p = Place("pool: 1M, disk_size: 64M, turn: 0.2")
only = sys.argv[2:]
spilled = (comes_and_goes, host_first, counts_each, turns, limited_program, other_bytes, closed, killed, upgraded, forked, hangs)
walled = (kept, kept_finds_no_room, kept_closed, kept_other_bytes, kept_killed, kept_killed_at_random)
for what in walled if only == ["walled"] else spilled + walled if only else spilled:
    if only not in ([], ["walled"]) and what.__name__ not in only:
        continue
    if what is comes_and_goes:
        comes_and_goes(p, False)
        comes_and_goes(p, True)
        comes_and_goes(p, False, ordered=True)
    else:
        what(p)
p.close()
for what in (full_disk, frozen_disk):
    if not only or what.__name__ in only:
        what()
if not only:
    refused_folders()
same(os.listdir(FOLDER), [], "nothing is left in the folder")
finish()
