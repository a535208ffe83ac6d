"""<api>_table.h and <api>_names.c: one typed function pointer per symbol, and an enum of the same order."""

from .text import banner, pointer_type


def table_header(spec):
    n, up = spec.name, spec.upper
    out = [banner(spec, f"the table of the {n} API: a typed pointer for every exported symbol"), "#pragma once", "",
           f'#include "{spec.types or n + "_types.h"}"', "", "#include <stddef.h>", "", f"struct {n}_table {{"]
    out += [f"\t{pointer_type(c) % c.symbol};" for c in spec.calls]
    out += ["};", "", "/* In the order of the table: the entry of a call is ((void **)table)[call]. */",
            f"enum {n}_call {{"]
    out += [f"\t{up}_CALL_{c.symbol}," for c in spec.calls]
    out += [f"\t{up}_CALL_COUNT", "};", "",
            f"_Static_assert(sizeof(struct {n}_table) == {up}_CALL_COUNT * sizeof(void *), \"table and enum\");", "",
            f"extern const char *const {n}_call_name[{up}_CALL_COUNT];", ""]
    return "\n".join(out)


def names_source(spec):
    n, up = spec.name, spec.upper
    out = [banner(spec, f"the names of the {n} API's calls"), f'#include "{n}_table.h"', "",
           f"const char *const {n}_call_name[{up}_CALL_COUNT] = {{"]
    out += [f'\t"{c.symbol}",' for c in spec.calls]
    return "\n".join([*out, "};", ""])
