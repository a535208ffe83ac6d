"""
A worker that was taken over hands its connections to another process and ends: a process of root's that gets its number
is not taken for it.

The worker here is a script in the place of mete-worker, which does what such a one could do.
"""
from ground import *

WORKER = """#!/usr/bin/python3
import array, os, socket, struct, time
WORD = struct.Struct("=IIiIQ64s256s")
control = socket.socket(fileno=3)
control.send(WORD.pack(1, 1, 0, 0, 0, b"", b""))
word, fds, _, _ = socket.recv_fds(control, WORD.size, 1)
def connect():
    control.send(WORD.pack(3, 1, 0, 0, 0, b"", b""))
    word, fds, _, _ = socket.recv_fds(control, WORD.size, 1)
    return socket.socket(fileno=fds[0]) if fds else None
def hello(session):
    body = struct.pack("=II32s16IQ", 3, 1, b"heir", *[0] * 16, 0)
    session.send(struct.pack("=IIII", 1, 16 + len(body), 1, 0) + body)
    return struct.unpack("=IIII", session.recv(4096)[:16])[3]
def attempt(act):
    try:
        return act()
    except Exception as e:
        return repr(e)
early = connect()
with open(PLACE + "/pid.new", "w") as f:
    f.write(str(os.getpid()))
os.rename(PLACE + "/pid.new", PLACE + "/pid")
if os.fork():
    os._exit(0)
os.setsid()  # or the number would stay in use as that of a session
while not os.path.exists(PLACE + "/go"):
    time.sleep(0.01)
said = [attempt(lambda: hello(early)), attempt(lambda: hello(connect()))]
with open(PLACE + "/said.new", "w") as f:
    f.write(repr(said))
os.rename(PLACE + "/said.new", PLACE + "/said")
time.sleep(60)
"""
LAST = "/proc/sys/kernel/ns_last_pid"


def heir_of(pid):
    """A process of root's with that number, once it is free; None where it cannot be had."""
    def take():
        with open(LAST, "w") as f:
            f.write(str(pid - 1))
        process = harness.subprocess.Popen(["sleep", "60"])
        if process.pid == pid:
            return process
        process.kill()
        process.wait()
        return None
    return until(take, 10)


def written(name):
    """What the worker has written down."""
    def look():
        try:
            with open(os.path.join(place, name)) as f:
                return f.read()
        except FileNotFoundError:
            return None
    return until(look, 15)


root_only("a worker's number")
place = tempfile.mkdtemp(prefix="mete-t-", dir="/tmp")
os.chmod(place, 0o755)
for folder in ("bin", "libexec/mete", "lib"):
    os.makedirs(os.path.join(place, folder))
with open(os.path.join(place, "libexec/mete/mete-worker"), "w", encoding="ascii") as f:
    f.write(WORKER.replace("PLACE", repr(place)))
os.chmod(os.path.join(place, "libexec/mete/mete-worker"), 0o755)
shutil.copy(METED, os.path.join(place, "bin/meted"))
for name, source in (("soft", "src/softdev"), ("shim", "src/shim")):
    os.symlink(os.path.join(BUILD, source), os.path.join(place, "lib", name))
harness.METED = os.path.join(place, "bin/meted")
s = system(env={"METE_LIBDIR": os.path.join(place, "lib")})
answer = ask_as(UID, s.dir, soft("512M", "mine", wall=True))[0]
ok(answer["ok"], "a user's grant with a wall", answer)
program = Program(answer["grant"]["wall"])
pid = int(written("pid") or 0)
ok(pid, "a worker has its client")
process = heir_of(pid) if pid and os.access(LAST, os.W_OK) else None
if not process:
    skip("the number", "the kernel gives no process a number that is asked for")
else:
    open(os.path.join(place, "go"), "w").close()
    said = written("said")
    same([p["pid"] for p in s.control().grant("mine")["processes"]], [], f"its connections are worth nothing any more ({said})")
    ok(ask_as(UID, s.dir, {"op": "grant_end", "name": "mine"})[0]["ok"], "the user ends the grant")
    time.sleep(7)
    ok(process.poll() is None, "and root's process lives", process.poll())
    process.kill()
    process.wait()
program.end()
s.close()
shutil.rmtree(place)
finish()
