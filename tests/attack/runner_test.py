"""A local user has meted, as root, end processes that are not his: by naming them as a grant's command, or by changing what they are."""
import ctypes

from ground import *

root_only("commands of grants")
s = system()
CLONE_NEWUSER = 0x10000000
SLEEP = ["/bin/sh", "-c", "echo; exec sleep 600"]


class Sleeper:
    """A process of a user; inside: in a user namespace that this user has made, as the user 5 of it."""

    def __init__(self, uid, inside=False):
        self.process = harness.subprocess.Popen(SLEEP, stdout=harness.subprocess.PIPE, stdin=harness.subprocess.PIPE,
                                                preexec_fn=lambda: self.become(uid, inside))
        self.pid = self.process.pid
        self.process.stdout.readline()

    def become(self, uid, inside):
        os.setgroups([])
        made, told = os.pipe(), os.pipe()
        root = os.fork() if inside else 0
        if inside and not root:
            os.read(made[0], 1)
            with open(f"/proc/{os.getppid()}/uid_map", "w") as f:
                f.write(f"0 {uid} 1\n1 {uid + 1000} 100\n")
            os.write(told[1], b"x")
            os._exit(0)
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        if not inside:
            return
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWUSER):
            raise OSError(ctypes.get_errno(), "unshare")
        os.write(made[1], b"x")
        os.read(told[0], 1)
        os.waitpid(root, 0)
        os.setresuid(5, 5, 5)

    def ended(self, seconds=3.0):
        return until(lambda: self.process.poll() is not None, seconds)

    def close(self):
        self.process.kill()
        self.process.communicate()


def named(name, pid):
    return soft("64M", name, runner_pid=pid)


def refused(answer, what):
    same((answer["ok"], answer.get("code")), (False, "not-yours"), what)


end = {"op": "grant_end", "name": "evil"}
victim = Sleeper(VICTIM)
roots = Sleeper(0)
for process, whose in ((victim, "another user's"), (roots, "root's"), (s.process, "meted's own")):
    answers = ask_as(UID, s.dir, named("evil", process.pid), end)
    refused(answers[0], f"{whose} process is not taken for a grant's command")
ok("name one that is" in answers[0]["error"], "the refusal says what to do", answers[0])
answers = ask_as(UID, s.dir, soft("64M", "evil", container={}), {"op": "grant_bind", "name": "evil", "runner_pid": victim.pid})
ok(answers[0]["ok"], "a grant for a container", answers[0])
refused(answers[1], "nor for a container's first process")
ask_as(UID, s.dir, {"op": "grant_delete", "name": "evil"})
ok(not victim.ended(0.5) and roots.process.poll() is None and s.process.poll() is None, "they go on")

own = Sleeper(UID)
answers = ask_as(UID, s.dir, named("evil", own.pid), end)
same([a["ok"] for a in answers], [True] * 2, "the own process is taken")
ok(own.ended(), "and ended with the grant")

try:
    inside = Sleeper(UID, inside=True)
except (OSError, harness.subprocess.SubprocessError) as e:
    skip("a process in the user's own namespace", str(e))
    inside = None
if inside:
    with open(f"/proc/{inside.pid}/status") as f:
        same(re.search(r"Uid:\s+(\d+)", f.read())[1], str(UID + 1004), "a container's process may have another user's number")
    until(lambda: not s.control().grant("evil"))
    refused(ask_as(VICTIM, s.dir, named("evil", inside.pid))[0], "which no other user may name")
    answers = ask_as(UID, s.dir, named("evil", inside.pid), end)
    same([a["ok"] for a in answers], [True] * 2, "the user who has made its namespace may")
    ok(inside.ended(), "and it is ended")

# What was the user's own when it was named, and is a set-user-id program of root's since.
until(lambda: not s.control().grant("evil"))
special = os.path.join(s.dir, "special")
shutil.copy(shutil.which("sleep"), special)
os.chmod(special, 0o4755)


def turn_special():
    os.setgroups([])
    os.setresgid(UID, UID, UID)
    os.setresuid(UID, UID, UID)


changing = harness.subprocess.Popen(["/bin/sh", "-c", f"read line; exec {special} 600"], stdin=harness.subprocess.PIPE,
                                    preexec_fn=turn_special)
ok(ask_as(UID, s.dir, named("evil", changing.pid))[0]["ok"], "the user's own process")
changing.stdin.write(b"\n")
changing.stdin.flush()
with open(f"/proc/{changing.pid}/status") as f:
    until(lambda: f.seek(0) == 0 and re.search(r"Uid:\s+\d+\s+0\s", f.read()))
    f.seek(0)
    ok(re.search(r"Uid:\s+\d+\s+0\s", f.read()), "executes a program of root's")
ok(ask_as(UID, s.dir, end)[0]["ok"], "the grant is to end")
ok(until(lambda: "is not ended" in s.log()), "meted says that it does not end it", s.log())
same(changing.poll(), None, "it goes on")
refused(ask_as(UID, s.dir, {**named("more", changing.pid)})[0], "and may not be named for another grant")
changing.kill()
changing.wait()

# The same with a program that has attached itself to the grant.
until(lambda: not s.control().grant("evil"))
client = os.path.join(s.dir, "client")
shutil.copy(harness.WIRE_CLIENT, client)
path = ask_as(UID, s.dir, soft("64M", "evil"))[0]["grant"]["socket"]
attached = harness.subprocess.Popen([client], stdin=harness.subprocess.PIPE, stdout=harness.subprocess.PIPE, text=True, bufsize=1,
                                    preexec_fn=turn_special)
attached.stdin.write(f"hello {path}\n")
same(attached.stdout.readline().split()[0], "0", "the user's program attaches itself")
os.chmod(client, 0o4755)
attached.stdin.write("exec\n")
with open(f"/proc/{attached.pid}/status") as f:
    ok(until(lambda: f.seek(0) == 0 and re.search(r"Uid:\s+\d+\s+0\s", f.read())), "and executes a program of root's")
ok(ask_as(UID, s.dir, end)[0]["ok"], "the grant is to end")
ok(until(lambda: f"process {attached.pid} is not ended" in s.log()), "meted says that it does not end it", s.log())
same(attached.poll(), None, "it goes on")
attached.kill()
attached.communicate()
for sleeper in (victim, roots):
    sleeper.close()
s.close()
finish()
