"""
A machine that refuses parts of a worker's fence: what it gives is used, what it does not is said, and only what the
operator demands keeps a worker from serving. A private meted's workers are closed in as far as users may.
"""
import contextlib

from fence import *

root_only("a fence that is refused")
USER = ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups"]
# What is written there holds below the user namespace of whoever writes.
NONE_MORE = "for n in user net ipc mnt; do echo 0 > /proc/sys/user/max_${n}_namespaces; done; exec \"$0\" \"$@\""
with open(os.path.join(HERE, "../../packaging/systemd/meted.service.in"), encoding="utf-8") as unit:
    CAPS = re.search(r"^CapabilityBoundingSet=(.*)$", unit.read(), re.M).group(1).lower().split()


@contextlib.contextmanager
def place(uid=0):
    with tempfile.TemporaryDirectory(prefix="mete-t-", dir="/tmp") as folder:
        os.chown(folder, uid, uid)
        yield folder


def serve(folder, *options, system_wide=False, **more):
    return harness.Meted(*(["--system"] if system_wide else []), "--soft-only", *options, directory=folder, **more)


def walled(m, what, who=0):
    """A program behind a wall of that meted: it, its worker and what meted says of the fence."""
    answer = ask_as(who, m.dir, soft("256M", "mine", wall=True))[0]
    if not answer["ok"]:
        raise SystemExit(f"Bail out! {answer}")
    client = Program(answer["grant"]["wall"])
    same(client.status(), 0, what)
    c = m.control()
    return client, worker_of(c, "mine"), c.ask("hello")["fence"]


# A user's own meted.
with place(UID) as folder:
    m = serve(folder, wrap=USER)
    client, worker, fence = walled(m, "a program behind a private meted's wall has a worker", UID)
    status = list(tasks(worker))
    same({t[key] for t in status for key in ("CapPrm", "CapEff")}, {"0" * 16}, "none of its threads has a privilege")
    if as_user(UID, lambda: libc.unshare(SPACES["user"] | SPACES["network"])) == 0 and not TSAN:
        same([name for name in SPACES if space(worker, name) == space(m.process.pid, name)], [], "it has namespaces of its own")
        same(os.listdir(f"/proc/{worker}/root"), [], "and no files")
        same(set(fence["missing"]) - {"scope", "landlock"}, set(), "meted misses nothing")
    else:
        skip("it has namespaces of its own", "users may have none here")
    same(uid(worker), UID, "as its user, for there is no other one")
    client.end()
    m.close()

# Nobody may have a namespace, not even root.
if as_user(0, lambda: libc.unshare(SPACES["user"])) == 0:
    with place() as folder:
        m = serve(folder, wrap=["unshare", "-Ur", "sh", "-c", NONE_MORE])
        client, worker, fence = walled(m, "without any namespaces a program has a worker all the same")
        ok(set(SPACES) <= set(fence["missing"]), "what it lacks is said", fence)
        ok("not by: user namespace" in m.log(), "in the log too", m.log())
        same(m.log().count("workers are closed in"), 1, "once")
        same({t["CapEff"] for t in tasks(worker)}, {"0" * 16}, "it has no privilege, though meted's user is its own")
        client.end()
        m.close()
else:
    skip("without any namespaces", "no user namespace can be made to try it in")

# The privileges of meted.service.
if not TSAN:
    with place() as folder:
        dropped = f"--bounding-set=-all,{','.join('+' + word[4:] for word in CAPS)}"
        m = serve(folder, system_wide=True, wrap=["setpriv", dropped, "--inh-caps=-all"])
        client, worker, fence = walled(m, "with no more privileges than the service has")
        expected = {name for name in SPACES if gives(name)} | {"files", "uid"}
        same(expected - set(fence["held"]), set(), "workers get all of it")
        client.end()
        m.close()

# What is left out by settings is not missed.
with place() as folder:
    with open(os.path.join(folder, "meted.yaml"), "w", encoding="ascii") as f:
        f.write("workers:\n  namespaces: false\n  first_uid: 0\n  cgroup: off\n")
    m = serve(folder, "--config", os.path.join(folder, "meted.yaml"), system_wide=True)
    client, worker, fence = walled(m, "without namespaces, by a setting, a program has a worker")
    same([name for name in SPACES if space(worker, name) != space(m.process.pid, name)], [], "in meted's own")
    same(os.listdir(f"/proc/{worker}/root"), [], "without files all the same")
    same(set(fence["missing"]) - {"scope", "landlock"}, set(), "nothing is missed")
    ok(uid(worker) != 0, "nor is it root", uid(worker))
    same(os.stat(f"/proc/{worker}/root").st_nlink, 0, "its root has been removed")
    client.end()
    m.close()

# What is demanded.
with place() as folder:
    config = os.path.join(folder, "meted.yaml")

    def write(text):
        with open(config, "w", encoding="ascii") as f:
            f.write(f"workers:\n  cgroup: off\n  demand: {text}\n")
    write("files, cgroup")
    m = serve(folder, "--config", config, system_wide=True)
    c = m.control()
    client = Program(ask_as(0, m.dir, soft("256M", "mine", wall=True))[0]["grant"]["wall"])
    ok(client.status() != 0 and "workers.demand" in client.text and "cgroup" in client.text, "no worker without what is demanded", client.text)
    client.end()
    write("files, uid")
    m.process.send_signal(signal.SIGHUP)

    def again():
        client = Program(c.grant("mine")["wall"])
        served = client.status() == 0
        client.end()
        return served
    ok(until(again, 20), "with what it has it serves")
    c.close()
    m.close()
finish()
