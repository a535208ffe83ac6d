"""meted ends and comes back: clean, killed, with a store that is damaged or a disk that is full, and in wrong places."""
import ctypes
import resource
import struct

from harness import *

# struct wire_page, as far as this test writes it (src/wire/page.h)
WORD = 64  # of account 0
OBJECT = 64 + 16 * 64
OBJECT_PLACES = 52
MOVED = 1 << 63
MOVING_FLAG, MOVED_FLAG = 1 << 30, 1 << 31


def words(m, name):
    share = m.control().share(name)
    return [share[k] // UNIT for k in ("quota_bytes", "held_bytes", "granted_bytes", "shared_bytes")]


def again(m, number=signal.SIGKILL):
    m.kill(number)
    m.start()


def test_resume(m, number):
    how = number.name
    path = m.make("resume", devices=[{"device": "1", "mem_bytes": 1000 * UNIT}, {"device": "0", "mem_bytes": 77 * UNIT}])
    a, b, c = m.client(), m.client(), m.client()
    for x in (a, b, c):
        x.hello(path)
    a.hold(0, 300)
    a.hold(1, 7)
    a.ask("share", "k", 0, 100)
    b.ask("import", "k", 0)
    same(b.reserve(0, 50, 60), [OK, 60], "credit")
    b.ask("take", 0, 10)
    c.hold(0, 5)
    before = [words(m, "resume"), m.control().grant("resume")["id"], m.control().ask("devices")["devices"]]
    m.kill(number)
    a.ask("take", 0, 0)
    same(b.ask("take", 0, 50), [1], f"{how}: without meted, credit can be used")
    same(b.ask("give", 0, 50), [0], f"{how}: and given back")
    same(b.reserve(0, 1)[0] < 0, True, f"{how}: but no more had")
    c.kill()
    m.start()
    before[0] = [before[0][0], before[0][1] - 5, before[0][2] - 5, before[0][3]]
    same([words(m, "resume"), m.control().grant("resume")["id"], m.control().ask("devices")["devices"]], before[:2] +
         [m.control().ask("devices")["devices"]], f"{how}: every figure is back, but for the process that died meanwhile")
    same(m.control().grant("resume")["devices"][1]["held_bytes"], 7 * UNIT, f"{how}: on the second device too")
    same([p["attached"] for p in m.control().grant("resume")["processes"]], [False, False], f"{how}: nobody is attached")
    same(a.ask("hello", path)[:2], [OK, 1], f"{how}: a client finds its page")
    same(a.reserve(0, 901)[0], NO_ROOM, f"{how}: the quota holds")
    same(a.ask("drop", "k", 0), [OK, 100, 0], f"{how}: objects are known")
    b.kill()
    ok(until(lambda: words(m, "resume")[3] == 0), f"{how}: and end with who imported them, though it never came back")
    same(a.reserve(0, 800), [OK, 800], f"{how}: all else can be had")
    a.kill()
    ok(until(lambda: words(m, "resume")[1:] == [0, 0, 0]), f"{how}: nothing stays charged", words(m, "resume"))
    ok(m.control().ask("grant_delete", name="resume")["ok"], f"{how}: delete")


def page_of(m, pid):
    return [os.path.join(m.dir, "pages", p) for p in m.pages() if f"-{pid}-" in p][0]


def test_share_cut_in_two(m):
    """A SHARE of 100 of 300 units, stopped after each of its steps."""
    path = m.make("cut", 1000 * UNIT)
    steps = {
        "before anything": (None, False, (300, 0)),
        "entry written, word not changed": (MOVING_FLAG | MOVED_FLAG, False, (300, 0)),
        "word changed, mark still there": (MOVING_FLAG | MOVED_FLAG, True, (200, 100)),
        "done": (0, True, (200, 100)),
    }
    for step, (flags, moved, (held, shared)) in steps.items():
        a = m.client()
        a.hello(path)
        a.hold(0, 300)
        m.kill()
        with open(page_of(m, a.pid), "r+b") as f:
            if flags is not None:
                f.seek(OBJECT)
                f.write(struct.pack("32s2I", b"cut", flags, 100))
                f.seek(OBJECT_PLACES)
                f.write(struct.pack("I", 1))
            if moved:
                f.seek(WORD)
                f.write(struct.pack("Q", MOVED | 200 << 32 | 200))
        os.unlink(os.path.join(m.dir, "accounts"))  # a kill there would have left it between the steps
        m.start()
        same(words(m, "cut")[1:], [300, held, shared], f"{step}: charged once")
        same(a.ask("hello", path)[:2], [OK, 1], f"{step}: back")
        same(a.ask("share", "cut", 0, 100), [OK, 100, 0], f"{step}: asked again")
        same((words(m, "cut")[1:], a.word()), ([300, 200, 100], (200, 200)), f"{step}: it is done once")
        same(a.ask("drop", "cut", 0), [OK, 100, 1], f"{step}: and undone")
        again(m)
        same(words(m, "cut")[1:], [200, 200, 0], f"{step}: for good")
        a.kill()
        until(lambda: not m.control().grant("cut")["processes"])
    m.control().ask("grant_delete", name="cut")


def damage(m, pid, how):
    page = page_of(m, pid)
    if how == "unlinked":
        return os.unlink(page)
    if how == "cut short":
        return os.truncate(page, 100)
    with open(page, "r+b") as f:
        if how == "without magic":
            return f.write(bytes(4))
        f.seek(WORD)
        word = struct.unpack("Q", f.read(8))[0]
        f.seek(WORD)
        word = {"granted lost bits": word & ~(0xff << 32), "all lost": 0, "held lost its top": 5,
                "granted in the sky": word | 1 << 61, "all noise": 0xfedcba9876543210}[how]
        f.write(struct.pack("Q", word))


def test_damaged_page(m):
    """What a process may hold counts, whatever has become of its page: its neighbour must not be lent that."""
    path = m.make("damage", 1000 * UNIT)
    for how in ("granted lost bits", "all lost", "held lost its top", "granted in the sky", "all noise", "cut short",
                "without magic", "unlinked"):
        for shared in (0, 100):
            a, b = m.client(), m.client()
            a.hello(path), b.hello(path)
            a.reserve(0, 600, 650)
            a.ask("take", 0, 600)
            if shared:
                a.ask("share", "k", 0, shared)
            m.kill()
            damage(m, a.pid, how)
            m.start()
            what = f"{how}, {shared} shared"
            same(b.hello(path), OK, f"{what}: a neighbour comes back")
            same(b.reserve(0, 401)[0], NO_ROOM, f"{what}: and is not lent what the process holds")
            same(m.control().share("damage")["granted_bytes"] + m.control().share("damage")["shared_bytes"] >= 650 * UNIT,
                 True, f"{what}: all that it may hold counts")
            ok("is not as meted left it" in m.log() or "is lost" in m.log(), f"{what}: it is logged", m.log())
            os.truncate(f"{m.dir}/meted.log", 0)
            again(m)
            same(b.hello(path), OK, f"{what}: killed again")
            same(b.reserve(0, 401)[0], NO_ROOM, f"{what}: it is remembered")
            claim = 600 - shared
            a.ask("claim", 0, claim)
            same(a.hello(path), OK, f"{what}: the process comes back")
            same(b.reserve(0, 401)[0], NO_ROOM, f"{what}: what it holds counts still")
            a.kill()
            ok(until(lambda: words(m, "damage")[2:] == [0, 0]), f"{what}: and ends with it", words(m, "damage"))
            b.kill()
            until(lambda: not m.control().grant("damage")["processes"])
    m.control().ask("grant_delete", name="damage")


def test_objects_lost(m):
    """The shared memory of a page that says nothing of it."""
    path = m.make("objects", 1000 * UNIT)
    a, b = m.client(), m.client()
    a.hello(path), b.hello(path)
    a.hold(0, 300)
    a.ask("share", "k", 0, 200)
    m.kill()
    with open(page_of(m, a.pid), "r+b") as f:
        f.seek(OBJECT + 36)
        f.write(bytes(4))
    m.start()
    b.hello(path)
    same(b.reserve(0, 701)[0], NO_ROOM, "an object that a page has lost stays charged")
    same(b.reserve(0, 700)[0], OK, "once")
    a.kill(), b.kill()
    ok(until(lambda: words(m, "objects")[2:] == [0, 0]), "until its process ends")
    m.control().ask("grant_delete", name="objects")


def test_book(m):
    """The book itself damaged, cut short or lost: pages are believed, or more counts than is held; never less."""
    path = m.make("book", 1000 * UNIT)
    a, b = m.client(), m.client()
    a.hello(path), b.hello(path)
    a.hold(0, 300)
    a.ask("share", "k", 0, 50)
    book = f"{m.dir}/accounts"
    for what, change in (("noise", lambda: open(book, "r+b").write(os.urandom(8000))), ("cut short", lambda: os.truncate(book, 70)),
                         ("empty", lambda: os.truncate(book, 0)), ("lost", lambda: os.unlink(book))):
        m.kill()
        change()
        m.start()
        ok(m.control().ask("hello")["ok"], f"the book is {what}: meted serves")
        b.hello(path), a.hello(path)
        same(words(m, "book")[1:], [300, 250, 50], f"the book is {what}: the pages are believed")
        same(b.reserve(0, 701)[0], NO_ROOM, f"the book is {what}: and no more lent than there is")
    a.kill(), b.kill()
    until(lambda: not m.control().grant("book")["processes"])
    m.control().ask("grant_delete", name="book")


def test_pages_of_others(m):
    path = m.make("pages", 1000 * UNIT)
    a = m.client()
    a.hello(path)
    a.hold(0, 10)
    m.kill()
    mine = page_of(m, a.pid)
    pages = os.path.dirname(mine)
    for name, data in (("README", b"hello"), ("1-2-3", bytes(100)), (os.path.basename(mine).replace(f"-{a.pid}-", "-1-"), b""),
                       (os.path.basename(mine) + "0", bytes(42048)), ("zz-1-2", b"")):
        with open(os.path.join(pages, name), "wb") as f:
            f.write(data)
    start = int(open("/proc/self/stat").read().rsplit(")", 1)[1].split()[19])
    with open(os.path.join(pages, f"abc-{os.getpid()}-{start}"), "wb") as f:
        f.write(bytes(42048))
    m.start()
    same(words(m, "pages")[1:], [10, 10, 0], "files that are no pages change nothing")
    ok(os.path.exists(os.path.join(pages, "README")), "a file that is not meted's is left alone")
    ok("a page of a grant that the store does not know" in m.log(), "a living process without a grant is reported")
    for name in os.listdir(pages):
        if name != os.path.basename(mine):
            os.unlink(os.path.join(pages, name))
    a.kill()
    until(lambda: not m.control().grant("pages")["processes"])
    m.control().ask("grant_delete", name="pages")


def begin_random_page(m):
    """A page full of noise: meted starts, and the process's end puts everything right. The request that is refused in the
    end waits ten seconds first, for what the process with the noise may give back: the other tests go on meanwhile. Value:
    what is to be done at the end."""
    path = m.make("noise", 1000 * UNIT)
    a, b = m.client(), m.client()
    a.hello(path), b.hello(path)
    b.hold(0, 10)
    m.kill()
    with open(page_of(m, a.pid), "r+b") as f:
        f.seek(8)
        f.write(os.urandom(40000))
    m.start()
    ok(m.control().ask("hello")["ok"], "a meted that finds noise on a page serves")
    same(b.hello(path), OK, "a neighbour comes back")
    b.tell("reserve", 0, 991, 0, 0)

    def end():
        same(b.answer()[0], NO_ROOM, "and gets nothing that is not there")
        a.kill()
        ok(until(lambda: words(m, "noise")[1:] == [10, 10, 0]), "when that process ends all is right again", words(m, "noise"))
        b.kill()
        until(lambda: not m.control().grant("noise")["processes"])
        m.close()
    return end


def test_soon_survives(m):
    path = m.make("soon", 1000 * UNIT)
    a = m.client()
    a.hello(path)
    a.hold(0, 1000)
    m.control().ask("grant_set", name="soon", devices=[{"mem_bytes": 400 * UNIT}], soon=True)
    again(m)
    same(m.control().share("soon").get("target_bytes"), 400 * UNIT, "a pending shrink survives")
    a.hello(path)
    same(a.reserve(0, 1)[0], NO_ROOM, "and is kept")
    a.ask("give", 0, 700)
    ok(until(lambda: words(m, "soon")[0] == 400), "and done")
    again(m)
    same(words(m, "soon")[0], 400, "for good")
    a.kill()
    until(lambda: not m.control().grant("soon")["processes"])
    m.control().ask("grant_delete", name="soon")


def test_runner_gone(m):
    runner = subprocess.Popen(["sleep", "100"])
    path = m.make("runner", GIB, runner_pid=runner.pid)
    again(m)
    same(m.control().grant("runner")["runner_pid"], runner.pid, "a grant of a living command survives")
    m.kill()
    runner.kill()
    runner.wait()
    m.start()
    ok(until(lambda: not m.control().ask("grants")["grants"]), "one whose command died meanwhile ends")
    ok(not os.path.exists(path), "with its socket")


def test_second(m):
    start = time.monotonic()
    second = Meted("--soft-only", directory=m.dir, expect=False)
    ok(not second.up, "a second meted on the same directory does not start")
    same(second.wait(), 1, "its status is 1")
    ok(f"a meted (pid {m.process.pid}) already serves {m.dir}" in second.error and second.error.count("\n") == 1,
       "with one line that names the first", second.error)
    ok(time.monotonic() - start < 2, "at once")
    ok(m.control().ask("hello")["ok"], "the first goes on")


HALF_STARTED = """
import fcntl, os, signal, socket, sys, time
lock = os.open(sys.argv[1] + "/meted.lock", os.O_RDWR)
fcntl.flock(lock, fcntl.LOCK_EX)
os.ftruncate(lock, 0)
os.pwrite(lock, str(os.getpid()).encode(), 0)
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1] + "/control.sock")
s.listen()
if not os.fork():
    time.sleep(1)
    os._exit(0)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_child_holds_lock(m):
    """meted is killed between the fork and the exec of a child: until the exec the child holds the lock and listens."""
    m.kill(signal.SIGTERM)
    subprocess.run([sys.executable, "-c", HALF_STARTED, m.dir], stdout=subprocess.DEVNULL)
    ok(m.start(expect=False), "the next meted waits for a lock that only a child of the last one holds", m.up or (m.wait(), m.error))
    if not m.up:
        m.start()
    ok(m.control().ask("hello")["ok"], "and serves")


def test_leaving(m):
    """A meted that is asked to leave and one that comes at the same time."""
    for _ in range(20):
        m.process.send_signal(signal.SIGTERM)
        leaving = m.process
        until(lambda: not os.path.exists(f"{m.dir}/control.sock"))
        ok(m.start(), "the next meted waits until the last has left")
        leaving.communicate()
    os.rename(f"{m.dir}/meted.log", f"{m.dir}/meted.log.1")
    m.process.send_signal(signal.SIGHUP)
    ok(until(lambda: os.path.exists(f"{m.dir}/meted.log")), "SIGHUP: a log that was moved away is opened anew")
    ok(m.control().ask("hello")["ok"], "and meted goes on")


MEND = 3  # no further start helps until somebody has mended something: systemd does not try again


def start_fails(m, what, status=MEND, options=(), **more):
    """A meted in m's directory that must not start; its one line."""
    x = Meted("--soft-only", *options, directory=m.dir, expect=False, **more)
    if x.up:
        x.kill()
        ok(False, f"{what}: refused")
        return ""
    same(x.wait(), status, f"{what}: status {status}")
    ok(x.error.startswith("meted: ") and x.error.count("\n") == 1, f"{what}: one line", x.error)
    print(f"# {x.error.strip()}")
    return x.error


def test_places(m):
    m.kill(signal.SIGTERM)
    control = f"{m.dir}/control.sock"
    ok(not os.path.exists(control), "a meted that leaves takes its control socket along")
    with open(control, "w") as f:
        f.write("precious")
    ok("is in the way and is not a socket" in start_fails(m, "a file at the control socket's place"), "it says so")
    same(open(control).read(), "precious", "the file is left alone")
    os.unlink(control)
    s = socket.socket(socket.AF_UNIX)
    s.bind(control)
    s.close()
    m.start()
    ok(m.control().ask("hello")["ok"], "a stale control socket is replaced")
    m.kill()
    if not os.getuid():
        os.chown(m.dir, 65534, 65534)
        ok("belongs to uid 65534" in start_fails(m, "another's directory"), "it says whose")
        os.chown(m.dir, 0, 0)
    os.chmod(m.dir, 0o777)
    ok("writable by nobody else" in start_fails(m, "a directory that all may write"), "it says so")
    os.chmod(m.dir, 0o700)
    m.start()


def test_socket_taken(m):
    """While meted is down, something else comes to a grant's socket."""
    path = m.make("taken", 1000 * UNIT)
    a = m.client()
    a.hello(path)
    a.hold(0, 10)
    m.kill()
    os.unlink(path)
    with open(path, "w") as f:
        f.write("mine")
    m.start()
    same(m.control().grant("taken")["state"], "no socket", "a grant whose socket cannot be made is shown as such")
    ok("is not a socket" in m.log(), "with a line")
    same(words(m, "taken")[1], 10, "its accounts count")
    os.unlink(path)
    again(m)
    same(a.hello(path), OK, "when the way is free it is served again")
    a.kill()
    until(lambda: not m.control().grant("taken")["processes"])
    m.control().ask("grant_delete", name="taken")


def test_broken_store(m):
    m.make("keep", GIB)
    m.kill()
    store = f"{m.dir}/mete.db"
    good = open(store, "rb").read()
    for what, data in (("empty", b""), ("cut in half", good[:len(good) // 2]), ("a text", b"this is no database, but long enough to look like a file of some kind" * 100),
                       ("noise in the middle", good[:4096] + os.urandom(4096) + good[8192:])):
        with open(store, "wb") as f:
            f.write(data)
        line = start_fails(m, f"the store is {what}", status=MEND)
        ok(f"mv {store} {store}.bad" in line and line.count("\n") == 1, "one line that names file and remedy", line)
        same(open(store, "rb").read(), data, "and the file is as it was")
    with open(store, "wb") as f:
        f.write(good[:60] + struct.pack(">I", 99) + good[64:])
    ok("later meted" in start_fails(m, "a store of a later version", status=MEND), "it says so")
    with open(store, "wb") as f:
        f.write(good)
    m.start()
    same([g["name"] for g in m.control().ask("grants")["grants"]], ["keep"], "with the right file all is there")
    m.control().ask("grant_delete", name="keep")


def refuse_on_full(m, c, what):
    """Grants until one is refused for want of room; nothing that was made is lost."""
    made = []
    for n in range(4000):
        a = c.ask("grant_create", name=f"g{n}-" + "x" * 50, driver="soft", overcommit=True,
                  devices=[{"device": "0", "mem_bytes": 512}, {"device": "1", "mem_bytes": 512}])
        if not a["ok"]:
            break
        made.append(a["grant"]["name"])
    ok(not a["ok"] and "the disk is full or a limit is reached" in a["error"], f"{what}: a grant that cannot be kept is refused", a)
    print(f"# after {len(made)} grants: {a['error']}")
    a = c.ask("grant_set", name="there", devices=[{"device": "0", "mem_bytes": 900 * UNIT}])
    same(c.share("there")["quota_bytes"], (900 if a["ok"] else 1000) * UNIT, f"{what}: a change is kept or not made")
    same(len(c.ask("grants")["grants"]), len(made) + 1, f"{what}: what was made is served")
    return made


def test_full_disk():
    if os.getuid():
        return skip("a full disk", "only root can mount one")
    directory = tempfile.mkdtemp(prefix="mete-t-", dir="/tmp")
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x00020000) or libc.mount(b"none", b"/", None, 1 << 18 | 1 << 14, None) or \
            libc.mount(b"none", directory.encode(), b"tmpfs", 0, b"size=400k,mode=700"):
        return skip("a full disk", "no mount may be made here")
    device = tempfile.mkdtemp(prefix="mete-t-", dir="/tmp")  # the device's own memory is not on the full disk
    m = Meted("--soft-only", directory=directory, env={"METE_SOFT_DIR": device})
    path = m.make("there", 1000 * UNIT)
    a = m.client()
    a.hello(path)
    a.hold(0, 10)
    c = m.control()
    try:
        with open(f"{directory}/fill", "wb") as f:
            while True:
                f.write(bytes(4096))
                f.flush()
    except OSError:
        pass
    b = m.client()
    same(b.hello(path), FULL, "full: no page for a new process, and no SIGBUS")
    ok("No space left" in m.log() or m.process.poll() is None, "full: with a line")
    made = refuse_on_full(m, c, "full")
    same(a.reserve(0, 100), [OK, 100], "full: who is attached goes on")
    ok(m.process.poll() is None, "full: meted lives")
    os.unlink(f"{directory}/fill")
    same(b.hello(path), OK, "with room again, processes attach")
    ok(c.ask("grant_create", name="later", driver="soft", devices=[{"device": "0", "mem_bytes": 512}])["ok"],
       "and grants are made")
    c.close()
    again(m)
    same(sorted(g["name"] for g in m.control().ask("grants")["grants"]), sorted(made + ["there", "later"]),
         "and all of them survive")
    same(words(m, "there")[1], 10, "with what is held")
    m.close()
    libc.umount(directory.encode())
    os.rmdir(directory)
    shutil.rmtree(device)


def test_file_limit():
    """No root needed: files may not grow beyond a limit."""
    m = Meted("--soft-only")
    m.make("there", 1000 * UNIT)
    resource.prlimit(m.process.pid, resource.RLIMIT_FSIZE, (48 * 512, resource.RLIM_INFINITY))
    c = m.control()
    made = refuse_on_full(m, c, "file limit")
    ok(m.process.poll() is None, "file limit: meted lives (SIGXFSZ)")
    c.close()
    again(m)
    same(sorted(g["name"] for g in m.control().ask("grants")["grants"]), sorted(made + ["there"]),
         "file limit: nothing that was promised is lost")
    m.close()


def test_options():
    def run(*options):
        p = subprocess.run([METED, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=20)
        return p.returncode, p.stdout, p.stderr
    code, out, err = run("--version")
    ok(code == 0 and out.startswith("meted ") and not err, "--version", out, err)
    code, out, err = run("--help")
    ok(code == 0 and "--runtime-dir" in out and not err, "--help")
    for options in (["--nonsense"], ["word"], ["--exit-when-idle", "soon"], ["--exit-when-idle", "-1"], ["--ready-fd", "99"],
                    ["--ready-fd"], ["--probe"], ["--log", "x", "--foreground"]):
        code, out, err = run(*options)
        ok(code == 2 and err and not out, f"{' '.join(options)}: status 2 and a line", code, err)
    code, out, err = run("--runtime-dir", "/tmp/" + "x" * 100)
    ok(code == 3 and "at most" in err, "a runtime directory that is too long for sockets", err)
    code, out, err = run("--runtime-dir", "/proc/none/there")
    ok(code == 3 and "/proc/none/there" in err, "one that cannot be made", err)
    code, out, err = run("--probe", "", "/nonexistent/libcuda.so.1")
    ok(code == 0 and "error" in json.loads(out), "--probe of nothing says so in JSON", out)


def test_driver_hangs():
    """A driver's library that hangs or crashes is a status, not the end of meted."""
    if shutil.which("cc") is None:
        return skip("drivers that misbehave", "no C compiler")
    d = tempfile.mkdtemp(prefix="mete-t-", dir="/tmp")
    for name, body in (("crash", "*(volatile int *)0 = 1;"), ("exit", "_exit(3);"), ("noise", "write(1, \"}{\", 2); _exit(0);")):
        with open(f"{d}/{name}.c", "w") as f:
            f.write(f"#include <unistd.h>\n__attribute__((constructor)) static void x(void) {{ {body} }}\n")
        subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", f"{d}/{name}.so", f"{d}/{name}.c"], check=True)
    for name, part in (("crash", "signal"), ("exit", "cannot be read"), ("noise", "cannot be read")):
        m = Meted("--libcuda", f"{d}/{name}.so", "--libnvml", f"{d}/{name}.so", env={"ASAN_OPTIONS": "handle_segv=0"})
        a = m.control().ask("devices")
        ok(part in a["drivers"][0]["status"], f"a library that does {name}: a status", a["drivers"][0])
        ok(a["drivers"][1]["usable"], "the other driver is not harmed")
        m.close()
    shutil.rmtree(d)


resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
end_random_page = begin_random_page(Meted("--soft-only"))
m = Meted("--soft-only")
for number in (signal.SIGKILL, signal.SIGTERM):
    print(f"# test_resume {number.name}", flush=True)
    test_resume(m, number)
for test in [test_share_cut_in_two, test_damaged_page, test_objects_lost, test_book, test_pages_of_others, test_soon_survives, test_runner_gone,
             test_second, test_child_holds_lock, test_leaving, test_places, test_socket_taken, test_broken_store]:
    print(f"# {test.__name__}", flush=True)
    test(m)
m.close()
for test in [test_options, test_driver_hangs, test_file_limit, test_full_disk]:
    print(f"# {test.__name__}", flush=True)
    test()
end_random_page()
finish()
