#!/usr/bin/env python3
"""
A machine with more devices than meted has places for: those that have one are shared, and one line tells of the rest.

    crowd_test.py BUILD
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
from harness import *  # noqa: E402,F403

PLACES, MORE = 64, 3
LIBRARY = os.path.join(BUILD, "tests/console/libmany_devices.so")


def uuid(device):
    """As many_devices.c makes them."""
    raw = bytes(((device + 1) * (i * 37 + 11)) & 255 for i in range(15)) + bytes([device])
    text = raw.hex()
    return "GPU-" + "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def main():
    m = Meted("--libcuda", LIBRARY, env={"METE_SOFT_DEVICES": "0", "METE_TEST_DEVICES": str(PLACES + MORE)})
    c = m.control()
    ok(until(lambda: len(c.ask("devices")["devices"]) == PLACES, 60), "as many as there are places for")
    status = [d["status"] for d in c.ask("devices")["drivers"] if d["kind"] == "nvidia"]
    ok(status and f"{MORE} more are not shared" in status[0], "the driver's line tells of the rest", status)
    made = c.ask("grant_create", name="last", driver="nvidia", devices=[{"device": uuid(PLACES - 1), "mem_bytes": GIB}])
    ok(made["ok"], "the last one that has a place", made)
    made = c.ask("grant_create", name="beyond", driver="nvidia", devices=[{"device": uuid(PLACES), "mem_bytes": GIB}])
    ok(not made["ok"] and made.get("error"), "the first one without is refused", made)
    c.close()
    m.close()
    finish()


main()
