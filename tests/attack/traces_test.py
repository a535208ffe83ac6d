"""
A local user begins as many traces as there can be: the operator's, and other users', find a place all the same. What a
trace needs of each of his programs is meted's memory: of few of them, and not beyond the trace's end.
"""
import struct

from ground import *

PROGRAMS, RINGS = 300, 256
BODY = struct.pack("=II32s16IQ", 3, 1, b"traced", *[0] * 16, 0)
HELLO = struct.pack("=IIII", 1, 16 + len(BODY), 1, 0) + BODY

root_only("places of traces")
s = system()


def begin(count):
    """Who holds them goes on reading; value: the answers' codes."""
    c = harness.Control(s.dir)
    return [c.ask("trace_start", seconds=600).get("code") for _ in range(count)]


codes = as_user(UID, begin, 9)
same(codes[:2], [None, None], "a user may trace")
same(set(codes[2:]), {"busy"}, "but not take all the places")
same(as_user(VICTIM, begin, 1), [None], "another user has one")
for uid in range(UID + 10, UID + 20):
    as_user(uid, begin, 2)
same(s.control().ask("trace_start", seconds=5).get("code"), None, "and root, whatever users hold")
s.close()


def pages_kib():
    """What all pages of programs take."""
    total, folder = 0, f"/proc/{s.process.pid}/fd"
    for fd in os.listdir(folder):
        try:
            if "mete-page" in os.readlink(f"{folder}/{fd}"):
                total += os.stat(f"{folder}/{fd}").st_blocks // 2
        except OSError:
            pass
    return total


def hold(path, told):
    """Programs that have said HELLO and ended; this process has their connections."""
    ends = []
    for _ in range(PROGRAMS):
        end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if not os.fork():
            end.connect(path)
            end.send(HELLO)
            end.recv(16)
            os._exit(0)
        os.wait()
        ends.append(end)
    os.write(told, b"!")
    os.close(told)
    time.sleep(60)


s = system()
path = ask_as(UID, s.dir, soft("64M", "traced"))[0]["grant"]["socket"]
read, write = os.pipe()
holder = Child(UID, hold, path, write)
os.close(write)
os.read(read, 1)
before = pages_kib()


def trace():
    c = harness.Control(s.dir)
    number = c.ask("trace_start", seconds=1)["trace"]
    notes = []
    while True:
        answer = c.ask("trace_read", trace=number)
        notes += answer["notes"]
        if answer["done"]:
            return notes
        time.sleep(0.05)


tracer = Child(UID, trace)
ok(until(lambda: pages_kib() > before + 100 * RINGS), "a trace of many programs takes memory", before, pages_kib())
ok(pages_kib() < before + 200 * RINGS, "but not that of all", before, pages_kib())
notes = tracer.value()
ok(any(str(RINGS) in n for n in notes), "it says so", notes[:3])
ok(until(lambda: pages_kib() < before + 8 * PROGRAMS), "at its end the memory is given back", before, pages_kib())
holder.kill()
s.close()
finish()
