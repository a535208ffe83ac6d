#!/usr/bin/env python3
"""
A kill storm behind a wall: clients that connect, work and die at random, or whose workers do. Afterwards nothing may be
left: no memory of the device, no quota, no process, no descriptor or socket of meted, and meted not grown.

    storm_test.py BUILD
"""
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../daemon"), HERE]
sys.dont_write_bytecode = True
from harness import *  # noqa: E402,F403
from storm import LONG, PATIENCE, Storm, children, descriptors, descriptors_at_rest, kill_one, resident  # noqa: E402

SECONDS, CLIENTS = (300, 200) if LONG else (4, 12)
PROGRAM = os.path.join(BUILD, "tests/remote/storm_client")
LIBRARY = os.path.join(BUILD, "src/remote/client")


def grants(m):
    c = m.control()
    answer = c.ask("grants")["grants"]
    c.close()
    return answer


def quiet(m):
    """Only the workers that wait are left."""
    return until(lambda: not any(g["processes"] for g in grants(m)) and len(children(m.process.pid)) == 2, 20)


def device_used(m):
    c = m.control()
    used = c.ask("devices")["devices"][0]["used_bytes"]
    c.close()
    return used


def main():
    random.seed(int(os.environ.get("METE_TEST_SEED", "1")))
    m = Meted("--soft-only", env={"METE_SOFT_CONTEXT_MEMORY": "1M", "METE_SOFT_DEVICES": "1"})
    walls = []
    for name, quota in (("a", 64 << 20), ("b", 8 << 20)):
        c = m.control()
        answer = c.ask("grant_create", name=name, driver="soft", devices=[{"device": "0", "mem_bytes": quota}], wall=True)
        walls.append(answer["grant"]["wall"])
        c.close()

    def start():
        env = dict(m.env, LD_LIBRARY_PATH=LIBRARY, METE_REMOTE=random.choice(walls))
        return subprocess.Popen([PROGRAM, str(random.getrandbits(31)), str(random.choice([1, 10, 100, 1000]))], env=env,
                                stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def kill_worker():
        return kill_one([p["pid"] for g in grants(m) for p in g["processes"]])

    storm = Storm(CLIENTS, start, [(0.1, "worker killed", kill_worker)])
    for _ in range(3 * CLIENTS):  # so that what is grown once is grown
        storm.blow()
    storm.end()
    ok(quiet(m), "after some clients only workers that wait are left", children(m.process.pid))
    fds, kib, used = descriptors_at_rest(m.process.pid), resident(m.process.pid), device_used(m)
    storm.rage(SECONDS)
    print(f"# {storm.ends}")
    ok(storm.ends["done"] and storm.ends["killed"] and storm.ends["worker killed"], "the storm had all its winds", storm.ends)
    same(storm.ends["wrong"], 0, "no client got a wrong answer")
    ok(quiet(m), "only workers that wait are left", children(m.process.pid), grants(m))
    ok(all(d["held_bytes"] == 0 and d["shared_bytes"] == 0 for g in grants(m) for d in g["devices"]),
       "nothing is held of any quota", grants(m))
    ok(until(lambda: device_used(m) <= used, 30), "the device's memory is free", device_used(m), used)
    ok(until(lambda: descriptors(m.process.pid) <= fds, 30), "no descriptor of meted is left open",
       fds, descriptors(m.process.pid))
    same(len(os.listdir(os.path.join(m.dir, "pages"))), 0, "no page is left")
    left = lambda: os.listdir(os.path.join(m.dir, "workers"))
    sockets = lambda: [n for n in left() if not n.endswith(".traffic")]
    ok(until(lambda: len(sockets()) == 2, 30), "no socket of a worker is left", left())
    ok(until(lambda: all(n.replace(".traffic", "") in sockets() for n in left()), 30), "nor what counts beside it", left())
    grown = resident(m.process.pid) - kib
    # A sanitizer keeps what has been freed.
    ok(grown < 4096 or PATIENCE > 1, f"meted has not grown ({grown} KiB)")
    m.process.terminate()
    m.process.wait()
    m.process.stderr.close()
    finish()


if __name__ == "__main__":
    main()
