"""What was measured, as text, as Markdown, and into docs/performance.md."""
import importlib.machinery
import importlib.util
import os

from share import lost, plots

BEGIN, END = "<!-- bench/shares begins -->", "<!-- bench/shares ends -->"
DEFINITION = ("A share is the fraction of wall time in which a tenant's work occupies the compute engine, over windows in which it has "
              "work waiting.")


def comparable(m, rows):
    """Rows that may stand side by side: a library that counts blocks is flattered or hurt by grids that no program launches."""
    return [r for r in rows if r.get("system") != "peer" or m.get("grid") == "full" or m.get("gpu")]


def machine(args, root):
    loader = importlib.machinery.SourceFileLoader("bench_run", os.path.join(root, "bench/run"))
    run = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_run", loader))
    loader.exec_module(run)
    m = run.machine()
    command = ["bench/shares"] + (["--quick"] if args.quick else []) + (["--gpu"] if args.gpu else [])
    if args.seconds != (5 if args.quick else 60):
        command.append(f"--seconds {args.seconds:g}")
    if args.devices > 1:
        command.append(f"--devices {args.devices}")
    if args.ahead:
        command.append("--ahead")
    if args.why:
        command.append("--why")
    if args.peer:
        command.append("--peer …")
    elif args.grid != "one":
        command.append(f"--grid {args.grid}")
    m.update(command=" ".join(command), gpu=args.gpu, peer=args.peer_name if args.peer else None, seconds=args.seconds,
             slice=args.slice, switch=args.switch, ahead=args.ahead, devices=args.devices, grid=args.grid)
    return m


def tier(rows):
    return " and ".join(sorted({r["tier"] for r in rows if r.get("tier") and "T" in r["tier"]})) or "none"


def lengths(m, rows):
    """How long rows were measured; those that differ are marked in the table."""
    others = sorted({r["seconds"] for r in rows if r["row"] == "share" and "seconds" in r} - {m["seconds"]})
    return f"One run of {m['seconds']:g} s per row" + "".join(f", {s:g} s where the number of processes has a *" for s in others) + "."


def about(m, rows):
    if m["gpu"]:
        device = "the machine's first GPU; time by the kernels' own marks of its global timer"
    else:
        device = (f"the software device, not a GPU (time slice q = {m['slice']}, switch c = {m['switch']}, declared kernel lengths); time by "
                  "the device's own account")
    ahead = " beside other work on the machine, before which it came (`--ahead`: real-time priority)" if m.get("ahead") else ""
    beside = f" Up to {m['devices']} cells of the matrix ran side by side, each on a device of its own." if m.get("devices", 1) > 1 else ""
    return (f"Taken on {m['date']} at commit {m['commit']}: {m['cpu']}, {m['cores']} cores, {m['system']}; load {m['load_before']} when it "
            f"began{ahead}.{beside} Device: {device}. Tier: {tier(rows)}. {lengths(m, rows)} {DEFINITION} Repeat it with `{m['command']}`.")


def verdict(r):
    """A goal is not reached by a tenant whom nothing limits."""
    if "reached" not in r:
        return ""
    gated = r.get("system") == "peer" or "tier" not in r or "T" in (r["tier"] or "")
    return f"{r.get('goal', '')}: {'NO (not gated)' if not gated else 'yes' if r['reached'] else 'NO'}"


def number(v):
    return f"{v:.2f}"


def who(r, m):
    return (m.get("peer") or "peer") if r.get("system") == "peer" else "mete"


def still(r):
    """Of a row that misses: what of its worst window was the machine."""
    e = r.get("of_reach", r)
    if r["reached"] or "calm" not in e:
        return ""
    errors = f"{number(e['calm']['mean'])}, {number(e['calm']['max'])} in " if e["calm"]["windows"] else ""
    return f" {{{e['still_ms']:.1f} ms; {errors}{e['calm']['windows']} of {e['windows']}}}"


SHARE = ["kernel", "targets, %", "submitter", "processes", "got, %", "mean error", "95th percentile", "max", "long run", "device used + changes, %", "goal"]


def share_cells(r, m):
    kernel = f"{r['kernel_ms']:g} ms" if r["kernel_ms"] else "0.2 to 5 ms"
    targets = " / ".join(f"{t:g}" for t in r["targets"]) if len(set(r["targets"])) > 1 or len(r["targets"]) == 1 else \
        f"{len(r['targets'])} × {r['targets'][0]:g}"
    mode = r["mode"] + ("" if r["unit_ms"] == r["kernel_ms"] or not r["kernel_ms"] else f", units of {r['unit_ms']:g} ms")
    if m.get("peer"):
        kernel = f"{who(r, m)}: {kernel}"
    if "failed" in r:
        return [kernel, targets, mode, str(r["processes"]), "failed: " + r["failed"].splitlines()[0][:90], "", "", "", "", "", "NO"]
    got = " / ".join(f"{s:.1f}" for s in r["shares"][:3]) + (" …" if len(r["shares"]) > 3 else "")

    def both(key):
        return number(r[key]) + (f" ({number(r['of_reach'][key])})" if "of_reach" in r else "")

    most = both("max") + (f" [{number(r['unlimited_varies'])}]" if "unlimited_varies" in r else "") + still(r)
    processes = str(r["processes"]) + ("" if r.get("seconds") in (None, m.get("seconds")) else "*")
    return [kernel, targets, mode, processes, got, both("mean"), both("p95"), most, both("long_run"),
            number(r["device_used"]) + (f" + {max(0, r['device_not_idle'] - r['device_used']):.2f}" if "device_not_idle" in r else ""), verdict(r)]


def ms(v):
    return f"{v:.2f} ms"


def pausing(r):
    if "pausing_ms" not in r:
        return ""
    return (f", in a program without limits that works for 12 of 40 ms {ms(r['pausing_ms'])}: against that "
            f"{' and '.join(number(x) for x in r['of_pausing'])}")


def sentence(r):
    """Rows of the other kinds: what, figures, goal."""
    kind = r["row"]
    if "failed" in r:
        return [r.get("group", kind), "failed: " + r["failed"].splitlines()[0][:200], "NO"]
    if kind == "done":
        tried = [x for parts in r["parts"] for x in parts]
        return [f"work done at a fixed {' and '.join(f'{t:g}' for t in r['targets'])} %, kernels of {r['kernel_ms']:g} ms that are executed, "
                f"{r['window']} in flight",
                f"{' and '.join(number(x) for x in r['part'])} of the share (medians of {len(r['parts'][0])} pairs, {number(min(tried))} to "
                f"{number(max(tried))}); occupies {' and '.join(f'{x:.1f}' for x in r['occupied_pct'])} %; a kernel occupies "
                f"{ms(r['limited_ms'])}, alone {ms(r['alone_ms'])}" + pausing(r), verdict(r)]
    if kind == "work":
        return [f"idle time, policy {r['policy']}",
                f"{r['idle_pct']:.1f} % of it used (the worst of {r['times']} times {r['idle_least_pct']:.1f} %); given back after "
                f"{ms(r['back_median_ms'])} (median), {ms(r['back_max_ms'])} (most); {r['first_100ms_pct']:.1f} % in the first 100 ms", verdict(r)]
    if kind == "high":
        return [f"requests of 10 ms ({round(10 / r['kernel_ms'])} kernels of {r['kernel_ms']:g} ms), class high beside low with kernels of "
                f"{r['low_ms']:g} ms",
                f"p50 {ms(r['alone_p50_ms'])} alone, {ms(r['beside_p50_ms'])} beside; p99 {ms(r['alone_p99_ms'])} and {ms(r['beside_p99_ms'])}: "
                f"{r['slower']:.2f} × (seen by the host: {ms(r['host_alone_p99_ms'])} and {ms(r['host_beside_p99_ms'])}); low gets "
                f"{r['left_pct']:.1f} % of what is left; {r['requests']} requests", verdict(r)]
    if kind == "cost":
        return [f"throughput, {r['tenants']} tenant{'s' * (r['tenants'] > 1)}, kernels of {r['kernel_ms']:g} ms",
                f"{r['lost_pct']:.2f} % lost: {' '.join(number(x) for x in r['native_pct'])} % of the device without a gate, "
                f"{' '.join(number(x) for x in r['gated_pct'])} % with", verdict(r)]
    if kind == "stall":
        names = {"kill": "killed", "stop": "stopped by SIGSTOP", "trace": "traced in a debugger"}
        return [f"one of three tenants is {names[r['what']]}",
                f"the others' longest wait for their next kernel: {ms(r['wait_median_ms'])} (median of {r['times']} times), "
                f"{ms(r['wait_max_ms'])} (most); {ms(r['before_max_ms'])} before; then they have {r['share_after_pct']:.1f} % each", verdict(r)]
    if kind == "restart":
        return ["meted is killed under load and started again",
                f"longest wait {ms(r['wait_max_ms'])}, {ms(r['before_max_ms'])} before; worst window around it {r['window_max']:.2f} points off; "
                f"accounts {'kept' if r['kept'] else 'LOST'}", verdict(r)]
    return [kind, str(r), ""]


def line(r):
    m = {"peer": "peer" if r.get("system") == "peer" else None}
    return " | ".join(c for c in (share_cells(r, m) if r["row"] == "share" else sentence(r)) if c)


def tables(rows, m):
    out = []
    shares = [share_cells(r, m) for r in rows if r["row"] == "share"]
    if shares:
        out.append([SHARE] + shares)
    out += reasons(rows)
    others = [sentence(r) for r in rows if r["row"] != "share"]
    if others:
        out.append([["", "figures", "goal"]] + others)
    return out


def text(m, rows):
    rows = comparable(m, rows)
    parts = [about(m, rows)]
    for lines in tables(rows, m):
        width = [max(len(x[i]) for x in lines) for i in range(len(lines[0]))]
        parts.append("\n".join("  ".join(c.ljust(w) for c, w in zip(x, width)).rstrip() for x in lines))
    return "\n\n".join(parts)


def reasons(rows):
    """Of cells that were traced: where the time goes that nobody has."""
    traced = [r for r in rows if "lost" in r]
    if not traced:
        return []
    head = ["kernel", "targets, %", "submitter"] + [f"{k}: {lost.WHAT[k]}, %" for k in lost.CAUSES] + ["changes of context, %"]
    return [[head] + [[f"{r['kernel_ms']:g} ms", " / ".join(f"{t:g}" for t in r["targets"]), r["mode"]] +
                      [number(r["lost"][k]) for k in lost.CAUSES] + [number(max(0, r["device_not_idle"] - r["device_used"]))] for r in traced]]


def misses(rows, m):
    """The cells that miss their goal, by name."""
    found = []
    for r in rows:
        if r["row"] == "share" and "mean" in r and not r["reached"]:
            kernel, targets, mode, processes = share_cells(r, m)[:4]
            e = r.get("of_reach", r)
            found.append(f"{kernel}, {targets}, {mode}, {processes}: mean {e['mean']:.2f}, max {e['max']:.2f}, long run {e['long_run']:.2f}")
    cells = [r for r in rows if r["row"] == "share" and r.get("group") == "matrix"]
    if not found:
        return []
    return [f"Of the {len(cells)} cells of the matrix {sum(r['reached'] for r in cells)} reach their goal. These do not, nor do these of the other "
            "rows (kernel, targets, submitter, processes; against what is reachable where that is known):\n\n" +
            "\n".join("- " + x for x in found)]


def markdown(m, rows, pictures):
    rows = comparable(m, rows)
    parts = [about(m, rows)]
    parts += [f"![{title}](plots/{name})" for name, title in pictures]
    for lines in tables(rows, m):
        parts.append("\n".join(["| " + " | ".join(lines[0]) + " |", "|" + "---|" * len(lines[0])] +
                               ["| " + " | ".join(x) + " |" for x in lines[1:]]))
    if any("of_reach" in r for r in rows):
        parts.append("In brackets: against what the submitter can reach. One that waits for each kernel leaves the device idle for as long "
                     "as its host takes; where the targets add up to more than it gets without any limit, they are scaled down to that, or "
                     "to what was used in this run, if that is more.")
    if any("unlimited_varies" in r for r in rows):
        parts.append("In square brackets: by how much windows of such a submitter differ at most when nothing limits it, in a run of its own.")
    if any(r["row"] == "share" and "max" in r and still(r) for r in rows):
        parts.append("In braces, of rows that miss: for how long a processor of the machine stood still in the window with the largest error (a thread "
                     "that sleeps for 1 ms on each processor, with a higher priority than all that is measured, woke up late by so much in all); the mean "
                     "error and the largest one in windows in which none did so for more than 1 ms, and how many of the windows these are.")
    parts += misses(rows, m)
    return "\n\n".join(parts) + "\n"


def write(root, m, rows):
    path = os.path.join(root, "docs/performance.md")
    with open(path, encoding="utf-8") as f:
        page = f.read()
    if BEGIN not in page or END not in page:
        raise SystemExit(f"bench: {path} has no lines {BEGIN} and {END}")
    folder = os.path.join(root, "docs/plots")
    os.makedirs(folder, exist_ok=True)
    pictures = []
    note = f"{'GPU' if m['gpu'] else 'software device, q = ' + m['slice'] + ', c = ' + m['switch']}; tier {tier(rows)}; {m['date']}, {m['commit']}; {m['command']}"
    for name, title, picture in plots.all_of(comparable(m, rows), m, note):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(picture)
        pictures.append((name, title))
    head, rest = page.split(BEGIN, 1)
    with open(path, "w", encoding="utf-8") as f:
        f.write(head + BEGIN + "\n" + markdown(m, rows, pictures) + END + rest.split(END, 1)[1])
