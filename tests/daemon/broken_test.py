"""Settings and stores that are broken, each in one way, made from good ones: --check-config finds the fault, a reload refuses
it, both with the line and a remedy; no meted that runs is taken down by it; and none is started over and over: whoever asks is
told at once what is wrong. broken_test.py BUILD [settings|stores]"""
import grp
import random
import sqlite3

from harness import *
from supervisor import Supervisor

METE = os.path.join(BUILD, "src/cli/mete")
STARTS_MOST = 3
place = tempfile.mkdtemp(prefix="mete-broken-", dir="/tmp")
atexit.register(shutil.rmtree, place, True)
FILE = os.path.join(place, "meted.yaml")
STATE = os.path.join(place, "state")
os.mkdir(STATE, 0o700)
random.seed(16)


def file(name, text=""):
    path = os.path.join(place, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, 0o600)
    return path


def pair(name):
    cert, key = os.path.join(place, f"{name}.crt"), os.path.join(place, f"{name}.key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                    "/CN=localhost", "-keyout", key, "-out", cert, "-days", "2"], check=True, stderr=subprocess.DEVNULL)
    return cert, key


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


CERT, KEY = pair("good")
OTHER_CERT, OTHER_KEY = pair("other")
JUNK = file("junk.pem", "no certificate\n")
LIBRARY = file("library.so")
taken = socket.socket()
taken.bind(("127.0.0.1", 0))
taken.listen()
TAKEN = taken.getsockname()[1]
FREE = free_port()
DISK = disk_folder()

SWITCH = ["maybe", "2", "[true]", "{a: true}", ""]
NUMBER = ["many", "-1", "1.5", "0x10", "99999999999999999999999", "[1]", "{a: 1}", ""]
SIZE = ["lots", "-1", "50%", "1Q", "[1M]", ""]
PATH = ["relative/path", "[/a]", "{a: /b}", "", '""', '"/a\\nb"', "/nowhere/at/all"]
# Every key: a good value, and broken ones.
KEYS = {
    "system": ("false", SWITCH),
    "runtime_dir": (f"{place}/run", PATH[:6] + ["/nowhere/at/all", JUNK, "/" + "x" * 120]),
    "state_dir": (STATE, PATH + [JUNK]),
    "log": (f"{place}/meted.log", PATH + [f"{JUNK}/log", place]),
    "exit_when_idle": ("100000", NUMBER),
    "driver.soft_only": ("true", SWITCH),
    "driver.no_opencl": ("true", SWITCH),
    "driver.no_hip": ("true", SWITCH),
    "driver.no_levelzero": ("true", SWITCH),
    "driver.libhip": (LIBRARY, PATH + [place]),
    **{f"driver.lib{shape}": (LIBRARY, PATH + [place]) for shape in ("musa", "maca", "corex")},
    "driver.no_ascend": ("true", SWITCH),
    "driver.libascend": (LIBRARY, PATH + [place]),
    "driver.no_cambricon": ("true", SWITCH),
    "driver.libcambricon": (LIBRARY, PATH + [place]),
    "driver.libcuda": (LIBRARY, PATH + [place]),
    "driver.libnvml": (LIBRARY, PATH + [place]),
    "http.listen": (f"127.0.0.1:{free_port()}", [
        "127.0.0.1", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:99999", "example.com:7480", "::1", "[127.0.0.1:7480]", "192.0.2.1:7480",
        f"127.0.0.1:{TAKEN}", "'[2001:db8::1]:7480'", "{a: 1}", "", "0.0.0.0:0"]),
    "http.cert": (CERT, PATH[:6] + ["/nowhere/http.crt", JUNK, place, OTHER_CERT, KEY]),
    "http.key": (KEY, PATH[:6] + ["/nowhere/http.key", JUNK, place, OTHER_KEY, CERT]),
    "http.group": (grp.getgrgid(os.getegid()).gr_name, ["no-group-of-that-name", "{a: 1}", "[a]", ""]),
    "faults.count": ("3", NUMBER + ["1000"]),
    "faults.window": ("600", NUMBER + ["0", "604801"]),
    "faults.quarantine": ("300", NUMBER + ["0"]),
    "faults.quarantine_most": ("86400", NUMBER + ["0"]),
    "images.keep": ("256M", SIZE),
    "memory.spill": ("false", SWITCH),
    "memory.pool": ("8G", SIZE),
    **({"memory.disk": (DISK, PATH + [JUNK, "/proc", "/dev/shm"])} if DISK else {}),
    "memory.disk_size": ("8G", SIZE),
    "memory.disk_user": ("2G", SIZE),
    "memory.yield_within": ("2.5", [n for n in NUMBER if n != "1.5"] + ["0", "0.01", "601"]),
    "memory.yield_end": ("true", SWITCH),
    "memory.turn": ("0.5", [n for n in NUMBER if n != "1.5"] + ["0", "0.01", "31"]),
    "guard.grants": ("asked", ["all", "[asked]", "{a: 1}", ""]),
    "containers.expires": ("600", NUMBER + ["604801"]),
    "placement.rule": ("fit", ["best", "[fit]", "{a: 1}", ""]),
    "workers.observe_devices": ("false", SWITCH),
    "workers.namespaces": ("true", SWITCH),
    "workers.libraries": (f"{place}:/usr", ["relative/path", "[/a]", "{a: /b}", "", "/nowhere/at/all", f"/usr:{JUNK}", "/usr:"]),
    "workers.first_uid": ("69632", NUMBER + ["1", "999", "4294900001"]),
    "workers.cgroup": ("auto", ["relative/path", "[/a]", "{a: /b}", "", '"/a\\nb"', "/nowhere/at/all", place, JUNK]),
    "workers.memory": ("16G", SIZE),
    "workers.memory_all": ("64G", SIZE),
    "workers.tasks": ("2048", NUMBER + ["4194305"]),
    "workers.demand": ("files, uid", ["walls", "files; uid", "[files]", "{a: 1}", ""]),
    "limits.grants": ("64", NUMBER + ["100001"]),
    "limits.processes": ("1024", NUMBER),
    "limits.mem": ("100", NUMBER + ["101"]),
    "limits.cores": ("100", NUMBER + ["101"]),
    "limits.waiting": ("4096", NUMBER),
    "limits.sockets": ("128", NUMBER),
    "limits.all_grants": ("1024", NUMBER),
}
WHOLE = [  # files that are wrong as such: text, line
    ("system: [\n", 1), ("a\x01: 1\n", 1), ("\tsystem: no\n", 1), ("zebra: 1\n", 1), ("sytem: true\n", 1), ("- a\n", 1), ("[a]: 1\n", 1),
    ("system: no\nsystem: no\n", 2), ("driver: yes\n", 1), ("system: no\n---\nlog: /a\n", 2), ("log: &a /x\n", 1),
    ("limits:\n  users:\n    nobody-here-of-that-name:\n      mem: 5\n", 3), ("limits:\n  users:\n    bin: {mem: 500}\n", 3),
    ("limits:\n  groups:\n    bin: {grants: x}\n", 3), ("just words\n", 1)]


def render(values):
    """The file, and the line of each key."""
    lines, where, group = [], {}, None
    for key, value in values.items():
        *head, name = key.split(".")
        if head and head[0] != group:
            group = head[0]
            lines.append(f"{group}:")
        lines.append(f"{'  ' if head else ''}{name}: {value}")
        where[key] = len(lines)
    return "\n".join(lines) + "\n", where


def settings():
    """What is broken: a name, the file's text, the line of the fault, the text for a second meted."""
    good = {key: value for key, (value, _) in KEYS.items()}
    for key, (_, broken) in KEYS.items():
        for value in broken:
            text, where = render({**good, key: value})
            at = where[key]
            # What does not fit together is said of the key, which is read after its certificate.
            if value == OTHER_CERT or (key == "http.cert" and value == KEY):
                at = where["http.key"] if value == OTHER_CERT else at
            # Where one serves already, the next one wants another port.
            beside = render({**good, "http.listen": f"127.0.0.1:{FREE}", key: value})[0]
            yield f"{key}: {value}", text, at, beside
    for text, at in WHOLE:
        yield repr(text), text, at, text


def write(text, path=FILE):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def check(*options):
    done = subprocess.run([METED, "--config", FILE, *options, "--check-config"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60)
    return done.returncode, done.stderr


def ask_ps(directory):
    """How long `mete ps` takes, and what it says."""
    before = time.monotonic()
    done = subprocess.run([METE, "ps"], env={**os.environ, "METE_RUNTIME_DIR": directory}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    return time.monotonic() - before, done.returncode, done.stderr


def supervised(options, said, only=None):
    """Started as a service, and asked twice: True when nobody is left without an answer. `said`: what must be told."""
    directory = tempfile.mkdtemp(prefix="run-", dir=place)
    s = Supervisor(directory, [METED, "--runtime-dir", directory, "--foreground", *options],
                   {k: v for k, v in os.environ.items() if not k.startswith("METE_") or k == "METE_LIBDIR"})
    try:
        until(lambda: s.statuses or s.process and os.path.exists(os.path.join(directory, "http.sock")), 30)
        answers = [ask_ps(directory) for _ in range(2)]
    finally:
        s.end()
    serves = all(code == 0 for _, code, _ in answers)
    told = all(said in text and took < PATIENCE for took, _, text in answers)
    refused = set(s.statuses[:len(s.starts)]) <= {3} and told
    return len(s.starts) <= STARTS_MOST and (refused or (serves and only != "refused")), (s.starts, s.statuses, s.errors, answers)


def test_settings():
    printed = subprocess.run([METED, "--config", "", "--print-config"], stdout=subprocess.PIPE, text=True, check=True).stdout
    there, group = [], ""
    for line in printed.splitlines():
        word = line.split(":")[0]
        if ":" in line and line[0] not in " #":
            group = word + "."
        if ":" in line and word.strip().lstrip("#").isidentifier() and "#" + word.strip().lstrip("#") + ":" in line:
            there.append((group if line[0] == " " else "") + word.strip().lstrip("#"))
    unbroken = set(there) - set(KEYS) - (set() if DISK else {"memory.disk"})
    ok(not unbroken, "every setting is broken in some way here", sorted(unbroken))
    good = render({key: value for key, (value, _) in KEYS.items()})[0]
    write(good)
    same(check(), (0, ""), "the good file is good")
    m = Meted("--config", FILE, "--state-dir", STATE)
    same(check("--runtime-dir", m.dir), (0, ""), "also while a meted serves at its address")
    c = m.control()
    cases = list(settings())
    ok(len(cases) >= 100, f"{len(cases)} broken files")
    if SANITIZED and not os.environ.get("METE_TEST_LONG"):
        cases = cases[::5]  # eight programs are started for each, and a sanitizer takes its time over all of them
    log = os.path.join(place, "meted.log")
    for what, text, at, beside in cases:
        write(text)
        status, err = check()
        lines = err.splitlines()
        found = [line for line in lines if line.startswith(f"meted: {FILE}:{at}: ")]
        good_check = status == 1 and len(found) > 0 and all(len(line.split(": ", 3)) > 2 for line in found)
        before = os.path.getsize(log)
        # This meted has them from its command line; and a name may come with the network, so it is no reason to stand still.
        overridden = what.startswith(("runtime_dir: /", "state_dir: /")) or "of-that-name" in what

        def reread():
            with open(log, errors="replace", encoding="utf-8") as f:
                f.seek(before)
                return f.read()
        overridden or m.process.send_signal(signal.SIGHUP)
        refused = overridden or until(lambda: f"settings stay as they were: {FILE}:{at}: " in reread(), 20)
        alive = c.ask("hello")
        write(beside)
        started, shown = supervised(["--config", FILE, "--state-dir", STATE], f"{FILE}:{at}: ")
        ok(good_check and refused and alive and started, f"{what}", f"line {at}, check {status}", *lines, reread(), shown)
    write(good)
    c.close()
    m.close()


# Stores.

def sql(*statements):
    def change(path):
        aside = path + ".aside"  # the meted that runs has it locked
        shutil.copyfile(path, aside)
        db = sqlite3.connect(aside)
        db.execute("PRAGMA foreign_keys = OFF")
        for s in statements:
            db.execute(s)
        db.commit()
        db.close()
        with open(path, "wb") as to, open(aside, "rb") as changed:
            to.write(changed.read())
        os.unlink(aside)
    return change


def bytes_at(at, data):
    def change(path):
        with open(path, "r+b") as f:
            f.seek(at)
            f.write(data)
    return change


def cut(to):
    return lambda path: os.truncate(path, to)


def instead(make):
    def change(path):
        os.unlink(path)
        make(path)
    return change


def noise(path):
    data = bytearray(open(path, "rb").read())
    for _ in range(2000):
        data[random.randrange(100, len(data))] = random.randrange(256)
    open(path, "wb").write(data)


def folder_mode(path):
    os.chmod(os.path.dirname(path), 0o777)


STORES = {
    "empty": cut(0), "one byte": cut(1), "half of the head": cut(50), "the head alone": cut(100), "a page and a half": cut(6144),
    "without its end": lambda p: os.truncate(p, os.path.getsize(p) - 4096),
    "text": instead(lambda p: open(p, "w").write("grants: none\n")), "zeros": instead(lambda p: open(p, "wb").write(bytes(20480))),
    "random bytes": instead(lambda p: open(p, "wb").write(random.randbytes(20480))),
    "a folder": instead(os.mkdir), "a pipe": instead(os.mkfifo),
    "a socket": instead(lambda p: socket.socket(socket.AF_UNIX).bind(p)),
    "another magic": bytes_at(0, b"SQLite format 4\0"), "a page size of 3": bytes_at(16, b"\0\3"),
    "a first page of zeros": bytes_at(100, bytes(3996)), "a second page of noise": bytes_at(4096, random.randbytes(4096)),
    "a wrong kind of page": bytes_at(4096, b"\x42"), "cells beyond the page": bytes_at(4096 + 5, b"\xff\xff"), "noise all over": noise,
    "no version": sql("PRAGMA user_version = 0"), "a version below 0": sql("PRAGMA user_version = -5"),
    "a later version": sql("PRAGMA user_version = 99"), "an earlier version than its form": sql("PRAGMA user_version = 2"),
    "no grants": sql("DROP TABLE grants"), "no shares": sql("DROP TABLE shares"), "shares without a policy": sql("ALTER TABLE shares DROP COLUMN policy"),
    "a grant's name with a slash": sql("UPDATE grants SET name = '../x'"), "a grant without a name": sql("UPDATE grants SET name = ''"),
    "an unknown policy": sql("UPDATE shares SET policy = 'greedy'"), "an unknown class": sql("UPDATE shares SET class = 'royal'"),
    "an UUID of 3 bytes": sql("UPDATE shares SET uuid = x'010203'"), "a grant without shares": sql("DELETE FROM shares"),
    "more than all of the time": sql("UPDATE shares SET policy = 'fixed', cores = 400"),
    "others may write it": lambda p: os.chmod(p, 0o666), "others may write its folder": folder_mode,
    "somebody else's": lambda p: os.chown(p, 12345, -1),
}


def test_stores():
    write("driver:\n  soft_only: true\n")
    m = Meted("--config", FILE, "--state-dir", STATE)
    m.make("kept", 1 << 20, devices=[{"device": "0", "mem_bytes": 1 << 20, "policy": "burst", "cores": 20}])
    m.close()
    good = open(os.path.join(STATE, "mete.db"), "rb").read()
    ok(len(STORES) >= 30, f"{len(STORES)} broken stores")
    for what, change in STORES.items():
        if what == "somebody else's" and os.geteuid():
            skip(what, "only root can give it away")
            continue
        state = tempfile.mkdtemp(prefix="state-", dir=place)
        path = os.path.join(state, "mete.db")
        with open(path, "wb") as f:
            f.write(good)
        os.chmod(path, 0o600)
        runs = Meted("--config", FILE, "--state-dir", state)
        change(path)
        options = ["--config", FILE, "--state-dir", state]
        status, err = check("--state-dir", state)
        found = status == 1 and err.count("\n") == 1 and state in err and any(
            w in err for w in ("mv ", "chmod", "move it away", "restore", "check the file"))
        runs.process.send_signal(signal.SIGHUP)
        c = runs.control()
        alive = c.ask("hello")["ok"] and c.grant("kept")["name"] == "kept"
        c.close()
        runs.process.kill()
        runs.wait()
        shutil.rmtree(runs.dir, ignore_errors=True)
        started, shown = supervised(options, state, "refused")
        ok(found and alive and started, f"a store: {what}", f"check {status}", err, f"alive {alive}", shown)


for name in sys.argv[2:] or ("settings", "stores"):
    {"settings": test_settings, "stores": test_stores}[name]()
finish()
