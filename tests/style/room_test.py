"""What ./check begins tests with (tests/room.py): so many at once, others when there is room, and the status as it was: room_test.py"""
import os
import subprocess
import sys
import tempfile
import time

ROOM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "room.py")
failed = 0


def ok(good, number, what):
    global failed
    failed += not good
    print(f"{'' if good else 'not '}ok {number} - {what}", flush=True)


def begin(*command):
    return subprocess.Popen([sys.executable, "-BS", ROOM, folder, "1", *command], stdout=subprocess.PIPE, text=True)


with tempfile.TemporaryDirectory(prefix="mete-t-") as folder:
    ok([begin("sh", "-c", how).wait() for how in ("exit 0", "exit 77", "kill -9 $$")] == [0, 77, 137], 1, "a test's status is its own")
    first = begin("sh", "-c", "echo runs; sleep 3")
    first.stdout.readline()
    began = time.monotonic()
    second = begin("echo", "runs")
    second.stdout.readline()
    took, over = time.monotonic() - began, first.poll() is not None
    ok(took > 0.9, 2, f"another one begins after {took:.1f} s, " + ("behind the first one" if over else "where there was room"))
    ok(first.wait() == 0 and second.wait() == 0, 3, "and both end")
    busy = "import time; any(time.process_time() > 0.5 for _ in iter(int, 1))"
    begin(sys.executable, "-c", busy).wait()
    with open(os.path.join(folder, "used"), encoding="utf-8") as f:
        rows = [line.split("\t") for line in f.read().splitlines()]
    ok(len(rows) == 6 and 0.5 <= float(rows[-1][0]) < 2 and busy in rows[-1][-1], 4, f"and what each of them used is noted: {rows[-1:]}")
print("1..4")
sys.exit(failed != 0)
