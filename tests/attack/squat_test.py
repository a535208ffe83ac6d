"""A local user makes a grant of a name that root's CDI file still has, so that root's next container gets the user's settings."""
import ctypes

from ground import *

root_only("containers of root")
sys.path.insert(0, os.path.join(HERE, "..", "containers"))
import rootfs  # noqa: E402

METE = os.path.join(harness.BUILD, "src/cli/mete")
MS_REC, MS_PRIVATE, CLONE_NEWNS = 0x4000, 1 << 18, 0x20000
EVIL = "METE_REMOTE=tcp://192.0.2.1:7433\n"
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None):
    skip("containers", "no mount namespace of one's own here")
    finish()
s = system()
env = {**s.env, "METE_RUNTIME_DIR": s.dir}
folder = tempfile.mkdtemp(prefix="mete-t-", dir="/tmp")
empty = os.path.join(folder, "empty")
os.mkdir(empty)
root = rootfs.make(os.path.join(folder, "root"), {"true": "/bin/true"})


def create():
    done = harness.subprocess.run([METE, "cdi", "create", "--name", "train", "--mem", "256M", "--wall", "--dir", os.path.join(folder, "cdi")],
                                  env=env, capture_output=True, text=True)
    return done.returncode, done.stderr


def become():
    if libc.unshare(CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None):
        raise OSError(ctypes.get_errno(), "unshare")


def begin(root=root):
    """What root's hook says for a container with root's CDI file, and the settings that its programs find."""
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump({"root": {"path": root}, "process": {"args": ["/bin/true"], "env": []}}, f)
    process = harness.subprocess.Popen(["/bin/sh", "-c", "echo; exec sleep 600"], stdout=harness.subprocess.PIPE, preexec_fn=become)
    process.stdout.readline()
    state = json.dumps({"ociVersion": "1.0.2", "id": "squat", "pid": process.pid, "bundle": folder})
    done = harness.subprocess.run([METE, "cdi", "hook", "--runtime-dir", s.dir, "--grant", "train", "--wall", "create"], env=env, input=state,
                                  capture_output=True, text=True)
    try:
        with open(f"/proc/{process.pid}/root{root}/run/mete/settings") as f:
            settings = f.read()
    except FileNotFoundError:
        settings = ""
    process.kill()
    process.communicate()
    return done.returncode, settings, done.stderr


def train():
    return [g["uid"] for g in s.control().ask("grants")["grants"] if g["name"] == "train"]


same(create(), (0, ""), "root makes a grant for a container")
code, settings, said = begin()
ok(code == 0 and settings.startswith("METE_REMOTE=/run/mete/wall.sock"), "which begins with it", code, settings, said)
ok(until(lambda: not train(), 10), "and the grant ends with it")

answer = ask_as(UID, s.dir, soft("64M", "train", wall=True, known=True, container={"keep": True, "files": {"settings": EVIL}}))[0]
ok(answer["ok"], "a user takes the name", answer)
code, settings, said = begin()
same((code, EVIL in settings), (1, False), "root's container does not begin with the user's settings")
ok("uid 61001" in said and "mete show train" in said, "and the line names whose grant it is", said)
same(train(), [UID], "the user's grant stays")

ask_as(UID, s.dir, {"op": "grant_delete", "name": "train"}, soft("64M", "train", wall=True, known=True, container={}))
code, settings, said = begin(empty)
ok(code, "a container of root's that cannot begin", said)
same(train(), [UID], "takes no grant of the user's along, one for one container neither")
shutil.rmtree(folder)
s.close()
finish()
