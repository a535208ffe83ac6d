"""What bench/shares measures: one function per group of rows. Each yields rows (dictionaries) as they come."""
import concurrent.futures
import ctypes
import os
import signal
import statistics
import time

from share import curves
from share.place import Failed, Tenant, Trial

SECOND = curves.SECOND
MS = SECOND // 1000
ALONE, TOGETHER = ([1], [10], [20], [50], [80]), ([30, 70], [10, 20, 70], [12.5] * 8)
MEAN_MOST, MAX_MOST, LONG_RUN_MOST = 0.5, 1.0, 0.5
PAUSES = "burst=12,28"  # of a program that works for 30 % of the time by itself


def us(kernel_ms):
    return f"{round(kernel_ms * 1000)}us"


def load(kernel_ms, mode):
    """Options of share_load. A graph is one unit to the gate: of four kernels where they are short, of one where they are long."""
    words = [f"mode={mode}", f"kernel={us(kernel_ms)}"]
    if mode == "graph":
        words.append(f"nodes={4 if kernel_ms <= 1 else 1}")
    return words


def fixed(target, *, kernel_ms, mode, processes, name="t"):
    return Tenant(name, load(kernel_ms, mode), "--cores", f"{target:g}", "--policy", "fixed", target=target, processes=processes)


def series(had, begin, end, length=SECOND // 10):
    """Shares in windows that follow one another: for plots."""
    return [round(had.time.share(a, a + length), 2) for a in range(begin, end - length + 1, length)]


def together(found):
    """One row of errors out of several tenants': the mean of means, the worst of the rest."""
    row = {"mean": statistics.fmean(e["mean"] for e in found), "p95": max(e["p95"] for e in found),
           "max": max(e["max"] for e in found), "long_run": max(e["long_run"] for e in found),
           "shares": [round(e["share"], 2) for e in found], "windows": sum(e["windows"] for e in found)}
    if all("calm" in e for e in found):
        calm = [e["calm"] for e in found]
        row["still_ms"] = max(found, key=lambda e: e["max"])["still_ms"]
        row["calm"] = {"windows": sum(c["windows"] for c in calm), "mean": statistics.fmean(c["mean"] for c in calm), "max": max(c["max"] for c in calm)}
    return row


class Bench:
    def __init__(self, place, args, say):
        self.place, self.args, self.say = place, args, say
        self.seconds = args.seconds
        self.reach = {}
        self.systems = ["mete"] + (["peer"] if args.peer else [])

    def trial(self, what, tenants, seconds=None, **more):
        self.say(what)
        return Trial(self.place, tenants, seconds or self.seconds, **more)

    # Shares

    def reachable(self, kernel_ms, mode, processes, device):
        """What one such submitter gets of the device when nothing limits it, in percent: between two of its kernels the device
        waits for its host. And by how much a window differs from that at most: the machine's own doing."""
        key = (kernel_ms, mode, processes)
        if key not in self.reach:
            t = self.trial(f"unlimited: {kernel_ms:g} ms, {mode}, {processes} processes",
                           [Tenant("alone", load(kernel_ms, mode), "--policy", "native", processes=processes)], min(6, self.seconds),
                           device=device)
            h = t.run()[0]
            share = h.time.share(t.begin_ns, t.end_ns)
            self.reach[key] = share, curves.errors(h.time, share, h.spans)["max"]
        return self.reach[key]

    def cell(self, cell, device=0):
        kernel_ms, targets, mode, processes = cell["kernel_ms"], cell["targets"], cell["mode"], cell["processes"]
        rows = []
        for system in self.systems:
            what = f"{kernel_ms:g} ms, {mode}, {processes} processes: {'/'.join(f'{t:g}' for t in targets)} % ({system})"
            tenants = [fixed(x, kernel_ms=kernel_ms, mode=mode, processes=processes, name=f"t{i}") for i, x in enumerate(targets)]
            why = [(2.1, lambda trial: trial.trace())] if self.args.why and system == "mete" else []
            t = self.trial(what, tenants, settle=cell.get("settle", 2.0), device=device, system=system, actions=why)
            had = t.run()
            reach, varies = self.reachable(kernel_ms, mode, processes, device) if mode != "async" and sum(targets) >= 50 else (100, None)
            used = sum(h.time.share(t.begin_ns, t.end_ns) for h in had)
            part = min(1, max(reach, used) / sum(targets))
            row = dict(cell, row="share", system=system, seconds=self.seconds, tier=t.tier, reach=round(reach, 1))
            row.update(together([curves.errors(h.time, x, h.spans, still=t.still) for h, x in zip(had, targets)]))
            if part < 1:
                row["of_reach"] = together([curves.errors(h.time, x * part, h.spans, still=t.still) for h, x in zip(had, targets)])
            if varies is not None:
                row["unlimited_varies"] = round(varies, 2)
            row["device_used"] = round(used, 2)
            if t.not_idle:
                row["device_not_idle"] = round(curves.Sum([t.not_idle]).share(t.begin_ns, t.end_ns), 2)
            if t.why:
                row["lost"] = t.why
            row["series"] = [series(h, t.begin_ns, t.end_ns) for h in had]
            row["overcharged"] = [round(c, 2) for c in (t.charged(i, h) for i, h in enumerate(had)) if c is not None]
            row["bypassed"] = t.bypassed
            row["longest_wait_ms"] = [round(longest_wait(h, t.begin_ns, t.end_ns), 2) for h in had]
            row["incomplete"] = sum(not h.complete for h in had)
            self.judge(row)
            rows.append(row)
        return rows

    @staticmethod
    def judge(row):
        e = row.get("of_reach", row)
        k = row["unit_ms"] / 1000
        if k <= 0.005:
            row["goal"] = f"mean ≤ {MEAN_MOST:g}, max ≤ {MAX_MOST:g}"
            row["reached"] = e["mean"] <= MEAN_MOST and e["max"] <= MAX_MOST
        else:
            row["goal"] = f"max ≤ {200 * k:g}, long run ≤ {LONG_RUN_MOST:g}"
            row["reached"] = e["max"] <= 200 * k and e["long_run"] <= LONG_RUN_MOST

    def cells(self, cells):
        """Cells run beside one another where there are several software devices, else one by one."""
        free = list(range(self.args.devices))
        if len(free) == 1:
            for c in cells:
                yield from self.guarded(c, 0)
            return

        def take(c):
            device = free.pop()
            try:
                return self.guarded(c, device)
            finally:
                free.append(device)

        with concurrent.futures.ThreadPoolExecutor(len(free)) as pool:
            for rows in pool.map(take, cells):
                yield from rows

    def guarded(self, c, device):
        try:
            return self.cell(c, device)
        except Failed as e:
            return [dict(c, row="share", failed=str(e), reached=False, goal="")]

    def matrix(self):
        def one(kernel_ms, targets, mode, processes):
            unit = kernel_ms * (4 if mode == "graph" and kernel_ms <= 1 else 1)
            return {"kernel_ms": kernel_ms, "unit_ms": unit, "targets": targets, "mode": mode, "processes": processes}

        if self.args.cell:
            words = [c.split(":") for c in self.args.cell]
            pick = [(float(w[0]), [float(t) for t in w[1].split("/")], w[2], int((w + ["1"])[3])) for w in words]
        elif self.args.quick:
            pick = [(k, t, "async", 1) for k in (0.2, 1, 5) for t in ([20], [80], [30, 70])]
            pick += [(1, [1], "async", 1), (1, [50], "sync", 1), (0.2, [20], "sync", 1), (5, [50], "graph", 1), (1, [30, 70], "graph", 1),
                     (1, [30, 70], "sync", 4), (1, [50], "async", 4), (1, [10, 20, 70], "async", 1), (1, [12.5] * 8, "async", 1)]
            if self.args.check:
                pick = [(1, [30], "async", 1), (5, [20, 60], "sync", 1)]
        else:
            pick = [(k, t, m, p) for k in (0.2, 1, 5) for m in ("async", "sync", "graph") for p in (1, 4) for t in ALONE + TOGETHER]
        yield from self.cells([one(*p) for p in pick])

    def long(self):
        pick = [(20, [20]), (60, [50]), (20, [30, 70])] if self.args.quick else \
            [(k, t) for k in (20, 60) for t in ([10], [20], [50], [80], [30, 70], [10, 20, 70])]
        yield from self.cells([{"kernel_ms": k, "unit_ms": k, "targets": t, "mode": "async", "processes": 1} for k, t in pick])

    def mixed(self):
        """Tenants that have nothing in common: short kernels, mixed lengths on several streams with copies, graphs."""
        loads = [(20, ["mode=sync", "kernel=200us"], 1),
                 (30, ["mode=async", "kernel=200us*8,1ms*4,5ms*1", "streams=3", "copy=65536"], 2),
                 (50, ["mode=graph", "kernel=1ms", "nodes=4"], 1)]
        for system in self.systems:
            tenants = [Tenant(f"t{i}", words, "--cores", str(c), "--policy", "fixed", target=c, processes=p)
                       for i, (c, words, p) in enumerate(loads)]
            t = self.trial(f"mixed tenants ({system})", tenants, settle=2.0, system=system)
            had = t.run()
            row = {"row": "share", "kernel_ms": 0, "unit_ms": 5, "targets": [x[0] for x in loads], "mode": "mixed", "processes": 1,
                   "system": system, "seconds": self.seconds, "reach": 100, "tier": t.tier}
            row.update(together([curves.errors(h.time, x[0], h.spans, still=t.still) for h, x in zip(had, loads)]))
            row["device_used"] = round(sum(h.time.share(t.begin_ns, t.end_ns) for h in had), 2)
            row["series"] = [series(h, t.begin_ns, t.end_ns) for h in had]
            self.judge(row)
            yield row

    # Work, not only time

    def done(self):
        """Kernels that are executed: how many tenants at fixed shares get done beside how many one does alone, by turns. And how long
        a kernel takes in a program without any limit that pauses by itself as a tenant does whose turn is over: after a pause a processor
        is slower, whoever made the program pause."""
        rounds = self.place.executed()
        pairs, seconds = (1, 3) if self.args.check else (3, 3) if self.args.quick else (7, min(self.seconds, 5))

        def one(kernel_ms, window, shares, *more):
            """Of each tenant: kernels in a second, and what it had of the device."""
            words = [["--cores", f"{x}", "--policy", "fixed"] if x < 100 else ["--policy", "native"] for x in shares]
            tenants = [Tenant(f"t{i}", ["mode=async", f"kernel={us(kernel_ms)}", f"window={window}", *more], *w) for i, w in enumerate(words)]
            t = self.trial(f"work done: {kernel_ms:g} ms, {window} in flight, {'/'.join(f'{x}' for x in shares)} %", tenants, seconds,
                           rounds=rounds)
            had = t.run()
            return t.tier, [(sum(t.begin_ns <= end < t.end_ns for _, end, _ in h.kernels) / seconds, h.time.share(t.begin_ns, t.end_ns))
                            for h in had]

        for kernel_ms, window, shares in [(k, w, [30]) for k in (1, 4) for w in (1, 4, 32)] + [(4, 4, [30, 70])]:
            alone, limited, pausing = [], [], []
            for _ in range(pairs):
                alone.append(one(kernel_ms, window, [100])[1][0])
                pausing.append(one(kernel_ms, window, [100], PAUSES)[1][0])
                tier, had = one(kernel_ms, window, shares)
                limited.append(had)
            parts = [[b[i][0] / a[0] * 100 / x for a, b in zip(alone, limited)] for i, x in enumerate(shares)]
            part = [statistics.median(x) for x in parts]
            alone_ms, pausing_ms = (statistics.median(x[1] * 10 / x[0] for x in had) for had in (alone, pausing))
            yield {"row": "done", "kernel_ms": kernel_ms, "window": window, "targets": shares, "seconds": seconds, "tier": tier,
                   "parts": parts, "part": part, "occupied_pct": [statistics.median(b[i][1] for b in limited) for i in range(len(shares))],
                   "alone_ms": alone_ms, "pausing_ms": pausing_ms, "of_pausing": [x * max(1, pausing_ms / alone_ms) for x in part],
                   "limited_ms": statistics.median(b[0][1] * 10 / b[0][0] for b in limited),
                   "goal": "≥ 0.97 of the share", "reached": min(part) >= 0.97}

    # What is idle

    def work(self):
        """Work is conserved: one tenant always has work, the other now and then."""
        for policy in ("burst", "fair"):
            words = ["--cores", "50", "--policy", "burst"] if policy == "burst" else ["--policy", "fair"]
            tenants = [Tenant("always", ["mode=async", "kernel=1ms"], *words),
                       Tenant("sometimes", ["mode=async", "kernel=1ms", "burst=400,600", "first=idle"], *words)]
            t = self.trial(f"idle time, {policy}", tenants, min(self.seconds, 20), settle=0.6)
            always, sometimes = t.run()
            # From the end of what it had in flight on.
            ends = sorted(k[1] for k in sometimes.kernels)
            idle, back, first_share = [], [], []
            busy = curves.merged(sometimes.demands)
            for (a, b), following in zip(busy, busy[1:] + [(None, None)]):
                done = max((e for e in ends if a < e <= b + 200 * MS), default=b)
                if following[0]:
                    idle.append((max(done, b), following[0]))
                first = min((e for e in ends if e > a), default=b)
                back.append(first - a - 1 * MS)
                if b - a > 110 * MS:
                    first_share.append(sometimes.time.share(a, a + 100 * MS))
            got = 100 * sum(always.time.between(a, b) for a, b in idle) / sum(b - a for a, b in idle)
            least = min(always.time.share(a, b) for a, b in idle)
            back_ms = [x / MS for x in back]
            row = {"row": "work", "policy": policy, "tier": t.tier, "seconds": t.seconds, "idle_pct": round(got, 2), "idle_least_pct": round(least, 2),
                   "back_median_ms": statistics.median(back_ms), "back_max_ms": max(back_ms), "times": len(back_ms),
                   "first_100ms_pct": statistics.fmean(first_share) if first_share else float("nan"),
                   "goal": "≥ 97 % of idle time, back within 10 ms", "reached": got >= 97 and max(back_ms) <= 10,
                   "series": [series(h, t.begin_ns, t.end_ns, SECOND // 20) for h in (always, sometimes)]}
            yield row

    def high(self):
        """Requests of class high, alone and beside a tenant of class low that always has work."""
        for kernel_ms, low_ms in ((1, 1), (5, 0.2)):
            n = round(10 / kernel_ms)
            high = Tenant("high", ["mode=request", f"kernel={us(kernel_ms)}", f"nodes={n}", "every=40"], "--policy", "fair", "--class", "high")
            low = Tenant("low", ["mode=async", f"kernel={us(low_ms)}"], "--policy", "besteffort")
            found = []
            for tenants in ([high], [high, low]):
                t = self.trial(f"high class, {n} kernels of {kernel_ms:g} ms, {'alone' if len(tenants) == 1 else 'beside low'}", tenants)
                had = t.run()
                found.append((t, had, [(end - at) / MS for at, end, seen in had[0].requests if at >= t.begin_ns],
                              [(seen - at) / MS for at, end, seen in had[0].requests if at >= t.begin_ns]))
            (_, _, alone, alone_host), (t, had, beside, beside_host) = found
            high_pct, low_pct = (h.time.share(t.begin_ns, t.end_ns) for h in had)
            p99 = [curves.percentile(x, 99) for x in (alone, beside, alone_host, beside_host)]
            slower, left = p99[1] / p99[0], 100 * low_pct / (100 - high_pct)
            yield {"row": "high", "kernel_ms": kernel_ms, "low_ms": low_ms, "tier": t.tier, "seconds": self.seconds, "requests": len(beside),
                   "alone_p50_ms": statistics.median(alone), "beside_p50_ms": statistics.median(beside), "alone_p99_ms": p99[0],
                   "beside_p99_ms": p99[1], "host_alone_p99_ms": p99[2], "host_beside_p99_ms": p99[3], "slower": slower,
                   "high_pct": high_pct, "low_pct": low_pct, "left_pct": left, "goal": "p99 ≤ 1.10 × alone, low ≥ 90 % of what is left",
                   "reached": slower <= 1.1 and left >= 90, "alone": sorted(round(x, 3) for x in alone),
                   "beside": sorted(round(x, 3) for x in beside)}

    def cost(self):
        """Throughput that gating takes: the same tenants with policy native and limited to what they get anyhow, by turns."""
        for names, kernel_ms in ((1, 1), (1, 0.2), (2, 1)):
            part = 100 / names
            turns = 1 if self.args.check else 2 if self.args.quick else 5
            rate = {"native": [], "burst": []}
            for _ in range(turns):
                for policy, words in (("native", ["--policy", "native"]), ("burst", ["--cores", f"{part:g}", "--policy", "burst"])):
                    tenants = [Tenant(f"t{i}", ["mode=async", f"kernel={us(kernel_ms)}"], *words) for i in range(names)]
                    t = self.trial(f"cost of gating: {names} × {kernel_ms:g} ms, {policy}", tenants,
                                   3 if self.args.quick else min(self.seconds, 10))
                    had = t.run()
                    rate[policy].append(sum(h.time.share(t.begin_ns, t.end_ns) for h in had))
            lost = 100 * (1 - statistics.median(rate["burst"]) / statistics.median(rate["native"]))
            row = {"row": "cost", "tier": t.tier, "tenants": names, "kernel_ms": kernel_ms, "turns": turns, "native_pct": rate["native"],
                   "gated_pct": rate["burst"], "lost_pct": lost}
            if kernel_ms == 1:
                row.update(goal="≤ 2 % lost", reached=lost <= 2)
            yield row

    # What goes wrong

    def stall(self):
        """A tenant is killed, stopped or traced at moments that nobody chose; the others' longest wait for their next kernel."""
        for what in ("kill", "stop", "trace"):
            rounds = 2 if self.args.check else 4 if self.args.quick else 20
            most, before_most, gained = [], [], []
            for n in range(rounds):
                tenants = [Tenant(f"t{i}", ["mode=async", "kernel=1ms"], "--cores", "33", "--policy", "burst") for i in range(3)]
                at = 1.5 + n * 0.0037
                noted = {}

                def strike(trial, noted=noted, what=what):
                    pid = trial.pids(0)[0]
                    noted["at"] = time.monotonic_ns()
                    trial.victims.append((pid, stop(pid, what)))

                t = self.trial(f"a tenant is hit: {what}, {n + 1} of {rounds}", tenants, 1.5, settle=1.0, actions=[(at, strike)])
                had = t.run()
                for h in had[1:]:
                    most.append(longest_wait(h, noted["at"], t.end_ns))
                    before_most.append(longest_wait(h, t.begin_ns, noted["at"]))
                    gained.append(h.time.share(noted["at"] + 200 * MS, t.end_ns))
            yield {"row": "stall", "what": what, "tier": t.tier, "times": rounds, "wait_median_ms": statistics.median(most), "wait_max_ms": max(most),
                   "before_max_ms": max(before_most), "share_after_pct": statistics.fmean(gained),
                   "goal": "wait ≤ before + the work in flight of a turn (4 ms) and as much to notice", "reached": max(most) <= max(before_most) + 8}

    def restart(self):
        """meted is killed under load and comes back."""
        targets = [20, 30, 50]
        tenants = [Tenant(f"t{i}", ["mode=async", "kernel=1ms"], "--cores", f"{x}", "--policy", "fixed", target=x)
                   for i, x in enumerate(targets)]
        noted = {}

        def accounts(trial):
            names = [t.grant for t in trial.tenants]
            return {g["name"]: g["devices"][0].get("charged_ms") for g in self.place.grants() if g["name"] in names}

        def strike(trial):
            noted["before"] = accounts(trial)
            os.kill(self.place.daemon_pid(), signal.SIGKILL)
            noted["at"] = time.monotonic_ns()

        def look(trial):
            noted["after"] = accounts(trial)

        half = max(3.0, self.seconds / 2)
        t = self.trial("meted is killed and started again", tenants, 2 * half, actions=[(1 + half, strike), (1 + half + 2, look)])
        had = t.run()
        at = noted["at"]
        waits = [longest_wait(h, at - 5 * MS, at + 3 * SECOND) for h in had]
        before = [longest_wait(h, t.begin_ns, at - 5 * MS) for h in had]
        over = [curves.errors(h.time, x, [(at - SECOND, at + 2 * SECOND)]) for h, x in zip(had, targets)]
        kept = all(noted["after"].get(k) is not None and v is not None and noted["after"][k] >= v for k, v in noted["before"].items())
        missing = []
        for tenant, h in zip(tenants, had):
            charged = noted["after"].get(tenant.grant)
            if charged is not None:
                missing.append(charged)
        yield {"row": "restart", "targets": targets, "tier": t.tier, "kept": kept and bool(noted["before"]), "charged_before_ms": list(noted["before"].values()),
               "charged_after_ms": missing, "wait_max_ms": max(waits), "before_max_ms": max(before),
               "window_max": max(e["max"] for e in over), "goal": "no account lost, wait ≤ before + a turn (20 ms at most)",
               "reached": kept and bool(noted["before"]) and max(waits) <= max(before) + 20,
               "series": [series(h, at - 2 * SECOND, min(t.end_ns, at + 4 * SECOND)) for h in had]}


def longest_wait(had, a, b):
    """The longest time from the end of one of its kernels to the end of the next, less what that takes alone."""
    ends = sorted((end, length) for _, end, length in had.kernels if a <= end <= b)
    waits = [(y[0] - x[0] - y[1]) / MS for x, y in zip(ends, ends[1:])]
    if not waits:
        return (b - a) / MS
    return max(max(waits), (b - ends[-1][0]) / MS - 20 if b > ends[-1][0] + 50 * MS else 0)


libc = ctypes.CDLL(None, use_errno=True)
PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def stop(pid, what):
    """Value: the threads that are traced now."""
    threads = [int(x) for x in os.listdir(f"/proc/{pid}/task")] if what == "trace" else []
    if what == "kill":
        os.kill(pid, signal.SIGKILL)
    elif what == "stop":
        os.kill(pid, signal.SIGSTOP)
    else:
        # As a debugger does: every thread is seized and interrupted, and stays where it is until the tracer lets go.
        for thread in threads:
            if libc.ptrace(PTRACE_SEIZE, thread, None, None) or libc.ptrace(PTRACE_INTERRUPT, thread, None, None):
                raise Failed(f"thread {thread} cannot be traced: {os.strerror(ctypes.get_errno())}")
    return threads

