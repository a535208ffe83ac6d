"""
A user's programs connect to the sockets of all his grants, and say HELLO, without an end: root is answered between few of
their messages, however many lie there. What else the machine does slows both down and is not in that count.
"""
import statistics
import struct

from ground import *

SECONDS, GRANTS, PROGRAMS = 4, 60, 3
MOST = 1500  # messages between a question and its answer; without a bound they are ten thousand
BODY = struct.pack("=II32s16IQ", 3, 1, b"flood", *[0] * 16, 0)
HELLO = struct.pack("=IIII", 1, 16 + len(BODY), 1, 0) + BODY


def flood(paths):
    """How many connections have said HELLO."""
    end, held, count = time.monotonic() + SECONDS, [], 0
    while time.monotonic() < end:
        for path in paths:
            one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            one.connect(path)
            one.send(HELLO)
            held.append(one)
            count += 1
        held = held[-10:]
    return count


root_only("floods of messages")
s = system()
paths = [a["grant"]["socket"] for a in ask_as(UID, s.dir, *[soft("1M", f"flood-{i}") for i in range(GRANTS)])]
programs = [Child(UID, flood, paths) for _ in range(PROGRAMS)]
time.sleep(1)
took, end = [], time.monotonic() + SECONDS - 2
while time.monotonic() < end:
    began = time.monotonic()
    c = s.control()
    c.ask("hello")
    c.close()
    took.append(time.monotonic() - began)
    time.sleep(0.05)
each_second = sum(p.value() for p in programs) / SECONDS
between = each_second * statistics.median(took)
ok(between < MOST, "programs of a user flood his grants' sockets: root is answered between few of their messages", between,
   each_second, took)
client = s.client()
same(client.hello(s.make("roots", 1 << 20)), OK, "and programs are served as ever")
client.close()
s.close()
finish()
