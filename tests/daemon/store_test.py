"""The store's versions: files of every earlier meted are brought up to date, a copy is kept, a later one is refused."""
import glob
import re
import sqlite3

from harness import *

STORES = sorted(glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "stores", "v*.sql")),
                key=lambda path: int(re.findall(r"\d+", path)[-1]))


def fill(path, text):
    for old in glob.glob(path + "*"):
        os.unlink(old)
    db = sqlite3.connect(path)
    db.executescript(text)
    db.close()


def shape(path):
    """Version, and the columns of every table."""
    db = sqlite3.connect(path)
    tables = [name for name, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    columns = {t: [tuple(c[1:]) for c in db.execute(f"PRAGMA table_info({t})")] for t in tables}
    version = db.execute("PRAGMA user_version").fetchone()[0]
    db.close()
    return version, columns


def grants(m):
    """What is served, in short."""
    return {g["name"]: [(d["quota_bytes"] // UNIT, d.get("target_bytes", 0) // UNIT, d["policy"], d["class"]) for d in g["devices"]]
            for g in m.control().ask("grants")["grants"]}


def start(directory):
    return Meted("--soft-only", directory=directory, expect=False)


def test_step(directory, path, dump, fresh):
    version = int(re.findall(r"\d+", dump)[-1])
    fill(path, open(dump).read())
    m = start(directory)
    if not ok(m.up, f"version {version}: meted starts", m.up or m.wait() and m.error):
        return
    got = grants(m)
    if version == 1:
        same(got["first"], [(2097152, 0, "native", "normal")], "version 1: shares of memory alone")
    else:
        same(got["first"], [(2097152, 0, "fixed", "high")], f"version {version}: shares of time too")
    ok(until(lambda: [d[0] for d in grants(m)["second"]] == [400, 77]), f"version {version}: a pending shrink is done", grants(m))
    same(m.kill(signal.SIGTERM), 0, f"version {version}: it leaves")
    same(shape(path), fresh, f"version {version}: the file is as a new one")
    copy = f"{path}.v{version}"
    if version == fresh[0]:
        ok(not os.path.exists(copy), f"version {version}: nothing had to be done")
        return
    same(shape(copy)[0], version, f"version {version}: a copy is kept")


def test_later(directory, path, fresh):
    """Back to an older meted."""
    fill(path, open(STORES[-1]).read())
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {fresh[0] + 1}")
    db.close()
    good = open(path, "rb").read()
    for copy in (False, True):
        if copy:
            with open(f"{path}.v{fresh[0]}", "wb") as f:
                f.write(good)
        m = start(directory)
        ok(not m.up, "a later file: meted does not start")
        same(m.wait(), 3, "status 3: no further start helps")
        ok(m.error.count("\n") == 1 and f"version {fresh[0] + 1} of the file, this one knows {fresh[0]}" in m.error, "one line", m.error)
        ok((f"mv {path}.v{fresh[0]} {path}" if copy else f"mv {path} {path}.v{fresh[0] + 1}") in m.error, "with the remedy", m.error)
        print("#", m.error.strip())
        same(open(path, "rb").read(), good, "the file is as it was")


def test_no_room(directory, path):
    """The copy cannot be kept: nothing is changed."""
    fill(path, open(STORES[0]).read())
    good = open(path, "rb").read()
    os.mkdir(f"{path}.v1")
    m = start(directory)
    ok(not m.up and m.wait() == 3, "no room for the copy: meted does not start")
    ok("cannot keep a copy" in m.error and m.error.count("\n") == 1, "one line", m.error)
    same(open(path, "rb").read(), good, "the file is as it was")
    os.rmdir(f"{path}.v1")


def refused_state(state, what, part):
    """A state directory that cannot be used."""
    m = Meted("--soft-only", "--state-dir", state, expect=False)
    ok(not m.up and m.wait() == 3, f"{what}: meted does not start")
    ok(m.error.count("\n") == 1 and state in m.error and part in m.error, f"{what}: one line that says so", m.error)
    shutil.rmtree(m.dir)


def test_state_dir(directory):
    refused_state(os.path.join(directory, "none"), "a state directory that is not there", "No such file or directory")
    with open(os.path.join(directory, "file"), "w"):
        pass
    refused_state(os.path.join(directory, "file"), "a file in its place", "it is not a folder")
    small = os.path.join(directory, "small")
    os.mkdir(small)
    for options, what, part in (("ro", "a read-only one", "Read-only file system"), ("size=4k", "a full one", "free some room")):
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"mode=700,{options}", "tmpfs", small], stderr=subprocess.DEVNULL).returncode:
            skip(what, "no mount may be made here")
            continue
        try:
            refused_state(small, what, part)
        finally:
            subprocess.run(["umount", "-l", small], check=True)


def test_hands(directory, path):
    """A store that others may write gives no shares."""
    fill(path, open(STORES[-1]).read())
    good = open(path, "rb").read()
    for what, name in (("the folder", directory), ("the file", path)):
        before = os.stat(name)
        for change in ("mode", "owner"):
            if change == "owner" and os.geteuid():
                skip(f"{what} of somebody else", "only root can give it away")
                continue
            os.chmod(name, 0o777) if change == "mode" else os.chown(name, 12345, -1)
            m = start(directory) if name != directory else Meted("--soft-only", "--state-dir", directory, expect=False)
            ok(not m.up and m.wait() == 3, f"{what}, {change}: meted does not start")
            ok(m.error.count("\n") == 1 and f"chown {os.geteuid()} {name}; chmod" in m.error, f"{what}, {change}: one line with the remedy", m.error)
            os.chown(name, before.st_uid, -1), os.chmod(name, before.st_mode & 0o7777)
            if m.dir != directory:
                shutil.rmtree(m.dir)
    print("#", m.error.strip())
    same(open(path, "rb").read(), good, "the file is as it was")


def test_journal(directory, path):
    """What was begun before the file was put aside is not done to the next one."""
    fill(path, open(STORES[-1]).read())
    with open(f"{path}-journal", "wb") as f:
        f.write(b"begun")
    os.rename(path, f"{path}.bad")
    m = start(directory)
    ok(m.up and not grants(m), "without the file meted begins anew", m.up or m.error)
    same(m.kill(signal.SIGTERM), 0, "it leaves")
    same(open(f"{path}-journal.bad", "rb").read(), b"begun", "a journal that was left over is put aside")
    ok(not os.path.exists(f"{path}.new"), "nothing half made is left")


def test_removed(directory):
    """The state directory goes while a program runs."""
    state, aside = os.path.join(directory, "state"), os.path.join(directory, "aside")
    os.mkdir(state)
    m = Meted("--soft-only", "--state-dir", state)
    path = m.make("a", quota=1000 * UNIT)
    a, c = m.client(), m.control()
    a.hello(path)
    a.hold(0, 100)
    new = dict(name="b", driver="soft", devices=[{"device": "0", "mem_bytes": 512}])
    os.rename(state, aside)
    for what in ("moved away", "another in its place"):
        answer = c.ask("grant_create", **new)
        ok(not answer["ok"] and f"{state}/mete.db was moved away or removed" in answer["error"], f"{what}: what could not be kept is refused", answer)
        answer = c.ask("grant_set", name="a", devices=[{"device": "0", "mem_bytes": 2000 * UNIT}])
        ok(not answer["ok"] and c.share("a")["quota_bytes"] == 1000 * UNIT, f"{what}: and not done", answer)
        same(a.reserve(0, 100), [OK, 100], f"{what}: who runs goes on")
        if what == "moved away":
            os.mkdir(state)
            shutil.copy(os.path.join(aside, "mete.db"), state)
    shutil.rmtree(state)
    os.rename(aside, state)
    ok(c.ask("grant_create", **new)["ok"], "put back: grants are made")
    c.close()
    m.kill()
    m.start()
    same(sorted(grants(m)), ["a", "b"], "and all of them are kept")
    m.close()


def main():
    directory = tempfile.mkdtemp(prefix="mete-t-", dir="/tmp")
    path = os.path.join(directory, "mete.db")
    try:
        m = start(directory)
        same(m.kill(signal.SIGTERM), 0, "a new store is made")
        fresh = shape(path)
        same([int(re.findall(r"\d+", s)[-1]) for s in STORES], list(range(1, fresh[0])) + [fresh[0]] * (len(STORES) == fresh[0]),
             "there is a dump of every earlier version")
        for dump in STORES:
            test_step(directory, path, dump, fresh)
        test_later(directory, path, fresh)
        test_no_room(directory, path)
        test_state_dir(directory)
        test_hands(directory, path)
        test_journal(directory, path)
        test_removed(directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    finish()


main()
