"""
What a meted hands to the next beyond its clients: journal and history, HTTP, shares of the last minute, traces; and what
must not pile up: children, descriptors, memory.
"""
import struct
import threading

import harness
import http_client
from harness import *

NEXT = os.path.join(BUILD, "tests/daemon/meted_next")
TURN_CLIENT = os.path.join(BUILD, "tests/daemon/turn_client")


def upgrade(m, **fields):
    answer = m.control().ask("upgrade", **fields)
    if not answer or not answer["ok"]:
        raise SystemExit(f"Bail out! {answer} {m.log()}")
    return answer


def share(path, kernel_us=1000, pause_us=0, seconds=60):
    command = [TURN_CLIENT, path, "0", str(kernel_us), str(pause_us), str(seconds)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    return process


def end(process):
    process.kill()
    process.communicate()


def seconds_known(m, name):
    """The seconds of the last minute of which a tenant's history knows something, with what it promised then."""
    c = http_client.Local(m.dir)
    _, body, _ = http_client.get(c, f"/api/v1/history?tenant={name}&span=60&series=promised")
    c.close()
    answer = json.loads(body)
    return {answer["from"] + i: v for i, v in enumerate(answer["series"]["promised"]) if v is not None}


def told(m):
    """The events, but for upgrades: two with the same pause are one line, which moves."""
    return [e for e in m.control().ask("events")["events"] if not e["text"].startswith("upgraded")]


def test_journal(m):
    """What was written down in memory a moment ago is there, also when the next one is killed at once."""
    for i in range(3):
        m.make(f"short{i}", UNIT)
        m.control().ask("grant_delete", name=f"short{i}")
        before = told(m)
        upgrade(m)
        if i == 2:
            m.kill()
            m.start()
        after = told(m)
        same([e["id"] for e in after[:len(before)]], [e["id"] for e in before], "every event is there, under its number")
        same([e["text"] for e in after[:len(before)]], [e["text"] for e in before], "and as it was")
    ok("upgraded from" in "".join(e["text"] for e in m.control().ask("events")["events"]), "with the upgrade itself")


def test_http(m):
    """No connection is refused, none that is between two requests ends, and what has been asked is answered."""
    kept, address = http_client.Local(m.dir), m.control().ask("hello")["http"]
    host, port = address.rsplit(":", 1)
    tcp = http_client.http.client.HTTPConnection(host, int(port), timeout=30)
    for c in kept, tcp:
        same(http_client.get(c, "/healthz")[0], 200, "a connection")
    sockets = kept.sock, tcp.sock
    half = socket.create_connection((host, int(port)), timeout=30)
    wrong, stop = [], threading.Event()

    def knock():
        done = 0
        while not stop.is_set():
            try:
                for c in http_client.Local(m.dir), http_client.http.client.HTTPConnection(host, int(port), timeout=30):
                    c.connect()
                    if http_client.get(c, "/healthz")[0] != 200:
                        wrong.append("status")
                    c.close()
                done += 1
            except OSError as e:
                wrong.append(repr(e))
        if not done:
            wrong.append("nothing was asked")

    knocker = threading.Thread(target=knock)
    knocker.start()
    for _ in range(3):
        half.sendall(b"POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nab")
        c = m.control()
        c.socket.sendall(b'{"op":"upgrade"}\n')
        time.sleep(0.05)
        half.sendall(b"cd")
        ok(half.recv(4096).startswith(b"HTTP/1.1 4"), "a request that had been half sent is answered")
        ok(json.loads(c.file.readline())["ok"], "and then comes the next one")
        for c in kept, tcp:
            same(http_client.get(c, "/healthz")[0], 200, "the connection goes on")
    stop.set()
    knocker.join()
    same(wrong, [], "nobody was turned away")
    same((kept.sock, tcp.sock), sockets, "they are the same connections")
    same(m.control().ask("hello")["http"], address, "the port as well, that the kernel had chosen")
    for c in kept, tcp, half:
        c.close()


def test_shares(m):
    """Shares over the last seconds are those of before, not of the moment since."""
    path = m.make("shown", devices=[{"device": "0", "mem_bytes": UNIT, "policy": "burst", "cores": 30}])
    worker = share(path, 1000, 1000)
    until(lambda: (m.control().share("shown")["share_1s"] or 0) > 5, 20)
    ok(until(lambda: len(seconds_known(m, "shown")) >= 2, 20), "its history has begun")
    end(worker)
    until(lambda: not m.control().grant("shown")["processes"])
    before, seconds = m.control().share("shown"), seconds_known(m, "shown")
    upgrade(m)
    after = m.control().share("shown")
    ok(seconds.items() <= seconds_known(m, "shown").items(), "the history of the last seconds is there", seconds, seconds_known(m, "shown"))
    ok(before["share_60s"] > 0, "something has been computed", before)
    for key in "share_10s", "share_60s":
        ok(abs(after[key] - before[key]) <= max(2, before[key] / 3), f"{key} is as it was", before[key], after[key])
    for key in "charged_ms", "wait_ms_total":
        ok(after[key] >= before[key], f"{key} does not begin anew", before[key], after[key])
    m.control().ask("grant_delete", name="shown")


def test_trace(m):
    """A recording ends, with all that it had and a line that says why."""
    path = m.make("traced", GIB)
    client = m.client()
    client.hello(path)
    reader = m.control()
    trace = reader.ask("trace_start", seconds=60, grants=["traced"])["trace"]
    client.ask("record", 100, 0, 0, 7, 3, 10, 2, "kernel")
    asker = m.control()
    asker.socket.sendall(b'{"op":"upgrade"}\n')
    lines, notes, done = [], [], False
    while not done:
        answer = reader.ask("trace_read", trace=trace)
        if not ok(answer["ok"], "the trace can be read", answer) if not answer["ok"] else False:
            break
        lines += [line for line in answer["events"].splitlines() if line.startswith("L")]
        notes += answer["notes"]
        done = answer["done"]
    ok(json.loads(asker.file.readline())["ok"], "the upgrade is done")
    same(len(lines), 100, "every launch is in it")
    ok(any("upgraded" in n for n in notes), "it says why it ends", notes)
    answer = reader.ask("trace_read", trace=trace)
    ok(not answer["ok"] and answer["code"] == "unknown-trace", "then it is over", answer)
    # One that nobody reads does not hold an upgrade up for ever.
    reader.ask("trace_start", seconds=60)
    began = time.monotonic()
    upgrade(m)
    print(f"# an unread trace: {time.monotonic() - began:.1f} s")
    client.kill()
    until(lambda: not m.control().grant("traced")["processes"])
    m.control().ask("grant_delete", name="traced")


def children(m):
    """[pid, state, command] of each."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as f:
                text = f.read()
        except OSError:
            continue
        state, parent = text.rsplit(")", 1)[1].split()[:2]
        if int(parent) == m.process.pid:
            found.append((int(pid), state, text.split("(", 1)[1].rsplit(")", 1)[0]))
    return found


def memory_kib(m):
    with open(f"/proc/{m.process.pid}/status") as f:
        return int(next(line for line in f if line.startswith("VmRSS")).split()[1])


def quiet(m):
    """The watcher of devices is there, and no child more, as a driver's probe. Value: what children() says, or None."""
    found = children(m)
    try:
        with open(f"/proc/{found[0][0]}/cmdline") as f:
            return found if len(found) == 1 and found[0][1] != "Z" and "--watch" in f.read().split("\0") else None
    except (OSError, IndexError):
        return None


def test_nothing_piles_up(m):
    m.make("watched", UNIT)
    upgrade(m)
    kids, descriptors, memory = until(lambda: quiet(m), 20), m.descriptors(), memory_kib(m)
    ok(kids, "the child that hears of devices' errors", children(m))
    for i in range(20):
        answer = upgrade(m)
    print(f"# {answer['pause_ms']:.1f} ms, before: {descriptors} descriptors, {memory} KiB")
    now = until(lambda: quiet(m), 20)
    ok(now, "after 20 upgrades there is one, and no zombie", children(m))
    ok(now and kids and now[0][0] != kids[0][0], "it is the present one's", kids, now)
    ok(until(lambda: m.descriptors() <= descriptors), "descriptors do not add up", descriptors, m.descriptors(),
       [os.readlink(f"/proc/{m.process.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{m.process.pid}/fd")])
    if not SANITIZED:
        ok(memory_kib(m) < memory * 1.2 + 512, "nor does memory", memory, memory_kib(m))


def test_unknown_child(m):
    """A child that the next one knows nothing of is reaped by it: here one from before meted, which nobody else would."""
    ok(until(lambda: any(state == "Z" for _, state, _ in children(m)), 20), "a child has ended", children(m))
    upgrade(m)
    ok(until(lambda: not any(state == "Z" for _, state, _ in children(m)), 20), "the next one reaps it", children(m))


def broken(m, name, change):
    path = os.path.join(m.dir, name)
    with open(METED, "rb") as f:
        data = change(f.read())
    with open(path, "wb") as f:
        f.write(data)
    os.chmod(path, 0o700)
    return path


def report_error(path, error):
    """As a program one of whose contexts answers an error from now on."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(path)
    body = struct.pack("2I32s64sQ", 3, 1, b"faulty", bytes(64), 0)
    s.sendall(struct.pack("4I", 1, 16 + len(body), 1, 0) + body)
    same(struct.unpack_from("4I", s.recv(65536))[3], OK, "a program begins")
    s.sendall(struct.pack("6I", 14, 24, 2, 0, 0, error))
    return s


def test_faults(m):
    """Faults count for a tenant whichever meted has seen them."""
    path = m.make("wild", UNIT)
    report_error(path, 716).close()
    upgrade(m, binary=NEXT)
    ok(until(lambda: m.control().grant("wild")["faults"] == 1), "one before the upgrade")
    report_error(path, 716).close()
    ok(until(lambda: m.control().grant("wild")["faults"] == 2), "one after it")
    same(m.control().grant("wild")["quarantined"], False, "are not too many")
    m.kill(signal.SIGTERM)
    harness.METED = NEXT
    m.start()
    harness.METED = METED
    same(m.control().grant("wild")["faults"], 2, "a restart")
    report_error(path, 716).close()
    ok(until(lambda: m.control().grant("wild")["quarantined"]), "then the third, which is too many", m.control().grant("wild"))


def test_broken_programs(m):
    """What is no program for this machine is refused before anything has happened."""
    machine = lambda data: data[:18] + b"\xf7\x00" + data[20:]
    cut = lambda data: data[:65536]
    missing = lambda data: data.replace(b"libuv.so.1\0", b"libuX.so.1\0")
    for name, change, reasons in (("foreign", machine, ("no program for this machine",)), ("text", lambda data: b"hello\n", ("no program",)),
                                  ("cut", cut, ("signal", "cannot take over", "cannot be executed")),
                                  ("lacking", missing, ("libuX.so.1",))):
        answer = m.control().ask("upgrade", binary=broken(m, name, change))
        ok(not answer["ok"] and any(r in answer["error"] for r in reasons), f"{name}: refused with the reason", answer)
        print("#", answer["error"])
    loud = os.path.join(m.dir, "loud")
    with open(loud, "w") as f:
        f.write("#!/bin/sh\nprintf 'a\\377\\001b\\n'\nexit 1\n")
    os.chmod(loud, 0o700)
    answer = m.control().ask("upgrade", binary=loud)
    ok(answer and "a??b" in answer["error"], "what is no text is shown as such", answer)
    folder = m.control().ask("upgrade", binary=m.dir)
    ok(not folder["ok"] and "cannot be executed" in folder["error"], "a folder", folder)
    ok(m.control().ask("hello")["pid"] == m.process.pid, "the old one serves")
    answer = m.control().ask("upgrade")
    ok(answer["ok"], "and can be upgraded", answer)


def main():
    child = {"wrap": ("sh", "-c", 'sleep 0.1 & exec "$0" "$@"')}
    for test, options, extra in ((test_journal, (), {}), (test_http, ("--http", "127.0.0.1:0"), {}), (test_shares, (), {}),
                                 (test_trace, (), {}), (test_nothing_piles_up, (), {}), (test_unknown_child, (), child), (test_faults, (), {"env": QUARANTINES}),
                                 (test_broken_programs, (), {})):
        m = Meted("--soft-only", *options, **extra)
        test(m)
        m.close()
    finish()


main()
