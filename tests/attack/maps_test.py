"""
A user's programs close their connections and have as many mappings as the kernel lets them, so that whoever looks whether
they still have their page reads megabytes for each, or waits for a process that changes its mappings without an end:
meted's loop does neither.
"""
import array
import ctypes
import mmap
import struct

from ground import *

PROGRAMS, MAPPINGS, SECONDS = 12, 60000, 5
LOOP_MOST_S = 0.15  # of the processor, for all of it
BODY = struct.pack("=II32s16IQ", 3, 1, b"maps", *[0] * 16, 0)
HELLO = struct.pack("=IIII", 1, 16 + len(BODY), 1, 0) + BODY
WORDS = 65536


def attach(path):
    """The page of a program that has said HELLO, mapped above all else; its connection is closed."""
    one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    one.connect(path)
    one.send(HELLO)
    answer, ancillary, _, _ = one.recvmsg(WORDS, 1024)
    fds = array.array("i")
    for _, _, data in ancillary:
        fds.frombytes(data[:len(data) - len(data) % fds.itemsize])
    page = mmap.mmap(fds[0], 4096)
    for fd in fds:
        os.close(fd)
    one.close()
    return page


def crowd(path, ready):
    """A program with a page and many mappings; it changes them until it is killed."""
    page = attach(path)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    at = libc.mmap(None, MAPPINGS * 4096, mmap.PROT_READ, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, -1, 0)
    for i in range(0, MAPPINGS, 2):
        if libc.mprotect(at + i * 4096, 4096, 0):
            break
    with open(f"/proc/{os.getpid()}/maps", encoding="ascii") as f:
        lines = f.read().splitlines()
    last = [i for i, line in enumerate(lines) if "mete-page" in line]
    os.write(ready, f"{len(lines)} {last[0] if last else -1}\n".encode())
    while page:
        time.sleep(1)


def loop_s(s):
    """The processor's time of the thread that answers, in s."""
    with open(f"/proc/{s.process.pid}/task/{s.process.pid}/schedstat", encoding="ascii") as f:
        return int(f.read().split()[0]) / 1e9


root_only("programs of many mappings")
s = system()
c = s.control()
path = ask_as(UID, s.dir, soft("1M", "maps"))[0]["grant"]["socket"]
before = loop_s(s)
read, write = os.pipe()
programs = [Child(UID, crowd, path, write) for _ in range(PROGRAMS)]
os.close(write)
with os.fdopen(read) as f:
    said = [tuple(int(w) for w in f.readline().split()) for _ in programs]
    ok(all(lines > 1000 and at > lines / 2 for lines, at in said), "programs have many mappings before their page", said)
    time.sleep(SECONDS)
    spent = loop_s(s) - before
print(f"# the loop has had {spent:.3f} s")
ok(spent < LOOP_MOST_S, "the loop reads none of them", spent)
ok("has become another program" not in s.log(), "and nobody is taken for another program")
same(len(c.ask("grants")["grants"][0]["processes"]), PROGRAMS, "all are there")
for p in programs:
    p.kill()
ok(until(lambda: not c.ask("grants")["grants"][0]["processes"]), "they end: their accounts are closed")
c.close()
s.close()
finish()
