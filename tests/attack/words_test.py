"""
A worker that has been taken over writes what it likes to its standard error: meted's log stays meted's.

The worker here is a script in the place of mete-worker, which does what such a one could do.
"""
from ground import *

WORKER = """#!/usr/bin/python3
import fcntl, os, socket, struct, time
fcntl.fcntl(2, fcntl.F_SETFL, os.O_NONBLOCK)
try:
    socket.socket(fileno=2).shutdown(socket.SHUT_RDWR)
except OSError:
    pass
lines = [b"meted: 2026-01-01 00:00:00 grant mine: all is well", b"\\x1b[2J\\xff\\x9b31m red", b"x" * 5000]
lines += [b"line %d" % i for i in range(3000)]
for line in lines:
    try:
        os.write(2, line + b"\\n")
    except OSError:
        time.sleep(0.01)
time.sleep(60)
"""

root_only("a worker that was taken over")
place = tempfile.mkdtemp(prefix="mete-t-", dir="/tmp")
os.chmod(place, 0o755)
for folder in ("bin", "libexec/mete", "lib"):
    os.makedirs(os.path.join(place, folder))
with open(os.path.join(place, "libexec/mete/mete-worker"), "w", encoding="ascii") as f:
    f.write(WORKER)
os.chmod(os.path.join(place, "libexec/mete/mete-worker"), 0o755)
shutil.copy(METED, os.path.join(place, "bin/meted"))
for name, source in (("soft", "src/softdev"), ("shim", "src/shim")):
    os.symlink(os.path.join(BUILD, source), os.path.join(place, "lib", name))
harness.METED = os.path.join(place, "bin/meted")
log = os.path.join(place, "log")
s = system("--log", log, env={"METE_LIBDIR": os.path.join(place, "lib")})


def text():
    with open(log, encoding="utf-8", errors="surrogateescape") as f:
        return f.read()


def flags(pid, fd):
    with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as f:
        return int([line.split()[1] for line in f if line.startswith("flags")][0], 8)


def log_descriptor():
    folder = f"/proc/{s.process.pid}/fd"
    return [n for n in os.listdir(folder) if os.readlink(os.path.join(folder, n)) == log][0]


before = flags(s.process.pid, log_descriptor())
ask_as(UID, s.dir, soft("512M", "mine", wall=True))
ok(until(lambda: "red" in text(), 10), "what a worker writes is in the log", text())
time.sleep(2)
lines = text().splitlines()
said = [line for line in lines if "all is well" in line or "red" in line or "xxx" in line or "line " in line]
ok(all(re.search(r" worker \d+: ", line) for line in said), "each line says that it is a worker's",
   [line for line in said if not re.search(r" worker \d+: ", line)][:3])
ok(len(said) <= 60, "there are no more than a few", len(said))
ok(max(map(len, lines)) <= 500, "none is long", max(map(len, lines)))
ok(not re.search("[^ -~\n]", text()), "and none has what a terminal would obey")
same(flags(s.process.pid, log_descriptor()), before, "the log's own descriptor is as it was")
ask_as(UID, s.dir, {"op": "grant_delete", "name": "mine"})
s.make("after", GIB)
ok(until(lambda: "grant after made" in text(), 5), "and meted goes on writing")
s.close()
shutil.rmtree(place)
finish()
