"""A library of the software device's that is not forwarded: its outputs, and its table of calls on the page of libraries."""

from . import soft, table, types
from .spec import SpecError


def outputs(spec, implemented):
    n = spec.name
    return {f"{n}_types.h": types.types_header(spec), f"{n}_table.h": table.table_header(spec),
            f"{n}_names.c": table.names_source(spec), f"{n}_soft.h": soft.soft_header(spec, implemented),
            f"{n}_soft_exports.c": soft.soft_source(spec, implemented)}


def page(spec, implemented, path):
    """The page at this path with this library's table as the spec has it."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    begin, end = f"<!-- the calls of {spec.title}: written by `meson compile libraries-page` -->", f"<!-- the end of {spec.title} -->"
    if begin not in text or end not in text:
        raise SpecError(f"{path}: no lines \"{begin}\" and \"{end}\"")
    there = {c.symbol for c in implemented}
    names = sorted(c.symbol for c in spec.calls)
    works, refused = [n for n in names if n in there], sorted([n for n in names if n not in there] + spec.newer())
    out = [f"| {spec.title}: {len(works)} calls work, {len(refused)} are refused |", "|---|", "| work: " + ", ".join(works) + " |",
           *(["| refused: " + ", ".join(refused) + " |"] if refused else [])]
    head, _, rest = text.partition(begin)
    return head + begin + "\n\n" + "\n".join(out) + "\n\n" + end + rest.partition(end)[2]
