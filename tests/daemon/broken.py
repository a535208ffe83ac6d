"""What the tests of broken settings and stores share: the place where they lie, and what meted, a reload, a start as a service
and `mete ps` say of them."""
import sqlite3

from harness import *
from supervisor import Supervisor

METE = os.path.join(BUILD, "src/cli/mete")
STARTS_MOST = 3
place = tempfile.mkdtemp(prefix="mete-broken-", dir="/tmp")
atexit.register(shutil.rmtree, place, True)
FILE = os.path.join(place, "meted.yaml")
STATE = os.path.join(place, "state")
LOG = os.path.join(place, "meted.log")
os.mkdir(STATE, 0o700)


def file(name, text="", mode=0o600):
    path = os.path.join(place, name)
    with open(path, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    os.chmod(path, mode)
    return path


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def write(text, path=FILE):
    with open(path, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())


def check(*options):
    before = time.monotonic()
    done = subprocess.run([METED, "--config", FILE, *options, "--check-config"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60)
    check.seconds = time.monotonic() - before
    return done.returncode, done.stderr


check.seconds = 0


def ask_ps(directory):
    """How long `mete ps` takes, and what it says."""
    before = time.monotonic()
    done = subprocess.run([METE, "ps"], env={**os.environ, "METE_RUNTIME_DIR": directory}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    return time.monotonic() - before, done.returncode, done.stderr


def supervised(options, said, only=None):
    """Started as a service, and asked twice: True when nobody is left without an answer. `said`: what must be told. An answer that was late
    is asked for anew, with another start: the machine may have done something else for a second."""
    for _ in range(3):
        good, late, shown = start_and_ask(options, said, only)
        if good or not late:
            break
    return good, shown


def start_and_ask(options, said, only):
    """The same, once. Value: whether it is good, whether all is but the time, and what was seen."""
    # A second, and what the machine takes now to start a few such programs.
    soon = PATIENCE + 6 * check.seconds
    directory = tempfile.mkdtemp(prefix="run-", dir=place)
    s = Supervisor(directory, [METED, "--runtime-dir", directory, "--foreground", *options],
                   {k: v for k, v in os.environ.items() if not k.startswith("METE_") or k == "METE_LIBDIR"})
    try:
        until(lambda: s.statuses or s.process and os.path.exists(os.path.join(directory, "http.sock")), 30)
        answers = [ask_ps(directory) for _ in range(2)]
    finally:
        s.end()
    serves = all(code == 0 for _, code, _ in answers)
    told = all(said in text for _, _, text in answers)
    late = told and max(took for took, _, _ in answers) >= soon
    refused = set(s.statuses[:len(s.starts)]) <= {3} and told and not late
    good = len(s.starts) <= STARTS_MOST and (refused or (serves and only != "refused"))
    return good, late, (s.starts, s.statuses, s.errors, answers)


def refused(m, c, what, said, overridden=False, options=()):
    """The file as it is: --check-config refuses it with a line that begins with `said`, a reload says the same and changes nothing.
    `overridden`: a reload has nothing against it. Value: whether all of it is so, and what was seen."""
    status, err = check(*options)
    before = os.path.getsize(LOG)
    lines = err.splitlines()
    found = [line for line in lines if line.startswith(f"meted: {said}")]

    def reread():
        with open(LOG, errors="replace", encoding="utf-8") as f:
            f.seek(before)
            return f.read()
    overridden or m.process.send_signal(signal.SIGHUP)
    stays = overridden or until(lambda: f"settings stay as they were: {said}" in reread(), 20)
    alive = c.ask("hello")
    good = status == 1 and len(found) > 0 and all(len(line.split(": ", 3)) > 2 for line in found)
    return good and stays and alive, (what, f"check {status}", *lines, reread())


def sql(*statements):
    def change(path):
        aside = path + ".aside"  # the meted that runs has it locked
        shutil.copyfile(path, aside)
        db = sqlite3.connect(aside)
        db.execute("PRAGMA foreign_keys = OFF")
        db.execute("PRAGMA ignore_check_constraints = ON")
        for s in statements:
            db.execute(s)
        db.commit()
        db.close()
        with open(path, "wb") as to, open(aside, "rb") as changed:
            to.write(changed.read())
        os.unlink(aside)
    return change


def instead(make):
    def change(path):
        os.unlink(path)
        make(path)
    return change


def refused_stores(stores):
    """A meted with a grant, whose store is broken in each of these ways: the next one is told so, and does not start; this one serves on."""
    write("driver:\n  soft_only: true\n")
    m = Meted("--config", FILE, "--state-dir", STATE)
    m.make("kept", 1 << 20, devices=[{"device": "0", "mem_bytes": 1 << 20, "policy": "burst", "cores": 20}])
    m.close()
    good = open(os.path.join(STATE, "mete.db"), "rb").read()
    ok(len(stores) >= 30, f"{len(stores)} broken stores")
    for what, change in stores.items():
        if "else's" in what and os.geteuid():
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
