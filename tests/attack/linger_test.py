"""
A user sends meted a descriptor whose closing takes as long as he likes: that of a TCP socket that lingers with data which
nobody reads. The kernel closes it in whoever reads or drops the message, and that is meted's loop.
"""
import array
import struct

from ground import *

SO_PASSRIGHTS = 83


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
finish()
