"""Time that tenants had of a device, and the errors of their shares: arithmetic alone."""
import bisect
import math

SECOND = 1_000_000_000
STOOD_STILL = 0.001  # a window in which a processor did so for a larger part is not calm


class Curve:
    """Device time had so far, at moments; a straight line between two of them."""

    def __init__(self, points=()):
        self.t, self.s = [], []
        for t, s in points:
            self.add(t, s)

    def add(self, t, s):
        if self.t and t <= self.t[-1]:
            return
        self.t.append(t)
        self.s.append(s)

    def at(self, t):
        i = bisect.bisect_right(self.t, t)
        if i == 0:
            return self.s[0] if self.s else 0
        if i == len(self.t):
            return self.s[-1]
        t0, t1, s0, s1 = self.t[i - 1], self.t[i], self.s[i - 1], self.s[i]
        return s0 + (s1 - s0) * (t - t0) / (t1 - t0)


class Sum:
    """Several processes of one tenant."""

    def __init__(self, curves):
        self.curves = list(curves)

    def between(self, a, b):
        return sum(c.at(b) - c.at(a) for c in self.curves)

    def share(self, a, b):
        """Percent of the time from a to b."""
        return 100 * self.between(a, b) / (b - a) if b > a else 0.0


class Still:
    """How long each processor stood still: of work that needs one of them, the worst counts."""

    def __init__(self, curves):
        self.curves = list(curves)

    def between(self, a, b):
        return max((c.at(b) - c.at(a) for c in self.curves), default=0)


def of_marks(marks):
    """A curve of what kernels wrote: (begin, end, length alone), the length spread over the time that it took."""
    curve, had, last = Curve(), 0, 0
    for begin, end, length in sorted(marks, key=lambda m: m[1]):
        curve.add(max(begin, last), had)
        had += length
        curve.add(end, had)
        last = end
    return curve


def windows(spans, length, step):
    """All windows of this length that lie within one of the spans, sliding by step."""
    for a, b in spans:
        t = a
        while t + length <= b:
            yield t, t + length
            t += step


def merged(spans, slack=0):
    out = []
    for a, b in sorted(spans):
        if out and a <= out[-1][1] + slack:
            out[-1][1] = max(out[-1][1], b)
        else:
            out.append([a, b])
    return [(a, b) for a, b in out]


def percentile(values, p):
    """The smallest value that p percent of them do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * p / 100) - 1)] if ordered else float("nan")


def errors(tenant, target, spans, length=SECOND, step=SECOND // 20, still=None):
    """How far from its target the tenant was: over every window, and in the long run. In points of a percent. With `still`:
    for how long the machine stood still in the worst window, and the errors of windows in which it did not."""
    every = list(windows(spans, length, step))
    off = [tenant.share(a, b) - target for a, b in every]
    time = sum(b - a for a, b in spans)
    had = sum(tenant.between(a, b) for a, b in spans)
    size = [abs(e) for e in off]
    found = {"target": target, "share": 100 * had / time if time else float("nan"),
             "long_run": abs(100 * had / time - target) if time else float("nan"),
             "mean": sum(size) / len(size) if size else float("nan"), "p95": percentile(size, 95),
             "max": max(size) if size else float("nan"), "windows": len(size)}
    if still and size:
        stood = [still.between(a, b) for a, b in every]
        calm = [e for e, ns in zip(size, stood) if ns <= length * STOOD_STILL]
        found["still_ms"] = stood[size.index(max(size))] / 1e6
        found["calm"] = {"windows": len(calm), "mean": sum(calm) / len(calm) if calm else 0, "max": max(calm, default=0)}
    return found
