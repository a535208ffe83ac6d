"""What is closed to other users stays open to an owner without root: a hook in the user's own namespaces, as rootless podman calls it."""
from ground import *

root_only("a hook without root")
sys.path.insert(0, os.path.join(HERE, "..", "containers"))
import rootfs  # noqa: E402

METE = os.path.join(harness.BUILD, "src/cli/mete")
PIPE = harness.subprocess.PIPE


def become():
    os.setgroups([])
    os.setresgid(UID, UID, UID)
    os.setresuid(UID, UID, UID)


s = system()
folder = tempfile.mkdtemp(prefix="mete-t-", dir="/tmp")
root = rootfs.make(os.path.join(folder, "root"), {"true": "/bin/true"})
with open(os.path.join(folder, "config.json"), "w") as f:
    json.dump({"root": {"path": root}, "process": {"args": ["/bin/true"]}}, f)
harness.subprocess.run(["chown", "-R", f"{UID}:{UID}", folder], check=True)
answer = ask_as(UID, s.dir, soft("64M", "less", container={"files": {"settings": "METE_X=1\n"}}))[0]
ok(answer["ok"], "a user's grant for a container", answer)
inner = harness.subprocess.Popen(["unshare", "-Urm", "sh", "-c", "echo; exec sleep 600"], stdout=PIPE, preexec_fn=become)
if not inner.stdout.readline():
    skip("the hook", "no user namespaces for users here")
else:
    state = json.dumps({"ociVersion": "1.0.2", "id": "less", "pid": inner.pid, "bundle": folder})
    done = harness.subprocess.run([METE, "cdi", "hook", "--runtime-dir", s.dir, "--grant", "less", "--soft", "create"],
                                  env={**s.env, "METE_RUNTIME_DIR": s.dir}, input=state, text=True, capture_output=True, preexec_fn=become)
    same((done.returncode, done.stderr), (0, ""), "the hook mounts what the container needs")
    with open(f"/proc/{inner.pid}/mountinfo") as f:
        mounts = {words[4][len(root):]: words[5].split(",") for words in map(str.split, f) if words[4].startswith(root)}
    ok(all({"ro", "nosuid", "nodev"} <= set(mounts.get(path, ())) for path in ("/run/mete", "/etc/ld.so.preload")), "read-only", mounts)
    ok({"rw", "nosuid", "nodev"} <= set(mounts.get("/run/mete/soft", ())), "but for the software device's folder", mounts)
    same(s.control().grant("less")["runner_pid"], inner.pid, "the grant ends with the container's process")
    ok(ask_as(UID, s.dir, {"op": "grant_end", "name": "less"})[0]["ok"], "its owner ends it")
    ok(until(lambda: inner.poll() is not None), "and the container's process with it")
if inner.poll() is None:
    inner.kill()
inner.wait()
shutil.rmtree(folder)
s.close()
finish()
