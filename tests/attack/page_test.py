"""A tenant's process makes its page larger, to fill the runtime directory: all other tenants and meted live there."""
import fcntl
import struct
import tempfile
import threading

from ground import *

UNITS = 1000
MIB = 1 << 20


def hello(path):
    """What a program gets: its connection, its page's descriptor."""
    c = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    c.connect(path)
    c.send(struct.pack("4I2I32s16IQ", 1, 16 + 8 + 32 + 64 + 8, 1, 0, 3, 1, b"grower", *[0] * 16, 1))
    _, fds, _, _ = socket.recv_fds(c, 4096, 4)
    return c, fds[0]


def grow(path, most):
    """Tries all ways to make the page longer or shorter, up to `most` bytes; what succeeded, and what it takes then."""
    c, fd = hello(path)
    done, size = [], os.fstat(fd).st_size
    try:
        again = os.open(f"/proc/self/fd/{fd}", os.O_RDWR)
    except OSError:
        again = fd
    ways = {"fallocate": lambda f, n: os.posix_fallocate(f, size, n * 64 * MIB),
            "ftruncate": lambda f, n: os.ftruncate(f, size + n * 64 * MIB),
            "write": lambda f, n: os.pwrite(f, b"x" * MIB, size + n * MIB),
            "cut short": lambda f, n: os.ftruncate(f, 0),
            "seal": lambda f, n: fcntl.fcntl(f, fcntl.F_ADD_SEALS, 16)}
    for name, way in ways.items():
        for f in (fd, again):
            for n in range(1, most // (64 * MIB) + 1):
                try:
                    way(f, n)
                    done.append(name)
                except OSError:
                    break
    return sorted(set(done)), os.fstat(fd).st_blocks * 512


def free(directory):
    v = os.statvfs(directory)
    return v.f_bavail * v.f_frsize


def room(directory):
    """What the files of a directory take. Others write to the same file system, so what it has left says nothing."""
    return sum(os.lstat(os.path.join(folder, f)).st_blocks * 512 for folder, _, files in os.walk(directory) for f in files)


def test_growing(s, path):
    before = room(s.dir)
    done, taken = as_user(UID, grow, path, min(1 << 30, free(s.dir) // 4))
    same(done, [], "a page can be made neither longer nor shorter, nor sealed")
    ok(taken <= 8 * MIB, "it takes no more than it is", taken)
    ok(room(s.dir) - before < 16 * MIB, "the runtime directory keeps its room", before, room(s.dir))


def held(s, name):
    return s.control().share(name)["held_bytes"] // UNIT


def test_kill(s, path, a):
    """What no file keeps outlives meted, several times over, and the process that holds it too."""
    for n in range(3):
        s.kill()
        same(a.ask("take", 0, 1), [1], "without meted credit can be used")
        s.start()
        same(held(s, "works"), UNITS + n + 1, "a killed meted's successor knows every account")
        same(s.control().share("works")["granted_bytes"] // UNIT, UNITS + 10, "and all that was granted")
        same(a.ask("hello", path)[:2], [OK, 1], "the program finds its page")
    same([p["pid"] for p in s.control().grant("works")["processes"]], [a.pid], "the dead are forgotten")


def holders(s):
    """The processes that hold pages of this meted: those that listen at its pages.sock."""
    return [int(p) for p in os.listdir("/proc") if p.isdigit() and text(f"/proc/{p}/comm") == "meted-pages\n" and
            text(f"/proc/{p}/environ").find(s.env["METE_SOFT_DIR"] + "\0") >= 0]


def text(path):
    try:
        with open(path, errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def one_holds(s, what):
    """The process has its name a moment after it has been made."""
    ok(until(lambda: len(holders(s)) == 1), what, holders(s))


def test_late_holder(s, path, a):
    """
    Pages that meted handed over right before it was killed: the process that holds pages has not read them yet when the
    next meted connects.
    """
    holder, = holders(s)
    os.kill(holder, signal.SIGSTOP)
    late = [s.client() for _ in range(3)]
    same([c.hello(path) for c in late], [OK] * 3, "programs begin while the process that holds pages is stopped")
    ok(all(c.reserve(0, 5, 15)[0] == OK and c.ask("take", 0, 5) == [1] for c in late), "they get memory, and some credit")
    before = held(s, "works")
    s.kill()
    starts = threading.Thread(target=s.start)
    starts.start()
    # It has connected, and waits for the list of pages; a kernel that does not say so gets half a second.
    until(lambda: "packets" in text(f"/proc/{s.process.pid}/wchan"), 0.5)
    os.kill(holder, signal.SIGCONT)
    starts.join()
    ok(all(c.ask("take", 0, 1) == [1] for c in late), "they use their credit")
    same(held(s, "works"), before + len(late), "the successor sees their pages")
    for c in late:
        c.kill()
    a.ask("hello", path)


def test_upgrade(s, path, a):
    """The next meted takes the pages over from the same process."""
    before = held(s, "works")
    answer = s.control().ask("upgrade")
    ok(answer["ok"], "an upgrade is done", answer)
    same(held(s, "works"), before, "and knows every account")
    same(a.ask("reserve", 0, 7)[0], OK, "the program notices nothing")
    one_holds(s, "one process holds the pages still")
    a.ask("hello", path)


def test_holder_dies(s, path, a):
    """Another one takes its place when the next page is made."""
    one_holds(s, "one process holds the pages")
    for pid in holders(s):
        os.kill(pid, signal.SIGKILL)
    until(lambda: not holders(s))
    b = s.client()
    same(b.hello(path), OK, "without it a program begins")
    one_holds(s, "and another one holds the pages")
    ok(b.hold(0, 5), "it gets memory")
    before = held(s, "works")
    s.kill()
    s.start()
    same(held(s, "works"), before, "all accounts outlive meted again")
    b.kill()


root_only("a tenant that grows its page")
directory = tempfile.mkdtemp(prefix="mete-t-", dir="/dev/shm" if free("/dev/shm") > GIB else "/tmp")
os.chmod(directory, 0o755)
s = system(directory=directory)
s.own = True
works = s.make("works", GIB)
a = s.client()
a.hello(works)
a.ask("reserve", 0, UNITS + 10, UNITS + 10)
a.ask("take", 0, UNITS)
path = ask_as(UID, s.dir, soft("1G", "grows"))[0]["grant"]["socket"]
test_growing(s, path)
ok(as_user(VICTIM, lambda: not os.access(f"{s.dir}/pages.sock", os.W_OK)), "nobody else may ask for the pages")
test_kill(s, works, a)
test_late_holder(s, works, a)
test_upgrade(s, works, a)
test_holder_dies(s, works, a)
a.kill()
s.close()
ok(until(lambda: not holders(s), 10), "with the last program and meted the process that holds pages ends")
finish()
