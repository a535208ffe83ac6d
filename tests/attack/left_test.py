"""
A process of a tenant ends while another one keeps its connection to meted: no signal reaches who has it, and the grant can
be ended all the same.
"""
import struct

from ground import *


def leave_behind(path, told):
    """A process says HELLO and ends; a child of it has the connection for a minute."""
    if os.fork():
        os.wait()
        return
    end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    end.connect(path)
    body = struct.pack("=II32s16IQ", 3, 1, b"heir", *[0] * 16, 0)
    end.send(struct.pack("=IIII", 1, 16 + len(body), 1, 0) + body)
    status = struct.unpack("=IIII", end.recv(4096)[:16])[3]
    if os.fork():
        os._exit(0)
    os.write(told, f"{os.getpid()} {status}".encode())
    for fd in range(3, 256):
        if fd != end.fileno():
            try:
                os.close(fd)
            except OSError:
                pass
    time.sleep(60)
    os._exit(0)


root_only("connections of processes that have ended")
s = system()
path = ask_as(UID, s.dir, soft("64M", "left"))[0]["grant"]["socket"]
read, write = os.pipe()
as_user(UID, leave_behind, path, write)
heir, status = map(int, os.read(read, 32).split())
c = s.control()
same((status, len(c.grant("left")["processes"])), (OK, 1), "a process has ended, and its connection has not")
same(c.ask("grant_delete", name="left").get("code"), "busy", "so its grant cannot be deleted")
ok(c.ask("grant_end", name="left")["ok"], "root ends it")
ok(until(lambda: c.grant("left") is None, 30), "then it ends", s.log())
ok("held by others" in s.log(), "and meted says what it has closed", s.log())
os.kill(heir, signal.SIGKILL)
c.close()
s.close()
finish()
