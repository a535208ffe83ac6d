"""
Programs of grants with --spill whose memory cannot leave the device (arrays): what others are promised is not lent to them for that, and a
guaranteed tenant gets its promise: stay_test.py BUILD
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from memory import METE, MIB, Resider, mete  # noqa: E402
from harness import BUILD, Meted, finish, ok, same, until  # noqa: E402

STAYER = os.path.join(BUILD, "tests/memory/stayer")
TOTAL, SURE, CHANCE = 64, 40, 51  # MiB
ENV = {"METE_SOFT_DEVICES": "1", "METE_SOFT_MEMORY": f"{TOTAL}M", "METE_SOFT_CONTEXT_MEMORY": "0"}


class Stayer:
    def __init__(self, grant, plain, arrays, threads=1):
        self.process = subprocess.Popen([METE, "run", "--grant", grant, "--", STAYER, str(plain * MIB), str(arrays), str(threads)],
                                        env={**m.env, "METE_RUNTIME_DIR": m.dir}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.plain = self.number("plain")

    def number(self, word):
        line = self.process.stdout.readline().split()
        return int(line[1]) if line[:1] == [word] else line

    def again(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.number("arrays")

    def end(self):
        self.process.stdin.close()
        return self.process.wait(60)


def sure_has_it(what):
    sure = Resider(m, "sure", (SURE - 2) * MIB, 2, 0)
    same(sure.end(60), 0, what)


m = Meted("--soft-only", env=ENV)
c = m.control()
m.make("sure", SURE * MIB)
m.make("chance", CHANCE * MIB, spill=True)
m.make("other", CHANCE * MIB, spill=True)

one = Stayer("chance", 0, 100)
count = one.number("arrays")
same(count, TOTAL - SURE, "memory that stays fits beside what is promised, to the byte")
sure_has_it("and a guaranteed tenant has its promise")
same(one.again(), TOTAL - SURE, "nothing more of it is had afterwards")
same(one.end(), 0, "the program ends well")

one = Stayer("chance", CHANCE - 5, 100)
same((one.plain, one.number("arrays")), (0, 5), "memory that can leave is lent of what is promised, beside some that stays")
ok(until(lambda: "5 MiB stay" in mete(m, "ps", "--wide")[1], 5), "mete ps says how much stays", mete(m, "ps", "--wide"))
sure_has_it("and leaves for the one that it is promised to")
same(one.end(), 0, "the program ends well")

several = [Stayer(name, 0, 100, 4) for name in ("chance", "other") for _ in range(3)]
counts = [s.number("arrays") for s in several]
ok(TOTAL - SURE - 6 <= sum(counts) <= TOTAL - SURE, f"six programs of two such tenants, of four threads each, have no more together ({counts})")
sure_has_it("and a guaranteed tenant has its promise beside them")
same([s.end() for s in several], [0] * 6, "the programs end well")

c.ask("grant_delete", name="sure")
mover = Resider(m, "chance", 40 * MIB, 100000, 20)
mover.done(3)
one = Stayer("other", 0, CHANCE)
count = one.number("arrays")
ok(10 <= count <= TOTAL - 40, f"memory that stays leaves room for what another program has that can leave ({count} MiB)")
before = len(mover.rounds())
ok(mover.done(before + 10), "which goes on: it is not kept off the device", mete(m, "ps")[1])
status, text = mete(m, "set", "chance", "--suspend")
same((status, one.again()), (0, CHANCE), "a program that is suspended leaves it all to others")
same(mete(m, "set", "chance", "--resume", "--now")[0], 1, "and waits with its return until there is room")
same(one.end(), 0, "the other program ends well")
mete(m, "set", "chance", "--resume")
mover.process.stdin.close()
same(mover.end(60), 0, "and it goes on where it was")
one = Stayer("chance", 0, 45)
same(one.number("arrays"), 45, "where nothing is promised they have what their quota allows")
answer = c.ask("grant_create", driver="soft", name="late", devices=[{"device": "0", "mem_bytes": SURE * MIB}])
same((answer["ok"], answer.get("code")), (False, "over-promised"), "which is not promised to others while it stays")
same(one.end(), 0, "the program ends well")
ok(until(lambda: c.ask("grant_create", driver="soft", name="late", devices=[{"device": "0", "mem_bytes": SURE * MIB}])["ok"], 10),
   "and is when it has gone")
c.close()
m.close()
finish()
