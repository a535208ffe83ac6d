"""Where the device's time goes that nobody has: the gaps between one piece of work and the next, by cause, from what mete trace says."""
import bisect

CAUSES = ["first", "end", "closed", "inside"]
WHAT = {"first": "a turn has begun, and its first launch has not come", "end": "a turn goes on, and nothing of its holder follows",
        "closed": "no turn is open", "inside": "between two launches of one turn"}


def tracks(events):
    """Of a trace: turns (begin, end) by tenant, and busy spans (begin, end, tenant) in order; microseconds."""
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    turns, busy = {}, []
    for e in events:
        tenant, _, kind = names.get((e["pid"], e["tid"]), "").partition(": ")
        if e["ph"] != "X":
            continue
        if kind == "turns":
            turns.setdefault(tenant, []).append((e["ts"], e["ts"] + e["dur"]))
        elif kind == "busy":
            busy.append((e["ts"], e["ts"] + e["dur"], tenant))
    return {t: sorted(x) for t, x in turns.items()}, sorted(busy)


def last_before(turns, at):
    """The turn that had begun last by then."""
    i = bisect.bisect_right(turns, (at + 1, float("inf")))
    return turns[i - 1] if i else None


def causes(turns, busy):
    """Percent of the time from the first piece of work to the last, by cause."""
    lost = dict.fromkeys(CAUSES, 0.0)
    if len(busy) < 2:
        return lost
    end, who = busy[0][1], busy[0][2]
    for begin, until, tenant in busy[1:]:
        if begin > end:
            before, after = last_before(turns.get(who, []), end), last_before(turns.get(tenant, []), begin)
            if who == tenant and before == after:
                lost["inside"] += begin - end
            else:
                closed = min(max(before[1], end), begin) if before else end
                opened = min(max(after[0], closed), begin) if after else begin
                lost["end"] += closed - end
                lost["closed"] += opened - closed
                lost["first"] += begin - opened
        if until > end:
            end, who = until, tenant
    whole = end - busy[0][0]
    return {k: round(100 * v / whole, 2) for k, v in lost.items()}
