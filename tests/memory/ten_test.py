"""
Ten tenants of 40 % of a device each, all at work: each has a tenth of its time in windows of ten seconds, as the device's own clock
has it, none loses a word, and never is more on the device than it has. METE_TEST_LONG=1: for ten minutes: ten_test.py BUILD
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "daemon"))
from harness import BUILD, finish, ok, same  # noqa: E402

LONG = bool(os.environ.get("METE_TEST_LONG"))
BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/memory")
# What else the machine does shows in single windows, and not in all of the time.
MOST, LONG_RUN = 6, 0.5 if LONG else 3  # in 20 s a turn more or less is 1.25 points

p = subprocess.run([sys.executable, "-B", BENCH, "--json", "--only", "ten", "--seconds", "600" if LONG else "20", "--build", BUILD],
                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1200)
ok(not p.returncode, "ten tenants run, and every word is what it has to be", p.stdout[-2000:])
found = json.loads(p.stdout.splitlines()[-1])["ten"] if not p.returncode else None
if found:
    print(f"# {found}")
    ok(found["error_max"] <= MOST, f"{found['error_max']:.2f} points off a tenth at most in any ten seconds", found)
    ok(found["long_run"] <= LONG_RUN, f"{found['long_run']:.2f} in all of the time", found)
    ok(found["most_on_device"] <= 1, "never more was on the device than it has", found)
    ok(found["moves"] > 10, f"memory moved {found['moves']} times")
    same(found["wrong_words"], 0, "nothing is lost")
finish()
