"""What ./check begins tests with (tests/room.c): so many at once, others when there is room, and the status as it was: room_test.py ROOM"""
import os
import subprocess
import sys
import tempfile
import time

ROOM = sys.argv[1]
failed = 0


def ok(good, number, what):
    global failed
    failed += not good
    print(f"{'' if good else 'not '}ok {number} - {what}", flush=True)


def begin(*command, options=()):
    return subprocess.Popen([ROOM, *options, folder, "1", *command], stdout=subprocess.PIPE, text=True, start_new_session=True)


def priority(file):
    """Of a test that begins behind others as long as `file` is there: its own, and its session's where there is such a thing."""
    shown = begin("sh", "-c", "nice; cat /proc/self/autogroup 2> /dev/null", options=("--behind", file)).communicate()[0].split()
    return [int(shown[0]), *map(int, shown[3:4])]


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
    here, gone = os.path.join(folder, "used"), os.path.join(folder, "gone")
    ok(set(priority(here)) == {19} and 19 not in priority(gone), 5, f"a test behind others has the lowest priority: {priority(here)}, {priority(gone)}")
    stat = os.path.join(folder, "stat")
    with open(stat, "w", encoding="ascii") as f:
        f.write("cpu  100 20 300 4000 50000 600000 7000000 80000000 0 0\n")
    shown = subprocess.run([ROOM, "--ticks", stat], stdout=subprocess.PIPE, text=True).stdout
    ok(shown == "54020 87654420\n", 6, f"what runs at the lowest priority leaves room: {shown!r}")
print("1..6")
sys.exit(failed != 0)
