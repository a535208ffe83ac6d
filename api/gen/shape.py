"""A shape: a vendor's library whose calls are those of an API that has a spec, under other names (api/shapes/NAME.toml).

Nothing is guessed: every call of the spec is exported under the name that the table's prefixes make of it, or is named in
`absent`; a name that the spec does not have stops the build, and so do two calls of one name. A call that the spec gains is
exported by itself.

  <name>_shape_entry.S    exports of the face and of the stand-in
  <name>_shape_names.c    <api>_call_name[] with the vendor's names, by which the face finds the driver's functions
  <name>_shape.c          struct shape (core/shape.h)
  <name>_stand_in.c       what they lead to on the software device (softdev/shaped/stand_in.h)
  <name>_rename.h         the API's names for the vendor's: for tests
  <name>_shape_row.h      a row of shape_rows[] (model/shapes.h), for meted and mete

Of a library with the API's own names there are the exports and the stand-in's files alone: the API's face serves.
"""

import fnmatch
import tomllib

from . import shim
from .spec import SpecError, toml_fault

KEYS = {"name", "vendor", "prefix", "stem", "versions", "folders", "setting", "visible", "remedy", "first", "absent", "refuse", "also",
        "pass", "proc", "uuid", "nodes", "management", "pci_vendor"}
REQUIRED = ("name", "vendor", "prefix", "stem", "versions", "setting", "visible", "remedy", "nodes")


class Shape:
    def __init__(self, spec, path, shown):
        self.spec, self.shown, self.faults = spec, shown, []
        try:
            with open(path, encoding="utf-8") as f:
                self.text = f.read()
            data = tomllib.loads(self.text)
        except OSError as e:
            raise SpecError(f"{shown}: {e.strerror}") from None
        except tomllib.TOMLDecodeError as e:
            raise SpecError(toml_fault(shown, self.text, str(e))) from None
        for key in data:
            if key not in KEYS:
                self.fault(key, f'unknown key "{key}"')
        for key in REQUIRED:
            if key not in data:
                self.fault("", f'"{key}" is missing')
        if not self.faults:
            self.read(data)
        if self.faults:
            raise SpecError("\n".join(self.faults))

    def fault(self, word, message):
        line = next((n for n, s in enumerate(self.text.splitlines(), 1) if word and word in s and not s.startswith("#")), 0)
        self.faults.append(f"{self.shown}:{line}: {message}")

    def read(self, data):
        self.data, self.name = data, data["name"]
        self.prefixes = sorted(data["prefix"].items(), key=lambda p: -len(p[0]))
        self.first = data.get("first", 0)
        self.calls = {c.symbol: c for c in self.spec.calls}
        self.aliases = []  # the vendor's name of a call, and the one that it may have instead
        self.read_absent(data.get("absent", []))
        self.exports = {}  # the vendor's name -> the call's number
        for c in self.spec.calls:
            if c.symbol not in self.absent and not self.successor(c):
                self.export(self.renamed(c.symbol), c)
        for c in self.spec.calls:
            d = self.successor(c)
            if c.symbol not in self.absent and d:
                self.aliases.append((self.renamed(d.symbol), self.renamed(c.symbol)))
                self.export(self.renamed(c.symbol), d)
        for name, symbol in data.get("also", {}).items():
            if symbol not in self.calls:
                self.fault(f'"{symbol}"', f'also: "{symbol}" is no call of {self.spec.name}.toml')
                continue
            self.aliases.append((self.renamed(symbol), name))
            self.export(name, self.calls[symbol])
        self.refused = [self.renamed(s) for s in self.known("refuse")]
        self.procs = self.known("proc")
        self.passed = data.get("pass", [])
        for name in self.passed:
            if name in self.exports or self.passed.count(name) > 1:
                self.fault(f'"{name}"', f'pass: "{name}" is exported already')

    def known(self, key):
        for s in self.data.get(key, []):
            if s not in self.calls:
                self.fault(f'"{s}"', f'{key}: "{s}" is no call of {self.spec.name}.toml')
        return [s for s in self.data.get(key, []) if s in self.calls]

    def read_absent(self, patterns):
        self.absent = set()
        for p in patterns:
            hits = fnmatch.filter(self.calls, p)
            if not hits:
                self.fault(f'"{p}"', f'absent: no call of {self.spec.name}.toml is named "{p}"')
            self.absent.update(hits)

    def renamed(self, symbol):
        for ours, theirs in self.prefixes:
            if symbol.startswith(ours):
                return theirs + symbol[len(ours):]
        self.fault("prefix", f'"{symbol}" begins with none of the prefixes: name it in "absent", or its prefix')
        return symbol

    def successor(self, call):
        """The call of the same name that had taken its place by version `first`: then this one is not there."""
        later = [d for d in self.spec.calls if d.base == call.base and not d.per_thread and call.since < d.since <= self.first]
        return max(later, key=lambda d: d.since) if later and not call.per_thread and call.since else None

    def export(self, name, call):
        if name in self.exports:
            self.fault(f'"{name}"', f'"{name}" would be two calls: {self.spec.calls[self.exports[name]].symbol} and {call.symbol}')
        self.exports[name] = call.index

    def driver_name(self, call):
        """What the vendor's library exports the call as; "": it does not."""
        return "" if call.symbol in self.absent or self.successor(call) else self.renamed(call.symbol)


def banner(shape, what):
    return f"/* {what}. Generated by apigen.py from {shape.spec.name}.toml and {shape.name}.toml; a change belongs there. */"


def entry(shape):
    """Of the face and of the stand-in: both begin with a table of slots that shim_start() fills."""
    numbered = [*shape.exports.items(), *((n, len(shape.spec.calls) + i) for i, n in enumerate(shape.passed))]
    return shim.entries(banner(shape, f"the exports of {shape.data['stem']}"), len(shape.spec.calls) + len(shape.passed), numbered,
                        passed=len(shape.spec.calls))


def names(shape):
    n, up = shape.spec.name, shape.spec.upper
    return "\n".join([banner(shape, "the vendor's names of the calls"), f'#include "{n}_table.h"', "",
                      f"const char *const {n}_call_name[{up}_CALL_COUNT] = {{",
                      *(f'\t"{shape.driver_name(c)}",' for c in shape.spec.calls), "};", ""])


def strings(name, words):
    return [f"static const char *const {name}[] = {{ {', '.join([*(f'{chr(34)}{w}{chr(34)}' for w in words), 'NULL'])} }};"]


def source(shape):
    d, spec = shape.data, shape.spec
    plain, theirs = shape.prefixes[-1]
    init = f"{theirs}Init"
    return "\n".join([
        banner(shape, f"the names of {d['vendor']}'s library"), '#include "core/shape.h"', f'#include "{spec.name}_shim.h"', "",
        *strings("versions", d["versions"]), *strings("folders", d.get("folders", [])), *strings("refused", shape.refused),
        *strings("passed", shape.passed), "",
        "static const struct shape_alias aliases[] = {", *(f'\t{{ "{a}", "{b}" }},' for a, b in shape.aliases), "\t{ NULL, NULL },", "};", "",
        f"extern __attribute__((visibility(\"default\"))) {spec.result} {init}(unsigned int flags);",
        "extern __attribute__((visibility(\"hidden\"))) void *shim_passed[];", "",
        f"static {spec.result} not_supported(void)", "{", f"\treturn {spec.not_supported};", "}", "",
        "static const struct behind behind = {",
        f'\t.stem = "{d["stem"]}", .versions = versions, .first = folders, .symbol = "{init}",',
        f'\t.setting = "{d["setting"]}", .remedy = "{d["remedy"]}",', "};", "",
        "const struct shape shape = {",
        f'\t.library = "libmete-{shape.name}.so", .plain = "{plain}", .prefix = "{theirs}", .visible = "{d["visible"]}",',
        f"\t.first = {shape.first},",
        f"\t.behind = &behind, .init = (void *){init}, .aliases = aliases, .refused = refused,",
        "\t.passed = passed, .passed_slots = shim_passed, .missing = (void *)not_supported,", "};", ""])


def stand_in(shape):
    d, spec = shape.data, shape.spec
    plain, theirs = shape.prefixes[-1]
    rows = [f'\t[{i}] = "{c.symbol}",' for i, c in enumerate(spec.calls) if c.index in shape.exports.values()]
    theirs_of = {i: n for n, i in reversed(shape.exports.items())}
    out = [banner(shape, f"what stands in for {d['vendor']}'s library"), '#include "softdev/shaped/stand_in.h"',
           *([f'#include "{spec.name}_procs.h"'] if spec.version else []), "",
           f"static const char *const names[{len(spec.calls)}] = {{", *rows, "};", "",
           f"static const char *const exports[{len(spec.calls)}] = {{", *(f'\t[{i}] = "{n}",' for i, n in theirs_of.items()), "};", "",
           *(FIND.replace("$n", spec.name).split("\n") if spec.version else []),
           "const struct stand_in stand_in = {",
           f"\t.exports = exports, .find = {'find' if spec.version else 'NULL'},",
           f'\t.api = "{spec.name}", .plain = "{plain}", .prefix = "{theirs}", .names = names, .count = {len(spec.calls)},',
           f"\t.passed = {len(shape.passed)}, .not_supported = {not_supported_number(spec)},",
           "\t.procs = { " + ", ".join([*(str(shape.calls[s].index + 1) for s in shape.procs), "0"]) + " },",
        "\t.uuids = { " + ", ".join([*(str(shape.calls[s].index + 1) for s in shape.known("uuid")), "0"]) + " },", "};", ""]
    return "\n".join(out)


FIND = """static bool find(const char *name, int version, uint64_t flags, unsigned int *ret)
{
	enum $n_call call = 0;
	bool found = $n_proc_find(name, version, flags, &call) == PROC_FOUND;

	*ret = (unsigned int)call;
	return found;
}
"""


def not_supported_number(spec):
    """CUDA's and HIP's is the same number."""
    assert spec.not_supported in ("CUDA_ERROR_NOT_SUPPORTED", "hipErrorNotSupported"), spec.not_supported
    return 801


def row(shape):
    """Names without a folder are looked up by the loader; a library with the API's own names is not: that would be another one."""
    d, own = shape.data, shape.prefixes[-1][0] == shape.prefixes[-1][1]
    files = [d["stem"] + v for v in d["versions"]]
    places = ([] if own else files) + [f"{folder}/{f}" for folder in d.get("folders", []) for f in files]

    def words(key, some):
        return f"\t.{key} = {{ {', '.join(f'{chr(34)}{w}{chr(34)}' for w in some)} }}," if some else f"\t.{key} = {{ NULL }},"

    return "\n".join([
        banner(shape, "where the library is and what it is called"), "{",
        f'\t.name = "{shape.name}", .vendor = "{d["vendor"]}", .api = "{shape.spec.name}", .prefix = "{shape.prefixes[-1][1]}",',
        f'\t.own_names = {"true" if own else "false"}, .setting = "{d["setting"]}", .remedy = "{d["remedy"]}",',
        words("places", places), words("management", d.get("management", [])), words("nodes", d["nodes"]),
        f"\t.pci_vendor = {d.get('pci_vendor', 0):#x},", "},", ""])


def rename_header(shape):
    theirs = shape.prefixes[-1][1]
    macros = {c.macro for c in shape.spec.calls}  # the API's header itself makes another name of these
    return "\n".join([banner(shape, "the API's names become the vendor's: for a program that is compiled for another shape"), "#pragma once",
                      "", f'#define SHAPE_PREFIX "{theirs}"', f'#define SHAPE_SETTING "{shape.data["setting"]}"', "",
                      *(f"#define {shape.spec.calls[i].symbol} {n}" for n, i in shape.exports.items()
                        if n == shape.renamed(shape.spec.calls[i].symbol) and shape.spec.calls[i].symbol not in macros), ""])


def outputs(spec, path, shown):
    shape = Shape(spec, path, shown)
    n = shape.name
    files = {f"{n}_shape_row.h": row(shape), f"{n}_shape_entry.S": entry(shape), f"{n}_stand_in.c": stand_in(shape)}
    if shape.prefixes[-1][0] == shape.prefixes[-1][1]:
        return files
    return {**files, f"{n}_shape_names.c": names(shape), f"{n}_shape.c": source(shape), f"{n}_rename.h": rename_header(shape)}
