"""
What a tenant holds on a device, all its processes together, as each of them is told by cuMemGetInfo: exact at every
moment, and without meted, which is stopped here while they are asked: others_test.py BUILD
"""
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "daemon"))
from harness import Meted, finish, ok, same, until  # noqa: E402
from tell import Teller, inside_of  # noqa: E402

MIB = 1 << 20
QUOTA = 512 * MIB


def main():
    m = Meted("--soft-only", env={"METE_SOFT_DEVICES": "1", "METE_SOFT_MEMORY": "6G", "METE_SOFT_CONTEXT_MEMORY": "1M"})
    m.make("others", QUOTA)
    inside = inside_of(m, "others")
    tellers = [Teller(inside)]

    def agree(what, expected):
        """Twice by meted, for the pages of the others are fetched when one asks again; then without it."""
        for t in tellers:
            t.held(), t.held()
        same(m.control().share("others")["held_bytes"], expected, f"{what}: meted's account")
        m.process.send_signal(signal.SIGSTOP)
        same([t.held() for t in tellers], [expected] * len(tellers), f"{what}: every process is told so, without meted")
        m.process.send_signal(signal.SIGCONT)

    def while_stopped(what, change, expected):
        m.process.send_signal(signal.SIGSTOP)
        change()
        same([t.held() for t in tellers], [expected] * len(tellers), f"{what}, while meted is stopped: every process is told so")
        m.process.send_signal(signal.SIGCONT)

    agree("alone", MIB)
    same(tellers[0].ask("alloc", 10 * MIB), [0], "memory")
    agree("alone with memory", 11 * MIB)
    tellers += [Teller(inside), Teller(inside)]
    agree("three", 13 * MIB)
    tellers[1].ask("alloc", 5 * MIB), tellers[1].ask("alloc", 3 * MIB)
    agree("the second has memory", 21 * MIB)
    while_stopped("it gives some back", lambda: tellers[1].ask("free"), 18 * MIB)
    tellers[2].ask("export", 8 * MIB)
    agree("the third exports some", 26 * MIB)
    tellers[2].ask("close")
    tellers[2].held()
    agree("and closes its descriptor", 18 * MIB)
    tellers.pop(1).end(signal.SIGKILL)
    until(lambda: len(m.control().grant("others")["processes"]) == 2)
    agree("the second is killed", 12 * MIB)
    m.kill()
    m.start()
    agree("meted is killed", 12 * MIB)
    m.kill()
    tellers.pop().end(signal.SIGKILL)
    m.start()
    agree("the third while meted was away", 11 * MIB)
    tellers += [Teller(inside) for _ in range(7)]
    agree("eight", 18 * MIB)
    tellers[3].ask("alloc", MIB)
    while_stopped("one of eight gives back", lambda: tellers[3].ask("free"), 18 * MIB)
    m.control().ask("grant_set", name="others", devices=[{"mem_bytes": QUOTA // 2}])
    same([t.ask("info")[2] for t in tellers], [QUOTA // 2] * 8, "another quota: every process is told so")
    m.process.send_signal(signal.SIGSTOP)
    took = tellers[0].ask("time", 10000)[0]
    m.process.send_signal(signal.SIGCONT)
    ok(took < 1000000, f"with eight processes cuMemGetInfo takes {took} ns")
    tellers += [Teller(inside) for _ in range(28)]
    same([t.held() for t in tellers[::5]], [46 * MIB] * 8, "36 are too many to read: meted is asked")
    for t in tellers[8:]:
        t.end()
    del tellers[8:]
    until(lambda: len(m.control().grant("others")["processes"]) == 8)
    agree("eight again", 10 * MIB + 8 * MIB)
    for t in tellers:
        t.end()
    ok(until(lambda: m.control().share("others")["held_bytes"] == 0), "nothing is left")
    m.close()
    finish()


main()
