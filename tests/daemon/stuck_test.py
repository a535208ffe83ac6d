"""A driver that holds the child that asks it, so that not even SIGKILL ends it: meted waits 12 s for it, once, and starts no
other one while it is there. stuck_test.py BUILD"""
from harness import *

LIBRARY = os.path.join(BUILD, "tests/daemon/libheld.so")
folder = tempfile.mkdtemp(prefix="mete-held-", dir="/tmp")
atexit.register(shutil.rmtree, folder, True)
FILE = os.path.join(folder, "held")
open(FILE, "w").close()


def children(m):
    """Those that ask the driver, but for the ended ones."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as f, open(f"/proc/{pid}/cmdline") as line:
                if int(f.read().rsplit(")", 1)[1].split()[1]) == m.process.pid and "--probe-hip" in line.read():
                    found.append(int(pid))
        except (OSError, IndexError):
            pass
    return found


def ask(c):
    c.socket.settimeout(60 * PATIENCE)
    begun = time.monotonic()
    said = {d["kind"]: d for d in c.ask("devices")["drivers"]}
    return said, time.monotonic() - begun


m = Meted("--libhip", LIBRARY, env={"LD_PRELOAD": LIBRARY, "METE_TEST_HELD": FILE})
c = m.control()
said, seconds = ask(c)
ok("did not answer within 10 s" in said["hip"]["status"] and said["soft"]["usable"] and seconds < 30 * PATIENCE,
   "a driver that holds its child for ever is one line", said["hip"], seconds)
first = children(m)
ok(len(first) == 1 and f"pid {first[0]}" in m.log(), "the child is there still, and the log names it", first, m.log())
said, seconds = ask(c)
ok("was killed and does not end" in said["hip"]["status"] and said["soft"]["usable"] and seconds < 8 * PATIENCE,
   "who asks again does not wait for it", said["hip"], seconds)
same(children(m), first, "and no other child is started")
os.unlink(FILE)
ok(until(lambda: not children(m), 10), "the driver lets go", children(m))
said, seconds = ask(c)
ok("does not end" not in said["hip"]["status"], "and is asked again", said["hip"])
c.close()
m.close()
finish()
