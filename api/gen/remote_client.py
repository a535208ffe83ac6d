"""<api>_remote_client.c: the client's bodies of the calls whose travel is "plain" or "around", and what every other call
does when nobody has written it by hand. What they are made of: client/call.h in src/remote; the order on the wire: remote.py."""

from .remote import (byte_length, condition, conversion, converted_records, elements, in_order, kind_name, mints, owner_of,
                     passed_as, plain_type, record_type, refusal, streams_of, tails, travellers, twin_of_its_own)
from .text import banner

HELPERS = """/* The handle of an object that the worker named, NULL of none. */
static inline void *meet_object_(struct client_call *c_, enum remote_kind kind, const void *owner, uint64_t id)
{
	return id ? client_meet(c_, kind, owner, id) : NULL;
}
"""


def client_source(spec):
    n = spec.name
    out = [banner(spec, f"the client of the {n} API over a link"), f'#include "{n}_remote.h"', f'#include "{spec.client}"', "",
           HELPERS]
    for r in converted_records(spec, lambda a: not a.pointer or a.direction != "out"):
        out += use_record(spec, r)
        if tails(spec, r):
            out += room_of_tail(spec, r) + put_tail(spec, r)
    for r in converted_records(spec, lambda a: a.pointer and a.direction != "in"):
        out += meet_record(spec, r)
    for c in spec.calls:
        if c in travellers(spec) or twin_of_its_own(spec, c):
            out += client_body(spec, c)
    for c in spec.calls:
        weak = "__attribute__((weak)) " if c.replaceable else ""
        out += [f"{weak}{c.prototype('client_' + c.symbol)}", "{", *by_default(spec, c), "}", ""]
    return "\n".join(out)


def by_default(spec, c):
    """What a call does that nobody has written by hand."""
    streams = streams_of(spec, c)
    if c.goes_as:
        more = len(spec.by_symbol[c.goes_as].args) > len(c.args)
        stream = [spec.per_thread_stream if c.per_thread else "NULL"] if more else []
        return [f"\treturn client_{c.goes_as}({', '.join([a.name for a in c.args] + stream)});"]
    if c.per_thread and streams and c.sync != "refused":
        names = [f"{a.name} ? {a.name} : {spec.per_thread_stream}" if a.name in streams else a.name for a in c.args]
        return [f"\treturn client_{c.plain}({', '.join(names)});"]
    if c in travellers(spec) or twin_of_its_own(spec, c):
        return [f"\treturn client_plain_{c.symbol}({c.names()});"]
    return refusal(spec, c)


# Values ------------------------------------------------------------------------------------------------------------------


def use(spec, ctype, at, call="c_", per_thread="false"):
    """C statement: what stands in `at` becomes what the worker knows it by."""
    ctype = plain_type(ctype)
    what = conversion(spec, ctype)
    if what == "record":
        return f"use_{spec.record(ctype).tag}({call}, &{at}, {per_thread});"
    if what == "device":
        return f"{at} = client_use_device({call}, {at});"
    if what == "stream":
        value = at if per_thread == "false" else f"{per_thread} && !{at} ? {spec.per_thread_stream} : {at}"
        return f"{at} = ({ctype})(uintptr_t)client_use_stream({call}, {value});"
    return f"{at} = ({ctype})(uintptr_t)client_use({call}, {kind_name(spec, ctype)}, (const void *)(uintptr_t){at});"


def meeting(spec, ctype, at, owner="NULL", call="c_"):
    """C text: the program's value for what the worker gave out."""
    ctype = plain_type(ctype)
    if conversion(spec, ctype) == "device":
        return f"client_meet_device({call}, {at})"
    return f"({ctype})(uintptr_t)meet_object_({call}, {kind_name(spec, ctype)}, {owner}, (uint64_t)(uintptr_t){at})"


def guarded(field, prefix, statement):
    guard = condition(field, prefix)
    return [f"\t{guard}", f"\t\t{statement}"] if guard else [f"\t{statement}"]


def use_record(spec, r):
    out = ["/* Handles become ids, in place. */",
           f"static void use_{r.tag}(struct client_call *c_, {record_type(spec, r)} *v_, bool per_thread_)", "{"]
    for f in r.fields:
        if f.value == "device":
            continue
        if f.type.endswith("*"):
            out += guarded(f, "v_->", f"v_->{f.path} = NULL;")
        elif f.direction == "out" and conversion(spec, f.type):
            out += guarded(f, "v_->", f"v_->{f.path} = 0;")
        elif "ordinal" in f.flags:
            out += guarded(f, "v_->", f"v_->{f.path} = client_use_device(c_, v_->{f.path});")
        elif conversion(spec, f.type):
            out += guarded(f, "v_->", use(spec, f.type, "v_->" + f.path, per_thread="per_thread_"))
    return [*out, "}", ""]


def meet_record(spec, r):
    out = ["/* Ids become handles, in place; what is no result is as the program left it, in old_. */",
           f"static void meet_{r.tag}(struct client_call *c_, {record_type(spec, r)} *v_, const {record_type(spec, r)} *old_)", "{"]
    for f in r.fields:
        at = "v_->" + f.path
        if f.type.endswith("*"):
            out += guarded(f, "v_->", f"{at} = old_ ? old_->{f.path} : NULL;")
            continue
        if "ordinal" in f.flags:
            value = f"client_meet_device(c_, {at})"
        elif conversion(spec, f.type) == "record":
            out += guarded(f, "v_->", f"meet_{spec.record(f.type).tag}(c_, &{at}, old_ ? &old_->{f.path} : NULL);")
            continue
        elif conversion(spec, f.type):
            value = meeting(spec, f.type, at)
        else:
            continue
        out += guarded(f, "v_->", f"{at} = {value};" if f.direction == "out" else f"{at} = old_ ? old_->{f.path} : {value};")
    return [*out, "}", ""]


def room_of_tail(spec, r):
    """The bytes of what a record points to."""
    out = [f"static uint64_t room_{r.tag}(bool *bad_, const {record_type(spec, r)} *v_)", "{", "\tuint64_t room_ = 0;", ""]
    for f in tails(spec, r):
        out += [f"\tif (v_->{f.path})",
                f"\t\troom_ = remote_add(bad_, room_, {byte_length(spec, f, r.fields, 'bad_', 'v_->')});",
                "\troom_ = remote_add(bad_, room_, 16);"]
    return [*out, "\treturn room_;", "}", ""]


def put_tail(spec, r):
    out = ["/* What the record points to, behind it. */",
           f"static void put_{r.tag}(struct client_call *c_, const {record_type(spec, r)} *v_)", "{"]
    for f in tails(spec, r):
        size = byte_length(spec, f, r.fields, "&c_->out.bad", "v_->")
        if not conversion(spec, f.target):
            out += [f"\tif (remote_put_present(&c_->out, v_->{f.path}))", f"\t\tremote_put(&c_->out, v_->{f.path}, {size});"]
            continue
        out += [f"\tif (remote_put_present(&c_->out, v_->{f.path})) {{",
                f"\t\tuint64_t n_ = {elements(spec, f, r.fields, '&c_->out.bad', 'v_->')};",
                f"\t\t{plain_type(f.target)} *at_ = remote_reserve(&c_->out, {size});", "",
                "\t\tfor (uint64_t i_ = 0; at_ && i_ < n_; i_++) {", f"\t\t\tat_[i_] = v_->{f.path}[i_];",
                f"\t\t\t{use(spec, f.target, 'at_[i_]')}", "\t\t}", "\t}"]
    return [*out, "}", ""]


# Bodies ------------------------------------------------------------------------------------------------------------------


def client_body(spec, c):
    """Checks and translates, sends, and for all but fire-and-forget takes the results."""
    order = in_order(c)
    # What is given no object is wrong as a rule, and what would end an object that it did not make: then the driver's
    # answer is waited for.
    empty = [f"!{a.name}" for a in c.args if passed_as(spec, a) == "handle"]
    empty += [f"{a.name}_id_ & CALL_ID_WORKER" for a in c.args if "destroys" in a.flags and passed_as(spec, a) == "handle"]
    # So may memory that is not known or not open.
    empty += [f"client_doubts({a.name}, (uint64_t)({a.range[0]}))" for a in c.args if len(a.range) == 1 and not a.pointer]
    empty += ["client_has_functions(&c_)"] if c.settles else []
    waits = "true" if c.sync != "forget" else " || ".join(empty) or "false"
    outs = [a for a in order if a.direction in ("out", "inout") and a.pointer and not mints(spec, a)]
    made = [a for a in order if mints(spec, a)]
    out = [c.prototype("client_plain_" + c.symbol), "{", "\tstruct client_call c_;"]
    for a in order:
        if passed_as(spec, a) == "record":
            out.append(f"\t{plain_type(a.type)} {a.name}_id_ = {a.name};")
        elif passed_as(spec, a) == "device":
            out.append(f"\tint32_t {a.name}_id_;")
        elif passed_as(spec, a):
            out.append(f"\tuint64_t {a.name}_id_;")
    for a in made:
        out += [f"\tvoid *{a.name}_new_ = NULL;", f"\tuint64_t {a.name}_id_ = 0;"]
    variable = [a for a in order if a.pointer and not a.value and (a.expr or a.extent == "string" or has_tail(spec, a))]
    if variable:
        out += ["\tbool bad_ = false;"] + (["\tuint64_t room_ = CLIENT_ROOM;"] if c.sync != "local" else [])
    out += ["", f"\tclient_call(&c_, {spec.upper}_CALL_{c.plain});"]
    out += checks(spec, c) + use_values(spec, c)
    if variable:
        out += room(spec, c, variable)
    for a in order:
        out += use_array(spec, a, c)
    for a in made:
        out += mint(spec, a, c)
    begin = "client_begin_memo(&c_)" if c.sync == "local" else (
        f"client_begin_room(&c_, {waits}, room_)" if variable else f"client_begin(&c_, {waits})")
    out += [f"\tif ({begin}) {{"]
    for a in order:
        out += put(spec, a, c)
    out += ["\t\tclient_send(&c_);", "\t}"]
    if outs and c.sync != "forget":
        out += results(spec, c, outs)
    for a in made:
        out += [f"\tif ({a.name}_new_ && c_.result == {spec.success})", f"\t\t*{a.name} = ({a.target})(uintptr_t){a.name}_new_;",
                f"\telse if ({a.name}_new_)", f"\t\tclient_drop({a.name}_new_);"]
    for a in c.args:
        if "destroys" in a.flags and passed_as(spec, a) in ("handle", "stream"):
            out += [f"\tif (c_.result == {spec.success})", f"\t\tclient_drop((const void *)(uintptr_t){a.name});"]
    if c.forgets:
        out += [f"\tclient_memo_forget(&c_, {c.forgets}_id_);"]
    return [*out, "\treturn client_end(&c_);", "}", ""]


def has_tail(spec, a):
    r = spec.record(a.target)
    return bool(r) and bool(tails(spec, r))


def checks(spec, c):
    out = []
    for cond, error in c.checks.items():
        out += [f"\tif (c_.result == {spec.success} && ({cond}))", f"\t\tc_.result = {error};"]
    return out


def use_values(spec, c):
    """Handles by value, in the order of the parameters: the first decides the session."""
    out = []
    per_thread = "true" if c.per_thread else "false"
    for a in c.args:
        what = passed_as(spec, a)
        if what == "record":
            out.append(f"\tuse_{spec.record(a.type).tag}(&c_, &{a.name}_id_, {per_thread});")
        elif what == "device":
            out.append(f"\t{a.name}_id_ = client_use_device(&c_, {a.name});")
        elif what == "stream":
            out.append(f"\t{a.name}_id_ = client_use_stream(&c_, {a.name});")
        elif what:
            out.append(f"\t{a.name}_id_ = client_use(&c_, {kind_name(spec, a.type)}, (const void *)(uintptr_t){a.name});")
    return out


def use_array(spec, a, c):
    """What pointers point to is looked at before anything is sent."""
    if not a.pointer or a.value or a.direction == "out" or not conversion(spec, a.target):
        return []
    per_thread = "true" if c.per_thread else "false"
    one = a.extent == "one"
    bad = "&(bool){false}"
    out = [f"\tif ({a.name} && c_.result == {spec.success}) {{" if one else
           f"\tfor (uint64_t i_ = 0; {a.name} && c_.result == {spec.success} && i_ < {elements(spec, a, c.args, bad)}; i_++) {{"]
    return [*out, f"\t\t{plain_type(a.target)} value_ = {a.name}[{'0' if one else 'i_'}];", "",
            f"\t\t{use(spec, a.target, 'value_', '&c_', per_thread)}", "\t}"]


def room(spec, c, variable):
    out = []
    for a in variable:
        if a.direction == "out":
            if "remote_" in byte_length(spec, a, c.args, "&bad_"):
                out += [f"\tif ({a.name})", f"\t\t(void){byte_length(spec, a, c.args, '&bad_')};"]
            continue
        size = f"strlen({a.name}) + 1" if a.extent == "string" else byte_length(spec, a, c.args, "&bad_")
        if c.sync == "local":
            # What is asked once is short, or does not fit.
            out += [f"\tif ({a.name})", f"\t\t(void){size};"] if "&bad_" in size else []
            continue
        out += [f"\tif ({a.name})", f"\t\troom_ = remote_add(&bad_, room_, {size});"]
        if has_tail(spec, a):
            at = f"{a.name}[i_]"
            out += [f"\tfor (uint64_t i_ = 0; {a.name} && !bad_ && i_ < {elements(spec, a, c.args, '&bad_')}; i_++)",
                    f"\t\troom_ = remote_add(&bad_, room_, room_{spec.record(a.target).tag}(&bad_, &{at}));"]
    return [*out, f"\tif (bad_ && c_.result == {spec.success})", f"\t\tc_.result = {spec.invalid};"]


def mint(spec, a, c):
    owner = owner_of(spec, c, a.target)
    owner = f"(const void *)(uintptr_t){owner.name}" if owner else "NULL"
    return [f"\tif ({a.name} && c_.result == {spec.success} && (c_.session || client_use_current(&c_)))",
            f"\t\t{a.name}_new_ = client_mint(&c_, {kind_name(spec, a.target)}, {owner}, &{a.name}_id_);"]


def put(spec, a, c):
    out = "&c_.out"
    if not a.pointer or a.value == "device":
        name = f"{a.name}_id_" if passed_as(spec, a) else a.name
        return [f"\t\tremote_put({out}, &{name}, sizeof({name}));"]
    if mints(spec, a):
        return [f"\t\tif (remote_put_present({out}, {a.name}))", f"\t\t\tremote_put({out}, &{a.name}_id_, sizeof({a.name}_id_));"]
    if a.direction == "out":
        return [f"\t\tremote_put_present({out}, {a.name});"]
    if a.extent == "string":
        return [f"\t\tif (remote_put_present({out}, {a.name}))", f"\t\t\tremote_put_string({out}, {a.name});"]
    size = byte_length(spec, a, c.args, "&c_.out.bad")
    if not conversion(spec, a.target):
        return [f"\t\tif (remote_put_present({out}, {a.name}))", f"\t\t\tremote_put({out}, {a.name}, {size});"]
    per_thread = "true" if c.per_thread else "false"
    lines = [f"\t\tif (remote_put_present({out}, {a.name})) {{", f"\t\t\tuint64_t n_ = {elements(spec, a, c.args, '&c_.out.bad')};",
             f"\t\t\t{plain_type(a.target)} *at_ = remote_reserve({out}, {size});", "",
             "\t\t\tfor (uint64_t i_ = 0; at_ && i_ < n_; i_++) {", f"\t\t\t\tat_[i_] = {a.name}[i_];",
             f"\t\t\t\t{use(spec, a.target, 'at_[i_]', '&c_', per_thread)}", "\t\t\t}"]
    if has_tail(spec, a):
        lines += ["\t\t\tfor (uint64_t i_ = 0; at_ && i_ < n_; i_++)",
                  f"\t\t\t\tput_{spec.record(a.target).tag}(&c_, &{a.name}[i_]);"]
    return [*lines, "\t\t}"]


def results(spec, c, outs):
    """Written last and only when the whole reply was sound; of a call that failed only what it fills always."""
    always = any("always" in a.flags for a in c.args)
    test = f"c_.result == {spec.success} || c_.in.size > c_.in.used" if always else f"c_.result == {spec.success}"
    sizes = {a.name: byte_length(spec, a, c.args, "&c_.in.bad") for a in outs}
    out = [f"\tif ({test}) {{"]
    out += [f"\t\tconst void *{n}_sent_ = {n} ? remote_take(&c_.in, {size}) : NULL;" for n, size in sizes.items()]
    out += ["", "\t\tif (c_.in.bad || c_.in.used != c_.in.size) {", f"\t\t\tc_.result = {spec.lost};", "\t\t} else {"]
    # Arrays before what their length is made of, which may be among the results.
    for a in reversed(outs):
        out += ["\t" + line if line else line for line in result(spec, a, c, sizes[a.name])]
    return [*out, "\t\t}", "\t}"]


def result(spec, a, c, size):
    what = conversion(spec, a.target)
    if not what:
        return [f"\t\tif ({a.name})", f"\t\t\tmemcpy({a.name}, {a.name}_sent_, {size});"]
    if what == "record":
        old = "&old_" if a.direction == "inout" else "NULL"
        return [f"\t\tif ({a.name}) {{", *([f"\t\t\t{plain_type(a.target)} old_ = *{a.name};", ""] if a.direction == "inout" else []),
                f"\t\t\tmemcpy({a.name}, {a.name}_sent_, {size});", f"\t\t\tmeet_{spec.record(a.target).tag}(&c_, {a.name}, {old});",
                "\t\t}"]
    owner = owner_of(spec, c, a.target)
    owner = f"(const void *)(uintptr_t){owner.name}" if owner else "NULL"
    return [f"\t\tif ({a.name}) {{", f"\t\t\tuint64_t n_ = {elements(spec, a, c.args, '&c_.in.bad')};", "",
            f"\t\t\tmemcpy({a.name}, {a.name}_sent_, {size});", "\t\t\tfor (uint64_t i_ = 0; i_ < n_; i_++)",
            f"\t\t\t\t{a.name}[i_] = {meeting(spec, a.target, a.name + '[i_]', owner, '&c_')};", "\t\t}"]
