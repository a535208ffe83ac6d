#!/usr/bin/env python3
"""
Writes Level Zero's face from its spec: levelzerogen.py levelzero.toml --out FOLDER [--tables]

  levelzero_table.h    struct levelzero_table, with one pointer per call in the order of the loader's tables, and what is
                       known of each table
  levelzero_tables.c   the same as data
  levelzero_getters.c  what the loader looks for in a driver, zeGet*ProcAddrTable(); the stand-in has the same
  levelzero_face.h     the prototypes of the bodies, face_<call>
  levelzero_bodies.c   the generated bodies, and which call has one
  levelzero.map        the exports

--tables prints instead each table with its calls, one a line. The spec's form is told at its head; every fault of it is
named, and then nothing is written.
"""
import argparse
import os
import re
import string
import sys
import tomllib

from gen.declared import Declared

KEYS = {"args", "charge", "gate", "treat"}
CHARGE = re.compile(r"release$|bytes\(.+\)$|not: \S.*$")
ENTRY = re.compile(r"(\w+) (\d+)$")
# Names that tell of memory, and of work. What is read, freed or described there takes none.
TAKES = re.compile(r"Alloc(Shared|Device|Host)|PhysicalMemCreate|ImageCreate$|ImageView|Import|OpenIpc|(Mem|Image)\w*(Resident|Map$|Reserve)"
                   r"|MemGetIpc|CommandListAppend(Mem|ImageCopy\w*Memory)")
GIVES = re.compile(r"zeMem(Free|Close)|zePhysicalMemDestroy|zeImageDestroy|zeContextDestroy")
WORKS = re.compile(r"Append|Execute")


class Call(Declared):
    def __init__(self, symbol, minor, block, bodies, fault):
        super().__init__(symbol, block, KEYS, fault)
        self.minor = minor
        self.check(bodies, fault)

    def check(self, bodies, fault):
        self.check_treat(bodies, fault)
        self.check_gate(fault)
        if self.treat != "pass" and not self.args:
            fault(self.symbol, '"args" is missing: the call is treated')
        if self.charge and not CHARGE.match(self.charge):
            fault(self.symbol, f'charge "{self.charge}": bytes(EXPRESSION), release or "not: REASON"')
        if (TAKES.search(self.symbol) or GIVES.match(self.symbol)) and not self.charge and not WORKS.search(self.symbol):
            fault(self.symbol, '"charge" is missing: the name tells of memory')
        if WORKS.search(self.symbol) and self.symbol.startswith("ze") and not self.gate and self.symbol[:3] not in ("zet", "zes"):
            fault(self.symbol, '"gate" is missing: the call may submit work')
        if self.charge and not self.charge.startswith("not: ") and self.treat != "custom":
            fault(self.symbol, f'charge "{self.charge}" with treat "{self.treat}": nobody would charge it')

    @property
    def prototype(self):
        return f"ze_result_t face_{self.symbol}({self.parameters})"

    @property
    def member(self):
        return f"ze_result_t (*{self.symbol})({self.parameters});" if self.args else f"void *{self.symbol};"

    def words(self):
        names = self.names
        engine = "WIRE_COPY" if self.gate.startswith("copy") else "WIRE_COMPUTE"
        kernels = [n for t, n in self.args if t.startswith(("ze_kernel_handle_t", "ze_image_handle_t"))]
        groups = next((n for t, n in self.args if t.startswith("const ze_group_count_t")), "")
        waits = "numWaitEvents, phWaitEvents" if "numWaitEvents" in names else "0, NULL"
        count = next((n for n in names if n in ("numWaitEvents", "numEvents", "numSemaphores")), "0")
        kind = f"list_kind({kernels[0] if kernels else 'NULL'}, {groups if groups == 'pLaunchFuncArgs' else 'NULL'})"
        return {"REAL": f"levelzero_real.{self.symbol}", "ARGS": ", ".join(names), "CALL": f'"{self.symbol}"', "LIST": names[0],
                "ENGINE": engine, "BYTES": self.copied_bytes, "KIND": kind, "WAITS": waits,
                "COUNT": count if "Signal" not in self.symbol or count == "numWaitEvents" else "0"}


class Table:
    """One of the loader's tables: its name, and its calls in order."""

    def __init__(self, name, block, calls, bodies, fault):
        self.name, self.rest, self.calls = name, block.get("rest") == "pass", []
        stem = "ze" if name == "zeGlobal" else "zes" if name == "zesGlobal" else name.removesuffix("Exp")
        for entry in block.get("calls", []):
            m = ENTRY.match(entry)
            if not m:
                fault(name, f'cannot read the entry "{entry}": NAME MINOR')
                continue
            self.calls.append(Call(stem + m[1], int(m[2]), calls.pop(stem + m[1], {}), bodies, fault))

    @property
    def getter(self):
        return f"{self.name[:2]}Get{self.name[2:]}ProcAddrTable" if self.name[2].isupper() else f"{self.name[:3]}Get{self.name[3:]}ProcAddrTable"


def read(path):
    faults = []

    def fault(where, what):
        faults.append(f"{os.path.basename(path)}: {where}: {what}")

    with open(path, "rb") as f:
        spec = tomllib.load(f)
    bodies = {name: block["code"] for name, block in spec.get("body", {}).items()}
    blocks = dict(spec["call"])
    tables = [Table(n, b, blocks, bodies, fault) for n, b in spec["table"].items()]
    tables += [Table(n, {"rest": "pass"}, {}, bodies, fault) for n in spec["tools"]["tables"]]
    for name in blocks:
        fault(name, "no table has this call")
    for t in tables:
        for c in t.calls:
            if c.minor > spec["api"]["minor"]:
                fault(c.symbol, f'1.{c.minor} is newer than the file, 1.{spec["api"]["minor"]}')
    if faults:
        sys.exit("\n".join(faults))
    return spec, tables, bodies


HEAD = "/* Generated from levelzero.toml. */"


def table_header(spec, tables):
    lines = [HEAD, "#pragma once", "", '#include "levelzero/ze_types.h"', "", "#include <stdbool.h>", "",
             f"#define LEVELZERO_MINOR {spec['api']['minor']}u", "", "struct levelzero_table {"]
    lines += ["\t" + c.member for t in tables for c in t.calls]
    lines += ["};", "", "/* Where a table's calls lie in the struct; `rest`: what is behind them passes. */", "struct levelzero_part {",
              "\tconst char *getter;", "\tuint16_t first, count;", "\tbool rest;", "};", "",
              f"#define LEVELZERO_PARTS {len(tables)}u", f"#define LEVELZERO_CALLS {sum(len(t.calls) for t in tables)}u",
              "extern const struct levelzero_part levelzero_parts[LEVELZERO_PARTS];",
              "extern const char *const levelzero_names[LEVELZERO_CALLS];", "/* N of the version 1.N that each came with. */",
              "extern const uint8_t levelzero_since[LEVELZERO_CALLS];", "",
              "/* What each getter does, by the number of its part. */",
              "ze_result_t levelzero_get(unsigned int part, uint32_t version, void **table);"]
    return "\n".join(lines) + "\n"


def table_source(tables):
    lines = [HEAD, '#include "levelzero_table.h"', "", "const struct levelzero_part levelzero_parts[LEVELZERO_PARTS] = {"]
    first = 0
    for t in tables:
        lines.append(f'\t{{ "{t.getter}", {first}, {len(t.calls)}, {"true" if t.rest else "false"} }},')
        first += len(t.calls)
    calls = [c for t in tables for c in t.calls]
    lines += ["};", "", "const char *const levelzero_names[LEVELZERO_CALLS] = {"] + [f'\t"{c.symbol}",' for c in calls]
    lines += ["};", "", "const uint8_t levelzero_since[LEVELZERO_CALLS] = {", "\t" + ", ".join(str(c.minor) for c in calls), "};"]
    return "\n".join(lines) + "\n"


def getters(tables):
    lines = [HEAD, '#include "levelzero_table.h"', "", "#pragma GCC visibility push(default)"]
    for i, t in enumerate(tables):
        lines += [f"ze_result_t {t.getter}(uint32_t version, void **table);", f"ze_result_t {t.getter}(uint32_t version, void **table)",
                  "{", f"\treturn levelzero_get({i}, version, table);", "}", ""]
    return "\n".join([*lines, "#pragma GCC visibility pop"]) + "\n"


def face(spec, tables):
    treated = [c for t in tables for c in t.calls if c.treat != "pass"]
    lines = [HEAD, "#pragma once", "", '#include "levelzero_table.h"', "", "/* The driver's. */",
             "extern struct levelzero_table levelzero_real;", "/* Ours; NULL: the driver's own. */",
             "extern const struct levelzero_table levelzero_ours;", "/* Ended by NULL. */",
             "extern const char *const levelzero_extensions[];", ""]
    return "\n".join(lines + [c.prototype + ";" for c in treated]) + "\n"


def bodies_source(spec, tables, bodies):
    lines = [HEAD, '#include "core/marks.h"', '#include "levelzero/lists.h"', '#include "levelzero_face.h"', ""]
    treated = [c for t in tables for c in t.calls if c.treat != "pass"]
    for c in treated:
        if c.treat in bodies:
            lines += [c.prototype, "{", string.Template(bodies[c.treat]).substitute(c.words()).strip("\n"), "}", ""]
    lines += ["const struct levelzero_table levelzero_ours = {"] + [f"\t.{c.symbol} = face_{c.symbol}," for c in treated]
    lines += ["};", "", "const char *const levelzero_extensions[] = {"] + [f'\t"{n}",' for n in spec["extensions"]["pass"]]
    return "\n".join([*lines, "\tNULL,", "};"]) + "\n"


def exports(tables):
    return "\n".join(["# Generated from levelzero.toml.", "{", "global:", *(f"\t{t.getter};" for t in tables), "local:", "\t*;", "};"]) + "\n"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("spec")
    p.add_argument("--out")
    p.add_argument("--tables", action="store_true")
    args = p.parse_args()
    spec, tables, bodies = read(args.spec)
    if args.tables:
        print("\n".join(f"{t.getter} {c.symbol} {c.minor}" for t in tables for c in t.calls))
        return
    for name, text in (("levelzero_table.h", table_header(spec, tables)), ("levelzero_tables.c", table_source(tables)),
                       ("levelzero_getters.c", getters(tables)), ("levelzero_face.h", face(spec, tables)),
                       ("levelzero_bodies.c", bodies_source(spec, tables, bodies)), ("levelzero.map", exports(tables))):
        with open(os.path.join(args.out, name), "w", encoding="utf-8") as f:
            f.write(text)


if __name__ == "__main__":
    main()
