"""meted.yaml: every key is taken, everything else is refused with its line; what changes on SIGHUP; the printed form is
read back. config_test.py BUILD"""
import re

from harness import *

place = tempfile.mkdtemp(prefix="mete-config-", dir="/tmp")
atexit.register(shutil.rmtree, place, True)
FILE = os.path.join(place, "meted.yaml")


def write(text, mode=0o644):
    with open(FILE, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(FILE, mode)
    return FILE


def meted(*options):
    done = subprocess.run([METED, *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=60)
    return done.returncode, done.stdout, done.stderr


def refused(text, *lines):
    """Each fault is a line of its own, in their order: the number of the file's line, then the words."""
    status, out, err = meted("--config", write(text), "--check-config")
    want = [f"meted: {FILE}:{number}: {words}" for number, words in lines]
    got = err.splitlines()
    good = status == 1 and not out and len(got) == len(want) and all(g.startswith(w) for g, w in zip(got, want))
    ok(good, f"refused: {lines[0][1]}", f"status {status}", *got)


# What is wrong.
refused("runtim_dir: /x\n", (1, "unknown key runtim_dir; did you mean runtime_dir?"))
refused("libcuda: /x\n", (1, "unknown key libcuda; did you mean driver.libcuda?"))
refused("driver:\n  soft_onl: true\n", (2, "unknown key driver.soft_onl; did you mean driver.soft_only?"))
refused("zebra: 1\nother: {a: 1, b: [2]}\nsystem: no\n", (1, "unknown key zebra; meted --print-config lists"), (2, "unknown key other"))
refused("system: maybe\nstate_dir: rel\n", (1, 'system wants true or false, not "maybe"'), (2, "state_dir wants an absolute path"))
refused("state_dir: /a\nstate_dir: /b\n", (2, "state_dir is given twice, first in line 1"))
refused("driver:\n  soft_only: yes\ndriver:\n  soft_only: no\n", (4, "driver.soft_only is given twice, first in line 2"))
refused("exit_when_idle: 5m\n", (1, 'exit_when_idle wants a number of seconds, not "5m"'))
refused("exit_when_idle: -1\n", (1, "exit_when_idle wants a number of seconds"))
refused("exit_when_idle: 99999999999\n", (1, "exit_when_idle wants a number of seconds from 0 to 1000000000"))
refused("state_dir: [/a, /b]\n", (1, "state_dir wants one value, not a list"))
refused("state_dir: {a: /b}\n", (1, "state_dir wants one value, not a group"))
refused("state_dir:\n", (1, "state_dir has no value"))
refused("driver: true\n", (1, "driver is a group: its keys stand below it"))
refused("log: &here /x\nstate_dir: *here\n", (1, "log: anchors and aliases"), (2, "state_dir: anchors and aliases"))
refused("- system\n", (1, "keys with values are wanted here"))
refused("[a]: 1\n", (1, "a key must be a word"))
refused("system: true\n---\nsystem: false\n", (2, "a second document"), (3, "system is given twice"))
refused("state_dir: [\n", (1, "state_dir wants one value, not a list"), (2, "this is not YAML"))
refused("a:\n\t- b\n", (2, "this is not YAML"))
refused('state_dir: "/a\\0b"\n', (1, "state_dir holds a zero byte"))
refused("state_dir: |\n  /a\n  /b\n", (1, "state_dir holds a control character"))
refused("a\x01: 1\n", (1, "this is not YAML"))
refused("limits:\n  grant: 5\n", (2, "unknown key limits.grant; did you mean limits.grants?"))
refused("limits: {mem: 101, users: 5, groups: [a]}\n", (1, "limits.mem wants a number from 0 to 100, not 101"),
        (1, "limits.users is a group: names"), (1, "limits.groups is a group: names"))
refused("limits:\n  users:\n    no-such-user:\n      mem: 5\n", (3, "limits.users.no-such-user: this machine has no such user"))
refused("limits:\n  users:\n    bin: 7\n    daemon: {mem: x, mem: 7}\n    a b:\n    [c]: 1\n", (3, "limits.users.bin is a group"),
        (4, 'limits.users.daemon.mem wants a number, not "x"'), (5, "limits.users.a b is no name of a user"), (6, "a key must be"))
refused("limits:\n  groups: {bin: {all_grants: 7, cores: [1], mem: 5, mem: 6}}\n", (2, "unknown key limits.groups.bin.all_grants; grants,"),
        (2, "limits.groups.bin.cores wants one value"), (2, "limits.groups.bin.mem is given twice"))
refused("memory:\n  turn: 1\n  turn_most: 0.5\n", (3, "memory.turn_most 0.5: turns begin with memory.turn, 1 s, which is more"))
refused("memory:\n  disk_size: 0\n  turn: 1.5\n  turn_most: 1.5\n", (2, "memory.disk_size 0: nothing could be written there"))
status, _, err = meted("--config", write("x" * 70000), "--check-config")
ok(status == 1 and "is longer than 65536 bytes" in err, "a file that is too long is refused", err)
status, _, err = meted("--config", write("system: true\n", 0o666), "--check-config")
ok(status == 1 and "mode 0666" in err and "chmod" in err, "one that others can write is refused", err)
for path, words in (("/nowhere/meted.yaml", "cannot be opened"), (place, "is a folder")):
    status, _, err = meted("--config", path, "--check-config")
    ok(status == 1 and words in err, f"a file that {words}", err)
status, _, err = meted("--config", write("zebra: 1\n"), "--runtime-dir", os.path.join(place, "run"))
ok(status == 3 and "unknown key zebra" in err, "meted does not start from a file with faults", err)
os.path.exists(os.path.join(place, "run")) and ok(False, "and makes no runtime directory")

def direct_folder():
    """A folder of a file system that can take memory.disk: files without a name, written directly. None: there is none here."""
    for beside in (place, os.getcwd(), "/var/tmp"):
        folder = tempfile.mkdtemp(prefix="mete-disk-", dir=beside)
        atexit.register(shutil.rmtree, folder, True)
        try:
            os.close(os.open(folder, os.O_TMPFILE | os.O_DIRECT | os.O_RDWR, 0o600))
            return folder
        except OSError:
            pass
    return None


# What is right.
LIMITS = "limits:\n  grants: 9\n  users:\n    bin: {mem: 30, cores: 20}\n    4711: {grants: 3}\n  groups:\n    bin:\n      waiting: 8\n"
status, out, err = meted("--config", write(LIMITS), "--check-config")
ok((status, err) == (0, ""), "limits of users and groups", out, err)
printed = meted("--config", FILE, "--print-config")[1]
same(meted("--config", write(printed), "--print-config")[1], printed, "they are printed as they are read")
status, out, err = meted("--config", write("system: true\ndriver: {soft_only: On}\n"), "--check-config")
ok((status, err) == (0, "") and "nothing wrong; 2 of" in out, "a good file", out, err)
for text in ("", "# nothing\n", "---\n", "driver:\n"):
    status, out, err = meted("--config", write(text), "--check-config")
    ok((status, err) == (0, ""), f"a file that says nothing: {text!r}", out, err)
sample = meted("--config", "", "--print-config")[1]
keys = re.findall(r"^ *#(\w+): .", sample, re.M)
same(meted("--config", write(sample), "--check-config")[::2], (0, ""), "the sample file is a good one")
full = re.sub(r"^( *)#(\w+: \S)", r"\1\2", sample, flags=re.M)
disk = direct_folder()
if not disk:
    full = re.sub(r"^( *)(disk: )", r"\1#\2", full, flags=re.M)
if shutil.which("openssl"):  # what the sample names is there
    cert, key = os.path.join(place, "http.crt"), os.path.join(place, "http.key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                    "/CN=localhost", "-keyout", key, "-out", cert, "-days", "2"], check=True, stderr=subprocess.DEVNULL)
    library = os.path.join(BUILD, "src/shim/libcuda.so.1")
    names = {"/etc/mete/http.crt": cert, "/etc/mete/http.key": key, "/opt/driver/lib/libcuda.so.1": library,
             "/opt/driver/lib/libnvidia-ml.so.1": library, "/opt/rocm-6.2/lib/libamdhip64.so.6": library,
             "/usr/lib/x86_64-linux-gnu/libmusa.so.1": library, "/opt/maca-3.5/lib/libmcruntime.so": library,
             "/usr/local/corex-4.4/lib64/libcuda.so.1": library,
             "/opt/Ascend/cann/lib64/libascendcl.so": library, "/opt/neuware/lib64/libcndrv.so": library,
             "/var/lib/mete": place, "/run/mete": os.path.join(place, "run"),
             "/var/log/meted.log": os.path.join(place, "meted.log"), "127.0.0.1:7480": "127.0.0.1:0",
             "/sys/fs/cgroup/mete": "auto", "/var/lib/mete-disk": disk or "/nowhere",
             "/opt/nvidia/lib:/srv/venv/lib/python3.12/site-packages": f"{place}:/usr/lib"}
    full = re.sub('"(' + "|".join(names) + ')"', lambda m: f'"{names[m.group(1)]}"', full)
status, out, err = meted("--config", write(full), "--check-config")
ok(status == 0 and f"{len(keys) - (not disk)} of {len(keys)} settings" in out, "so it is with every key of it given", out, err)
same(re.sub(r"^( *)#(\w+: \S)", r"\1\2", meted("--config", FILE, "--print-config")[1], flags=re.M), full,
     "what is printed is what was read")
odd = '/a "b" \\ c'
write("state_dir: '%s'\n" % odd)
write(meted("--config", FILE, "--print-config")[1])
ok(json.dumps(odd) in meted("--config", FILE, "--print-config")[1], "also with quotes in it")
out = meted("--config", FILE, "--state-dir", "/other", "--print-config")[1]
ok('\nstate_dir: "/other"\n' in out, "the command line wins over the file", out)

# What changes while it runs.
write(f"driver:\n  soft_only: true\nlog: {place}/first.log\nstate_dir: {place}\n")
m = Meted("--config", FILE)
c = Control(m.dir)
ok(os.path.exists(f"{place}/mete.db") and os.path.exists(f"{place}/first.log"), "meted runs as the file says")


def logged(words, name="first.log"):
    with open(os.path.join(place, name), encoding="utf-8") as f:
        return words in f.read()


def reread(text, words, name="first.log"):
    write(text)
    m.process.send_signal(signal.SIGHUP)
    return until(lambda: os.path.exists(os.path.join(place, name)) and logged(words, name), 30)


ok(reread("driver: {soft_only: perhaps}\n", "settings stay as they were"), "a file with faults changes nothing on SIGHUP")
ok(c.ask("devices")["ok"], "and meted goes on")
ok(reread(f"state_dir: /\nlog: {place}/first.log\n", "state_dir has changed"), "what needs a restart is said")
ok(logged("restart meted to make it so"), "with the remedy")
ok(reread(f"log: {place}/second.log\n", "driver", "second.log"), "the log moves")
ok(c.ask("devices")["ok"], "meted still answers")
c.close()
ok(reread(f"log: {place}/second.log\nexit_when_idle: 0\n", "idle: leaving", "second.log"), "a meted that is idle ends when told so")
ok(until(lambda: m.process.poll() is not None, 30), "it has ended")

finish()
