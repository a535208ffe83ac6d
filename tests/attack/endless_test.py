"""
A client behind a wall that is asked to leave its device says for ever that it comes on, a byte at a time: meted believes it
for as long as its quota can need, and no longer. It asks meted for connections without an end, and others are served all the
same; it does not read the answers, and is ended.

The worker here is a script in the place of mete-worker, which does what one that was taken over could do.
"""
import struct

from ground import *

QUOTA_S = 4  # of 4 MiB at the least speed that meted believes
MOST_S = 10 + QUOTA_S + 1
LATENCY_S = 0.5  # root's, beside two that never rest on a machine of two processors
WORKER = """#!/usr/bin/python3
import mmap, os, socket, struct
page = mmap.mmap(5, 96)
meted = socket.socket(fileno=3)
socket.socket(fileno=4).listen(8)
meted.send(struct.pack("=IIiIQ64s256s", 1, 1, 0, 0, 0, b"", b""))
while True:
    data, fds, _, _ = socket.recv_fds(meted, 344, 2)
    if not data:
        raise SystemExit
    if struct.unpack_from("=I", data)[0] == 2:
        break
page[76:80] = struct.pack("=I", 1)
os.write(2, b"taken\\n")
deaf = b"deaf" in socket.socket(fileno=fds[0]).recv(200)
meted.setblocking(False)
said = waits = 0
parent = os.getppid()
while os.getppid() == parent: # not beyond the test
    try:
        if deaf or not waits:
            meted.send(struct.pack("=IIiIQ64s256s", 3, 1, 0, 0, 0, b"", b""))
            waits = 1
        if not deaf:
            for fd in socket.recv_fds(meted, 344, 2)[1]:
                os.close(fd)
            waits = 0
    except BlockingIOError:
        pass
    except OSError: # meted has closed it: such a worker goes on all the same
        pass
    said += 1
    wish = struct.unpack("=I", page[64:68])[0]
    page[80:88] = struct.pack("=Q", said)
    page[68:72] = struct.pack("=I", (wish & 0xffff) << 16 | 1)
"""


def knock(wall, command):
    """A client of this name at the wall: its worker says "taken"."""
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.connect(wall)
    client.send(struct.pack("=IIIIi32s64s", 0x6d657465, 1, 0, 0, 1, command, b""))
    return client


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

wall = ask_as(UID, s.dir, soft("4M", "endless", wall=True))[0]["grant"]["wall"]
c = s.control()


def state():
    return c.grant("endless")


def taken():
    """The workers that have a client."""
    with open(log, encoding="utf-8", errors="replace") as f:
        return [int(pid) for pid in re.findall(r"worker (\d+): taken", f.read())]


deaf = knock(wall, b"deaf")
ok(until(taken, 20), "a client has a worker")
ok(until(lambda: not os.path.exists(f"/proc/{taken()[0]}"), 10), "one that asks and does not read the answers is ended")
deaf.close()
client = knock(wall, b"endless")
ok(until(lambda: len(taken()) > 1, 20), "another client has one")
ok(until(lambda: c.ask("grant_suspend", name="endless", drain_s=1)["ok"] and state()["suspended"], 10), "it is asked to leave",
   state())
began, took = time.monotonic(), []
while time.monotonic() - began < MOST_S + 10 and state()["suspended"]:
    asked = time.monotonic()
    other = s.control()
    other.ask("hello")
    other.close()
    took.append(time.monotonic() - asked)
    time.sleep(0.05)
ok(not state()["suspended"] and time.monotonic() - began > 5, "one that says that it comes on is believed for a while, and no longer",
   time.monotonic() - began)
ok(sorted(took)[len(took) // 2] < LATENCY_S, "and root is answered beside its words", sorted(took)[-5:])
client.close()
s.close()
shutil.rmtree(place)
finish()
