"""A local user makes meted, as root, write, rename or open up what is not his, by the folders of his containers' grants."""
import errno
import socket
import stat

from ground import *

root_only("folders of containers")


def container(name, **files):
    return soft("256M", name, container={"files": files}, known=True)


def attempt(act):
    """The error's name when it fails, "" when it does not."""
    try:
        act()
        return ""
    except OSError as e:
        return errno.errorcode[e.errno]


def exchange(path, target):
    """A link to `target` where the folder was."""
    def act():
        os.rename(path, path + ".away")
        os.symlink(target, path)
    return attempt(act)


def enter(path, gid, uid):
    """Whether somebody with this group and user comes to the grant's socket."""
    def act():
        os.setgroups([gid])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        return attempt(lambda: s.connect(path))
    return as_user(0, act)


s = system()
roots = tempfile.mkdtemp(prefix="mete-t-", dir="/tmp")  # of root, with a file that nobody else may write
os.chmod(roots, 0o755)
with open(os.path.join(roots, "preload"), "w") as f:
    f.write("root's\n")


def untouched(what):
    with open(os.path.join(roots, "preload")) as file:
        return same((file.read(), os.listdir(roots)), ("root's\n", ["preload"]), what)


answers = ask_as(UID, s.dir, container("mine", settings="METE_X=1\n"))
folder = answers[0].get("grant", {}).get("container", {}).get("folder", "/nowhere")
ok(answers[0]["ok"], "a user may make a grant for containers", answers[0])
above = os.path.dirname(folder)
with open(os.path.join(folder, "settings")) as f:
    ok(f.read().startswith("METE_X=1\n"), "its folder has the file that was asked for")
same((os.stat(above).st_uid, stat.S_IMODE(os.stat(above).st_mode)), (0, 0o710), "the folder above is root's")
same(enter(os.path.join(folder, "grant.sock"), UID, UID), "", "the owner comes to the grant's socket")
same(enter(os.path.join(folder, "grant.sock"), UID, VICTIM), "EACCES", "another user of the same group does not")

for place in (folder, above, os.path.join(folder, "grant.sock"), os.path.join(folder, "settings")):
    same(as_user(UID, lambda: exchange(place, roots)), "EACCES", f"the owner cannot put a link at {os.path.relpath(place, s.dir)}")
same(as_user(UID, lambda: attempt(lambda: os.chmod(above, 0o777))), "EPERM", "nor open the folder to others")
bind = {"op": "grant_bind", "name": "mine", "runner_pid": os.getpid(), "files": {"preload": "the user's\n"}}
as_user(UID, lambda: exchange(folder, roots))
ask_as(UID, s.dir, bind)
untouched("a container that begins writes no file of root's")

for name in ("evil.conf", "../settings", ".new", "grant.sock", "soft", "settings/x", ""):
    answers = ask_as(UID, s.dir, container("named", **{name: "x"}), {"op": "grant_delete", "name": "named"})
    same((answers[0]["ok"], answers[0].get("code")), (False, "malformed"), f"no file called {name!r}")

# What a meted of an earlier version has left: a folder of the user's own, and what he has put there.
s.kill(signal.SIGTERM)
os.chown(above, UID, UID)
os.chmod(above, 0o700)
same(as_user(UID, lambda: exchange(folder, roots)), "", "a folder of the user's own can be changed")
as_user(UID, lambda: os.mkdir(os.path.join(above, "planted")))
s.start()
untouched("a meted that begins with a link in its way puts nothing there")
same((os.stat(above).st_uid, stat.S_IMODE(os.stat(above).st_mode)), (0, 0o710), "the folder is root's again")
answers = ask_as(UID, s.dir, container("planted"))
ok(not answers[0]["ok"] and "remove it" in answers[0]["error"], "a folder of the user's own is not taken for meted's", answers)
ask_as(UID, s.dir, {"op": "grant_delete", "name": "mine"})
untouched("a grant that ends removes nothing there")

# The folder of the software devices of containers, which is open to all.
segment = os.path.join(s.dir, "soft-containers/segment")
same(stat.S_IMODE(os.stat(os.path.dirname(segment)).st_mode), 0o1777, "their folder is open")
os.unlink(segment)
os.chmod(os.path.join(roots, "preload"), 0o600)
as_user(UID, lambda: os.symlink(os.path.join(roots, "preload"), segment))
answers = ask_as(UID, s.dir, container("other"))
same(stat.S_IMODE(os.stat(os.path.join(roots, "preload")).st_mode), 0o600, "a link in it opens no file of root's")
os.unlink(segment)
os.link(os.path.join(roots, "preload"), segment)
answers = ask_as(UID, s.dir, container("another"))
same(stat.S_IMODE(os.stat(os.path.join(roots, "preload")).st_mode), 0o600, "nor does a second name of it")
ok(not answers[0]["ok"] and "segment" in answers[0].get("error", ""), "the refusal names the file", answers)
os.unlink(segment)
shutil.rmtree(roots)
s.close()
finish()
