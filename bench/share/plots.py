"""Plots as SVG, written by hand: axes, lines, bars, nothing else."""
from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 320, 56, 150, 44, 62
COLOURS = ["#1f6fb4", "#d1662a", "#2e8b57", "#8a4fb0", "#b03a4e", "#707070", "#b89a1c", "#2aa0a8"]


class Plot:
    """One picture with an x and a y axis; series are added, then text() gives it."""

    def __init__(self, title, note, x, y, x_name, y_name):
        self.x, self.y, self.parts, self.legend = x, y, [], []
        self.put(f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>')
        self.label(LEFT, 20, title, size=14, weight="bold")
        self.label(LEFT, 35, note, size=9, colour="#666666")
        self.label((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 26, x_name, anchor="middle")
        self.put(f'<text x="14" y="{(TOP + HEIGHT - BOTTOM) / 2}" font-size="11" text-anchor="middle" '
                 f'transform="rotate(-90 14 {(TOP + HEIGHT - BOTTOM) / 2})">{escape(y_name)}</text>')

    def put(self, part):
        self.parts.append(part)

    def label(self, x, y, text, size=11, anchor="start", colour="#000000", weight="normal"):
        self.put(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}" font-weight="{weight}">'
                 f'{escape(text)}</text>')

    def px(self, x):
        return LEFT + (x - self.x[0]) / (self.x[1] - self.x[0]) * (WIDTH - LEFT - RIGHT)

    def py(self, y):
        y = min(max(y, self.y[0]), self.y[1])
        return HEIGHT - BOTTOM - (y - self.y[0]) / (self.y[1] - self.y[0]) * (HEIGHT - TOP - BOTTOM)

    def line(self, x1, y1, x2, y2, colour="#000000", width=1.0, dash=""):
        self.put(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"'
                 + (f' stroke-dasharray="{dash}"' if dash else "") + "/>")

    def grid(self, xs=None, ys=None):
        for y in ys or ticks(*self.y):
            self.line(LEFT, self.py(y), WIDTH - RIGHT, self.py(y), "#dddddd")
            self.label(LEFT - 6, self.py(y) + 4, f"{y:g}", size=10, anchor="end")
        for x in ticks(*self.x) if xs is None else xs:
            self.line(self.px(x), HEIGHT - BOTTOM, self.px(x), HEIGHT - BOTTOM + 4)
            self.label(self.px(x), HEIGHT - BOTTOM + 16, f"{x:g}", size=10, anchor="middle")
        self.line(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM)
        self.line(LEFT, TOP, LEFT, HEIGHT - BOTTOM)

    def curve(self, points, colour, name=None):
        self.put(f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="'
                 + " ".join(f"{self.px(x):.1f},{self.py(y):.1f}" for x, y in points) + '"/>')
        if name:
            self.named(name, colour)

    def named(self, name, colour):
        y = TOP + 8 + 16 * len(self.legend)
        self.legend.append(name)
        self.put(f'<rect x="{WIDTH - RIGHT + 12}" y="{y - 8}" width="12" height="8" fill="{colour}"/>')
        self.label(WIDTH - RIGHT + 30, y, name, size=10)

    def level(self, y, text):
        self.line(LEFT, self.py(y), WIDTH - RIGHT, self.py(y), "#b03a4e", 1, "5 3")
        self.label(WIDTH - RIGHT + 4, self.py(y) + 4, text, size=9, colour="#b03a4e")

    def mark(self, x, text):
        self.line(self.px(x), TOP, self.px(x), HEIGHT - BOTTOM, "#888888", 1, "3 3")
        self.label(self.px(x) + 4, TOP + 10, text, size=9, colour="#666666")

    def text(self):
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
                'font-family="sans-serif" font-size="11">\n' + "\n".join(self.parts) + "\n</svg>\n")


def ticks(low, high):
    span = high - low
    step = next(s for s in (0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 10000) if span / s <= 10)
    n = int(span / step + 1e-9)
    return [round(low + i * step, 6) for i in range(n + 1)]


def over_time(rows, m, note):
    """Shares of tenants side by side, in windows of 100 ms."""
    for r in rows:
        if r["row"] != "share" or "series" not in r or len(r["targets"]) < 2 or r["kernel_ms"] not in (0, 1, 5) or r["processes"] != 1:
            continue
        if r["mode"] not in ("async", "mixed") or r["targets"] not in ([30, 70], [10, 20, 70], [20, 30, 50]):
            continue
        name = (m.get("peer") or "peer") if r.get("system") == "peer" else "mete"
        what = "mixed tenants" if r["mode"] == "mixed" else f"kernels of {r['kernel_ms']:g} ms, asynchronous"
        p = Plot(f"{name}: shares of {' / '.join(f'{t:g}' for t in r['targets'])} %, {what}", note,
                 (0, len(r["series"][0]) / 10), (0, 100), "seconds", "share in windows of 100 ms, %")
        p.grid()
        for i, (values, target) in enumerate(zip(r["series"], r["targets"])):
            p.curve([(k / 10 + 0.05, v) for k, v in enumerate(values)], COLOURS[i], f"asked {target:g} %")
            p.line(LEFT, p.py(target), WIDTH - RIGHT, p.py(target), COLOURS[i], 0.8, "4 3")
        kind = "mixed" if r["mode"] == "mixed" else f"{r['kernel_ms']:g}ms-{'-'.join(f'{t:g}' for t in r['targets'])}"
        yield f"shares-{kind}{'-peer' if r.get('system') == 'peer' else ''}.svg", f"Shares over time, {name}, {what}", p.text()


def short(r):
    targets = "/".join(f"{t:g}" for t in r["targets"]) if len(r["targets"]) < 5 else f"{len(r['targets'])}×{r['targets'][0]:g}"
    return (f"{r['kernel_ms']:g} ms " if r["kernel_ms"] else "") + f"{targets} {r['mode']}" + (f" ×{r['processes']}" if r["processes"] > 1 else "")


def error_bars(rows, m, note):
    """Mean and maximum error of each row; systems side by side."""
    found = [r for r in rows if r["row"] == "share" and "failed" not in r and r["unit_ms"] <= 5]
    names = sorted({short(r) for r in found}, key=[short(r) for r in found].index)
    if not names:
        return
    if len(names) > 48:
        names = [n for n in names if " async" in n and "×4" not in n]
    systems = sorted({r.get("system", "mete") for r in found})
    height = max(max(r.get("of_reach", r)["max"] for r in found), 2.5)
    height = next(h for h in (2.5, 5, 10, 20, 50, 100) if height <= h or h == 100)
    p = Plot("Error of shares over all windows of 1 s: mean (dark) and maximum (light)", note, (0, len(names)), (0, height), "",
             "points of a percent")
    p.grid(xs=[])
    step = (WIDTH - LEFT - RIGHT) / len(names)
    for i, name in enumerate(names):
        for k, system in enumerate(systems):
            for r in found:
                if short(r) != name or r.get("system", "mete") != system:
                    continue
                e = r.get("of_reach", r)
                x = LEFT + (i + 0.12 + k * 0.76 / len(systems)) * step
                w = 0.76 / len(systems) * step
                for value, opacity in ((e["max"], 0.35), (e["mean"], 1)):
                    y = p.py(value)
                    p.put(f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{HEIGHT - BOTTOM - y:.1f}" fill="{COLOURS[k]}" '
                          f'fill-opacity="{opacity}"/>')
        x, y = LEFT + (i + 0.5) * step, HEIGHT - BOTTOM + 8
        p.put(f'<text x="{x:.1f}" y="{y:.1f}" font-size="7" text-anchor="end" transform="rotate(-40 {x:.1f} {y:.1f})">{escape(name)}</text>')
    for k, system in enumerate(systems):
        p.named(m.get("peer") or "peer" if system == "peer" else "mete", COLOURS[k])
    p.level(1, "goal, mean")
    p.level(2, "goal, maximum")
    yield "shares-error.svg", "Errors of shares", p.text()


def latencies(rows, _m, note):
    for r in rows:
        if r["row"] != "high" or "alone" not in r or not r["alone"]:
            continue
        low, high = min(r["alone"][0], r["beside"][0]), max(r["alone"][-1], r["beside"][-1])
        p = Plot(f"Requests of class high, {round(10 / r['kernel_ms'])} kernels of {r['kernel_ms']:g} ms", note,
                 (int(low), max(int(high) + 1, int(low) + 2)), (0, 100), "milliseconds from submission to the end, by the device's clock",
                 "requests done, %")
        p.grid()
        for k, (name, values) in enumerate((("alone", r["alone"]), ("beside class low", r["beside"]))):
            p.curve([(v, 100 * (i + 1) / len(values)) for i, v in enumerate(values)], COLOURS[k], name)
        p.level(99, "99 %")
        yield f"shares-high-{r['kernel_ms']:g}ms.svg", "Latency of class high", p.text()


def events(rows, _m, note):
    for r in rows:
        if r["row"] == "restart" and "series" in r:
            p = Plot("meted is killed and started again", note, (-2, -2 + len(r["series"][0]) / 10), (0, 100), "seconds",
                     "share in windows of 100 ms, %")
            p.grid()
            for i, (values, target) in enumerate(zip(r["series"], r["targets"])):
                p.curve([(-1.95 + k / 10, v) for k, v in enumerate(values)], COLOURS[i], f"asked {target:g} %")
            p.mark(0, "kill -9")
            yield "shares-restart.svg", "Shares while meted is killed and started again", p.text()
        if r["row"] == "work" and "series" in r:
            values = [s[:80] for s in r["series"]]
            p = Plot(f"Idle time is used and given back, policy {r['policy']}", note, (0, len(values[0]) / 20), (0, 105), "seconds",
                     "share in windows of 50 ms, %")
            p.grid()
            for i, name in enumerate(("always has work", "now and then")):
                p.curve([(k / 20 + 0.025, v) for k, v in enumerate(values[i])], COLOURS[i], name)
            yield f"shares-work-{r['policy']}.svg", f"Idle time, policy {r['policy']}", p.text()


def all_of(rows, m, note):
    for make in (error_bars, over_time, latencies, events):
        yield from make(rows, m, note)
