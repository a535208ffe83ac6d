"""
A user's processes keep as many requests for memory waiting as they may, in a grant where none can be decided: what meted
does for them is a part of its time, and others' requests are answered meanwhile.

Measured is meted's own processor time for each answer that another user gets, one after the other: what else the machine
does is not in it.
"""
import mmap
import select
import struct

from ground import *

PROCESSES, EACH = 100, 40
ANSWERS = 100
MOST = 0.001  # s of meted's time for each answer; without a bound it is 0.003 to 0.05
MEASURING = 88  # where the page says how many calls of unknown size are under way
HELLO = struct.pack("4I2I32s16IQ", 1, 16 + 8 + 32 + 64 + 8, 1, 0, 3, 1, b"waits", *[0] * 16, 1)


def reserve(serial, need, flags=0):
    return struct.pack("8I", 3, 32, serial, 0, 0, flags, need, need)


def join(path):
    c = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    c.connect(path)
    c.send(HELLO)
    _, fds, _, _ = socket.recv_fds(c, 4096, 4)
    return c, mmap.mmap(fds[0], 4096)


def wait_for_all(path, tell):
    """A process that says it measures for ever, and asks for all that is left again and again."""
    c, page = join(path)
    page[MEASURING:MEASURING + 4] = struct.pack("I", 1 << 30)
    for n in range(EACH):
        c.send(reserve(n, 1, ALL))
    os.write(tell, b".")
    while c.recv(4096):
        c.send(reserve(0, 1, ALL))


def crowd(path, tell):
    for _ in range(PROCESSES):
        if not os.fork():
            try:
                wait_for_all(path, tell)
            finally:
                os._exit(0)
    while True:
        time.sleep(60)


def ask_often(path):
    """How long that took, in all."""
    c, _ = join(path)
    for n in range(ANSWERS):
        c.send(reserve(n, 1))
        c.recv(4096)


def spent():
    """The processor's time that meted has had, in s."""
    with open(f"/proc/{s.process.pid}/stat") as f:
        words = f.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


root_only("requests of another user")
s = system()
waits = ask_as(UID, s.dir, soft("1G", "waits"))[0]["grant"]["socket"]
asks = ask_as(VICTIM, s.dir, soft("1G", "asks"))[0]["grant"]["socket"]
heard, tell = os.pipe()
attacker = Child(UID, crowd, waits, tell)
os.set_blocking(heard, False)
there = b""


def all_there():
    global there
    if select.select([heard], [], [], 0)[0]:
        there += os.read(heard, 4096)
    return len(there) >= PROCESSES


ok(until(all_there, 30), f"{PROCESSES} processes of a user have {EACH} requests each that wait", len(there))
before = spent()
as_user(VICTIM, ask_often, asks)
each = (spent() - before) / ANSWERS
ok(each < MOST * PATIENCE, "another user's requests are answered between few of those", each)
ok(s.control().ask("grants", name="asks")["ok"], "and root's")
os.kill(attacker.pid, signal.SIGKILL)
s.kill()
finish()
