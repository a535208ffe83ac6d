"""
A user sends meted a descriptor whose closing takes as long as he likes: that of a TCP socket that lingers with data which
nobody reads. The kernel closes it in whoever reads or drops the message, and that is meted's loop.

So can a worker that was taken over, on each of its connections. The worker here is a script in the place of mete-worker.
"""
import array
import inspect
import struct

from ground import *

SO_PASSRIGHTS = 83
WORKER = """#!/usr/bin/python3
import array, os, socket, struct, time
WORD = struct.Struct("=IIiIQ64s256s")
IMAGE = struct.Struct("=IIQ32s")
control = socket.socket(fileno=3)
control.send(WORD.pack(1, 1, 0, 0, 0, b"", b""))
socket.recv_fds(control, WORD.size, 2)
control.send(WORD.pack(3, 1, 0, 0, 0, b"", b""))
session = socket.socket(fileno=socket.recv_fds(control, WORD.size, 1)[1][0])
places = {"images": (socket.socket(fileno=6), IMAGE.pack(2, 2, 20000, b"x")), "session": (session, b"nonsense"),
          "control": (control, WORD.pack(3, 1, 0, 0, 0, b"", b""))}
LINGERING
end, *others = lingering()
said = "sent"
try:
    place, text = places[PLACE]
    place.sendmsg([text], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [end.fileno()] * COUNT))])
    end.close()
except PermissionError:
    said = "refused"
with open(FILE + ".new", "w") as f:
    f.write(said)
os.rename(FILE + ".new", FILE)
time.sleep(60)
"""


def knows_rights():
    """Whether a socket can refuse descriptors: Linux 6.16."""
    with socket.socket(socket.AF_UNIX) as s:
        try:
            s.setsockopt(socket.SOL_SOCKET, SO_PASSRIGHTS, 0)
        except OSError:
            return False
    return True


def lingering():
    """A socket whose last close waits for half a minute, and its other ends."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    listening.bind(("127.0.0.1", 0))
    listening.listen(1)
    end = socket.socket()
    end.connect(listening.getsockname())
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 30))
    end.setblocking(False)
    try:
        while end.send(b"x" * 65536):
            pass
    except BlockingIOError:
        pass
    return end, listening, listening.accept()


def send_to(path, kind, text, sent):
    end, *others = lingering()
    control = socket.socket(socket.AF_UNIX, kind)
    control.connect(path)
    try:
        control.sendmsg([text], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [end.fileno()]))])
        said = "sent"
        end.close()  # meted has the last one now
    except PermissionError:
        said = "refused"
    os.write(sent, said.encode())
    os.close(sent)
    time.sleep(20)
    return others


def attack(path, kind, text):
    """What became of the message, and after how long root is answered."""
    read, write = os.pipe()
    child = Child(UID, send_to, path, kind, text, write)
    os.close(write)
    said = os.read(read, 16).decode()
    os.close(read)
    began = time.monotonic()
    c = s.control()
    answer = c.ask("hello")
    took = time.monotonic() - began
    c.close()
    child.kill()
    return said, bool(answer and answer["ok"]) and took < 5 * PATIENCE, took


root_only("descriptors that linger")
if not knows_rights():
    harness.skip("descriptors that linger", "a socket can refuse descriptors since Linux 6.16")
    finish()
s = system()
direct, walled = ask_as(UID, s.dir, soft("1M", "direct"), soft("1M", "walled", wall=True))
places = [("the control socket", os.path.join(s.dir, "control.sock"), socket.SOCK_STREAM, b'{"op":"hello"}\n'),
          ("a grant's socket", direct["grant"]["socket"], socket.SOCK_SEQPACKET, b"nonsense"),
          ("a wall", walled["grant"]["wall"], socket.SOCK_SEQPACKET, b"nonsense")]
for what, *place in places:
    said, answered, took = attack(*place)
    ok(said == "refused" and answered, f"a descriptor is sent to {what}: it is refused, and root is answered", said, took)
s.kill()
s.start()
said, answered, took = attack(*places[1][1:])
ok(said == "refused" and answered, "and so after a restart of meted", said, took)
client = s.client()
same(client.hello(direct["grant"]["socket"]), OK, "programs are served as ever")
client.close()
s.close()


def take_over(place, count):
    """As attack(), by a worker: what became of its message on one of its connections, and after how long root is answered."""
    folder = tempfile.mkdtemp(prefix="mete-t-", dir="/tmp")
    atexit.register(shutil.rmtree, folder, True)
    os.chmod(folder, 0o755)
    for name in ("bin", "libexec/mete", "lib"):
        os.makedirs(os.path.join(folder, name))
    file, script = os.path.join(folder, "said"), os.path.join(folder, "libexec/mete/mete-worker")
    text = WORKER.replace("LINGERING", inspect.getsource(lingering)).replace("COUNT", str(count))
    with open(script, "w", encoding="ascii") as f:
        f.write(text.replace("PLACE", repr(place)).replace("FILE", repr(file)))
    os.chmod(script, 0o755)
    shutil.copy(METED, os.path.join(folder, "bin/meted"))
    for name, source in (("soft", "src/softdev"), ("shim", "src/shim")):
        os.symlink(os.path.join(BUILD, source), os.path.join(folder, "lib", name))
    whole, harness.METED = harness.METED, os.path.join(folder, "bin/meted")
    taken = system(env={"METE_LIBDIR": os.path.join(folder, "lib")})
    harness.METED = whole
    wall = ask_as(UID, taken.dir, soft("1M", "walled", wall=True))[0]["grant"]["wall"]
    program = Program(wall)
    until(lambda: os.path.exists(file), 20)
    with open(file, encoding="ascii") as f:
        said = f.read()
    began = time.monotonic()
    c = taken.control()
    answer = c.ask("hello")
    took = time.monotonic() - began
    c.close()
    program.end()
    taken.kill()
    taken.close()
    return said, bool(answer and answer["ok"]) and took < 5 * PATIENCE, took


for place, count in (("control", 1), ("images", 1), ("images", 3), ("session", 1)):
    said, answered, took = take_over(place, count)
    ok(said == "refused" and answered, f"a worker sends {count} to meted ({place}): refused, and root is answered", said, took)
finish()
