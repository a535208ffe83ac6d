"""docs/coverage.md: what becomes of every call, as a page for people."""

import sys


def gate(call):
    if call.gate == "not":
        return f"not: {call.gate_reason}" if call.gate_reason else ""
    return call.gate


def travel(call):
    if call.goes_as:
        return f", as {call.goes_as}"
    if call.generated and call.sync == "local":
        return ", asked once"
    return f", {call.travel}" if call.travel != "none" else ""


def heads(spec):
    return ["call", "since", "software device", "shim", "charge", *(["gate"] if spec.stream else []), "remote"]


def row(cells, blank=" "):
    return "|" + "|".join(f"{blank}{cell}{blank}" for cell in cells) + "|"


def page(spec, soft_list):
    soft = {c.symbol for c in soft_list or []}
    calls = spec.calls
    treats = {}
    for c in calls:
        treats[c.treat] = treats.get(c.treat, 0) + 1
    out = [f"# Coverage of the {spec.name} API", "",
           "Generated from the spec (`api/README.md` says how); do not edit.", "",
           f"{len(calls)} calls: {sum(c.symbol in soft for c in calls)} implemented by the software device; in the shim "
           + ", ".join(f"{v} {k}" for k, v in sorted(treats.items())) + ".", "",
           "- **since**: version of the API that introduced the call; *per-thread* marks variants for the per-thread default"
           " stream",
           "- **shim**: `pass` goes straight to the driver, `custom` to a body written by hand, `refuse` answers not supported,"
           " other words are generated bodies",
           "- **charge**: how the memory ledger accounts for it: a number of bytes that the arguments give, `measured` after"
           " the driver took it, `pool`, `release`, `import`, `reference`; `not` and why, for calls that take memory and pass",
           *(["- **gate**: which engine's turn the call waits for, with compute shares; `not` and why, for calls that submit"
              " work to a stream and pass without waiting"] if spec.stream else []),
           "- **remote**: what a caller waits for when the device is on another machine; behind it how the call travels: `plain`"
           " by generated bodies, `around` by a body written by hand round the generated one, `custom` by bodies written by"
           " hand, `as` another call, `asked once` and remembered", "",
           row(heads(spec)), row(["---" for _ in heads(spec)], "")]
    for c in calls:
        since = f"{c.since // 1000}.{c.since % 1000 // 10}" if spec.version and c.since else ""
        since += " per-thread" if c.per_thread else ""
        charge = "" if c.charge == "none" else c.charge
        cells = [c.symbol, since, "yes" if c.symbol in soft else "", c.treat, charge, *([gate(c)] if spec.stream else []),
                 f"{c.sync}{travel(c)}"]
        out.append(row(cells))
    return "\n".join([*out, ""])


def compare(text, path, shown, target="coverage-page"):
    try:
        with open(path, encoding="utf-8") as f:
            same = f.read() == text
    except OSError:
        same = False
    if not same:
        print(f"{shown} does not say what the spec says; write it anew with: meson compile {target}", file=sys.stderr)
    return 0 if same else 1
