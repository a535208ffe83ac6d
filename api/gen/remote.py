"""<api>_remote.h, <api>_remote_client.c, <api>_remote_dispatch.c: the calls whose travel is "plain", over a link.

Order on the wire, the same for both ends: the arguments by value; then the pointers to one object or to a string; then
those whose length is an expression, which may use all before. A pointer is preceded by whether it is there, so that a NULL
reaches the driver and it is the driver that judges it. Output pointers send nothing but that; the dispatcher makes room in
the reply, whose size it knows from the arguments that it has checked. What a fire-and-forget call answered is kept, and
reported by the next call that blocks, which creates nothing that the caller would then not know of.

Names of the generated functions' own variables end in _, which no parameter does.
"""

import zlib

from .length import checked
from .text import banner


def travellers(spec):
    return [c for c in spec.calls if c.travel == "plain"]


def in_order(call):
    """By value; pointers of known size; pointers whose length depends on others."""
    by_value = [a for a in call.args if not a.pointer]
    fixed = [a for a in call.args if a.pointer and not a.expr]
    return by_value + fixed + [a for a in call.args if a.pointer and a.expr]


def fingerprint(spec):
    """A number that changes with whatever the two ends must agree on."""
    text = "\n".join([*(f"{c.index} {c.prototype()} {c.sync} {c.block['args']}" for c in travellers(spec)),
                      *(f"{r.tag} {r.lines}" for r in spec.records)])
    return zlib.crc32(text.encode())


# Lengths ---------------------------------------------------------------------------------------------------------------


SIGNED = ("char", "short", "int", "long", "long long", "int8_t", "int16_t", "int32_t", "int64_t")


def byte_length(spec, arg, call, bad):
    """C text: the bytes that the pointer points to."""
    if arg.extent == "string" and not arg.expr:
        return ""
    if arg.extent == "one":
        return f"sizeof(*{arg.name})"
    args = {a.name: a for a in call.args}

    def is_signed(kind, name, field):
        return spec.resolve(args[name].type if kind == "value" else args[name].target) in SIGNED

    count = checked(arg.expr, bad, is_signed)
    return count if arg.extent in ("bytes", "string") else f"remote_mul({bad}, {count}, sizeof(*{arg.name}))"


# Header ------------------------------------------------------------------------------------------------------------------


def remote_header(spec):
    n, up = spec.name, spec.upper
    return f"""{banner(spec, f"the {n} API over a link")}
#pragma once

#include "{n}_table.h"
#include "remote.h"

/* Both ends must have the same. */
#define {up}_REMOTE_FINGERPRINT UINT32_C({fingerprint(spec):#010x})

/* Written by the client: the link that a call of this thread takes, or NULL. */
struct remote_link *{n}_remote_link(void);

/* Puts the client's functions into their places in the table and leaves the others as they are. */
void {n}_remote_fill(struct {n}_table *table);

/* The worker's state for one client. */
struct {n}_remote_session {{
	const struct {n}_table *table; /* what executes the calls; what it lacks (NULL) counts as malformed */
	int32_t deferred; /* see struct remote_head */
}};

enum {n}_remote_outcome {{
	{up}_REMOTE_REPLY = 1, /* *reply holds one of its head's size */
	{up}_REMOTE_SILENT = 0, /* executed, and nobody waits for an answer */
}};

/*
 * Executes the request in `message`, which must be aligned to REMOTE_ALIGN and must not change meanwhile. Value: the
 * outcome, or -EPROTO: malformed, nothing was executed, the session is to be ended; -EMSGSIZE: not even an empty reply
 * fits. A call whose results do not fit is answered with {spec.not_supported}, not executed.
 */
int {n}_remote_dispatch(struct {n}_remote_session *session, const void *message, size_t size, void *reply,
			size_t reply_capacity);
"""


# Client ------------------------------------------------------------------------------------------------------------------


def client_source(spec):
    n = spec.name
    out = [banner(spec, f"the client of the {n} API over a link"), f'#include "{n}_remote.h"', "",
           CLIENT_HELPERS.replace("$n", n)]
    for c in travellers(spec):
        out += client_call(spec, c)
    out += [f"void {n}_remote_fill(struct {n}_table *table)", "{"]
    out += [f"\ttable->{c.symbol} = client_{c.symbol};" for c in travellers(spec)]
    return "\n".join([*out, "}", ""])


CLIENT_HELPERS = """static bool request_begin(struct remote_link *link, struct remote_writer *w, enum $n_call call)
{
	struct remote_head head = {.call = call};

	if (!link)
		return false;
	*w = (struct remote_writer){0};
	w->data = link->begin(link, &w->capacity);
	if (!w->data)
		return false;
	remote_put(w, &head, sizeof(head));
	return true;
}

static bool request_send(struct remote_link *link, struct remote_writer *w)
{
	uint32_t size = (uint32_t)w->used;

	memcpy(w->data, &size, sizeof(size));
	return link->send(link, w->used) == 0;
}

/* Value: there is a reply to this call, *r stands behind its head. */
static bool reply_receive(struct remote_link *link, struct remote_reader *r, struct remote_head *head, enum $n_call call)
{
	const void *reply;
	size_t size;

	if (link->receive(link, &reply, &size) != 0)
		return false;
	*r = (struct remote_reader){.data = reply, .size = size};
	remote_get(r, head, sizeof(*head));
	return !r->bad && head->size == size && head->call == call;
}
"""


def client_call(spec, c):
    """The client's body: a request, and for all but fire-and-forget its reply."""
    lost = spec.lost
    outs = [a for a in in_order(c) if a.direction in ("out", "inout")]
    bad = "&w_.bad"
    out = [f"static {c.prototype('client_' + c.symbol)}", "{",
           f"\tstruct remote_link *link_ = {spec.name}_remote_link();", "\tstruct remote_writer w_;"]
    if c.sync != "forget":
        out += ["\tstruct remote_reader r_;", "\tstruct remote_head head_;"]
    out += [f"\t{c.returns} result_ = {lost};", "",
            f"\tif (!request_begin(link_, &w_, {spec.upper}_CALL_{c.symbol}))", f"\t\treturn {lost};"]
    for a in in_order(c):
        out += client_put(spec, a, c, bad)
    out += ["\tif (w_.bad) {", f"\t\tresult_ = {spec.not_supported};", "\t\tgoto end_;", "\t}"]
    out += ["\tif (!request_send(link_, &w_))", "\t\tgoto end_;"]
    if c.sync == "forget":
        out += [f"\tresult_ = {spec.success};"]
    else:
        out += [f"\tif (!reply_receive(link_, &r_, &head_, {spec.upper}_CALL_{c.symbol}))", "\t\tgoto end_;"]
        if outs:
            out += client_outputs(spec, c, outs)
        out += [f"\tresult_ = ({c.returns})(head_.result == {spec.success} ? head_.deferred : head_.result);"]
    return [*out, "end_:", "\tlink_->end(link_);", "\treturn result_;", "}", ""]


def client_put(spec, a, c, bad):
    if not a.pointer:
        return [f"\tremote_put(&w_, &{a.name}, sizeof({a.name}));"]
    if a.direction == "out" and "remote_" not in byte_length(spec, a, c, bad):
        return [f"\tremote_put_present(&w_, {a.name});"]
    if a.direction == "out":
        # A length that the dispatcher would call malformed is not sent.
        return [f"\tif (remote_put_present(&w_, {a.name}))", f"\t\t(void){byte_length(spec, a, c, bad)};"]
    put = (f"remote_put_string(&w_, {a.name});" if a.extent == "string"
           else f"remote_put(&w_, {a.name}, {byte_length(spec, a, c, bad)});")
    return [f"\tif (remote_put_present(&w_, {a.name}))", f"\t\t{put}"]


def client_outputs(spec, c, outs):
    """Results are written last and only on success, and only when the whole reply was sound."""
    out = [f"\tif (head_.result == {spec.success}) {{"]
    sizes = {a.name: byte_length(spec, a, c, "&r_.bad") for a in outs}
    out += [f"\t\tconst void *{n}_sent_ = {n} ? remote_take(&r_, {size}) : NULL;" for n, size in sizes.items()]
    out += ["", "\t\tif (r_.bad || r_.used != r_.size)", "\t\t\tgoto end_;"]
    # Arrays before what their length is made of, which may be among the results.
    for n, size in reversed(sizes.items()):
        out += [f"\t\tif ({n})", f"\t\t\tmemcpy({n}, {n}_sent_, {size});"]
    return [*out, "\t}"]


# Dispatch ----------------------------------------------------------------------------------------------------------------


def dispatch_source(spec):
    n, up = spec.name, spec.upper
    out = [banner(spec, f"the dispatcher of the {n} API over a link"), f'#include "{n}_remote.h"', "",
           "#include <errno.h>", "", f"typedef int (*handler)(struct {n}_remote_session *s, struct remote_reader *r, struct remote_writer *w,"
           " int32_t *result);", ""]
    for c in travellers(spec):
        out += handler(spec, c)
    out += ["struct entry {", "\thandler run;", "\tuint32_t least_bytes; /* of arguments that every request has */",
            "\tbool silent; /* nobody waits for an answer */",
            "\tbool reports; /* may answer for calls that nobody waited for */", "};", "",
            f"static const struct entry entries[{up}_CALL_COUNT] = {{"]
    out += [f"\t[{up}_CALL_{c.symbol}] = {{run_{c.symbol}, {least_bytes(c)},"
            f" {flag(c.sync == 'forget')}, {flag(c.sync == 'blocking')}}},"
            for c in travellers(spec)] or ["\t{0}"]
    words = {"$n": n, "$UP": up, "$SUCCESS": spec.success, "$LIMIT": spec.not_supported}
    text = DISPATCH
    for word, value in words.items():
        text = text.replace(word, value)
    out += ["};", "", text]
    return "\n".join(out)


def flag(value):
    return "true" if value else "false"


def least_bytes(c):
    """By-value arguments and the words that say which pointers are there."""
    sizes = [f"remote_size({a.type})" for a in c.args if not a.pointer] + ["8" for a in c.args if a.pointer]
    return " + ".join(sizes) or "0"


def handler(spec, c):
    n = spec.name
    out = [f"static int run_{c.symbol}(struct {n}_remote_session *s_, struct remote_reader *r_, struct remote_writer *w_,",
           "\t\t    int32_t *result_)", "{"]
    order = in_order(c)
    for a in order:
        ctype = a.type if a.pointer else a.type.replace("const ", "")
        out.append(f"\t{ctype}{'' if ctype.endswith('*') else ' '}{a.name}{' = NULL' if a.pointer else ''};")
    out += ["", f"\tif (!s_->table->{c.symbol})", "\t\treturn -EPROTO;"]
    for a in order:
        out += handler_read(spec, a, c)
    out += ["\tif (r_->bad || r_->used != r_->size)", "\t\treturn -EPROTO;", "\tif (w_->bad)", "\t\treturn -EMSGSIZE;",
            f"\t*result_ = (int32_t)s_->table->{c.symbol}({c.names()});", "\treturn 0;", "}", ""]
    return out


def handler_read(spec, a, c):
    if not a.pointer:
        return [f"\tremote_get(r_, &{a.name}, sizeof({a.name}));"]
    size = byte_length(spec, a, c, "&r_->bad")
    if a.direction == "in":
        take = "remote_take_string(r_)" if a.extent == "string" else f"remote_take(r_, {size})"
        cast = "" if a.type.startswith("const ") else f"({a.type})"
        return ["\tif (remote_get_present(r_))", f"\t\t{a.name} = {cast}{take};"]
    out = ["\tif (remote_get_present(r_))", f"\t\t{a.name} = remote_reserve(w_, {size});"]
    if a.direction == "inout":
        # The room in the reply begins with what the caller had there.
        out = ["\tif (remote_get_present(r_)) {", f"\t\tuint64_t size_ = {size};",
               "\t\tconst void *from_ = remote_take(r_, size_);", "", f"\t\t{a.name} = remote_reserve(w_, size_);", f"\t\tif (from_ && {a.name})",
               f"\t\t\tmemcpy({a.name}, from_, size_);", "\t}"]
    return out


DISPATCH = """int $n_remote_dispatch(struct $n_remote_session *session, const void *message, size_t size, void *reply,
			size_t reply_capacity)
{
	struct remote_reader r = {.data = message, .size = size};
	struct remote_writer w = {.data = reply, .capacity = reply_capacity};
	struct remote_head head, *answer = remote_reserve(&w, sizeof(*answer));
	const struct entry *e;
	int32_t result = 0;
	int status;

	remote_get(&r, &head, sizeof(head));
	if (r.bad || head.size != size || head.call >= $UP_CALL_COUNT || head.result || head.deferred)
		return -EPROTO;
	e = &entries[head.call];
	if (!e->run || size - sizeof(head) < e->least_bytes)
		return -EPROTO;
	if (!answer)
		return -EMSGSIZE;
	status = e->run(session, &r, &w, &result);
	if (status == -EMSGSIZE)
		result = $LIMIT; /* nothing was executed */
	else if (status < 0)
		return status;
	if (e->silent) {
		if (result != $SUCCESS && !session->deferred)
			session->deferred = result;
		return $UP_REMOTE_SILENT;
	}
	if (result != $SUCCESS)
		w.used = sizeof(*answer); /* what a failed call left behind is nobody's business */
	answer->size = (uint32_t)w.used;
	answer->call = head.call;
	answer->result = result;
	if (e->reports) {
		answer->deferred = session->deferred;
		session->deferred = 0;
	}
	return $UP_REMOTE_REPLY;
}
"""
