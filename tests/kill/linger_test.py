"""
A device whose driver frees the memory of a process that has ended only 500 ms later (METE_SOFT_LINGER): the charge stays
as long, so that the device's own count is never above the quota: linger_test.py BUILD
"""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "daemon"))
from device import Device  # noqa: E402
from harness import Meted, finish, ok, same, until  # noqa: E402
from tell import Teller, inside_of  # noqa: E402

MIB = 1 << 20
QUOTA = 512 * MIB
LINGER_MS = 500


def begin(linger_ms, **more):
    m = Meted("--soft-only", env={"METE_SOFT_DEVICES": "1", "METE_SOFT_MEMORY": "6G", "METE_SOFT_LINGER": str(linger_ms), **more})
    m.make("linger", QUOTA)
    return m, inside_of(m, "linger"), Device(m.env["METE_SOFT_DIR"], os.path.join(m.dir, "sight"))


def share(m):
    return m.control().share("linger")


def settled(m, device):
    return until(lambda: share(m)["held_bytes"] == 0 and device.used() == 0, 30)


def after(m, inside, device, number, what):
    """The next program wants all of the quota as soon as the one before has ended."""
    first = Teller(inside)
    same(first.ask("alloc", 400 * MIB), [0], f"{what}: memory")
    first.end(number)
    second = Teller(inside)
    began = time.monotonic()
    same(second.ask("alloc", 500 * MIB), [0], f"{what}: the next program waits for it, and is not refused")
    took = time.monotonic() - began
    ok(took > 0.1, f"{what}: it has waited ({took:.2f} s)")
    ok(device.most <= QUOTA, f"{what}: the device's count was never above the quota", device.most - QUOTA)
    second.end()
    ok(settled(m, device), f"{what}: account and device are empty in the end", share(m), device.used())


def said(m, inside, device):
    """What is told meanwhile."""
    first, second = Teller(inside), Teller(inside)
    first.ask("alloc", 100 * MIB)
    second.ask("alloc", 50 * MIB)
    second.held(), second.held()
    first.end(signal.SIGKILL)
    ok(until(lambda: len(m.control().grant("linger")["processes"]) == 1, 10), "the process is not listed any more")
    s = share(m)
    same([s["held_bytes"], s.get("leaving_bytes"), s["shared_bytes"]], [150 * MIB, 100 * MIB, 0], "its memory is held, as leaving")
    same(second.held(), 150 * MIB, "and a program is told so")
    ok(until(lambda: share(m)["held_bytes"] == 50 * MIB, 10), "until the device has freed it", share(m))
    same("leaving_bytes" in share(m), False, "then nothing leaves")
    same(second.held(), 50 * MIB, "and a program is told so")
    second.ask("free")
    same(second.held(), 0, "memory that a living program frees is nobody's at once")
    second.end()
    ok(settled(m, device), "what freed everything leaves nothing", share(m))


def restarted(m, inside, device):
    """meted is killed while memory leaves, and a process ends while meted is away."""
    before = Teller(inside)
    before.ask("alloc", 200 * MIB)
    away = Teller(inside)
    away.ask("alloc", 200 * MIB)
    before.end(signal.SIGKILL)
    until(lambda: share(m).get("leaving_bytes"), 10)
    m.kill()
    away.end(signal.SIGKILL)
    m.start()
    late = Teller(inside)
    same(late.ask("alloc", 400 * MIB), [0], "a program after the restart waits for what leaves")
    ok(device.most <= QUOTA, "the device's count was never above the quota", device.most - QUOTA)
    late.end()
    ok(settled(m, device), "account and device are empty in the end", share(m), device.used())


def stuck():
    """A driver that keeps the memory of a dead process for longer than meted waits."""
    m, inside, device = begin(60000)
    first = Teller(inside)
    first.ask("alloc", 100 * MIB)
    first.end(signal.SIGKILL)
    began = time.monotonic()
    ok(until(lambda: share(m)["held_bytes"] == 0, 30), "the charge is given back in the end", share(m))
    took = time.monotonic() - began
    ok(9 < took < 20, f"after 10 s ({took:.1f} s)")
    same(device.used(), 100 * MIB, "while the device still counts it")
    ok(any("still counts" in e["text"] for e in m.control().grant("linger")["events"]), "which is an event",
       m.control().grant("linger")["events"])
    ok("still counts memory for pid" in m.log(), "and a line of the log")
    device.close()
    m.close()


def main():
    m, inside, device = begin(LINGER_MS)
    after(m, inside, device, signal.SIGKILL, "a program that is killed")
    after(m, inside, device, signal.SIGTERM, "a program that ends by another signal")
    said(m, inside, device)
    restarted(m, inside, device)
    device.close()
    m.close()
    stuck()
    finish()


main()
