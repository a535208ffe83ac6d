"""
A private place (daemon, runtime folder, software devices) and trials in it: tenants that run side by side for a while, and what
each of them had of the device.

The software device keeps an exact account of the time of every process, which bench/share_watch reads, whatever stands between
it and the programs. On a GPU the kernels themselves write down when they began and ended by the GPU's timer; what a tenant had
is the length that its kernels have alone, spread over the time that they took.
"""
import array
import json
import mmap
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

from share import curves, lost

SECOND = curves.SECOND
HEADER, RECORD, RECORDS = 64, 32, 1 << 19
KERNEL, DEMAND, REQUEST = 1, 2, 3
STILL = (1 << 64) - 1  # in place of a process: records of share_watch about a processor
LENGTHS = (200, 1000, 5000, 10000, 20000, 60000)


class Failed(Exception):
    pass


class Tenant:
    """`words`: what mete run is told of its share; `load`: options of share_load."""

    def __init__(self, name, load, *words, target=None, processes=1):
        self.name, self.words, self.target, self.processes = name, list(words), target, processes
        self.load = list(load) + ([f"processes={processes}"] if processes > 1 else [])


class Had:
    """What became of a tenant in a trial."""

    def __init__(self, tenant):
        self.tenant, self.kernels, self.requests, self.demands, self.pids, self.spans = tenant, [], [], [], [], []
        self.time = curves.Sum([])
        self.complete = True


class Trial:
    """Actions are (seconds after the start, function of this trial); begin and end bound what is judged."""

    def __init__(self, place, tenants, seconds, settle=1.0, actions=(), device=0, system="mete", rounds=None):
        self.rounds = place.rounds if rounds is None else rounds
        self.place, self.tenants, self.actions, self.device, self.system = place, tenants, sorted(actions, key=lambda a: a[0]), device, system
        self.seconds, self.settle = seconds, settle
        self.folder = tempfile.mkdtemp(dir=place.folder)
        self.processes, self.notes = [], {}
        self.why = None  # where the time went that nobody had, of a trial that is traced
        self.victims = []  # (process, its traced threads): stopped for good, to be killed at the end

    def report(self, i, j):
        return os.path.join(self.folder, f"{i}.{j}")

    def header(self, i, j):
        try:
            with open(self.report(i, j), "rb") as f:
                h = f.read(HEADER)
        except FileNotFoundError:
            return None
        return struct.unpack("<QQQQq24x", h) if len(h) == HEADER else None

    def pids(self, i):
        """The processes of the i-th tenant that use the device."""
        return [h[1] for h in (self.header(i, j) for j in range(self.tenants[i].processes)) if h]

    def run(self):
        try:
            self.start()
            self.act()
            self.finish()
            self.why = self.lost() if hasattr(self, "tracer") else None
            return self.collect()
        finally:
            self.close()

    def start(self):
        times = os.path.join(self.folder, "times")
        with open(times, "wb") as f:
            f.write(bytes(16))
        watch = os.path.join(self.folder, "watch")
        self.watch = None
        if not self.place.gpu:
            self.watch = subprocess.Popen([self.place.path("bench/share_watch"), watch, str(self.place.args.sample)], env=self.place.env,
                                          stdout=subprocess.PIPE, preexec_fn=self.place.first)
            self.watch.stdout.readline()
        self.err = open(os.path.join(self.folder, "err"), "w+b")
        for i, t in enumerate(self.tenants):
            command, env = self.place.command(self, t)
            program = [self.place.path("bench/share_load"), os.path.join(self.folder, str(i)), times, *t.load]
            program.append(f"grid={self.place.args.grid}")
            if self.rounds:
                program.append(f"rounds={self.rounds}")
            self.processes.append(subprocess.Popen(command + program, env=env, stdin=subprocess.DEVNULL, stdout=self.err, stderr=self.err,
                                                   start_new_session=True, preexec_fn=self.place.first))
        patience = time.monotonic() + 60
        while not all((self.header(i, j) or [0] * 3)[2] for i, t in enumerate(self.tenants) for j in range(t.processes)):
            if any(p.poll() is not None for p in self.processes) or time.monotonic() > patience:
                raise Failed("a tenant did not start: " + self.errors())
            time.sleep(0.01)
        self.start_ns = time.monotonic_ns() + 200_000_000
        self.begin_ns = self.start_ns + int(self.settle * SECOND)
        self.end_ns = self.begin_ns + int(self.seconds * SECOND)
        with open(times, "r+b") as f:
            m = mmap.mmap(f.fileno(), 16)
            m[8:16] = struct.pack("<Q", self.end_ns)
            m[0:8] = struct.pack("<Q", self.start_ns)
            m.close()

    def errors(self):
        self.err.seek(0)
        return self.err.read().decode(errors="replace").strip()[-2000:] or "without a word"

    def tiers(self):
        """In which tier the tenants' shares are in force, as meted says."""
        ours = {t.grant for t in self.tenants if "native" not in t.words}
        if not ours:
            return "native"
        said = {g["devices"][0].get("tier", "none") for g in self.look() if g["name"] in ours}
        return " ".join(sorted(said))

    def look(self):
        """What meted says, noted with the time: what it has charged is compared with what was had."""
        before = time.monotonic_ns()
        said = self.place.grants()
        charged = {g["name"]: g["devices"][0].get("charged_ms") for g in said}
        self.looks.append(((before + time.monotonic_ns()) // 2, charged))
        self.bypassed = sum(g["devices"][0].get("bypassed") or 0 for g in said)
        return said

    def charged(self, i, had):
        """Percent by which meted has charged the i-th tenant more than it had between the first look and the last; None: not known."""
        if len(self.looks) < 2:
            return None
        (a, first), (b, last) = self.looks[0], self.looks[-1]
        name = self.tenants[i].grant
        if first.get(name) is None or last.get(name) is None or not had.time.between(a, b):
            return None
        return 100 * ((last[name] - first[name]) * 1e6 / had.time.between(a, b) - 1)

    def trace(self):
        """Begins to write down turns and work; lost() says what came of it."""
        self.trace_path = os.path.join(self.folder, "trace.json")
        self.tracer = subprocess.Popen([self.place.mete, "trace", "--for", f"{self.seconds - 0.5:g}s", "-o", self.trace_path], env=self.place.env,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def lost(self):
        self.tracer.wait()
        with open(self.trace_path, encoding="utf-8") as f:
            return lost.causes(*lost.tracks(json.load(f)["traceEvents"]))

    def act(self):
        self.tier, self.looks, self.bypassed = None, [], 0
        if self.system == "mete":
            time.sleep(max(0, (self.start_ns + int(self.settle * SECOND / 2) - time.monotonic_ns()) / SECOND))
            self.tier = self.tiers()
        for at, what in self.actions:
            time.sleep(max(0, (self.start_ns + int(at * SECOND) - time.monotonic_ns()) / SECOND))
            what(self)
        if self.tier not in (None, "native"):
            time.sleep(max(0, (self.end_ns - SECOND // 20 - time.monotonic_ns()) / SECOND))
            self.look()
        time.sleep(max(0, (self.end_ns - time.monotonic_ns()) / SECOND))

    def finish(self):
        """Those that are stuck have shown what they had; they are not waited for for long."""
        self.kill_victims()
        patience = time.monotonic() + 20
        for p in self.processes:
            try:
                p.wait(max(0.1, patience - time.monotonic()))
            except subprocess.TimeoutExpired:
                self.notes.setdefault("stuck", []).append(p.pid)
        time.sleep(0.05)

    def kill_victims(self):
        for pid, threads in self.victims:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            untrace(threads)
            # `mete run` stops with its program, as a shell expects it.
            for p in self.processes:
                os.kill(p.pid, signal.SIGCONT)
        self.victims = []

    def close(self):
        self.kill_victims()
        for i, p in enumerate(self.processes):
            for pid in self.pids(i) if p.poll() is None else ():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            for s in (signal.SIGCONT, signal.SIGKILL):
                try:
                    os.killpg(p.pid, s)
                except ProcessLookupError:
                    pass
            p.wait()
        if getattr(self, "watch", None):
            self.watch.kill()
            self.watch.wait()
        if getattr(self, "err", None):
            self.err.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def watched(self):
        by_pid, stills = {}, {}
        with open(os.path.join(self.folder, "watch"), "rb") as f:
            data = f.read()
        words = array.array("Q", data[:len(data) // 32 * 32])
        for k in range(0, len(words), 4):
            if words[k + 1] == STILL:
                stills.setdefault(words[k + 2], curves.Curve()).add(words[k], words[k + 3])
                continue
            if words[k + 2] != self.place.watched_device(self.device):
                continue
            curve = by_pid.setdefault(words[k + 1], curves.Curve())
            # The account of a process that is just ending has gone before the process.
            if not curve.s or words[k + 3] >= curve.s[-1]:
                curve.add(words[k], words[k + 3])
        self.still = curves.Still(stills.values())
        return by_pid

    def collect(self):
        self.still = None
        watched = self.watched() if not self.place.gpu else {}
        self.not_idle = watched.get(0)
        out = []
        for i, t in enumerate(self.tenants):
            had = Had(t)
            for j in range(t.processes):
                had.time.curves.append(self.read(had, i, j, watched))
            had.spans = [(max(a, self.begin_ns), min(b, self.end_ns)) for a, b in curves.merged(had.demands)]
            had.spans = [(a, b) for a, b in had.spans if b > a]
            out.append(had)
        return out

    def read(self, had, i, j, watched):
        with open(self.report(i, j), "rb") as f:
            _, pid, ready, count, offset = struct.unpack("<QQQQq24x", f.read(HEADER))
            records = array.array("Q", f.read(count * RECORD))
            had.pids.append(pid)
            had.complete &= ready == 2
            for k in range(0, len(records), 4):
                kind, *rest = records[k:k + 4]
                (had.kernels if kind == KERNEL else had.demands if kind == DEMAND else had.requests).append(
                    tuple(rest[:2]) if kind == DEMAND else tuple(rest))
            if not self.place.gpu:
                return watched.get(pid, curves.Curve())
            f.seek(HEADER + RECORDS * RECORD)
            marks = []
            while (row := f.read(RECORD)) and len(row) == RECORD:
                begin, end, length, _ = struct.unpack("<4Q", row)
                if not begin:
                    break
                marks.append((begin + offset, end + offset, length))
        return curves.of_marks(marks)


def untrace(threads):
    """Takes note of the end of traced threads that were killed: before that their parent does not hear of it."""
    left, patience = set(threads), time.monotonic() + 3
    while left and time.monotonic() < patience:
        for thread in sorted(left):
            try:
                pid, status = os.waitpid(thread, os.WNOHANG | 0x40000000)
            except ChildProcessError:
                left.discard(thread)
                continue
            if pid and (os.WIFEXITED(status) or os.WIFSIGNALED(status)):
                left.discard(thread)
        time.sleep(0.005)


def come_first():
    """By a process of ours before it begins: other work on the machine does not delay it."""
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


class Place:
    def __init__(self, args):
        self.first = come_first if getattr(args, "ahead", False) else None
        self.args, self.gpu = args, args.gpu
        self.build = os.path.abspath(args.build)
        self.folder = tempfile.mkdtemp(prefix="mete-shares-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        self.mete = self.path("src/cli/mete")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("METE_") and k != "CUDA_VISIBLE_DEVICES"}
        self.env.update(METE_RUNTIME_DIR=os.path.join(self.folder, "run"))
        os.mkdir(self.env["METE_RUNTIME_DIR"], 0o700)
        self.lock, self.serial = threading.Lock(), 0
        if not self.gpu:
            lengths = ",".join(f"spin_{us}us={us}us" for us in LENGTHS)
            self.env.update(METE_SOFT_DIR=os.path.join(self.folder, "soft"), METE_SOFT_DEVICES=str(args.devices), METE_SOFT_MEMORY="16G",
                            METE_SOFT_SLICE=args.slice, METE_SOFT_SWITCH=args.switch, METE_SOFT_DURATION=lengths,
                            METE_SOFT_THREADS="1")
        # One grant that stays: its daemon does as well, so that no trial pays for starting it.
        where = ["--device", "0"] if self.gpu else ["--soft", "--device", "0"]
        self.control("create", "keep", *where, "--mem", "1G" if self.gpu else "16M")
        self.rounds = float(self.control("run", *where, "--", self.path("bench/share_load"), "calibrate")) if self.gpu else 0
        help_text = self.control("run", "--help")
        self.has_shares = "--cores" in help_text

    def path(self, name):
        path = os.path.join(self.build, name)
        if not os.path.exists(path):
            sys.exit(f"bench: there is no {path}; build first: meson setup build && ninja -C build")
        return path

    def control(self, *words):
        r = subprocess.run([self.mete, *words], env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           timeout=120, preexec_fn=self.first)
        if r.returncode:
            raise Failed(f"mete {' '.join(words)} ended with {r.returncode}: {r.stderr.decode().strip()}")
        return r.stdout.decode()

    def executed(self):
        """Rounds of a spin kernel in a microsecond when it is executed: on the software device too, where lengths are declared else."""
        if self.rounds:
            return self.rounds
        env = {k: v for k, v in self.env.items() if k != "METE_SOFT_DURATION"}
        command = [self.mete, "run", "--soft", "--device", "0", "--", self.path("bench/share_load"), "calibrate"]
        return max(float(subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=120, check=True,
                                        preexec_fn=self.first).stdout) for _ in range(3))

    @staticmethod
    def watched_device(device):
        return device

    def command(self, trial, tenant):
        """What starts a tenant's program, and its environment: under mete, or under another library that is given."""
        env = dict(self.env)
        if trial.rounds and not self.gpu:
            del env["METE_SOFT_DURATION"]  # a kernel takes as long as its rounds do
        with self.lock:
            self.serial += 1
            name = f"{tenant.name}-{self.serial}"
        tenant.grant = name
        if trial.system == "mete":
            words = tenant.words if self.has_shares else []
            # A context takes some 520 MiB on a GPU.
            return [self.mete, "run", *([] if self.gpu else ["--soft"]), "--device", str(trial.device), "--mem", "2G" if self.gpu else "128M",
                    "--name", name, *words, "--"], env
        if not self.gpu:
            env["LD_LIBRARY_PATH"] = self.path("src/softdev/libcuda.so.1")[:-len("/libcuda.so.1")]
        env["CUDA_VISIBLE_DEVICES"] = str(trial.device)
        if trial.system == "peer":
            env["LD_PRELOAD"] = os.path.abspath(self.args.peer)
            known = {"cores": f"{tenant.target:g}" if tenant.target else "100", "folder": self.folder, "tenant": name, "mem_mib": "128"}
            for word in self.args.peer_env:
                key, _, value = word.partition("=")
                env[key] = value.format(**known)
        return [], env

    def daemon_pid(self):
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    with open(f"/proc/{entry}/environ", "rb") as f:
                        ours = b"METE_RUNTIME_DIR=" + self.env["METE_RUNTIME_DIR"].encode() + b"\0" in f.read()
                    with open(f"/proc/{entry}/comm", encoding="utf-8") as f:
                        if ours and f.read().strip() == "meted":
                            return int(entry)
                except OSError:
                    pass
        raise Failed("there is no meted")

    def grants(self):
        said = json.loads(self.control("ps", "--json"))
        return said["grants"] if isinstance(said, dict) else said

    def close(self):
        subprocess.run([self.mete, "delete", "keep"], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        try:
            os.kill(self.daemon_pid(), signal.SIGTERM)
        except (Failed, ProcessLookupError):
            pass
        shutil.rmtree(self.folder, ignore_errors=True)
