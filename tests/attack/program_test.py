"""meted is to become a program that a local user can change."""
from ground import *

root_only("programs for an upgrade")
s = system()
folder = os.path.join(s.dir, "new")
inner = os.path.join(folder, "bin")
program = os.path.join(inner, "meted")
os.makedirs(inner)
shutil.copy(harness.METED, program)


def whole():
    for path in (folder, inner, program):
        os.chown(path, 0, 0)
        os.chmod(path, 0o755)


def check(path=program):
    return s.control().ask("upgrade", binary=path, check=True)


def refused(what, *parts):
    answer = check()
    ok(not answer["ok"] and all(p in answer["error"] for p in parts), what, answer)
    whole()


answer = check()
same((answer["ok"], answer.get("binary")), (True, program), "a program of root's is taken")
for path, what in ((program, "the program"), (inner, "its folder"), (folder, "the folder above")):
    os.chown(path, UID, 0)
    refused(f"not where {what} is a user's", f"{path} belongs to uid {UID}", f"chown 0 {path}")
    os.chmod(path, 0o757)
    refused(f"not where everybody can write to {what}", f"everybody can write to {path}", f"chmod o-w {path}")
    os.chown(path, 0, UID)
    os.chmod(path, 0o775)
    refused(f"not where a group can write to {what}", f"gid {UID}", f"chmod g-w {path}")
harness.subprocess.run(["chmod", "g+w", program], check=True)
ok(check()["ok"], "root's own group may", check())
os.chmod(folder, 0o1777)
ok(check()["ok"], "and a folder as /tmp is does no harm", check())
whole()
own = os.path.join(s.dir, "own")
os.mkdir(own)
os.chown(own, UID, UID)
link = os.path.join(own, "meted")
as_user(UID, lambda: os.symlink(program, link))
same(check(link).get("binary"), program, "a link of a user's is followed once: what it led to is executed")
os.chown(program, UID, UID)
os.kill(s.process.pid, signal.SIGUSR2)  # by its own name, which is root's
ok(until(lambda: "takes over" in s.log() or "has taken over" in s.log() or "goes," in s.log()), "meted's own program is taken", s.log()[-400:])
until(lambda: s.control().ask("hello")["ok"])
s.close()
finish()
