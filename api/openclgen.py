#!/usr/bin/env python3
"""
Writes OpenCL's face from its spec: openclgen.py opencl.toml --out FOLDER [--symbols]

  opencl_face.h     enum opencl_call, and the prototypes of the bodies, face_<symbol>
  opencl_bodies.c   the generated bodies, what is put into the loader's table, and the extensions by name
  opencl_entry.S    the exports of a loader, for programs whose own takes no layer (front.h)
  opencl_front.c    what each of them is in the loader's table
  opencl.map        their version nodes

--symbols prints the names of the dispatch table's calls instead, one a line. The spec's form is told at its head; every
fault of it is named, and then nothing is written.
"""
import argparse
import os
import re
import string
import sys
import tomllib

from gen.declared import Declared
from gen.shim import entries

KEYS = {"args", "returns", "since", "export", "extension", "charge", "treat", "gate", "as"}
CHARGE = re.compile(r"none$|measured$|release$|bytes\(.+\)$|not: \S.*$")
LAYER = ("clGetLayerInfo", "clInitLayer", "clInitLayerWithProperties", "clDeinitLayer")
EXPORT = re.compile(r"[1-9]\.[0-9]$")


class Call(Declared):
    """A block of the spec, checked."""

    def __init__(self, symbol, block, bodies, fault):
        super().__init__(symbol, block, KEYS, fault)
        self.returns = block.get("returns", "cl_int")
        self.extension = block.get("extension", "")
        self.export = block.get("export", "")
        self.other = block.get("as", "")
        for key in ("since", "charge"):
            if key not in block:
                fault(symbol, f'"{key}" is missing')
        self.check(bodies, fault)

    def check(self, bodies, fault):
        if self.charge and not CHARGE.match(self.charge):
            fault(self.symbol, f'charge "{self.charge}": none, measured, release, bytes(EXPRESSION) or "not: REASON"')
        self.check_treat(bodies, fault)
        self.check_gate(fault)
        if self.export and (self.extension or not EXPORT.match(self.export)):
            fault(self.symbol, f'export "{self.export}": the version of OpenCL, as "1.2"; an extension\'s call has none')
        if self.other:
            return
        if self.treat != "pass" and not self.args:
            fault(self.symbol, '"args" is missing: the call is treated')
        if self.symbol.startswith("clEnqueue") and not self.gate:
            fault(self.symbol, '"gate" is missing: the call may submit work')
        if self.treat != "custom" and (self.charge in ("measured", "release") or self.charge.startswith("bytes(")):
            fault(self.symbol, f'charge "{self.charge}" with treat "{self.treat}": nobody would charge it; treat it by hand, or '
                               'say "not: REASON"')

    @property
    def prototype(self):
        star = "" if self.returns.endswith("*") else " "
        return f"{self.returns}{star}CL_API_CALL face_{self.symbol}({self.parameters})"

    def words(self):
        """What a generated body's words stand for."""
        names = self.names
        queue = next((n for t, n in self.args if t == "cl_command_queue"), "NULL")
        waits = next((n for n in names if n.startswith("blocking")), "CL_FALSE")
        real = f"opencl_real.{self.symbol}"
        if self.extension:
            real = f"(({self.returns}(CL_API_CALL *)({self.parameters}))extensions_real(OPENCL_{self.symbol}, {queue}))"
        return {"REAL": real, "ARGS": ", ".join(names), "CALL": f'"{self.symbol}"', "QUEUE": queue, "WAITS": waits,
                "CHECKED": ", ".join("&r" if n == "errcode_ret" else n for n in names),
                "EVENTS": "num_events_in_wait_list, event_wait_list", "BYTES": self.copied_bytes}


def read(path):
    faults = []

    def fault(where, what):
        faults.append(f"{os.path.basename(path)}: {where}: {what}")

    with open(path, "rb") as f:
        spec = tomllib.load(f)
    bodies = {name: block["code"] for name, block in spec.get("body", {}).items()}
    calls = [Call(s, b, bodies, fault) for s, b in spec["call"].items()]
    known = {c.symbol for c in calls}
    for c in calls:
        if c.other and (c.other not in known or not c.extension):
            fault(c.symbol, f'as "{c.other}": it must be an extension\'s call, and that one a call of the spec')
    if faults:
        sys.exit("\n".join(faults))
    return calls, bodies


def header(calls):
    lines = ["/* Generated from opencl.toml. */", "#pragma once", "", '#include "opencl/types.h"', "", "enum opencl_call {"]
    lines += [f"\tOPENCL_{c.symbol}," for c in calls if c.extension]
    lines += ["\tOPENCL_EXTENSIONS", "};", ""]
    lines += [c.prototype + ";" for c in calls if c.treat != "pass"]
    return "\n".join(lines) + "\n"


def source(calls, bodies):
    lines = ["/* Generated from opencl.toml. */", '#include "opencl_face.h"', '#include "opencl/enqueue.h"',
             '#include "opencl/extensions.h"', '#include "opencl/layer.h"', ""]
    for c in calls:
        if c.treat in bodies:
            lines += [c.prototype, "{", string.Template(bodies[c.treat]).substitute(c.words()).strip("\n"), "}", ""]
    lines += ["void layer_fill(struct _cl_icd_dispatch *table)", "{"]
    lines += [f"\ttable->{c.symbol} = face_{c.symbol};" for c in calls if c.treat != "pass" and not c.extension]
    lines += ["}", "", "const struct extension extensions[OPENCL_EXTENSIONS] = {"]
    lines += [f'\t[OPENCL_{c.symbol}] = {{ "{c.symbol}", (void *)face_{c.other or c.symbol} }},' for c in calls if c.extension]
    return "\n".join(lines + ["};"]) + "\n"


def exported(calls):
    """In the order of their version nodes."""
    return sorted((c for c in calls if c.export), key=lambda c: c.export)


def entry(calls):
    symbols = [c.symbol for c in exported(calls)]
    return entries("/* Generated from opencl.toml. */", len(symbols), [(s, i) for i, s in enumerate(symbols)])


def front(calls):
    lines = ["/* Generated from opencl.toml. */", '#include "opencl/front.h"', "", "const struct front_call front_calls[] = {"]
    for c in exported(calls):
        handle = "false" if c.returns == "cl_int" else "true"
        lines += [f'\t{{ "{c.symbol}", offsetof(struct _cl_icd_dispatch, {c.symbol}), {handle} }},']
    return "\n".join([*lines, "};", "", f"const unsigned int front_count = {len(exported(calls))}u;",
                      f"void *front_own[{len(exported(calls))}];"]) + "\n"


def version_map(calls):
    """Each node has those before it. What a loader asks of a layer stands in the first, where any lookup finds it."""
    lines, before = ["# Generated from opencl.toml."], ""
    for node in sorted({c.export for c in calls if c.export}):
        lines += [f"OPENCL_{node} {{", "global:", *(f"\t{c.symbol};" for c in calls if c.export == node)]
        if not before:
            lines += [f"\t{s};" for s in LAYER] + ["local:", "\t*;"]
        lines += [f"}}{before};"]
        before = f" OPENCL_{node}"
    return "\n".join(lines) + "\n"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("spec")
    p.add_argument("--out")
    p.add_argument("--symbols", action="store_true")
    args = p.parse_args()
    calls, bodies = read(args.spec)
    if args.symbols:
        print("\n".join(c.symbol for c in calls if not c.extension))
        return
    for name, text in (("opencl_face.h", header(calls)), ("opencl_bodies.c", source(calls, bodies)), ("opencl_entry.S", entry(calls)),
                       ("opencl_front.c", front(calls)), ("opencl.map", version_map(calls))):
        with open(os.path.join(args.out, name), "w", encoding="utf-8") as f:
            f.write(text)


if __name__ == "__main__":
    main()
