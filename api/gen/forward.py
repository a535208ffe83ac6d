"""<api>_forward.h, <api>_forward_client.c, <api>_forward_worker.c: a library that is forwarded at its own interface.

Its calls take a handle of the library, values, addresses of device memory, and scalars that stand in the program's memory or in
the device's, as the handle says. A body of the client writes them in the order of the parameters, one word each but for
scalars, which say where they stand; a handler of the worker reads them and calls the real library. What both are made of
stands in the header that [api] names as `forward`, with _worker for the worker's half. Exports of other headers than the API's
(`header`) come into a file of their own: <api>_forward_HEADER.c.

Names of the generated functions' own variables end in _, which no parameter does.
"""

import re

from . import blas
from .remote import number_of, plain_type
from .text import banner, failure, refused_by_name, ret


def forwarded(spec):
    return [c for c in spec.calls if c.generated]


def libraries(spec):
    """The headers other than the API's own, as names: "cublasLt.h" is "cublasLt"."""
    return sorted({c.header.removesuffix(".h") for c in spec.calls if c.header})


def forward_header(spec):
    n, up = spec.name, spec.upper
    out = [banner(spec, f"the {n} API, forwarded"), "#pragma once", "", f'#include "{n}_table.h"', "",
           "/* The exports: written by hand, or generated as weak symbols. */", "#pragma GCC visibility push(default)"]
    out += [f"{c.prototype()};" for c in spec.calls]
    out += ["#pragma GCC visibility pop", "", "struct forward_work;", "",
            "/* 0; -EPROTO: malformed; -EMSGSIZE: the results do not fit. */",
            "typedef int (*forward_handler)(struct forward_work *work);", "",
            "/* Of the calls whose travel is \"plain\". */",
            f"extern const forward_handler {n}_forward_handlers[{up}_CALL_COUNT];", ""]
    return "\n".join(out)


def sources(spec, routines=None):
    """`routines`: the calls whose arguments the client checks as the software device's library does."""
    files = {f"{spec.name}_forward_client.c": client_source(spec, None, routines),
             f"{spec.name}_forward_worker.c": worker_source(spec)}
    for name in libraries(spec):
        files[f"{spec.name}_forward_{name}.c"] = client_source(spec, name + ".h", routines)
    return files


def in_order(c):
    """What has a size that stands in other parameters comes last."""
    return sorted(c.args[1:], key=lambda a: bool(a.expr))


def handle_of(c):
    return c.args[0].name


def scalar_bytes(a):
    """C text: the bytes of a scalar."""
    return f"forward_scalar_bytes({a.expr if ',' in a.expr else a.expr + ', 0'})" if a.expr else f"sizeof(*{a.name})"


def array_bytes(spec, a, c, bad):
    return f"remote_mul({bad}, {number_of(spec, a.expr, c.args, bad)}, sizeof(*{a.name}))"


# Client ------------------------------------------------------------------------------------------------------------------


def client_source(spec, header, routines):
    out = [banner(spec, f"the client of the {spec.name} API, forwarded"), f'#include "{spec.name}_forward.h"',
           *(blas.INCLUDES if routines else []), f'#include "{spec.forward}"', ""]
    for c in spec.calls:
        if c.header == header:
            out += [("__attribute__((weak)) " if c.replaceable else "") + c.prototype(), "{",
                    *(client_body(spec, c, routines) if c.generated else refusal(spec, c)), "}", ""]
    out += refused_by_name(spec, header and header.removesuffix(".h"), "forward_refused(")
    return "\n".join(out)


def refusal(spec, c):
    return [f'\tforward_refused("{c.symbol}");', f"\t{ret(c)}{failure(spec, c)};" if ret(c) else "\treturn;"]


def client_body(spec, c, routines):
    outs = [a for a in c.args if a.pointer and a.direction in ("out", "inout")]
    arrays = [a for a in c.args if a.extent == "count"]
    declared, judged = blas.judgement(c, routines) if routines else ([], [])
    out = [*declared, "\tstruct forward_call c_;", *(["\tuint64_t room_ = 0;", "\tbool bad_ = false;"] if arrays else []), "",
           *judged]
    wrong = [f"!{a.name}" for a in c.args if a.extent in ("scalar", "count", "one")] + [f"({cond})" for cond in c.checks]
    if wrong:
        out += [f"\tif ({' || '.join(wrong)})", f"\t\treturn {spec.invalid};"]
    for a in arrays:
        out += [f"\troom_ = remote_add(&bad_, room_, {array_bytes(spec, a, c, '&bad_')});"]
    if arrays:
        out += ["\tif (bad_)", f"\t\treturn {spec.invalid};"]
    waits = "FORWARD_HOST" if all(a.extent == "scalar" for a in outs) and outs else "FORWARD_WAITS" if outs else "FORWARD_FORGET"
    out += [f"\tif (!forward_begin(&c_, {handle_of(c)}, {spec.upper}_CALL_{c.symbol}, {waits}, {'room_' if arrays else 0}))",
            "\t\treturn forward_end(&c_);"]
    for a in in_order(c):
        out += client_put(spec, a, c)
    if not outs:
        return [*out, "\tforward_send(&c_);", "\treturn forward_end(&c_);"]
    out += ["\tif (forward_send(&c_)) {"]
    out += [f"\t\tforward_get{'_scalar' if a.extent == 'scalar' else ''}(&c_, {a.name}, "
            f"{scalar_bytes(a) if a.extent == 'scalar' else f'sizeof(*{a.name})'});" for a in outs]
    return [*out, "\t}", "\treturn forward_end(&c_);"]


def client_put(spec, a, c):
    if not a.pointer:
        if spec.kind_of(a.type) == "stream":
            return [f"\tforward_put_stream(&c_, {a.name});"]
        return [f"\tforward_put(&c_, &{a.name}, sizeof({a.name}));"]
    if a.value == "device":
        return [f"\tforward_put_address(&c_, {a.name});"]
    if a.extent == "scalar":
        kind = {"in": "FORWARD_IN", "out": "FORWARD_OUT", "inout": "FORWARD_IN | FORWARD_OUT"}[a.direction]
        return [f"\tforward_put_scalar(&c_, {a.name}, {scalar_bytes(a)}, {kind});"]
    if a.extent == "count":
        return [f"\tforward_put(&c_, {a.name}, {array_bytes(spec, a, c, '&c_.call.out.bad')});"]
    return []  # one: given out


# Worker ------------------------------------------------------------------------------------------------------------------


def worker_source(spec):
    n, up = spec.name, spec.upper
    out = [banner(spec, f"the worker of the {n} API, forwarded"), f'#include "{n}_forward.h"',
           f'#include "{re.sub(r"[.]h$", "_worker.h", spec.forward)}"', "", "#include <errno.h>", ""]
    for c in forwarded(spec):
        out += handler(spec, c)
    out += [f"const forward_handler {n}_forward_handlers[{up}_CALL_COUNT] = {{"]
    out += [f"\t[{up}_CALL_{c.symbol}] = run_{c.symbol}," for c in forwarded(spec)]
    return "\n".join([*out, "};", ""])


def handler(spec, c):
    head, body, after = [], [], []
    handle = c.args[0]
    passed = {}
    for a in in_order(c):
        ctype = plain_type(a.type)
        if a.extent == "scalar":
            head.append(f"\tstruct forward_scalar {a.name}_;")
            kind = {"in": "FORWARD_IN", "out": "FORWARD_OUT", "inout": "FORWARD_IN | FORWARD_OUT"}[a.direction]
            size = scalar_bytes(a) if a.expr else f"sizeof({plain_type(a.target)})"
            body.append(f"\tforward_get_scalar(w_, &{a.name}_, {size}, {kind});")
            passed[a.name] = f"{a.name}_.at"
            if a.direction != "in":
                after.append(f"\tforward_put_scalar(w_, &{a.name}_);")
        elif a.value == "device":
            head.append(f"\tuint64_t {a.name};")
            body.append(f"\tforward_get_device(w_, &{a.name});")
            passed[a.name] = f"(void *)(uintptr_t){a.name}"
        elif a.extent == "count":
            head.append(f"\tconst {plain_type(a.target)} *{a.name};")
            body.append(f"\t{a.name} = remote_take(&w_->work->in, {array_bytes(spec, a, c, '&w_->work->in.bad')});")
        elif a.extent == "one":
            head.append(f"\t{plain_type(a.target)} {a.name}_value_ = 0;")
            passed[a.name] = f"&{a.name}_value_"
            after.append(f"\tforward_put(w_, &{a.name}_value_, sizeof({a.name}_value_));")
        elif spec.kind_of(a.type) == "stream":
            head.append(f"\t{ctype} {a.name};")
            body.append(f"\t{a.name} = ({ctype})forward_get_stream(w_);")
        else:
            head.append(f"\t{ctype} {a.name};")
            body.append(f"\tforward_get(w_, &{a.name}, sizeof({a.name}));")
    values = [passed.get(a.name, a.name) for a in c.args[1:]]
    call = f"((__typeof__({c.symbol}) *)w_->function)({', '.join([f'({handle.type})w_->handle', *values])})"
    return [f"static int run_{c.symbol}(struct forward_work *w_)", "{", *head, "", *body, "\tif (!forward_ready(w_))",
            "\t\treturn forward_refuse(w_);", f"\tw_->status = (int){call};", *after, "\treturn 0;", "}", ""]
