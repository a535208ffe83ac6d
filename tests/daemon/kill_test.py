"""
Eight processes of one tenant take, free, share and measure as fast as they can, with a driver's pool beside them that
must never exceed the quota, while meted is killed at random moments and started again, and while the processes
themselves are killed. Afterwards all figures agree to the unit.

kill_test.py BUILD [rounds of meted's death] [deaths of processes] [seed]
"""
import mmap
import random
import struct

from harness import *

PROCESSES = 8
QUOTA = 4096  # units
SLOT = 64
# Eight processes use all processors meanwhile. The moments of the deaths are the address sanitizer's: for the thread sanitizer half of them.
DEATHS = 60 if os.environ.get("METE_TEST_LONG") else 7 if "TSAN_OPTIONS" in os.environ else 14
meted_deaths = int(sys.argv[2]) if len(sys.argv) > 2 else DEATHS
process_deaths = int(sys.argv[3]) if len(sys.argv) > 3 else DEATHS
seed = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(1 << 30)
random.seed(seed)


class Hammers:
    def __init__(self, m, path, seconds):
        self.m, self.path, self.seconds = m, path, seconds
        self.pool_path = os.path.join(m.dir, "pool")
        with open(self.pool_path, "wb") as f:
            f.truncate(SLOT * 64)
        with open(self.pool_path, "r+b") as f:
            self.pool = mmap.mmap(f.fileno(), SLOT * 64)
        self.slots = [None] * PROCESSES
        self.start_time = time.monotonic()

    def start(self, slot):
        left = self.seconds - (time.monotonic() - self.start_time)
        self.slots[slot] = subprocess.Popen(
            [WIRE_CLIENT, "hammer", self.path, self.pool_path, str(slot), str(QUOTA), f"{max(left, 0.01):.3f}",
             str(random.randrange(1 << 30))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def kill(self, slot):
        self.slots[slot].kill()
        self.slots[slot].communicate()  # waits until it is gone
        struct.pack_into("=I", self.pool, slot * SLOT + 4, 0)  # the driver's memory goes with the process

    def results(self):
        """ops, held, over, lost of each"""
        rows = []
        for p in self.slots:
            words = p.stdout.readline().split()
            rows.append([int(w) for w in words[1:]] if words[:1] == ["done"] else None)
        return rows

    def end(self):
        for p in self.slots:
            if p and p.poll() is None:
                p.kill()
            if p:
                p.wait()
                p.stdin.close()
                p.stdout.close()
        self.pool.close()


def agree(m, hammers, what):
    rows = hammers.results()
    if not ok(None not in rows, f"{what}: every process comes to its end", rows):
        return
    print(f"# {sum(r[0] for r in rows)} operations, seed {seed}", flush=True)
    held = {p.pid: r[1] for p, r in zip(hammers.slots, rows)}
    same(sum(r[2] for r in rows), 0, f"{what}: never over the quota")
    same(sum(r[3] for r in rows), 0, f"{what}: no account ever differs from what its process holds")
    grant = m.control().grant("hammer")
    share = grant["devices"][0]
    own = {p["pid"]: p["devices"][0] for p in grant["processes"]}
    same(set(own), set(held), f"{what}: meted knows the processes that live and no others")
    same(share["held_bytes"], sum(held.values()) * UNIT, f"{what}: held is what the processes hold together")
    same(share["shared_bytes"] + sum(d["held_bytes"] for d in own.values()), share["held_bytes"],
         f"{what}: accounts and objects add up to it")
    same(share["granted_bytes"], sum(d["held_bytes"] + d["credit_bytes"] for d in own.values()),
         f"{what}: the ledger is the sum of the accounts")
    ok(share["granted_bytes"] + share["shared_bytes"] <= QUOTA * UNIT, f"{what}: within the quota", share)
    ok("written into its account" not in m.log(), f"{what}: no page was found tampered with", m.log()[-500:])
    for p in hammers.slots:
        p.stdin.close()
        p.wait()
    ok(until(lambda: not m.control().grant("hammer")["processes"]), f"{what}: all are forgotten when they end")
    share = m.control().share("hammer")
    same((share["held_bytes"], share["granted_bytes"], share["shared_bytes"]), (0, 0, 0), f"{what}: nothing stays charged")
    same(m.pages(), [], f"{what}: no page stays")


def quiet(m, path):
    hammers = Hammers(m, path, 1.5)
    for slot in range(PROCESSES):
        hammers.start(slot)
    agree(m, hammers, "undisturbed")
    hammers.end()


def kill_meted(m, path):
    begun = time.monotonic()
    m.kill()
    m.start()
    # As long as so many deaths take here; those of sanitized programs take longer.
    hammers = Hammers(m, path, 600)
    hammers.seconds = 2.5 + min(meted_deaths * max(0.045, 1.5 * (time.monotonic() - begun)), 15)
    for slot in range(PROCESSES):
        hammers.start(slot)
    deaths = 0
    while deaths < meted_deaths and time.monotonic() - hammers.start_time < hammers.seconds - 1:
        time.sleep(random.random() * random.choice([0.002, 0.02, 0.06]))
        m.kill()
        deaths += 1
        if not m.start():
            raise SystemExit("Bail out! meted does not come back")
    print(f"# meted was killed {deaths} times", flush=True)
    ok(deaths >= min(5, meted_deaths), "meted was killed often enough to mean something", deaths)
    agree(m, hammers, "meted killed")
    hammers.end()


def kill_processes(m, path, also_meted):
    what = "both killed" if also_meted else "processes killed"
    hammers = Hammers(m, path, 2.5 + process_deaths * 0.03)
    for slot in range(PROCESSES):
        hammers.start(slot)
    for n in range(process_deaths):
        time.sleep(random.random() * 0.03)
        slot = random.randrange(PROCESSES)
        hammers.kill(slot)
        if also_meted and not n % 3:
            m.kill()
            m.start()
        hammers.start(slot)
    agree(m, hammers, what)
    hammers.end()


m = Meted("--soft-only")
path = m.make("hammer", QUOTA * UNIT)
quiet(m, path)
kill_meted(m, path)
kill_processes(m, path, False)
kill_processes(m, path, True)
m.close()
finish()
