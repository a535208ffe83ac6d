"""Everything a client should not send: answered or closed, one line in the log, nothing leaked, and meted goes on."""
import random
import resource
import struct

from harness import *

HELLO, WELCOME, RESERVE, RESERVED, INFO, INFO_IS, SHARE, IMPORT, DROP, SHARED, EVENT, PROCESSES, ERROR = *range(1, 13), 14


def packet(kind, body=b"", size=None, serial=1, status=0):
    return struct.pack("4I", kind, 16 + len(body) if size is None else size, serial, status) + body


def hello(version=3, image=0, command=b"bad"):
    return packet(HELLO, struct.pack("2I32s64sQ", version, 1, command, bytes(64), image))


def reserve(device=0, flags=0, need=1, want=0):
    return packet(RESERVE, struct.pack("4I", device, flags, need, want))


def thing(kind, key=b"k", device=0, units=1):
    return packet(kind, struct.pack("32s2I", key, device, units))


class Raw:
    """A connection of this process, without the manners of a client."""

    def __init__(self, path, greet=True):
        self.s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.s.settimeout(10)
        self.s.connect(path)
        if greet:
            same(self.send(hello())[1], OK, "HELLO")

    def send(self, data):
        """(type, status) of the answer; None when the connection ends instead."""
        try:
            self.s.sendall(data)
            answer, fds, _, _ = socket.recv_fds(self.s, 65536, 4)
        except OSError:
            return None
        for fd in fds:
            os.close(fd)
        return struct.unpack_from("4I", answer)[::3] if len(answer) >= 16 else None

    def ended(self):
        try:
            return self.s.recv(65536) == b""
        except OSError:
            return True

    def close(self):
        self.s.close()


def new_lines(m, before):
    return [line for line in m.log()[len(before):].splitlines()]


def ends(m, path, data, why, greet=True, answered=True):
    """This packet ends the connection with one line that says why."""
    r = Raw(path, greet)
    before = m.log()
    answer = r.send(data)
    same((answer or (0, 0))[1], BAD if answered else 0, f"{why}: {'answered BAD' if answered else 'no answer'}")
    ok(r.ended(), f"{why}: and closed")
    r.close()
    lines = until(lambda: new_lines(m, before))
    ok(len(lines) == 1 and why in lines[0], f"{why}: one line in the log", lines)
    time.sleep(0.03)  # the log is limited to some lines a second


def test_malformed(m, path):
    ends(m, path, reserve()[:-1], "shorter than its type needs")
    ends(m, path, reserve() + b"\0", "longer than its type needs")
    ends(m, path, b"\1\2\3", "shorter than its type needs")
    ends(m, path, reserve() + bytes(4000), "longer than its type needs")
    ends(m, path, packet(RESERVE, bytes(16), size=31), "its header names another size")
    ends(m, path, packet(0, bytes(16)), "of no known type")
    ends(m, path, packet(4000000000, bytes(16)), "of no known type")
    ends(m, path, packet(WELCOME, bytes(16)), "of a type that only meted sends")
    ends(m, path, packet(RESERVE, bytes(16), status=3), "a request that carries a status")
    ends(m, path, packet(EVENT, struct.pack("2I", 0, 0) + b"x" * 200), "a text in it does not end")
    time.sleep(1.1)
    ends(m, path, reserve(), "sent before HELLO", greet=False)
    ends(m, path, hello(command=b"x" * 32), "a text in it does not end", greet=False)
    r = Raw(path, greet=False)
    same(r.send(hello(version=7)), (WELCOME, WRONG_VERSION), "another version is answered as such")
    r.close()
    r = Raw(path, greet=False)
    same(r.send(hello(version=1)), (WELCOME, WRONG_VERSION), "so is an old one")
    ok("restart the program" in m.log(), "and the remedy stands in the log", m.log()[-300:])
    ok(r.ended(), "and closed")
    r.close()
    ok("speaks version 7" in m.log(), "with a line")
    r = Raw(path)
    same(r.send(hello()), (WELCOME, BAD), "a second HELLO is refused")
    more = [Raw(path, greet=False) for _ in range(17)]
    said = [x.send(hello()) for x in more]
    same(said, [(WELCOME, OK)] * 16 + [(WELCOME, FULL)], "a process has 16 connections")
    for x in more:
        x.close()
    r.close()
    r = Raw(path)
    r.s.send(b"")
    ok(r.ended() or r.send(reserve()), "an empty packet is survived")
    r.close()


def test_senseless(m, path):
    cases = [
        (reserve(device=1), RESERVED, "no such device"), (reserve(device=0xffffffff), RESERVED, "no such device"),
        (reserve(flags=0xfe), RESERVED, "unknown flags"), (packet(INFO, struct.pack("2I", 16, 0)), INFO_IS, "no such device"),
        (packet(PROCESSES, struct.pack("2I", 99, 0)), 13, "no such device"),
        (thing(SHARE, key=b""), SHARED, "do not fit"), (thing(SHARE, device=3), SHARED, "do not fit"),
        (thing(SHARE, units=0), SHARED, "do not fit"), (thing(SHARE, units=0xffffffff), SHARED, "do not fit"),
        (thing(IMPORT, key=b""), SHARED, "do not fit"), (thing(DROP, key=b""), SHARED, "do not fit"),
    ]
    for data, kind, why in cases:
        r = Raw(path)
        before = m.log()
        same(r.send(data), (kind, BAD), f"{why}: answered BAD with its own type")
        same(r.send(reserve(need=0)), (RESERVED, OK), "and the connection goes on")
        lines = until(lambda: new_lines(m, before))
        ok(len(lines) == 1 and why in lines[0], f"{why}: one line", lines)
        r.close()
        time.sleep(0.06)
    r = Raw(path)
    before = m.log()
    r.s.send(packet(ERROR, struct.pack("2I", 99, 700)))
    same(r.send(reserve(need=0)), (RESERVED, OK), "an error of a device that is not in the grant is not answered")
    ok(until(lambda: "no such device" in m.log()[len(before):]), "but noted", m.log()[-300:])
    r.s.send(packet(ERROR, struct.pack("2I", 0, 12345)))
    same(r.send(reserve(need=0)), (RESERVED, OK), "an error that nobody knows is taken")
    r.close()
    r = Raw(path)
    answers = [r.send(reserve(device=9)) for _ in range(9)]
    same(answers[:8], [(RESERVED, BAD)] * 8, "nonsense is answered")
    same(answers[8], None, "but not for ever")
    r.close()


def test_descriptors_are_not_taken(m, path):
    before = m.descriptors()
    r = Raw(path)
    during = m.descriptors()
    files = [os.open("/dev/null", os.O_RDONLY) for _ in range(50)]
    for _ in range(20):
        try:
            socket.send_fds(r.s, [reserve(need=0)], files)
        except PermissionError:  # since Linux 6.16 meted's socket refuses them
            r.s.send(reserve(need=0))
        r.s.recv(4096)
    ok(m.descriptors() <= during, "descriptors that a client sends do not stay", during, m.descriptors())
    for f in files:
        os.close(f)
    r.close()
    ok(until(lambda: m.descriptors() <= before + 1), "nor anything else of it", before, m.descriptors())


def test_random(m, path):
    random.seed(7)
    good = [hello(), reserve(), thing(SHARE), thing(IMPORT), thing(DROP), packet(INFO, bytes(8)),
            packet(EVENT, struct.pack("2I200s", 0, 0, b"hm")), packet(PROCESSES, bytes(8))]
    r = None
    for n in range(3000):
        if r is None:
            r = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            r.connect(path)
            r.setblocking(False)
            if random.random() < 0.9:
                r.send(hello())
        data = bytearray(random.choice(good))
        for _ in range(random.choice([0, 0, 1, 2, 8])):
            data[random.randrange(len(data))] = random.choice([0, 1, 0xff, random.randrange(256)])
        if random.random() < 0.1:
            data = data[:random.randrange(len(data) + 1)]
        try:
            if data:
                r.send(data)
            while True:
                answer, fds, _, _ = socket.recv_fds(r, 65536, 4)
                for fd in fds:
                    os.close(fd)
                if not answer:
                    raise ConnectionResetError
        except BlockingIOError:
            continue
        except OSError:
            r.close()
            r = None
    if r:
        r.close()
    ok(m.process.poll() is None, "3000 random packets")
    ok(len(m.log()) < 200000, "do not fill the log", len(m.log()))


def test_flood(m, path):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(path)
    s.send(hello())
    s.settimeout(5)
    sent = 0
    try:
        while sent < 200000:
            s.send(packet(INFO, bytes(8)))
            sent += 1
    except OSError:
        pass
    ok(sent < 200000, "one who sends and never reads is closed", sent)
    s.close()
    ok("does not read its answers" in m.log(), "with a line")
    r = Raw(path)
    ok(r.send(reserve(need=0)) == (RESERVED, OK), "others are served")
    r.close()
    b = m.client()
    b.hello(path)
    b.ask("measuring", 0, 1)
    b.ask("reserve", 0, 0, 0, ALL)
    b.ask("take", 0, 1000)
    w = Raw(path)
    w.s.setblocking(False)
    for n in range(68):  # four more than may wait
        w.s.send(reserve(need=1))
    w.s.settimeout(5)
    got = struct.unpack_from("4I", w.s.recv(4096))
    same((got[0], got[3]), (RESERVED, BAD), "too many requests that wait at once are refused")
    w.close()
    b.ask("give", 0, 1000)
    b.ask("measuring", 0, 0)
    b.kill()


def begin_crowd(m, path):
    """Connections that say nothing are closed after ten seconds, which pass beside the other tests. Value: what is to be
    looked at then."""
    before = m.descriptors()
    crowd = []
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    for _ in range(min(2000, limit - 100)):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.connect(path)
        crowd.append(s)
    c = m.client()
    same(c.hello(path), OK, f"{len(crowd)} connections that say nothing keep nobody out")
    same(c.reserve(0, 1)[0], OK, "who comes after them is served")
    half = len(crowd) // 2
    for s in crowd[:half]:
        s.close()
    ok(until(lambda: m.descriptors() < before + len(crowd) - half + 100), "who leaves is forgotten")

    def end():
        ok(until(lambda: m.descriptors() < before + 20, 15), "who says nothing for ten seconds is closed", m.descriptors())
        ok("said no HELLO" in m.log(), "with a line")
        for s in crowd[half:]:
            s.close()
        c.kill()
        m.close()
    return end


def test_no_descriptors():
    """A meted that may open few files refuses, says so, and recovers."""
    m = Meted("--soft-only", wrap=["sh", "-c", "ulimit -n 64 && exec \"$0\" \"$@\""])
    path = m.make("few", 1000 * UNIT)
    crowd = []
    for _ in range(100):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.connect(path)
        crowd.append(s)
    ok(until(lambda: "no descriptors left" in m.log()), "out of descriptors: a line with the remedy")
    before = os.times()
    for s in crowd:
        s.close()
    c = m.client()
    ok(until(lambda: c.hello(path) == OK), "and service goes on when there are some again")
    usage = int(open(f"/proc/{m.process.pid}/stat").read().rsplit(")", 1)[1].split()[11])
    ok(usage < 200, "it did not spin meanwhile", usage, before)
    m.close()


silent = Meted("--soft-only")
end_crowd = begin_crowd(silent, silent.make("crowd", 1000 * UNIT))
for test in [test_malformed, test_senseless, test_descriptors_are_not_taken, test_random, test_flood]:
    print(f"# {test.__name__}", flush=True)
    m = Meted("--soft-only")  # each with all the lines of the log that a user may cause
    test(m, m.make("bad", 1000 * UNIT))
    m.close()
test_no_descriptors()
end_crowd()
finish()
