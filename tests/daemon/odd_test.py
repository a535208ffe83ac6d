"""Settings and stores that are broken by something else than a value of a wrong kind: where a key stands, what stands there twice, what
is no ASCII, what the file is, who can change it, certificates that do not serve; and stores that lie wrong or were changed by hand.
odd_test.py BUILD [settings|stores|good|locked|full]"""
import contextlib
import pwd

from broken import *

OTHER = 12345  # a user of no account

def openssl(*words):
    subprocess.run(["openssl", *words], check=True, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def certificate(name, *kind, days=2):
    kind = kind or ("ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
    openssl("req", "-x509", "-newkey", *kind, "-nodes", "-subj", "/CN=localhost", "-keyout", f"{name}.key", "-out", f"{name}.crt",
            "-days", str(days))


def dated(name, begins, ends):
    """A certificate with these times: only `openssl ca` takes them."""
    folder = os.path.join(place, f"ca-{name}")
    os.makedirs(f"{folder}/new")
    file(f"ca-{name}/index")
    file(f"ca-{name}/serial", "01\n")
    file(f"ca-{name}/conf", f"[ca]\ndefault_ca=c\n[c]\ndatabase={folder}/index\nnew_certs_dir={folder}/new\nserial={folder}/serial\n"
         "default_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n")
    openssl("req", "-new", "-key", "own.key", "-subj", "/CN=localhost", "-out", f"{name}.csr")
    openssl("ca", "-batch", "-config", f"{folder}/conf", "-selfsign", "-keyfile", "own.key", "-in", f"{name}.csr", "-out", f"{name}.crt",
            "-startdate", begins, "-enddate", ends, "-notext")


def make_files():
    """What the cases name. Certificates and keys are of meted's own user unless a case is about that."""
    certificate("own")
    certificate("rsa", "rsa:2048")
    certificate("weak", "rsa:1024")
    dated("expired", "20200101000000Z", "20200201000000Z")
    dated("future", "20400101000000Z", "20410101000000Z")
    openssl("ec", "-in", "own.key", "-aes128", "-passout", "pass:secret", "-out", "locked.key")
    openssl("x509", "-in", "own.crt", "-outform", "DER", "-out", "der.crt")
    openssl("ec", "-in", "own.key", "-pubout", "-out", "public.key")
    openssl("req", "-new", "-key", "own.key", "-subj", "/CN=x", "-out", "request.crt")
    own = open(os.path.join(place, "own.crt"), encoding="ascii").read()
    rsa = open(os.path.join(place, "rsa.crt"), encoding="ascii").read()
    key = open(os.path.join(place, "own.key"), encoding="ascii").read()
    for name, text, mode in (("half.crt", own[:200], 0o600), ("letters.crt", own.replace("A", "!"), 0o600), ("order.crt", rsa + own, 0o600),
                             ("empty.crt", "", 0o600), ("half.key", key[:100], 0o600), ("empty.key", "", 0o600), ("zeros.crt", bytes(9000), 0o600),
                             ("open.key", key, 0o644), ("shared.key", key, 0o660), ("shared.crt", own, 0o664), ("their.key", key, 0o600),
                             ("their.crt", own, 0o600), ("junk", "x", 0o600), ("their", "x", 0o600)):
        file(name, text, mode)
    for name in ("own.key", "rsa.key", "weak.key", "locked.key", "public.key"):
        os.chmod(os.path.join(place, name), 0o600)
    for name, mode in (("d", 0o700), ("d777", 0o777), ("d770", 0o770), ("dtheir", 0o700), ("folder.crt", 0o700), ("folder.key", 0o700)):
        os.mkdir(os.path.join(place, name))
        os.chmod(os.path.join(place, name), mode)
    for name, to in (("dangling", "/nowhere"), ("loop", "loop"), ("to777", "d777"), ("dangling.crt", "/nowhere"), ("loop.key", "loop.key"),
                     ("toshared.key", "shared.key")):
        os.symlink(to, os.path.join(place, name))
    with open(METED, "rb") as f:
        elf = bytearray(f.read(64))
    for name, change in (("elf32", {4: 1}), ("other_machine", {18: 0xf3, 19: 0}), ("half_elf", None)):
        data = bytearray(elf if change else elf[:20])
        for at, byte in (change or {}).items():
            data[at] = byte
        file(name, bytes(data) + bytes(4096 if change else 0))
    file("script", "#!/bin/sh\nexit 0\n", 0o755)
    os.mkfifo(os.path.join(place, "pipe"))
    os.mkfifo(os.path.join(place, "pipe.crt"))
    s = socket.socket(socket.AF_UNIX)
    s.bind(os.path.join(place, "sock"))
    if not os.geteuid():
        for name in ("their.key", "their.crt", "dtheir", "their"):
            os.chown(os.path.join(place, name), OTHER, -1)


# Texts that stand behind the good lines: name, text, the line of the fault, counted from the text's first.
PLACES = [
    ("a group in another", "memory:\n  driver:\n    soft_only: true\n", 2),
    ("a group under a key of the same name", "http:\n  http:\n    group: root\n", 2),
    ("a key of the file in a group", "driver:\n  system: true\n", 2), ("a key of a group in the file", "no_hip: true\n", 1),
    ("a list in a group's place", "driver:\n  - no_hip: true\n", 1), ("a flow list in a group's place", "driver: [no_hip, true]\n", 1),
    ("a group in a value's place", "driver:\n  no_hip:\n    true: yes\n", 2), ("a group as a key", "? {a: b}\n: c\n", 1),
    ("a list as a key", "? [system]\n: true\n", 1), ("less indented in the middle", "driver:\n    no_hip: true\n  no_opencl: true\n", 3),
    ("a tab before a key", "driver:\n\tno_hip: true\n", 2), ("words of a figure deeper", "limits:\n  users:\n    bin:\n      mem:\n        5: 6\n", 4),
    ("a list of users", "limits:\n  users:\n    - bin\n", 2), ("a figure in a user's place", "limits:\n  users: 5\n", 2),
    ("a merge key", "<<: {system: true}\n", 1), ("settings of another program", "[driver]\nsoft_only = true\n", 1),
    ("a conflict of versions", "<<<<<<< HEAD\nsystem: true\n=======\nsystem: false\n>>>>>>> x\n", 2),
    ("a template", "system: {{ mete_system }}\n", 1), ("a variable of a shell", "system: $SYSTEM\n", 1), ("~ for a home", "state_dir: ~/mete\n", 1),
    ("an empty key", "\"\": 5\n", 1), ("an empty key in a group", "driver:\n  '': true\n", 2),
    ("a limit of root", "limits:\n  users:\n    root: {mem: 5}\n", 3), ("a limit of user 0", "limits:\n  users:\n    0: {mem: 5}\n", 3),
    ("nested 60 000 times", "driver: " + "[" * 60000, 1), ("groups nested 9 000 times", "{a: " * 9000, 1),
    ("blocks nested 200 times", "".join(" " * i + "a:\n" for i in range(200)), 1),
]
TWICE = [
    ("a key twice", "exit_when_idle: 5\nexit_when_idle: 6\n", 2), ("the same value twice", "exit_when_idle: 5\nexit_when_idle: 5\n", 2),
    ("a key and its quoted form", "exit_when_idle: 5\n\"exit_when_idle\": 6\n", 2), ("a key with a space behind", "exit_when_idle: 5\nexit_when_idle : 6\n", 2),
    ("twice in braces", "faults: {count: 3, count: 4}\n", 1), ("in two groups of a name", "faults:\n  count: 3\nfaults:\n  count: 4\n", 4),
    ("a user twice", "limits:\n  users: {bin: {mem: 5}, bin: {mem: 6}}\n", 2),
    ("a user by name and number", "limits:\n  users:\n    bin: {mem: 5}\n    2: {mem: 6}\n", 4),
    ("a user by two numbers", "limits:\n  users:\n    7777: {mem: 5}\n    07777: {mem: 6}\n", 4),
    ("a group by name and number", "limits:\n  groups:\n    0: {mem: 5}\n    root: {cores: 6}\n", 4),
]
# Each is well formed; together they make no sense.
APART = [
    ("turns beyond their bound", "memory:\n  turn: 10\n  turn_most: 5\n", 3),
    ("a quarantine beyond its bound", "faults:\n  quarantine: 500\n  quarantine_most: 60\n", 3),
    ("a quarantine beyond the default's bound", "faults:\n  quarantine: 86401\n", 2),
    ("a user's disk beyond all", "memory:\n  disk_size: 1G\n  disk_user: 2G\n", 2), ("a user's disk beyond the default's", "memory:\n  disk_user: 17G\n", 2),
    ("demands without a word", "workers:\n  demand: \", ,\"\n", 2),
]
# The unit was forgotten; what follows is bytes.
BARE = [(f"{key}: {value}", f"{group}:\n  {key}: {value}\n", 2) for group, key in
        (("memory", "pool"), ("memory", "disk_size"), ("memory", "disk_user"), ("images", "keep"), ("workers", "memory"), ("workers", "memory_all"))
        for value in ("64", "1023K", "900000 B", "2P")]
HUGE = [(f"{key} of {value[:24]}", f"{group}:\n  {key}: {value}\n", 2)
        for group, key, values in (
            ("limits", "grants", ["9223372036854775808", "18446744073709551616", "1" + "0" * 400, "1e3", "1_000", "+5", "-0", "0o17", ".inf"]),
            ("memory", "turn", ["1e400", "nan", "5.", ".5", "9" * 60, "0x1p3"]),
            ("memory", "pool", ["18446744073709551615", "99999999999P", "16E", "9" * 400 + "G", "1G1", "1e3G", "-0"]))
        for value in values]
LETTERS = [(f"{key}: {value!r}", f"{group}:\n  {key}: {value}\n", 2)
           for group, key, values in (
               ("limits", "grants", ["٣", "３", "5²", "1０", "Ⅷ", "五", "5\u00a0", "5\u200b"]), ("memory", "turn", ["٣", "1．5", "２"]),
               ("memory", "pool", ["٣G", "1Ｇ", "８M", "1G\u00a0"]), ("driver", "no_hip", ["trυe", "ｔｒｕｅ", "true\u200b"]))
           for value in values] + [
    ("a Cyrillic letter in a key", "exit_when_id\u0456e: 5\n", 1), ("a space of no width in a key", "exit_when_idle\u200b: 5\n", 1),
    ("indented by other spaces", "driver:\n\u00a0\u00a0no_hip: true\n", 2), ("a turned direction", "log: /a\u202eb/c\n", 1),
    ("another line's end", "exit_when_idle: 5\u2028system: maybe\n", 2)]
BYTES = [
    ("a zero byte in a key", b"exit\0_when_idle: 5\n", 1), ("a zero byte in a value", b"exit_when_idle: 5\0\n", 1),
    ("a zero byte at the end", b"\0", 1), ("zero bytes alone", bytes(4096), 1), ("an escaped zero byte", b'exit_when_idle: "5\\0"\n', 1),
    ("Latin-1", b"state_dir: /gr\xfc\xdf\n", 1), ("an overlong form", b"state_dir: /a\xc0\xafb\n", 1), ("half a surrogate", b"log: /a\xed\xa0\x80\n", 1),
    ("UTF-8 that is cut", b"log: /a\xe2\x82", 1), ("delete", b"log: /a\x7fb\n", 1)]


def named(group, key, values):
    """A key that names something of the machine."""
    return [(f"{key} names {value}", (f"{group}:\n  {key}: {value}\n" if group else f"{key}: {value}\n"), 2 if group else 1) for value in values]


def users_ids():
    """First ids of ranges in which a user of this machine's list is."""
    ids = [u.pw_uid for u in pwd.getpwall() if u.pw_uid >= 1000]
    return {max(1000, n - more) for n in ids[:2] for more in (0, 4095)}


def things():
    p = place + "/"
    cases = named("driver", "libcuda", [p + "dangling", p + "loop", p + "pipe", p + "sock", p + "junk/x", "/dev/null", p + "d", p + "junk", "/bin/sh/x",
                                        p + "own.key", p + "script", p + "elf32", p + "other_machine"])
    cases += named("driver", "libnvml", [p + "to777", p + "dangling", p + "half_elf"]) + named("driver", "libmusa", [p + "script"])
    cases += [(f"the ids of workers from {uid} on", f"workers:\n  first_uid: {uid}\n", 2) for uid in sorted(users_ids())]
    cases += named("workers", "libraries", [p + "dangling", p + "loop", p + "pipe", p + "junk", p + "d/" + "x" * 300])
    cases += named("memory", "disk", [p + "dangling", p + "to777", p + "d777", p + "pipe", p + "junk", "/proc/self"])
    if not os.geteuid():
        cases += named("memory", "disk", [p + "dtheir"])
    return cases


def said_instead():
    """What is said instead of a line that the good file has: name, key, value."""
    p = place + "/"
    values = [("log", p + v) for v in ("dangling", "loop", "d777", "pipe", "sock", "junk/x", "d/" + "x" * 300)]
    values += [("log", "/proc/nothing"), ("log", "/sys/kernel/x"), ("runtime_dir", "/proc/mete"), ("runtime_dir", "/sys/mete")]
    values += [("state_dir", p + v) for v in ("dangling", "loop", "d777", "to777", "d770", "pipe", "junk", "sock", "junk/x")]
    values += [("runtime_dir", p + v) for v in ("dangling", "loop", "d777", "to777", "d770", "pipe", "junk", "sock", "junk/x")]
    if not os.geteuid():
        values += [("state_dir", p + "dtheir"), ("runtime_dir", p + "dtheir")]
    return [(f"{key} is {value}", key, value) for key, value in values]


def certificates():
    """Name, certificate, key, the one that is wrong."""
    cases = [("expired", "expired.crt", "own.key", "cert"), ("not yet valid", "future.crt", "own.key", "cert"),
             ("1024 bits", "weak.crt", "weak.key", "cert"), ("another's key", "own.crt", "rsa.key", "key"),
             ("the key's certificate second", "order.crt", "own.key", "key"), ("a key with a password", "own.crt", "locked.key", "key"),
             ("a public key", "own.crt", "public.key", "key"), ("DER", "der.crt", "own.key", "cert"), ("a request", "request.crt", "own.key", "cert"),
             ("a half certificate", "half.crt", "own.key", "cert"), ("letters that are none", "letters.crt", "own.key", "cert"),
             ("an empty certificate", "empty.crt", "own.key", "cert"), ("a half key", "own.crt", "half.key", "key"),
             ("an empty key", "own.crt", "empty.key", "key"), ("zeros", "zeros.crt", "own.key", "cert"), ("a folder", "folder.crt", "own.key", "cert"),
             ("a folder for a key", "own.crt", "folder.key", "key"), ("a pipe", "pipe.crt", "own.key", "cert"),
             ("a link to nothing", "dangling.crt", "own.key", "cert"), ("a link to itself", "own.crt", "loop.key", "key"),
             ("a key that all may read", "own.crt", "open.key", "key"), ("a key that a group may write", "own.crt", "shared.key", "key"),
             ("a link to such a key", "own.crt", "toshared.key", "key"), ("a certificate that a group may write", "shared.crt", "own.key", "cert")]
    if not os.geteuid():
        cases += [("another user's key", "own.crt", "their.key", "key"), ("another user's certificate", "their.crt", "own.key", "cert")]
    return cases


# What meted has from its file, the same in every case.
def base(**instead_of):
    values = {"runtime_dir": f"{place}/run", "state_dir": STATE, "log": LOG, **instead_of}
    return [f"{key}: {value}" for key, value in values.items()]


def text_cases():
    """Name, the whole file, the line of the fault."""
    make = "\n".join(base()) + "\n"
    before = make.count("\n")
    cases = []
    for name, text, at in PLACES + TWICE + APART + BARE + HUGE + LETTERS + things():
        # A key of the good lines would be there twice.
        alone = text.startswith(("log:", "state_dir:", "runtime_dir:", "{", " ", "["))
        cases.append((name, text if alone else make + text, at if alone else before + at))
    for name, data, at in BYTES:
        alone = data.startswith((b"log:", b"state_dir:"))
        # The YAML reader decodes ahead: a byte that is none of a text it finds before it reads the lines in front of it.
        cases.append((name, data if alone else make.encode() + data, at if alone else None))
    for name, key, value in said_instead():
        lines = base(**{key: value})
        cases.append((name, "\n".join(lines) + "\n", 1 + [line.split(":")[0] for line in lines].index(key)))
    for name, cert, key, wrong in certificates():
        lines = base() + ["http:", f"  listen: 127.0.0.1:{free_port()}", f"  cert: {place}/{cert}", f"  key: {place}/{key}"]
        cases.append((f"a certificate: {name}", "\n".join(lines) + "\n", len(lines) - (wrong == "cert")))
    return cases


# What the file is: name, how it is made so at a path, words of the line.
def whole_files():
    good = "\n".join(base()) + "\n"

    def by(change):
        def make(path):
            write(good, path)
            os.chmod(path, 0o600)
            change(path)
        return make

    def link_to(target):
        return lambda path: os.symlink(target, path)
    cases = [("a link to nothing", link_to("/nowhere/meted.yaml"), "cannot be opened: No such file"),
             ("a link to itself", link_to(FILE), "cannot be opened: Too many levels"),
             ("a folder", os.mkdir, "is a folder"), ("a pipe", os.mkfifo, "is no regular file"),
             ("a socket", lambda path: socket.socket(socket.AF_UNIX).bind(path), "cannot be opened"),
             ("no end", link_to("/dev/zero"), "is longer than 65536 bytes"), ("what cannot be read", link_to("/proc/self/mem"), "cannot be read"),
             ("a group may write it", by(lambda path: os.chmod(path, 0o660)), "others could write it"),
             ("all may write it", by(lambda path: os.chmod(path, 0o602)), "others could write it"),
             ("a program", link_to("/bin/sh"), "")]

    def in_folder(mode, owner=None):
        def make(path):
            folder = tempfile.mkdtemp(prefix="lies-", dir=place)
            write(good, f"{folder}/meted.yaml")
            os.chmod(f"{folder}/meted.yaml", 0o600)
            os.chmod(folder, mode)
            if owner:
                os.chown(folder, owner, -1)
            os.symlink(f"{folder}/meted.yaml", path)
        return make
    cases += [("all may write its folder", in_folder(0o777), "others could replace it"),
              ("a group may write its folder", in_folder(0o770), "others could replace it")]
    if not os.geteuid():
        cases += [("it is another's", by(lambda path: os.chown(path, OTHER, -1)), "others could write it"),
                  ("its folder is another's", in_folder(0o755, OTHER), "others could replace it"),
                  ("its folder is another's and sticky", in_folder(0o1777, OTHER), "others could replace it")]
    return cases


def clear(path=FILE):
    if os.path.isdir(path) and not os.path.islink(path):
        os.rmdir(path)
    elif os.path.lexists(path):
        os.unlink(path)


def test_settings():
    write("\n".join(base()) + "\n")
    m = Meted("--config", FILE, "--state-dir", STATE, "--soft-only")
    c = m.control()
    cases = text_cases()
    ok(len(cases) >= 100, f"{len(cases)} broken files")
    whole = list(whole_files())
    if SANITIZED and not os.environ.get("METE_TEST_LONG"):  # gcc's build has all of them; here others the next time
        at = int(time.time()) % 6
        print(f"# from {at} on", flush=True)
        cases, whole = cases[at::6], whole[at % 2::2]
    slow = 0
    for number, (what, text, at) in enumerate(cases):
        write(text)
        said = f"{FILE}:{at}: " if at else f"{FILE}:"
        # This meted has them from its command line.
        # A name may come from a directory that is away: a signal lets it pass, with a line in the log.
        overridden = what.startswith(("runtime_dir is", "state_dir is", "a limit of"))
        began = time.monotonic()
        found, seen = refused(m, c, what, said, overridden)
        slow = max(slow, time.monotonic() - began)
        # A start takes the same way as a check; of three one is started, too.
        started, shown = True, ""
        if number % 3 == 0 or os.environ.get("METE_TEST_LONG"):
            started, shown = supervised(["--config", FILE, "--state-dir", STATE, "--soft-only"], said)
        ok(found and started, what, *seen, shown)
    ok(slow < 4 * PATIENCE, f"no file holds meted up: {slow:.2f} s at most, a check and a reload together")
    for what, make, words in whole:
        clear()
        make(FILE)
        found, seen = refused(m, c, what, f"{FILE}:" if not words else f"{FILE}: ")
        found = found and words in " ".join(seen)
        started, shown = supervised(["--config", FILE, "--state-dir", STATE, "--soft-only"], words)
        ok(found and started, f"the file: {what}", *seen, shown)
        clear()
    c.close()
    m.close()


def test_good():
    """What looks odd and is good: it is taken."""
    good = "\n".join(base()) + "\n"
    certs = f"http:\n  listen: 127.0.0.1:{free_port()}\n  cert: {place}/own.crt\n  key: {place}/own.key\n"
    sticky = os.path.join(place, "sticky")
    os.mkdir(sticky)
    os.chmod(sticky, 0o1777)
    for what, text in (("a mark of UTF-8", b"\xef\xbb\xbf" + good.encode()), ("UTF-16", good.encode("utf-16")), ("ends of lines as on DOS", good.replace("\n", "\r\n")),
                       ("no end of the last line", good[:-1]), ("JSON", json.dumps({"system": False, "driver": {"no_hip": True}})),
                       ("a version", "%YAML 1.2\n---\n" + good), ("comments up to the limit", "#" * 65535 + "\n"), ("certificates", good + certs),
                       ("groups of a name that agree", "driver:\n  no_hip: true\ndriver:\n  no_opencl: true\n"),
                       ("a user and the group of the same number", "limits:\n  users:\n    7777: {mem: 5}\n  groups:\n    7777: {mem: 6}\n")):
        write(text)
        same(check(), (0, ""), f"good: {what}")
    for key, value in (("memory.pool", "1.5T"), ("memory.disk_size", "100TB"), ("workers.memory", "2 TiB"), ("memory.pool", "0"), ("images.keep", "1M")):
        group, name = key.split(".")
        write(good + f"{group}:\n  {name}: {value}\n")
        same(check(), (0, ""), f"good: {key} of {value}")
    for what, target in (("a link to a good file", os.path.join(place, "good.yaml")), ("a folder that is sticky", os.path.join(sticky, "good.yaml")),
                         ("/dev/null", "/dev/null")):
        if target != "/dev/null":
            write(good, target)
            os.chmod(target, 0o644)
        clear()
        os.symlink(target, FILE)
        same(check(), (0, ""), f"good: {what}")
        clear()


# Stores.

def untyped(table, *statements):
    """What a table of SQLite's STRICT kind refuses."""
    return sql(f"CREATE TABLE aside AS SELECT * FROM {table}", *statements, f"DROP TABLE {table}", f"ALTER TABLE aside RENAME TO {table}")


def poke(at, data):
    def change(path):
        with open(path, "r+b") as f:
            f.seek(at)
            f.write(data)
    return change


def moved_behind(mode, owner=None):
    """The store lies elsewhere, and a link leads there."""
    def change(path):
        folder = tempfile.mkdtemp(prefix="far-", dir=place)
        os.rename(path, f"{folder}/mete.db")
        os.chmod(f"{folder}/mete.db", mode)
        if owner:
            os.chown(f"{folder}/mete.db", owner, -1)
        os.symlink(f"{folder}/mete.db", path)
    return change


STORES = {
    "a link to nothing": instead(lambda p: os.symlink("/nowhere/mete.db", p)), "a link to itself": instead(lambda p: os.symlink(p, p)),
    "a link to /dev/zero": instead(lambda p: os.symlink("/dev/zero", p)), "a link to /dev/null": instead(lambda p: os.symlink("/dev/null", p)),
    "behind a link, all may write": moved_behind(0o666), "behind a link, a group may write": moved_behind(0o660),
    "behind a link, somebody else's": moved_behind(0o600, OTHER),
    "a group may write": lambda p: os.chmod(p, 0o660), "a group may write the folder": lambda p: os.chmod(os.path.dirname(p), 0o770),
    "the folder is somebody else's": lambda p: os.chown(os.path.dirname(p), OTHER, -1),
    "another program's": sql("DROP TABLE shares", "DROP TABLE grants", "CREATE TABLE bookmarks (url TEXT)"),
    "two grants of a name": untyped("grants", "INSERT INTO aside SELECT * FROM grants"),
    "a name of other digits": sql("UPDATE grants SET name = 'kept٣'"), "a name with a zero byte": untyped("grants", "UPDATE aside SET name = CAST(x'6b0061' AS TEXT)"),
    "a name that is a blob": untyped("grants", "UPDATE aside SET name = x'ff00ff'"), "a name that is a number": untyped("grants", "UPDATE aside SET name = 5.5e300"),
    "a name of 4000 letters": sql("UPDATE grants SET name = hex(zeroblob(2000))"), "a name with a line's end": sql("UPDATE grants SET name = 'a' || char(10) || 'b'"),
    "a name that is NULL": untyped("grants", "UPDATE aside SET name = NULL"),
    "an UUID of text": untyped("shares", "UPDATE aside SET uuid = 'GPU-00000000'"), "an UUID of 17 bytes": sql("UPDATE shares SET uuid = zeroblob(17)"),
    "time below 0": sql("UPDATE shares SET cores = -5"), "time of 2^63": sql("UPDATE shares SET cores = 9223372036854775807"),
    "time without end": sql("UPDATE shares SET cores = 9e999"),
    "time of text": untyped("shares", "UPDATE aside SET cores = '٣٠'"),
    "a policy that is NULL": untyped("shares", "UPDATE aside SET policy = NULL"), "a class with a space": sql("UPDATE shares SET class = 'normal '"),
    "a share of no grant": sql("UPDATE shares SET grant_id = grant_id + 1000"), "the same share twice": untyped("shares", "INSERT INTO aside SELECT * FROM shares"),
    "memory below 0": sql("UPDATE shares SET quota_units = -1"), "memory of 2^63 - 1 units": sql("UPDATE shares SET quota_units = 9223372036854775807"),
    "a device below 0 bytes": sql("UPDATE shares SET total_bytes = -1"), "a grain of 3 bytes": sql("UPDATE shares SET granule_bytes = 3"),
    "a user below 0": sql("UPDATE grants SET uid = -7"), "an unknown kind": sql("UPDATE grants SET kind = 77"),
    "a grant of no kind": sql("UPDATE grants SET kind = 0"),
    "a column more": sql("ALTER TABLE grants ADD COLUMN more TEXT"), "a column less": sql("ALTER TABLE grants DROP COLUMN created"),
    "a table less": sql("DROP TABLE natives"), "shares of grants that are gone": sql("DELETE FROM grants"),
    "a format that is only read": poke(18, b"\x03"), "a folder for its journal": lambda p: os.mkdir(p + "-journal"),
    "a folder for its log": lambda p: os.mkdir(p + "-wal"), "a link for its journal": lambda p: os.symlink("/nowhere", p + "-journal"),
    "a view in the place of grants": sql("ALTER TABLE grants RENAME TO g2", "CREATE VIEW grants AS SELECT * FROM g2"),
}


def test_stores():
    refused_stores(STORES)
    # What another program may do to the file and no harm is done: the check says so, and meted serves the grant.
    for what, words in (("in the mode WAL", ["PRAGMA journal_mode = WAL"]), ("in pages of 512 bytes", ["PRAGMA page_size = 512", "VACUUM"])):
        state = tempfile.mkdtemp(prefix="state-", dir=place)
        path = os.path.join(state, "mete.db")
        m = Meted("--config", FILE, "--state-dir", state)
        m.make("kept", 1 << 20)
        m.close()
        db = sqlite3.connect(path, isolation_level=None)
        for word in words:
            db.execute(word)
        db.close()
        same(check("--state-dir", state), (0, ""), f"a store {what}: nothing is wrong")
        m = Meted("--config", FILE, "--state-dir", state)
        c = m.control()
        ok(c.grant("kept")["name"] == "kept", f"a store {what} is served")
        m.make("next", 1 << 20)
        c.close()
        m.close()


def test_locked():
    """Another program has the store: one that holds on is named, and one that is done within a second is waited for."""
    write("driver:\n  soft_only: true\n")
    state = tempfile.mkdtemp(prefix="state-", dir=place)
    path = os.path.join(state, "mete.db")
    options = ["--config", FILE, "--state-dir", state]
    m = Meted(*options)
    m.make("kept", 1 << 20)
    m.close()
    holds = ("import sqlite3, sys, time; d = sqlite3.connect(sys.argv[1], isolation_level=None); d.execute('BEGIN EXCLUSIVE'); print(flush=True); "
             "time.sleep(float(sys.argv[2]))")

    def hold(seconds):
        other = subprocess.Popen([sys.executable, "-c", holds, path, str(seconds)], stdout=subprocess.PIPE)
        other.stdout.readline()
        return other
    other = hold(1000)
    status, err = check("--state-dir", state)
    said = f"{path} is in use by another program (process {other.pid}): end it"
    ok(status == 1 and said in err, "a store that is locked", status, err)
    started, shown = supervised(options, said, "refused")
    ok(started, "a store that is locked: meted says who has it, and ends", shown)
    other.kill()
    other.wait()
    other = hold(0.5)
    m = Meted(*options)
    c = m.control()
    ok(c.grant("kept")["name"] == "kept", "a store that is locked for half a second: meted waits, and serves")
    other.wait()
    c.close()
    same(check("--state-dir", state), (0, ""), "a store that is meted's own: nothing is wrong")
    m.close()


def test_full():
    """A disk without room for a new store: only root can make one."""
    state = tempfile.mkdtemp(prefix="state-", dir=place)
    what = "a full disk and no store yet"
    write("driver:\n  soft_only: true\n")
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k,mode=700", "none", state], stderr=subprocess.DEVNULL, check=False).returncode:
        skip(what, "no file system can be mounted here")
        return
    try:
        with open(f"{state}/fill", "wb") as f, contextlib.suppress(OSError):
            f.write(bytes(16384))
        status, err = check("--state-dir", state)
        ok(status == 1 and "bytes are left there: the disk is full; free some room" in err, what, status, err)
        started, shown = supervised(["--config", FILE, "--state-dir", state], state, "refused")
        ok(started, f"{what}: meted says so and ends", shown)
    finally:
        subprocess.run(["umount", state], check=True)


for name in sys.argv[2:] or ("settings", "good", "stores", "locked", "full"):
    if name in ("settings", "good") and not os.path.exists(os.path.join(place, "own.crt")):
        make_files()
    {"settings": test_settings, "good": test_good, "stores": test_stores, "locked": test_locked, "full": test_full}[name]()
finish()
