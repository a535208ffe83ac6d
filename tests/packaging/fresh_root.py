"""
A freshly made Debian with its own systemd, in namespaces of its own: what an administrator's machine is.

It is made once per build folder with what the packages depend on, by mmdebstrap, or by debootstrap, which takes twice as long. Every use
works on an overlay of it in memory, which goes with it. Nothing of it is seen outside: mounts, processes, host name, control groups are its own.
`Impossible` says in a line why it cannot be had here.
"""
import glob
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

ALWAYS = ["systemd", "python3-minimal"]  # python3-minimal: for tests that run something inside
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BOOT = r"""
set -e
root=$1 lower=$2 scratch=$3
mount --make-rprivate /
mount -t tmpfs none "$scratch"
mkdir "$scratch/upper" "$scratch/work"
mount -t overlay overlay -o "lowerdir=$lower,upperdir=$scratch/upper,workdir=$scratch/work" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
if grep -q 'name=systemd' /proc/self/cgroup; then
	mount -t tmpfs none "$root/sys/fs/cgroup"
	mkdir "$root/sys/fs/cgroup/systemd"
	mount -t cgroup -o none,name=systemd cgroup "$root/sys/fs/cgroup/systemd"
else
	mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
fi
for folder in run dev; do mount -t tmpfs -o mode=755 none "$root/$folder"; done
mount -t tmpfs none "$root/tmp"
for name in null zero full random urandom tty; do
	touch "$root/dev/$name"
	mount --bind "/dev/$name" "$root/dev/$name"
done
mkdir -p "$root/dev/shm" "$root/dev/pts"
mount -t tmpfs none "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ip link set lo up 2> /dev/null || true
systemctl --root="$root" --quiet mask console-getty.service getty.target systemd-udevd.service 2> /dev/null || true
mkdir "$root/.outside"
cd "$root"
pivot_root . .outside
umount -l /.outside
rmdir /.outside
exec chroot . /usr/bin/env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --show-status=no
"""


class Impossible(Exception):
    pass


def output(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, **more)


def mirror():
    """This machine's suite and where its packages come from."""
    with open("/etc/os-release", encoding="utf-8") as f:
        suite = re.search(r"^VERSION_CODENAME=(\S+)", f.read(), re.M)
    text = ""
    for path in ["/etc/apt/sources.list", *glob.glob("/etc/apt/sources.list.d/*")]:
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                text += f.read()
    found = re.search(r"https?://\S+/(debian|ubuntu)/?(?=\s|$)", text)
    if not suite or not found:
        raise Impossible("no mirror of Debian or Ubuntu in this machine's apt sources")
    return suite.group(1), found.group(0)


def needs(packages):
    """What the packages depend on, themselves left out; of alternatives the first."""
    names, own = set(), {os.path.basename(p).split("_")[0] for p in packages}
    for package in packages:
        for word in output("dpkg-deb", "-f", package, "Depends").stdout.split(","):
            name = re.match(r"\s*([\w.+-]+)", word)
            if name and name.group(1) not in own:
                names.add(name.group(1))
    return sorted(names | set(ALWAYS))


def make(folder, packages):
    """The root that all others lie over."""
    suite, source = mirror()
    names = needs(packages)
    done = os.path.join(folder, "made-of")
    wanted = f"{suite} {source} {' '.join(names)}\n"
    root = os.path.join(folder, "root")
    if os.path.exists(done):
        with open(done, encoding="utf-8") as f:
            if f.read() == wanted:
                return root
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    maker = ["mmdebstrap", "--mode=root"] if shutil.which("mmdebstrap") else ["debootstrap"]
    r = output(*maker, "--variant=minbase", "--include=" + ",".join(names), suite, root, source)
    if r.returncode:
        raise Impossible(f"{maker[0]} does not get through: " + (r.stdout.strip().splitlines() or ["it says nothing"])[-1])
    with open(done, "w", encoding="utf-8") as f:
        f.write(wanted)
    return root


class Root:
    def __init__(self, lower):
        self.scratch = tempfile.mkdtemp(prefix="mete-root-", dir="/var/tmp")
        self.root = os.path.join(self.scratch, "root")
        os.mkdir(self.root)
        os.mkdir(os.path.join(self.scratch, "over"))
        self.groups = []
        self.pid = None
        try:
            self.process = self.begin(lower)
        except (OSError, subprocess.SubprocessError) as e:
            shutil.rmtree(self.scratch, ignore_errors=True)
            raise Impossible(f"it cannot be started: {e}") from e
        try:
            self.wait_for_boot()
        except BaseException:
            self.close()
            raise

    def begin(self, lower):
        return subprocess.Popen(
            ["unshare", "-m", "-p", "-f", "-C", "-u", "-i", "-n", "--kill-child", "bash", "-c", BOOT, "boot", self.root, lower,
             os.path.join(self.scratch, "over")],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
            preexec_fn=self.own_group)

    def own_group(self):
        """A control group below which the root's systemd makes its own."""
        for base in ("/sys/fs/cgroup/systemd", "/sys/fs/cgroup"):
            if os.path.exists(os.path.join(base, "cgroup.procs")):
                path = os.path.join(base, os.path.basename(self.scratch))
                os.mkdir(path)
                with open(os.path.join(path, "cgroup.procs"), "w", encoding="utf-8") as f:
                    f.write("0")
                return

    def wait_for_boot(self):
        end = time.monotonic() + 90
        while time.monotonic() < end:
            if self.process.poll() is not None:
                said = self.process.stdout.read().decode(errors="replace").strip().splitlines()
                raise Impossible("systemd does not start in namespaces here: " + (said or ["no reason"])[-1])
            children = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
            with open(children, encoding="utf-8") as f:
                found = f.read().split()
            if found:
                self.pid = int(found[0])
                state = self.run("systemctl is-system-running").stdout.strip()
                if state in ("running", "degraded"):
                    return
            time.sleep(0.1)
        raise Impossible("systemd does not come up in namespaces here within 90 s")

    def run(self, command, seconds=120, cwd="/root"):
        """A line of shell as root inside."""
        return output("nsenter", f"--target={self.pid}", "-m", "-p", "-C", "-u", "-i", "-n", "-r", "-w", "/usr/bin/env", "-i", "PATH=" + PATH,
                      "HOME=/root", "TERM=dumb", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive", "bash", "-c",
                      f"cd {cwd} && {command}", timeout=seconds)

    def put(self, path, folder):
        """Copies a file into a folder inside."""
        with open(path, "rb") as f:
            subprocess.run(["nsenter", f"--target={self.pid}", "-m", "-r", "-w", "sh", "-c", 'mkdir -p "$1" && cat > "$1/$2"', "put", folder,
                            os.path.basename(path)], stdin=f, check=True)

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)  # --kill-child takes the namespace's first process with it
        self.process.wait()
        self.process.stdout.close()
        for base in ("/sys/fs/cgroup/systemd", "/sys/fs/cgroup"):
            top = os.path.join(base, os.path.basename(self.scratch))
            for _ in range(100):
                for folder, _, _ in os.walk(top, topdown=False):
                    try:
                        os.rmdir(folder)
                    except OSError:
                        pass
                if not os.path.isdir(top):
                    break
                time.sleep(0.05)
        shutil.rmtree(self.scratch, ignore_errors=True)


def possible():
    """Raises Impossible where not even the tools are there."""
    if os.geteuid():
        raise Impossible("only root can make one")
    for tool in ("debootstrap", "unshare", "nsenter", "dpkg-deb"):
        if not shutil.which(tool):
            raise Impossible(f"{tool} is not installed")
