"""<api>_remote_dispatch.c: the worker's handlers of the calls whose travel is "plain", and the table of all handlers.
What they are made of: worker/worker.h in src/remote; the order on the wire: remote.py.

The client is not trusted: a handler reads and checks everything before it does anything; ids are looked up, addresses that
stand for a number of bytes are checked, pointers never come from a message."""

from .remote import (byte_length, condition, conversion, converted_records, elements, in_order, kind_name, mints, number_of,
                     owner_of, passed_as, plain_type, record_type, tails, travellers)
from .text import banner

HELPERS = """/* The session's object for an id; false: there is none, and work_->result says so. */
static inline bool find_object_(struct work *work_, enum remote_kind kind, uint64_t id, void **handle)
{
	bool known;

	*handle = worker_find(work_, kind, id, &known);
	return known;
}

/* The id for what the driver gave out, 0 for nothing; false: there are too many. */
static inline bool name_object_(struct work *work_, enum remote_kind kind, void *handle, uint64_t owner, uint64_t *id)
{
	*id = handle ? worker_name(work_, kind, handle, owner) : 0;
	return *id || !handle;
}

/* Rows of device memory; those that hold nothing are anywhere. */
static inline bool covers_(struct work *work_, uint64_t at, uint64_t row, uint64_t rows, uint64_t pitch, bool bad)
{
	uint64_t size;

	if (bad)
		return false;
	if (!row || !rows)
		return true;
	size = remote_add(&bad, remote_mul(&bad, rows - 1, pitch), row);
	return !bad && worker_reaches(work_, at, size);
}
"""


HELPERS_KNOWN = """/* Of what somebody refers to, and may have ended since: 0 then. */
static inline bool told_object_(struct work *work_, enum remote_kind kind, void *handle, uint64_t *id)
{
	*id = worker_known(work_, kind, handle);
	return true;
}

/* Of what goes with the same object as `like`. */
static inline bool beside_object_(struct work *work_, enum remote_kind kind, void *handle, uint64_t like, uint64_t *id)
{
	uint64_t owner = worker_owner(work_, like);

	return owner ? name_object_(work_, kind, handle, owner, id) : told_object_(work_, kind, handle, id);
}
"""


def dispatch_source(spec):
    n, up = spec.name, spec.upper
    out = [banner(spec, f"the worker of the {n} API over a link"), f'#include "{n}_remote.h"', f'#include "{spec.worker}"', "",
           "#include <errno.h>", "", HELPERS]
    if any(o.get("known") for o in spec.objects.values()):
        out.append(HELPERS_KNOWN)
    for r in converted_records(spec, lambda a: not a.pointer or a.direction != "out"):
        if tails(spec, r):
            out += take_tail(spec, r)
        out += find_record(spec, r)
    for r in converted_records(spec, lambda a: a.pointer and a.direction != "in"):
        out += name_record(spec, r)
    for c in travellers(spec):
        out += handler(spec, c)
    mine = travellers(spec)
    others = [c for c in spec.calls if c.travel != "none" and not c.per_thread and c not in mine and not c.goes_as]
    for c in mine:
        weak = "__attribute__((weak)) " if c.replaceable else ""
        out += [f"{weak}int worker_{c.symbol}(struct work *work_)", "{", f"\treturn worker_plain_{c.symbol}(work_);", "}", ""]
    out += [f"extern __typeof__(worker_{c.symbol}) worker_{c.symbol} __attribute__((weak));" for c in others]
    out += ["", f"static const worker_handler handlers[{up}_CALL_COUNT] = {{"]
    out += [f"\t[{up}_CALL_{c.symbol}] = worker_{c.symbol}," for c in mine + others]
    out += ["};", "", "worker_handler worker_handler_find(uint16_t call)", "{", f"\tif (call < {up}_CALL_COUNT)",
            "\t\treturn handlers[call];", "\treturn worker_other_find(call);", "}", "", f"const uint8_t {n}_remote_traits[{up}_CALL_COUNT] = {{"]
    for c in spec.calls:
        traits = ["REMOTE_FORGET"] if c.sync == "forget" else []
        changes = any(f in a.flags for a in c.args for f in ("creates", "borrows", "destroys"))
        if c.sync in ("blocking", "round") and c.reports and not changes:
            traits.append("REMOTE_REPORTS")
        if traits and c.travel != "none" and not c.per_thread:
            out.append(f"\t[{up}_CALL_{c.symbol}] = {' | '.join(traits)},")
    return "\n".join([*out, "};", ""])


# Values ------------------------------------------------------------------------------------------------------------------


def finding(spec, ctype, at, fail):
    """C statements: what the client sent in `at` becomes what the driver knows; `fail` when there is no such thing."""
    ctype = plain_type(ctype)
    what = conversion(spec, ctype)
    if what == "device":
        return []
    if what == "record":
        return [f"if (!find_{spec.record(ctype).tag}(work_, &{at}))", f"\t{fail}"]
    if what == "stream":
        return [f"{at} = worker_find_stream(work_, (uint64_t)(uintptr_t){at}, &known_);", "if (!known_)", f"\t{fail}"]
    return [f"if (!find_object_(work_, {kind_name(spec, ctype)}, (uint64_t)(uintptr_t){at}, &found_))", f"\t{fail}",
            f"{at} = ({ctype})(uintptr_t)found_;"]


def blocked(guard, statements, indent="\t"):
    if not statements:
        return []
    if not guard:
        return [indent + s for s in statements]
    return [f"{indent}{guard} {{", *(indent + "\t" + s for s in statements), indent + "}"]


def covering(spec, a, args, at, prefix, fail):
    """C statements: the check of an address that stands for a number of bytes."""
    sizes = [number_of(spec, e, args, "&bad_", prefix) for e in a.range]
    row, rows, pitch = sizes if len(sizes) == 3 else (sizes[0], "1", "0")
    # In order: what a size finds bad must be known before it is looked at.
    here = f"{at} = ({plain_type(a.type)})(uintptr_t)worker_at((uint64_t)(uintptr_t){at});"
    return [here, "bad_ = false;", f"size_ = {row};", f"rows_ = {rows};", f"pitch_ = {pitch};",
            f"if (!covers_(work_, (uint64_t)(uintptr_t){at}, size_, rows_, pitch_, bad_)) {{", f"\twork_->result = {spec.invalid};",
            f"\t{fail}", "}"]


COVER_LOCALS = ["\tuint64_t size_, rows_, pitch_;", "\tbool bad_;"]


def locals_for(body):
    """Declarations of those helpers' variables that the statements use."""
    text = "\n".join(body)
    out = []
    if "&found_" in text:
        out.append("\tvoid *found_;")
    if "known_" in text:
        out.append("\tbool known_;")
    if "size_ = " in text and "covers_(" in text:
        out += COVER_LOCALS
    return out


def find_record(spec, r):
    body = []
    for f in r.fields:
        at = "v_->" + f.path
        guard = condition(f, "v_->")
        if f.value == "ignored":
            body += blocked(guard, [f"{at} = NULL;"])
        elif f.type.endswith("*") and f.value != "device":
            if conversion(spec, f.target):
                n = elements(spec, f, r.fields, "&bad_", "v_->")
                inner = finding(spec, f.target, f"(({plain_type(f.target)} *){at})[i_]", "return false;")
                body += [f"\tfor (uint64_t i_ = 0; {at} && i_ < {n.replace('&bad_', '&(bool){false}')}; i_++) {{",
                         *("\t\t" + s for s in inner), "\t}"]
        elif f.range:
            body += blocked(guard, covering(spec, f, r.fields, at, "v_->", "return false;"))
        elif f.direction == "out" and conversion(spec, f.type):
            body += blocked(guard, [f"{at} = 0;"])
        elif conversion(spec, f.type):
            body += blocked(guard, finding(spec, f.type, at, "return false;"))
    declared = locals_for(body)
    return ["/* Ids become handles, in place; addresses are checked. */",
            f"static bool find_{r.tag}(struct work *work_, {record_type(spec, r)} *v_)", "{", *declared, *([""] if declared else []),
            *body, "\treturn true;", "}", ""]


def take_tail(spec, r):
    """Pointers of a record come to stand on what lies behind it in the message."""
    out = [f"static void take_{r.tag}(struct remote_reader *r_, {record_type(spec, r)} *v_)", "{"]
    for f in tails(spec, r):
        size = byte_length(spec, f, r.fields, "&r_->bad", "v_->")
        out += [f"\tv_->{f.path} = NULL;", "\tif (remote_get_present(r_))",
                f"\t\tv_->{f.path} = ({plain_type(f.target)} *)(uintptr_t)remote_take(r_, {size});"]
    return [*out, "}", ""]


def name_record(spec, r):
    body = []
    for f in r.fields:
        at = "v_->" + f.path
        guard = condition(f, "v_->")
        if f.type.endswith("*"):
            body += blocked(guard, [f"{at} = NULL;"])
        elif conversion(spec, f.type) == "record":
            body += blocked(guard, [f"if (!name_{spec.record(f.type).tag}(work_, &{at}, inout_))", "\treturn false;"])
        elif conversion(spec, f.type) in ("handle", "stream"):
            ctype = plain_type(f.type)
            lines = [f"if (!{named_by(spec, ctype, '(void *)(uintptr_t)' + at)})", "\treturn false;",
                     f"{at} = ({ctype})(uintptr_t)id_;"]
            if f.direction != "out":
                lines = ["if (inout_) {", f"\t{at} = 0;", "} else {", *("\t" + s for s in lines), "}"]
            body += blocked(guard, lines)
    declared = ["\tuint64_t id_;", ""] if any("&id_" in s for s in body) else []
    return ["/* Handles become ids, in place; in a record that the program filled, those that are no results are left out. */",
            f"static bool name_{r.tag}(struct work *work_, {record_type(spec, r)} *v_, bool inout_)", "{", *declared, *body,
            "\treturn true;", "}", ""]


def named_by(spec, ctype, handle, c=None, a=None):
    """The expression that gives a handle an id: of the kinds that the spec calls known, what goes with nothing at hand has one
    already, or has ended, and by a new name of it the driver would use what it has freed. What is told of a failure lies
    anywhere below its graph, and so goes with nothing at hand."""
    kind, name = spec.kind_of(ctype), kind_name(spec, ctype)
    known = spec.objects.get(kind, {}).get("known")
    owner = owner_of(spec, c, ctype) if a and "always" not in a.flags else None
    like = next((b for b in c.args if not b.pointer and spec.kind_of(b.type) == kind), None) if a else None
    if owner or not known:
        return f"name_object_(work_, {name}, {handle}, {owner.name + '_id_' if owner else '0'}, &id_)"
    if like:
        return f"beside_object_(work_, {name}, {handle}, {like.name}_id_, &id_)"
    return f"told_object_(work_, {name}, {handle}, &id_)"


# Handlers ----------------------------------------------------------------------------------------------------------------


def handler(spec, c):
    order = in_order(c)
    body = []
    for a in order:
        body += read(spec, a, c)
    body += ["\tif (r_->bad || r_->used != r_->size)", "\t\treturn -EPROTO;", "\tif (w_->bad)", "\t\treturn -EMSGSIZE;",
             f"\tif (!work_->driver->{c.symbol}) {{", f"\t\twork_->result = {spec.not_supported};", "\t\treturn 0;", "\t}"]
    gives = any(a.pointer and a.direction in ("out", "inout") and not mints(spec, a) for a in order)
    for a in order:
        body += look_up(spec, a, c, "goto refused_;" if gives else "return 0;")
    if c.sync == "blocking":
        body.append("\tworker_yield(work_);")
    elif c.settles:
        body += ["\tif (work_->head.ticket)", "\t\tworker_yield(work_);"]
    for a in ending(spec, c):
        body += [f"\tif (!worker_ending(work_, {a.name}_id_, (void *)(uintptr_t){a.name}))", "\t\treturn 0;"]
        if len(c.args) == 1:
            body += [f"\tif (worker_later(work_, {a.name}_id_, (worker_end)(void (*)(void))work_->driver->{c.symbol},",
                     f"\t\t\t (void *)(uintptr_t){a.name}))", "\t\treturn 0;"]
    body += [f"\twork_->result = (int32_t)work_->driver->{c.symbol}({', '.join(argument(a) for a in c.args)});"]
    body += give_out(spec, c, order)
    head = [f"int worker_plain_{c.symbol}(struct work *work_)", "{", "\tstruct remote_reader *r_ = &work_->in;",
            "\tstruct remote_writer *w_ = &work_->out;"]
    if any("start_" in s for s in body):
        head.append("\tsize_t start_ = w_->used;")
    if any("added_" in s for s in body):
        head.append("\tint added_;")
    if any(", &id_)" in s for s in body):
        head.append("\tuint64_t id_;")
    for a in order:
        head += declare(spec, a)
    end = ["\treturn 0;"]
    if any("goto refused_;" in s for s in body):
        end += ["refused_:", "\tw_->used = start_;", "\treturn 0;"]
        head += [] if any("start_ = " in s for s in head) else ["\tsize_t start_ = w_->used;"]
    return [*head, *locals_for(body), "", *body, *end, "}", ""]


def aligned(spec, a):
    r = spec.record(a.target)
    return bool(r and r.align and r.align > 8)


def declare(spec, a):
    if a.value == "device":
        return [f"\tuint64_t {a.name};"]
    if not a.pointer:
        what = passed_as(spec, a)
        if what == "device":
            return [f"\tint32_t {a.name};"]
        if what in ("stream", "handle"):
            return [f"\t{plain_type(a.type)} {a.name};", f"\tuint64_t {a.name}_id_;"]
        return [f"\t{plain_type(a.type)} {a.name};"]
    if mints(spec, a):
        return [f"\t{plain_type(a.target)} {a.name}_value_ = 0, *{a.name} = NULL;", f"\tuint64_t {a.name}_id_ = 0;"]
    if aligned(spec, a):
        return [f"\t{plain_type(a.target)} {a.name}_value_, *{a.name} = NULL;",
                *([f"\tvoid *{a.name}_at_ = NULL;"] if a.direction != "in" else [])]
    if conversion(spec, a.target):
        return [f"\t{plain_type(a.target)} *{a.name} = NULL;",
                *([f"\tuint64_t {a.name}_room_ = 0;"] if keeps_room(spec, a) else [])]
    return [f"\t{a.type}{'' if a.type.endswith('*') else ' '}{a.name} = NULL;"]


def keeps_room(spec, a):
    """An array of handles that the driver fills: how long it is may stand in a result that is written with it."""
    return a.pointer and a.direction != "in" and bool(a.expr) and conversion(spec, a.target) in ("handle", "stream")


def argument(a):
    if a.value == "ignored":
        return "NULL"
    return f"(void *)(uintptr_t){a.name}" if a.value == "device" else a.name


def read(spec, a, c):
    if a.value == "device":
        return [f"\tremote_get(r_, &{a.name}, sizeof({a.name}));"]
    if not a.pointer:
        name = f"{a.name}_id_" if conversion(spec, a.type) in ("stream", "handle") else a.name
        return [f"\tremote_get(r_, &{name}, sizeof({name}));"]
    if mints(spec, a):
        return ["\tif (remote_get_present(r_)) {", f"\t\tremote_get(r_, &{a.name}_id_, sizeof({a.name}_id_));",
                f"\t\t{a.name} = &{a.name}_value_;", "\t}"]
    size = byte_length(spec, a, c.args, "&r_->bad")
    if a.direction == "in":
        return read_in(spec, a, c, size)
    if a.direction == "inout":
        # The room in the reply begins with what the caller had there.
        return ["\tif (remote_get_present(r_)) {", f"\t\tuint64_t size_ = {size};",
                "\t\tconst void *from_ = remote_take(r_, size_);", "", f"\t\t{a.name} = remote_reserve(w_, size_);",
                f"\t\tif (from_ && {a.name})", f"\t\t\tmemcpy({a.name}, from_, size_);", "\t}"] if not aligned(spec, a) else [
                "\tif (remote_get_present(r_)) {", f"\t\tremote_get(r_, &{a.name}_value_, sizeof({a.name}_value_));",
                f"\t\t{a.name}_at_ = remote_reserve(w_, sizeof({a.name}_value_));", f"\t\t{a.name} = &{a.name}_value_;", "\t}"]
    if aligned(spec, a):
        return ["\tif (remote_get_present(r_)) {", f"\t\t{a.name}_at_ = remote_reserve(w_, {size});",
                f"\t\t{a.name} = &{a.name}_value_;", "\t}"]
    if keeps_room(spec, a):
        return ["\tif (remote_get_present(r_)) {", f"\t\t{a.name}_room_ = {size};",
                f"\t\t{a.name} = remote_reserve(w_, {a.name}_room_);", "\t}"]
    return ["\tif (remote_get_present(r_))", f"\t\t{a.name} = remote_reserve(w_, {size});"]


def read_in(spec, a, c, size):
    """The message is the worker's own copy, in which ids become handles where they lie."""
    if aligned(spec, a):
        return ["\tif (remote_get_present(r_)) {", f"\t\tremote_get(r_, &{a.name}_value_, sizeof({a.name}_value_));",
                f"\t\t{a.name} = &{a.name}_value_;", "\t}"]
    if a.extent == "string":
        return ["\tif (remote_get_present(r_))", f"\t\t{a.name} = remote_take_string(r_);"]
    own = conversion(spec, a.target) or not a.type.startswith("const ")
    cast = f"({plain_type(a.target)} *)(uintptr_t)" if own else ""
    lines = ["\tif (remote_get_present(r_))", f"\t\t{a.name} = {cast}remote_take(r_, {size});"]
    record = spec.record(a.target)
    if record and tails(spec, record):
        lines += [f"\tfor (uint64_t i_ = 0; {a.name} && !r_->bad && i_ < {elements(spec, a, c.args, '&r_->bad')}; i_++)",
                  f"\t\ttake_{record.tag}(r_, &{a.name}[i_]);"]
    return lines


def look_up(spec, a, c, fail):
    if a.range:
        return blocked("", covering(spec, a, c.args, a.name, "", fail))
    if a.value == "device" or mints(spec, a):
        return []
    if not a.pointer:
        what = passed_as(spec, a)
        if what == "record":
            return blocked("", finding(spec, a.type, a.name, fail))
        if what == "stream":
            return [f"\t{a.name} = worker_find_stream(work_, {a.name}_id_, &known_);", "\tif (!known_)", f"\t\t{fail}"]
        if what == "handle":
            return [f"\tif (!find_object_(work_, {kind_name(spec, a.type)}, {a.name}_id_, &found_))", f"\t\t{fail}",
                    f"\t{a.name} = ({plain_type(a.type)})(uintptr_t)found_;"]
        return []
    if a.direction == "out" or conversion(spec, a.target) in (None, "device"):
        return []
    n = elements(spec, a, c.args, "&r_->bad")
    return [f"\tfor (uint64_t i_ = 0; {a.name} && i_ < {n}; i_++) {{",
            *("\t\t" + s for s in finding(spec, a.target, f"{a.name}[i_]", fail)), "\t}"]


def ending(spec, c):
    return [a for a in c.args if "destroys" in a.flags and not a.pointer and conversion(spec, a.type) in ("handle", "stream")]


def give_out(spec, c, order):
    """After the driver's call: what it created and named gets ids, what it ended loses its own."""
    out, at_all = [], []
    for a in order:
        if a.pointer and a.direction != "in" and aligned(spec, a):
            at_all += [f"\tif ({a.name}_at_)", f"\t\tmemcpy({a.name}_at_, {a.name}, sizeof(*{a.name}));"]
    outs = [a for a in order if a.pointer and not a.value and a.direction != "in" and not mints(spec, a)]
    always = any("always" in a.flags for a in outs)
    gone = ending(spec, c)
    if c.sync == "forget":
        # Nobody waits: the client's handle has ended, whatever the driver says. For what it did not make it waits.
        for a in gone:
            out += [f"\tif (work_->result == {spec.success} || !({a.name}_id_ & CALL_ID_WORKER))",
                    f"\t\tworker_remove(work_, {a.name}_id_);"]
    for a in gone:
        out += [f"\tif (work_->result != {spec.success})", f"\t\tworker_stays(work_, {a.name}_id_);"]
    out += at_all
    if outs and not always:
        out += [f"\tif (work_->result != {spec.success}) {{", "\t\tw_->used = start_; /* what a failed call left behind is"
                " nobody's business */", "\t\treturn 0;", "\t}"]
    elif not always:
        made = [a for a in order if mints(spec, a)]
        if made or gone and c.sync != "forget":
            out += [f"\tif (work_->result != {spec.success})", "\t\treturn 0;"]
    for a in outs:
        out += naming(spec, c, a)
    for a in order:
        if mints(spec, a):
            out += adding(spec, c, a, always)
    if c.sync != "forget":
        guard = [f"\tif (work_->result != {spec.success})", "\t\treturn 0;"] if always and gone else []
        out += guard + [f"\tworker_remove(work_, {a.name}_id_);" for a in gone]
    return out


def naming(spec, c, a):
    """Handles that the driver gave out become ids in the reply. What no longer has an id is not told."""
    what = conversion(spec, a.target)
    if what in (None, "device"):
        return []
    n = f"{a.name}_room_ / sizeof(*{a.name})" if keeps_room(spec, a) else "1"
    full = [f"\t\t\twork_->result = {spec.full};", "\t\t\tw_->used = start_;", "\t\t\treturn 0;"]
    if what == "record":
        inout = "true" if a.direction == "inout" else "false"
        return [f"\tif ({a.name}) {{", f"\t\tif (!name_{spec.record(a.target).tag}(work_, {a.name}, {inout})) {{", *full, "\t\t}", "\t}"]
    ctype = plain_type(a.target)
    return [f"\tfor (uint64_t i_ = 0; {a.name} && i_ < {n}; i_++) {{",
            f"\t\tif (!{named_by(spec, ctype, '(void *)(uintptr_t)' + a.name + '[i_]', c, a)}) {{", *full, "\t\t}",
            f"\t\t{a.name}[i_] = ({ctype})(uintptr_t)id_;", "\t}"]


def adding(spec, c, a, always):
    owner = owner_of(spec, c, a.target)
    destroy = spec.objects.get(spec.kind_of(a.target), {}).get("destroy")
    undo = [f"\t\tif (work_->driver->{destroy})", f"\t\t\twork_->driver->{destroy}({a.name}_value_);"] if destroy else []
    guard = f"{a.name} && work_->result == {spec.success}" if always else a.name
    return [f"\tadded_ = {guard} ? worker_add(work_, {kind_name(spec, a.target)}, {a.name}_id_, (void *)(uintptr_t){a.name}_value_,",
            f"\t\t\t\t\t{owner.name + '_id_' if owner else '0'}) : 0;", "\tif (added_ < 0) {", *undo,
            "\t\tif (added_ == -EPROTO)", "\t\t\treturn added_;", f"\t\twork_->result = {spec.full};", "\t\tw_->used = start_;", "\t}"]
