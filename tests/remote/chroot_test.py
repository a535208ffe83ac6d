"""A walled program in a chroot, as of a build that is tried in a fresh system: its worker finds what lies beside it."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "daemon"))
from harness import BUILD, finish, same, skip, until  # noqa: E402

METE, PROGRAM = (os.path.join(BUILD, name) for name in ("src/cli/mete", "examples/saxpy"))
ENTER = 'mount --rbind / "$1" && mount --make-rprivate "$1" && r=$1 && shift && exec chroot "$r" "$@"'

folder = tempfile.mkdtemp(prefix="mete-t-", dir="/tmp")
root, run, soft = (os.path.join(folder, name) for name in ("root", "run", "soft"))
for path in (root, soft):
    os.mkdir(path, 0o700)
env = {k: v for k, v in os.environ.items() if not k.startswith("METE_") or k == "METE_TEST_PATIENCE"}
env.update(METE_RUNTIME_DIR=run, METE_SOFT_DIR=soft)


def inside(*command):
    return subprocess.run(["unshare", "-m", "sh", "-c", ENTER, "sh", root, *command], env=env, capture_output=True, text=True, timeout=100)


if os.getuid() or inside("true").returncode:
    skip("a chroot", "only root makes one, where mounts may be made")
else:
    done = inside(METE, "run", "--soft", "--wall", "--mem", "64M", "--", PROGRAM)
    same((done.returncode, done.stderr, done.stdout.splitlines()[-1:]), (0, "", ["PASS"]), "a walled program runs in a chroot")
    until(lambda: not os.path.exists(os.path.join(run, "control.sock")), 20)
subprocess.run(["rm", "-r", "--one-file-system", folder], check=False)
finish()
