"""The skeleton of a driver: every symbol exported, every call succeeds at once.

Every function is weak, so a file linked beside it replaces a call by defining it, and null_table holds whatever won. What
a call gives out is zero, or 4096 for a handle that it creates.
"""

from .text import banner


def null_source(spec):
    n = spec.name
    out = [banner(spec, f"a driver of the {n} API that does nothing"), f'#include "{n}_table.h"', "",
           "#include <string.h>", "", '#define EXPORT __attribute__((weak, visibility("default")))', "",
           f"extern const struct {n}_table null_table;", ""]
    for c in spec.calls:
        out += [f"EXPORT {c.prototype()};", c.prototype(), "{"]
        for a in c.args:
            if a.direction == "out" and a.extent == "one" and not a.const:
                zero = f"memset({a.name}, 0, sizeof(*{a.name}))"
                value = f"*{a.name} = ({a.target})4096" if "creates" in a.flags else zero
                out += [f"\tif ({a.name})", f"\t\t{value};"]
        answer = spec.success if c.returns == spec.result else c.otherwise
        out += [f"\treturn {answer};" if c.returns != "void" else "\treturn;", "}", ""]
    out += [f"const struct {n}_table null_table = {{"]
    out += [f"\t.{c.symbol} = {c.symbol}," for c in spec.calls]
    return "\n".join([*out, "};", ""])
