"""<api>_types.h, and the header for client programs: types, constants, and for clients prototypes and version macros."""

import re

from .text import banner


def types_header(spec):
    guard = f"METE_{spec.upper}_TYPES"
    return "\n".join([banner(spec, f"types of the {spec.name} API"), f"#ifndef {guard}", f"#define {guard}", "",
                      "#include <stddef.h>", "#include <stdint.h>", "",
                      *type_lines(spec, lambda header: True), "", f"#endif /* {guard} */", ""])


def client_header(spec):
    """What a program includes. Every variant is declared under its own name before the macros choose one of them."""
    guard, types = f"METE_{spec.upper}_H", f"METE_{spec.upper}_TYPES"
    def shown(header):
        return header is None or header in spec.include

    calls = [c for c in spec.calls if shown(c.header) and not c.untyped]
    out = [banner(spec, f"the {spec.name} API for programs that call it"), f"#ifndef {guard}", f"#define {guard}", "",
           "#include <stddef.h>", "#include <stdint.h>", "", "#ifdef __cplusplus", 'extern "C" {', "#endif", "",
           f"#ifndef {types}", f"#define {types}", "", *type_lines(spec, shown), "", f"#endif /* {types} */", ""]
    out += [f"{c.prototype()};" for c in calls]
    out += ["", "#ifdef __cplusplus", "}", "#endif", ""]
    out += macro_lines(spec, calls)
    out += ["", f"#endif /* {guard} */", ""]
    return "\n".join(out)


def version_macros(calls):
    """What the header's names mean: {name: symbol}, and the same where the per-thread default stream is chosen."""
    plain = {c.macro: c.symbol for c in calls if c.macro and not c.per_thread}
    twins = {c.macro or c.plain: c.symbol for c in calls if c.per_thread and (c.macro or c.base not in plain)}
    return plain, twins


def macro_lines(spec, calls):
    def define(table):
        return [f"#define {name} {symbol}" for name, symbol in table.items()]

    plain, twins = version_macros(calls)
    if not spec.per_thread_macro or not twins:
        return define(plain)
    both = {n: s for n, s in plain.items() if n in twins}
    rest = {n: s for n, s in plain.items() if n not in twins}
    return [f"#ifdef {spec.per_thread_macro}", *define(twins), "#else", *define(both), "#endif", *define(rest)]


def type_lines(spec, shown):
    """All types, each behind what it needs."""
    out, done = [], set()
    if spec.version_macro:
        out.append(f"#define {spec.version_macro} {spec.version}")
    out += [f"#define {name} {value}".rstrip() for name, value in spec.constants.items()]
    out.append("")
    tags = {r.tag: r for r in spec.records}

    def need(text):
        for word in re.findall(r"[A-Za-z_]\w*", text):
            emit(word)

    def emit(name):
        if name in done:
            return
        record = spec.record_of.get(name) or tags.get(name)
        if name in spec.handles:
            done.add(name)
            out.append(f"typedef struct {spec.handles[name]['tag']} *{name};")
        elif name in spec.typedefs:
            done.add(name)
            need(spec.typedefs[name])
            out.append(f"typedef {spec.typedefs[name]} {name};")
        elif name in spec.functions:
            done.add(name)
            need(spec.functions[name])
            out.append("typedef " + spec.functions[name].replace("(*)", f"(*{name})", 1) + ";")
        elif record:
            done.update([record.tag, *record.typedefs])
            for field in record.fields:
                need(field.type)
            out.extend(record_lines(record))

    for e in spec.enums:
        if shown(e.header):
            out += enum_lines(e)
    hidden = {r.tag for r in spec.records if not shown(r.header)}
    hidden |= {n for r in spec.records if not shown(r.header) for n in r.typedefs}
    for name in [*spec.handles, *spec.functions, *(r.tag for r in spec.records)]:
        if name not in hidden:
            emit(name)
    for name, target in spec.typedefs.items():
        if target not in hidden:
            emit(name)
    return out


def enum_lines(e):
    out = [f"{'typedef ' if e.typedef else ''}enum {e.tag} {{"]
    for name, value in e.values.items():
        out.append(f"\t{name} = {value if -(1 << 31) <= value < (1 << 31) else hex(value)},")
    out.append(f"}} {e.typedef};" if e.typedef else "};")
    return out


def record_lines(r):
    align = f" __attribute__((aligned({r.align})))" if r.align else ""
    out = [f"{'typedef ' if r.typedefs else ''}{r.kind}{align} {r.tag} {{"]
    for line in r.lines:
        s = line.split(" : ")[0].rstrip()
        depth = 1 + (len(s) - len(s.lstrip())) // 2
        out.append("\t" * depth + s.strip() + ("" if s.endswith("{") else ";"))
    out.append(f"}} {', '.join(r.typedefs)};" if r.typedefs else "};")
    if r.size:
        name = f"{r.kind} {r.tag}"
        out += ["#ifndef __cplusplus", f'_Static_assert(sizeof({name}) == {r.size}, "{r.tag}");', "#endif"]
    return out
