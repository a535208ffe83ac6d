"""<api>_procs.h and <api>_procs.c: which symbol a name and a version mean, for APIs with a lookup by version."""

from .text import banner


def procs_header(spec):
    n = spec.name
    return f"""{banner(spec, f"lookup of the {n} API's calls by name and version")}
#pragma once

#include "{n}_table.h"
#include "procs.h"

/* Value: enum proc_outcome; *ret_call is written when it is PROC_FOUND. */
int {n}_proc_find(const char *name, int version, uint64_t flags, enum {n}_call *ret_call);

extern const struct proc_variant {n}_procs[];
extern const size_t {n}_proc_count;
"""


def procs_source(spec):
    n, up = spec.name, spec.upper
    rows = sorted((c.base, bool(c.per_thread), c.since, c.symbol) for c in spec.calls if not c.untyped)
    out = [banner(spec, f"the {n} API's names and versions, sorted by name, plain before per-thread, oldest first"),
           f'#include "{n}_procs.h"', "", f"const struct proc_variant {n}_procs[] = {{"]
    out += [f'\t{{"{base}", {since}, {int(thread)}, {up}_CALL_{symbol}}},' for base, thread, since, symbol in rows]
    out += ["};", "", f"const size_t {n}_proc_count = {len(rows)};", "",
            f"int {n}_proc_find(const char *name, int version, uint64_t flags, enum {n}_call *ret_call)", "{",
            "\tuint32_t call;",
            f"\tint r = proc_find({n}_procs, {n}_proc_count, name, version, flags, &call);", "",
            "\tif (r == PROC_FOUND)", f"\t\t*ret_call = (enum {n}_call)call;", "\treturn r;", "}", ""]
    return "\n".join(out)
