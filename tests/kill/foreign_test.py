"""
Memory that was made under one grant and is opened under another one by cuIpcOpenMemHandle: it can outlive its maker's hold, so
it is charged to both; and so is what its maker could not tell meted of: foreign_test.py BUILD
"""
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "daemon"))
from device import Device  # noqa: E402
from harness import BUILD, Meted, finish, ok, same, until  # noqa: E402

MIB = 1 << 20
OUT_OF_MEMORY = 2
METE, TELLER = os.path.join(BUILD, "src/cli/mete"), os.path.join(BUILD, "tests/kill/teller")


def inside_of(grant):
    """What `mete run` gives a program. It is not kept: it would start a meted itself when there is none."""
    done = subprocess.run([METE, "run", "--grant", grant, "--", sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))"],
                          env={**m.env, "METE_RUNTIME_DIR": m.dir}, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


class Teller:
    def __init__(self, grant):
        self.process = subprocess.Popen([TELLER], env=inside_of(grant), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit("Bail out! a program does not begin")

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        return int(answer[0]), *answer[1:]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def held(name):
    return m.control().share(name)["held_bytes"] // MIB


m = Meted("--soft-only", env={"METE_SOFT_DEVICES": "2", "METE_SOFT_MEMORY": "2G", "METE_SOFT_CONTEXT_MEMORY": "0"})
for name in ("maker", "opener"):
    m.make(name, 64 * MIB)
device = Device(m.env["METE_SOFT_DIR"], os.path.join(m.dir, "sight"))
maker, opener, second = Teller("maker"), Teller("opener"), Teller("opener")

opened = 0
for _ in range(5):
    r, handle = maker.ask("offer", 24 * MIB)
    same(r, 0, "memory is offered to other processes")
    r, = opener.ask("open", handle)
    opened += r == 0
    same(r, 0 if opened < 3 and r == 0 else OUT_OF_MEMORY, "another grant's process opens it while that grant has room")
    same((maker.ask("free"), opener.ask("info")[0]), ((0,), 0), "its maker lets go of it")
same((opened, held("maker"), held("opener")), (2, 0, 48), "who has it open is charged")
ok(device.used() <= 128 * MIB, "and the device gives no more than both quotas", device.used() // MIB)
same([opener.ask("leave") for _ in range(2)], [(0,)] * 2, "it is closed")
ok(until(lambda: (held("opener"), device.used()) == (0, 0)), "and nothing is left", held("opener"), device.used())

r, handle = maker.ask("offer", 24 * MIB)
same([t.ask("open", handle) for t in (opener, second, opener)], [(0,)] * 3, "two processes of a grant open the same, one of them twice")
same((held("maker"), held("opener")), (24, 24), "it is charged to either grant once")
same([opener.ask("leave"), opener.ask("leave")], [(0,)] * 2, "the first closes it")
same((held("maker"), held("opener")), (24, 24), "the second has it")
second.process.send_signal(signal.SIGKILL)
ok(until(lambda: held("opener") == 0), "and when that is killed it is not charged any more",
   held("opener"))
same(maker.ask("free"), (0,), "its maker lets go of it")
ok(until(lambda: (held("maker"), device.used()) == (0, 0)), "and nothing is left", held("maker"), device.used())

third = Teller("maker")
maker.ask("alloc", 2 * MIB), maker.ask("free")  # credit for what it takes while meted is away
m.kill()
r, handle = maker.ask("offer", MIB)
m.start()
same(r, 0, "memory is offered while meted is away, which is not told of it")
same(third.ask("open", handle), (0,), "it is opened in the same grant")
same(maker.ask("free"), (0,), "its maker lets go of it")
same((held("maker"), device.used() // MIB), (1, 1), "it is charged to who has it")
same(third.ask("leave"), (0,), "who closes it")
ok(until(lambda: (held("maker"), device.used()) == (0, 0)), "and nothing is left", held("maker"), device.used())

pulled = 0
for _ in range(4):
    r, path, name = maker.ask("pool", 24 * MIB)
    same(r, 0, "a pool's memory is offered to other processes")
    pulled += opener.ask("pull", path, name)[0] == 0
    same(maker.ask("drop"), (0,), "its maker lets go of it")
same((pulled, held("maker"), held("opener")), (2, 0, 48), "who pulls it without a current context is charged, as far as there is room")

m.make("elsewhere", devices=[{"device": "1", "mem_bytes": 64 * MIB}])
r, handle = maker.ask("offer", 24 * MIB)
elsewhere = Teller("elsewhere")
ok(elsewhere.ask("open", handle)[0] != 0, "who has nothing of the device that it lies on cannot open it")
m.make("both", devices=[{"device": d, "mem_bytes": 64 * MIB} for d in ("1", "0")])
both = Teller("both")
if both.ask("open", handle)[0] == 0:
    same([d["held_bytes"] // MIB for d in m.control().grant("both")["devices"]], [0, 24], "it is charged where it lies")
for t in (maker, opener, second, third, elsewhere, both):
    t.end()
device.close()
m.close()
finish()
