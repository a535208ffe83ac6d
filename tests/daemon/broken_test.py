"""Settings and stores that are broken, each in one way, made from good ones: --check-config finds the fault, a reload refuses
it, both with the line and a remedy; no meted that runs is taken down by it; and none is started over and over: whoever asks is
told at once what is wrong. broken_test.py BUILD [settings|stores]"""
import grp
import random

from broken import *

random.seed(16)


def pair(name):
    cert, key = os.path.join(place, f"{name}.crt"), os.path.join(place, f"{name}.key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                    "/CN=localhost", "-keyout", key, "-out", cert, "-days", "2"], check=True, stderr=subprocess.DEVNULL)
    return cert, key


CERT, KEY = pair("good")
OTHER_CERT, OTHER_KEY = pair("other")
JUNK = file("junk.pem", "no certificate\n")
CUT_CERT = file("cut.crt", open(CERT).read()[:200])  # its beginning is that of a certificate
LOCKED_KEY = os.path.join(place, "locked.key")
subprocess.run(["openssl", "pkcs8", "-topk8", "-in", KEY, "-out", LOCKED_KEY, "-passout", "pass:mete"], check=True)
LIBRARY = os.path.join(BUILD, "src/shim/libcuda.so.1")
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
    "log": (LOG, PATH + [f"{JUNK}/log", place]),
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
    "http.cert": (CERT, PATH[:6] + ["/nowhere/http.crt", JUNK, place, OTHER_CERT, KEY, CUT_CERT]),
    "http.key": (KEY, PATH[:6] + ["/nowhere/http.key", JUNK, place, OTHER_KEY, CERT, LOCKED_KEY]),
    "http.group": (grp.getgrgid(os.getegid()).gr_name, ["no-group-of-that-name", "{a: 1}", "[a]", ""]),
    "faults.count": ("3", NUMBER + ["1000"]),
    "faults.window": ("600", NUMBER + ["0", "604801"]),
    "faults.quarantine": ("300", NUMBER + ["0"]),
    "faults.quarantine_most": ("86400", NUMBER + ["0"]),
    "faults.software": ("true", SWITCH),
    "images.keep": ("256M", SIZE),
    "memory.spill": ("false", SWITCH),
    "memory.pool": ("8G", SIZE),
    **({"memory.disk": (DISK, PATH + [JUNK, "/proc", "/dev/shm"])} if DISK else {}),
    "memory.disk_size": ("8G", SIZE + ["0"]),
    "memory.disk_user": ("2G", SIZE),
    "memory.yield_within": ("2.5", [n for n in NUMBER if n != "1.5"] + ["0", "0.01", "601"]),
    "memory.yield_end": ("true", SWITCH),
    "memory.turn": ("0.5", [n for n in NUMBER if n != "1.5"] + ["0", "0.01", "31"]),
    "memory.turn_most": ("10.5", [n for n in NUMBER if n != "1.5"] + ["0", "0.01", "31", "0.4"]),
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
    "workers.idle": ("2", NUMBER + ["9"]),
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
    write(render({**{key: value for key, (value, _) in KEYS.items()}, "http.key": LOCKED_KEY})[0])
    status, err = check()
    ok(status == 1 and "passphrase" in err and "openssl pkey -in" in err, "a key with a passphrase: the remedy is to take it off", err)
    write(good)
    m = Meted("--config", FILE, "--state-dir", STATE)
    same(check("--runtime-dir", m.dir), (0, ""), "also while a meted serves at its address")
    c = m.control()
    cases = list(settings())
    ok(len(cases) >= 100, f"{len(cases)} broken files")
    if not os.environ.get("METE_TEST_LONG"):  # eight programs are started for each: others the next time
        step = 8 if SANITIZED else 2
        at = int(os.environ.get("METE_BROKEN_SEED", time.time())) % step
        print(f"# seed {at}", flush=True)
        cases = cases[at::step]
    for what, text, at, beside in cases:
        write(text)
        # This meted has them from its command line; and a name may come with the network, so it is no reason to stand still.
        overridden = what.startswith(("runtime_dir: /", "state_dir: /")) or "of-that-name" in what
        good_check, seen = refused(m, c, what, f"{FILE}:{at}: ", overridden)
        write(beside)
        started, shown = supervised(["--config", FILE, "--state-dir", STATE], f"{FILE}:{at}: ")
        ok(good_check and started, f"{what}", f"line {at}", *seen, shown)
    write(good)
    c.close()
    m.close()


# Stores.

def bytes_at(at, data):
    def change(path):
        with open(path, "r+b") as f:
            f.seek(at)
            f.write(data)
    return change


def cut(to):
    return lambda path: os.truncate(path, to)


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
    refused_stores(STORES)


for name in sys.argv[2:] or ("settings", "stores"):
    {"settings": test_settings, "stores": test_stores}[name]()
finish()
