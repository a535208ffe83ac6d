"""<api>_soft.h and <api>_soft_exports.c: the exports of the software device.

The variants of calls with the thread's own default stream are made from the calls themselves.

Each export is a function of its own that goes to the hidden soft_<symbol>, and soft_table holds the hidden ones: nothing
inside the library reaches an exported name, so a library loaded before it that exports the same names cannot come between.
"""

import tomllib

from .spec import SpecError, toml_fault
from .text import banner, failure, refused_by_name, ret


def read_implemented(spec, path, shown):
    """The symbols in the list `implemented` of a TOML file, in the spec's order."""
    try:
        with open(path, encoding="utf-8") as f:
            text = f.read()
        listed = tomllib.loads(text).get("implemented", [])
    except OSError as e:
        raise SpecError(f"{shown}: {e.strerror}") from None
    except tomllib.TOMLDecodeError as e:
        raise SpecError(toml_fault(shown, text, str(e))) from None
    faults = [f'{shown}:{line_of(text, s)}: "{s}" is no call of {spec.path}' for s in listed if s not in spec.by_symbol]
    faults += [f'{shown}:{line_of(text, s)}: "{s}" is listed twice' for s in sorted(set(listed)) if listed.count(s) > 1]
    faults += [f'{shown}:{line_of(text, c.symbol)}: "{c.symbol}" needs "{c.plain}", of which it is made'
               for c in spec.calls if c.symbol in listed and c.per_thread and c.plain not in listed]
    if faults:
        raise SpecError("\n".join(faults))
    return [c for c in spec.calls if c.symbol in set(listed)]


def line_of(text, symbol):
    return next((n for n, line in enumerate(text.splitlines(), 1) if f'"{symbol}"' in line), 0)


def twins(implemented):
    """The calls among these that are variants with the thread's own default stream."""
    return [c for c in implemented if c.per_thread]


def twin_body(call):
    """The same call, while the null stream is the thread's own default stream."""
    return [call.prototype("soft_" + call.symbol), "{", "\tbool before = soft_per_thread;", f"\t{call.returns} result;", "",
            "\tsoft_per_thread = true;", f"\tresult = soft_{call.plain}({call.names()});", "\tsoft_per_thread = before;",
            "\treturn result;", "}", ""]


def behind_gate(spec):
    """The calls that wait while the process is locked for a checkpoint."""
    if not spec.door:
        return []
    return [c for c in spec.calls if c.returns == spec.result and not spec.outside.match(c.symbol)]


def gated_body(call):
    return [call.prototype("gated_" + call.symbol).replace(call.returns, f"static {call.returns}", 1), "{", f"\t{call.returns} result;", "",
            "\tif (!soft_gate_is())", f"\t\treturn soft_{call.symbol}({call.names()});", "\tsoft_gate_enter();",
            f"\tresult = soft_{call.symbol}({call.names()});", "\tsoft_gate_leave();", "\treturn result;", "}", ""]


def body_of(call, done, gated):
    return ("gated_" if call.symbol in gated else "soft_" if call.symbol in done else "no_") + call.symbol


def soft_header(spec, implemented):
    n = spec.name
    out = [banner(spec, "the calls that the software device implements"), "#pragma once", "", f'#include "{n}_table.h"', "",
           "/* What the exports reach, hidden names only: what the device's own lookup by name hands out. */",
           f"extern const struct {n}_table soft_table __attribute__((visibility(\"hidden\")));", "",
           "/* Written by the device: told of every call to something that it does not implement. */",
           f"void soft_unsupported(enum {n}_call call);", ""]
    if twins(implemented):
        out += ["#include <stdbool.h>", "", "/* In this thread the null stream is its own default stream. Defined by the device. */",
                'extern __thread bool soft_per_thread __attribute__((visibility("hidden")));', ""]
    if spec.door:
        out += ["/* Calls of a process that can be checkpointed are counted, and wait while it is locked. Defined by the device. */",
                "#include <stdatomic.h>", "#include <stdbool.h>", "",
                'extern _Atomic bool soft_gated __attribute__((visibility("hidden")));', "void soft_gate_enter(void);", "void soft_gate_leave(void);", "",
                "static inline bool soft_gate_is(void)", "{", "\treturn __builtin_expect(atomic_load_explicit(&soft_gated, memory_order_relaxed), 0);",
                "}", ""]
    out += [f"{c.prototype('soft_' + c.symbol)};" for c in implemented]
    return "\n".join([*out, ""])


def soft_source(spec, implemented):
    n, up = spec.name, spec.upper
    done = {c.symbol for c in implemented}
    out = [banner(spec, "the exports of the software device"), f'#include "{n}_soft.h"', "",
           '#define EXPORT __attribute__((visibility("default")))', ""]
    for c in twins(implemented):
        out += twin_body(c)
    gated = {c.symbol for c in behind_gate(spec) if c.symbol in done}
    for c in spec.calls:
        if c.symbol in gated:
            out += gated_body(c)
        if c.symbol not in done:
            out += [f"static {c.prototype('no_' + c.symbol)}", "{", f"\tsoft_unsupported({up}_CALL_{c.symbol});",
                    f"\t{ret(c)}{failure(spec, c)};" if ret(c) else "\treturn;", "}", ""]
        out += [f"EXPORT {c.prototype()};", c.prototype(), "{",
                f"\t{ret(c)}{body_of(c, done, gated)}({c.names()});", "}", ""]
        if spec.also:
            out += [f'EXPORT {c.prototype(spec.also + c.symbol)} __attribute__((alias("{c.symbol}")));', ""]
    if spec.by_name():
        out += ["void library_refused(const char *title, const char *symbol);", "",
                *refused_by_name(spec, None, f'library_refused("{spec.title}", ')]
    out += [f"const struct {n}_table soft_table = {{"]
    out += [f"\t.{c.symbol} = {body_of(c, done, gated)}," for c in spec.calls]
    return "\n".join([*out, "};", ""])
