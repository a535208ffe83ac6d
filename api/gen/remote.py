"""<api>_remote.h, <api>_remote_exports.c: a remote client and its worker; what both ends agree on.

Bodies of the client are written by remote_client.py over the header that [api] names as `client`, handlers of the worker by
remote_worker.py over that of `worker`; both are about calls whose travel is "plain" or "around".

Order on the wire, the same for both ends: the arguments by value; then the pointers to one object or to a string; then
those whose length is an expression, which may use all before. A pointer is preceded by whether it is there, so that a NULL
reaches the driver and it is the driver that judges it. Handles travel as ids, of what a call creates the client sends the
id that it has minted. What records point to comes behind them. Output pointers send nothing but whether they are there; the
worker makes room in the reply, whose size it knows from the arguments that it has checked.

Names of the generated functions' own variables end in _, which no parameter does.
"""

import zlib

from .length import checked
from .text import banner, failure, ret


def travellers(spec):
    """The calls whose numbers travel by generated bodies; twins and those that go `as` another have none of their own."""
    return [c for c in spec.calls if c.generated and not c.per_thread and not c.goes_as]


def streams_of(spec, call):
    return [a.name for a in call.args if not a.pointer and spec.kind_of(a.type) == "stream"]


def twin_of_its_own(spec, call):
    """A plain twin without a stream among its parameters: only a stream inside a record tells it from its call."""
    return bool(call.per_thread) and call.generated and not call.goes_as and not streams_of(spec, call)


def in_order(call):
    """By value; pointers of known size; pointers whose length depends on others."""
    sent = [a for a in call.args if a.value != "ignored"]
    by_value = [a for a in sent if not a.pointer or a.value == "device"]
    pointers = [a for a in sent if a not in by_value]
    return by_value + [a for a in pointers if not a.expr] + [a for a in pointers if a.expr]


BY_HAND = 1  # grows with each change of the requests that are written by hand (src/remote/copy.h, ...)


def fingerprint(spec):
    """A number that changes with whatever the two ends must agree on."""
    text = "\n".join([f"{BY_HAND}", *(f"{c.index} {c.prototype()} {c.sync} {c.block['args']}" for c in spec.calls if c.travel != "none"),
                      *(f"{r.tag} {r.lines}" for r in spec.records)])
    return zlib.crc32(text.encode())


SIGNED = ("char", "short", "int", "long", "long long", "int8_t", "int16_t", "int32_t", "int64_t")


def number_of(spec, expr, args, bad, prefix=""):
    """C text of a length; `args` are the parameters, or the fields, that it is made of."""
    named = {a.name: a for a in args}

    def is_signed(kind, name, field):
        return spec.resolve(named[name].type if kind == "value" else named[name].target) in SIGNED

    return checked(expr, bad, is_signed, prefix)


def elements(spec, arg, args, bad, prefix=""):
    """C text: how many objects the pointer points to."""
    return number_of(spec, arg.expr, args, bad, prefix) if arg.expr else "UINT64_C(1)"


def byte_length(spec, arg, args, bad, prefix=""):
    """C text: the bytes that the pointer points to."""
    if arg.extent == "string" and not arg.expr:
        return ""
    if arg.extent == "one":
        return f"sizeof(*{prefix}{arg.name})"
    count = number_of(spec, arg.expr, args, bad, prefix)
    return count if arg.extent in ("bytes", "string") else f"remote_mul({bad}, {count}, sizeof(*{prefix}{arg.name}))"


def plain_type(ctype):
    return ctype.removeprefix("const ").strip()


def conversion(spec, ctype):
    """What a value of this type is on the wire: "stream", "device", "handle", "record" (holds such), None: itself."""
    kind = spec.kind_of(ctype)
    if kind in ("stream", "device"):
        return kind
    if spec.travels_as_id(ctype):
        return "handle"
    return "record" if spec.record(ctype) and spec.translated(plain_type(ctype)) else None


def passed_as(spec, arg):
    """What a parameter by value is on the wire; streams that need not be created cannot be ended."""
    if arg.pointer or arg.value:
        return None
    what = conversion(spec, arg.type)
    return "handle" if what == "stream" and "destroys" in arg.flags else what


def kind_name(spec, ctype):
    return "KIND_" + spec.kind_of(ctype).upper()


def mints(spec, arg):
    """Does the call create an object here whose id the client chooses?"""
    return arg.pointer and "creates" in arg.flags and conversion(spec, arg.target) in ("handle", "stream")


def owner_of(spec, call, ctype):
    """The parameter by value with which an object of this type goes away; None: nothing, or what its kind belongs to."""
    wanted = spec.objects.get(spec.kind_of(ctype), {}).get("owner", [])
    return next((a for w in wanted for a in call.args if not a.pointer and spec.kind_of(a.type) == w), None)


def converted_records(spec, use):
    """The records that calls need converted, inner ones first; use(arg) says whether a parameter counts."""
    out = []

    def add(ctype):
        r = spec.record(ctype)
        if not r or conversion(spec, ctype) != "record":
            return
        for f in r.fields:
            add(f.target if f.type.endswith("*") else f.type)
        if r not in out:
            out.append(r)

    for c in spec.calls:
        if c in travellers(spec) or twin_of_its_own(spec, c):
            for a in c.args:
                if use(a) and a.value != "ignored":
                    add(a.target if a.pointer else a.type)
    return out


def tails(spec, record):
    """The fields of a record whose objects travel behind it."""
    return [f for f in record.fields if f.type.endswith("*") and not f.value]


def record_type(spec, record):
    return record.typedefs[0] if record.typedefs else f"{record.kind} {record.tag}"


def condition(field, prefix):
    """C text that guards a member of a union, or nothing."""
    if not field.when:
        return ""
    tag, values = field.when
    return "if (" + " || ".join(f"{prefix}{tag} == {v}" for v in values) + ")"


# Header ------------------------------------------------------------------------------------------------------------------


def remote_header(spec):
    n, up = spec.name, spec.upper
    out = [banner(spec, f"the {n} API over a link"), "#pragma once", "", f'#include "{n}_table.h"', '#include "remote.h"', "",
           "/* Both ends must have the same. */", f"#define {up}_REMOTE_FINGERPRINT UINT32_C({fingerprint(spec):#010x})", "",
           "/* Every call of the client: generated (travel \"plain\"), or written by hand in the place of a weak symbol. */"]
    out += [f"{c.prototype('client_' + c.symbol)};" for c in spec.calls]
    out += ["", "/* Generated, whoever answers the call. */"]
    out += [f"{c.prototype('client_plain_' + c.symbol)};" for c in spec.calls if c in travellers(spec) or twin_of_its_own(spec, c)]
    out += ["", "/* client_<symbol> of every call; what lookups by name hand out. */",
            f"extern const struct {n}_table {n}_remote_table;", "", "struct work;", "",
            "/* Every handler of the worker: generated (travel \"plain\"), or written by hand, or not there. */"]
    out += [f"int worker_{c.symbol}(struct work *work);" for c in spec.calls if c.travel != "none" and not c.per_thread]
    out += ["", "/* Generated, whoever handles the call. */"]
    out += [f"int worker_plain_{c.symbol}(struct work *work);" for c in travellers(spec)]
    out += ["", "enum remote_trait {", "\tREMOTE_FORGET = 1 << 0, /* nobody waits for the call's answer */",
            "\tREMOTE_REPORTS = 1 << 1, /* its answer may be about calls that nobody waited for: it creates and ends nothing */", "};", "",
            "/* enum remote_trait of every call. */", f"extern const uint8_t {n}_remote_traits[{up}_CALL_COUNT];", ""]
    return "\n".join(out)


# Exports -----------------------------------------------------------------------------------------------------------------


def exports_source(spec):
    """As of the software device: nothing inside the library reaches an exported name. Each call goes through the gate."""
    n = spec.name
    out = [banner(spec, "the exports of the remote client"), f'#include "{n}_remote.h"', '#include "remote/client/gate.h"', "",
           '#define EXPORT __attribute__((visibility("default")))', ""]
    for c in spec.calls:
        gated = c.prototype("gated_" + c.symbol)
        out += [f"static {gated}", "{", "\tGATED;", "", f"\t{ret(c)}client_{c.symbol}({c.names()});", "}", "",
                f"EXPORT {c.prototype()};", c.prototype(), "{", f"\t{ret(c)}gated_{c.symbol}({c.names()});", "}", ""]
    out += [f"const struct {n}_table {n}_remote_table = {{"]
    out += [f"\t.{c.symbol} = gated_{c.symbol}," for c in spec.calls]
    return "\n".join([*out, "};", ""])


def refusal(spec, call):
    value = failure(spec, call)
    return [f"\tclient_refused({spec.upper}_CALL_{call.symbol});", f"\t{ret(call)}{value};" if ret(call) else "\treturn;"]
