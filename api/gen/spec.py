"""The spec: reads an API's TOML file, checks it, and hands out plain objects in a settled order.

Nothing is guessed. A pointer without a declared direction and length, a type that nobody declared, a word that nobody
knows stops the build with file, line and call; SpecError carries all of them at once, so that one run shows every fault.
The format is told at the head of api/cuda.toml.
"""

import os
import re
import string
import tomllib

from . import length

SYNC = ("local", "forget", "round", "blocking", "refused")
TRAVEL = ("none", "plain", "around", "custom")
GENERATED = ("plain", "around")  # travels of which the generator writes both ends
CHARGE = ("none", "measured", "pool", "release", "import", "reference")  # and bytes(EXPRESSION), "not: REASON"
UNCHARGED = re.compile(r"not: \S.*$")
TREAT = ("pass", "custom", "refuse")  # and the names of [body.*]
GATE = re.compile(r"(compute|copy)$|copy\((.+)\)$|not: (\S.*)$")
DIRECTIONS = ("in", "out", "inout")
FLAGS = ("optional", "static", "creates", "destroys", "borrows", "always", "ordinal")
VALUES = ("address", "user", "callback", "ignored", "device")  # pointers that are handed on as they are
PER_THREAD = ("ptsz", "ptds", "spt")

BODY_WORDS = {"REAL", "ARGS", "MAPPED", "TOLD", "CALL", "SYMBOL", "RETURNS", "FAILURE", "BYTES", "STREAM", "PER_THREAD"}

CALL_KEYS = {"args", "returns", "otherwise", "since", "macro", "header", "sync", "charge", "treat", "travel", "gate", "straight", "as",
             "check", "forgets", "reports", "settles", *PER_THREAD}
REQUIRED = ("sync", "charge")
API_KEYS = {"name", "result", "success", "not_supported", "version", "version_macro", "per_thread_macro", "header",
            "include", "types", "lost", "stream", "submits", "invalid", "full", "per_thread_stream",
            "client", "worker", "forward", "library", "title", "also", "door", "outside", "wire", "inside"}
RECORD_KEYS = {"typedef", "header", "size", "align", "fields"}
ENUM_KEYS = {"typedef", "header", "values"}
SECTIONS = {"api", "default", "handle", "kind", "typedef", "function", "constant", "enum", "struct", "union", "object", "body",
            "call", "untyped", "nodes"}

BUILTIN = {"void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "size_t", "const", "struct",
           "union", "enum", "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t"}
TYPE = r"(?P<type>[\w\s]*\w[\s*]*[\s*])(?P<name>\w+)(?P<array>(?:\[\w+\])*)"
EXTENT = re.compile(r"(one|string|image|custom|scalar)$|(count|bytes|string|scalar)\((.+)\)$")
RANGE = re.compile(r"range\((.+)\)$")
WHEN = re.compile(r"when\((\w+) = (\w+(?: \| \w+)*)\)$")


class SpecError(Exception):
    """One or more faults of a spec; the text has one line for each."""


def toml_fault(shown, text, message):
    """The reader's complaint with file, line and block; it stumbles at a line or at the end of the document."""
    line = re.search(r"at line (\d+)", message)
    head = text.splitlines()[:int(line[1])] if line else text.splitlines()
    block = next((m[1] for s in reversed(head) if (m := re.match(r"\[([\w.]+)\]", s))), "")
    twice = "twice" in message or "Cannot overwrite" in message
    what = "is declared twice" if twice else message.split(" (at ")[0]
    return f"{shown}:{len(head)}: {block.replace('.', ' ', 1) + ': ' if block else ''}{what}"


def split_words(text):
    """Words between blanks; blanks inside parentheses do not part them."""
    words, depth = [""], 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == " " and depth <= 0:
            words.append("")
        else:
            words[-1] += c
    return [w for w in words if w]


class Arg:
    """A parameter or a field: C type, name, and what is declared about it."""

    def __init__(self, text, where, fault):
        decl, _, words = text.partition(" : ")
        m = re.fullmatch(TYPE, decl.strip())
        self.text, self.name, self.type, self.array = decl.strip(), "", "", ""
        self.direction = self.extent = self.expr = self.value = ""
        self.flags = set()
        self.range = []  # bytes, or bytes of a row, rows and pitch: how much of device memory an address stands for
        self.when = None  # field and values for which this member of a union is the one that counts
        self.path, self.in_union = "", False  # of a field: how it is reached from its record
        if not m:
            fault(where, f'cannot read the declaration "{text}"')
            return
        self.name, self.array = m["name"], m["array"]
        self.type = re.sub(r"\s*\*", " *", " ".join(m["type"].split())).replace("* *", "**").replace("* *", "**")
        for word in split_words(words):
            self.take_word(word, where, fault)

    def take_word(self, word, where, fault):
        m, covers, when = EXTENT.match(word), RANGE.match(word), WHEN.match(word)
        if covers and not self.range:
            self.range = [e.strip() for e in covers[1].split(",")]
        elif when and not self.when:
            self.when = (when[1], when[2].split(" | "))
        elif word in DIRECTIONS and not self.direction:
            self.direction = word
        elif word in VALUES and not self.value:
            self.value = word
        elif word in FLAGS:
            self.flags.add(word)
        elif m and not self.extent:
            self.extent, self.expr = m[1] or m[2], m[3] or ""
        else:
            fault(where, f'parameter "{self.name}": unknown or repeated word "{word}"')

    @property
    def pointer(self):
        return self.type.endswith("*") or bool(self.array)

    @property
    def target(self):
        """The type that the pointer points to."""
        return self.type.removesuffix("*").strip()

    @property
    def const(self):
        return self.type.startswith("const ") and self.type.count("*") == 1

    def declaration(self):
        return f"{self.type}{'' if self.type.endswith('*') else ' '}{self.name}{self.array}"


class Call:
    """One exported symbol."""

    def __init__(self, symbol, block, spec, suffix=""):
        self.plain = symbol  # the symbol whose block this is
        self.per_thread = suffix
        self.symbol = f"{symbol}_{suffix}" if suffix else symbol
        m = re.fullmatch(r"(\w+?)(?:_v(\d+))?", symbol)
        self.base, self.revision = m[1], int(m[2] or 1)
        self.args, self.returns = block["_args"], block.get("returns", spec.result)
        self.since = block.get(suffix or "since", 0)
        self.block = block
        self.sync, self.charge = block["sync"], block["charge"]
        self.treat, self.travel = block["treat"], block["travel"]
        self.generated = self.travel in GENERATED
        self.replaceable = self.travel != "plain"  # by a body written by hand
        self.macro, self.header = block.get("macro"), block.get("header")
        self.otherwise = block.get("otherwise", "")
        self.untyped = block.get("untyped", False)  # nothing but the name is known
        self.goes_as = block.get("as", "")  # the call that goes over the wire in this one's place
        self.checks = block.get("check", {})  # C condition -> what the client answers at once when it holds
        self.forgets = block.get("forgets", "")
        self.reports = block.get("reports", True)
        self.settles = block.get("settles", False)
        gate = GATE.match(block.get("gate", ""))
        self.gate = ("copy" if gate[2] else gate[1] or "not") if gate else "not"  # the engine that the call submits to
        self.gate_bytes = gate[2] if gate else ""
        self.straight = block.get("straight", "")
        self.gate_reason = (gate[3] or "") if gate else ""
        self.stream = next((a.name for a in self.args if a.type == spec.stream), "") if spec.stream else ""
        self.index = -1

    def parameters(self):
        return ", ".join(a.declaration() for a in self.args) or "void"

    def prototype(self, name=None):
        ret = self.returns
        return f"{ret}{'' if ret.endswith('*') else ' '}{name or self.symbol}({self.parameters()})"

    def names(self):
        return ", ".join(a.name for a in self.args)


class Record:
    def __init__(self, tag, kind, block):
        self.tag, self.kind = tag, kind
        typedef = block.get("typedef", [])
        self.typedefs = [typedef] if isinstance(typedef, str) else typedef
        self.size, self.align, self.header = block.get("size"), block.get("align"), block.get("header")
        self.lines = block["fields"]
        self.fields = []  # Arg, flat; nested records' fields as well


class Enum:
    def __init__(self, tag, block):
        self.tag, self.typedef, self.header = tag, block.get("typedef"), block.get("header")
        self.values = block["values"]


class Spec:
    """A whole API. Calls are in the order of the file, a per-thread twin right after its plain call."""

    def __init__(self, path, shown=None):
        self.path, self.shown, self.faults = path, shown or path, []
        try:
            with open(path, encoding="utf-8") as f:
                self.text = f.read()
            data = tomllib.loads(self.text)
        except OSError as e:
            raise SpecError(f"{self.shown}: {e.strerror}") from None
        except tomllib.TOMLDecodeError as e:
            raise SpecError(toml_fault(self.shown, self.text, str(e))) from None
        self.lines = {}
        for number, line in enumerate(self.text.splitlines(), 1):
            m = re.match(r"\[([\w.]+)\]", line)
            if m:
                self.lines[m[1]] = number
        self.read(data)
        if self.faults:
            raise SpecError("\n".join(self.faults))

    def fault(self, where, message):
        section, _, name = where.partition(".")
        self.faults.append(f"{self.shown}:{self.lines.get(where, 0)}: {section}{' ' + name if name else ''}: {message}")

    # Reading ---------------------------------------------------------------------------------------------------------

    def read(self, data):
        for s in data:
            if s not in SECTIONS:
                self.fault(s, "unknown section")
        api = data.get("api", {})
        for k in ("name", "result", "success", "not_supported", "header"):
            if k not in api:
                self.fault("api", f'"{k}" is missing')
        if self.faults:
            return
        self.unknown_keys("api", api, API_KEYS)
        self.name, self.result, self.success = api["name"], api["result"], api["success"]
        self.not_supported, self.header = api["not_supported"], api["header"]
        self.version, self.version_macro = api.get("version"), api.get("version_macro")
        self.per_thread_macro, self.include = api.get("per_thread_macro"), api.get("include", [])
        self.lost = api.get("lost", self.not_supported)  # what a call over a lost link answers
        self.invalid = api.get("invalid", self.not_supported)  # what an address that is none is answered with
        self.full = api.get("full", self.not_supported)  # what a creation answers when there is no room for its id
        self.per_thread_stream = api.get("per_thread_stream", "")
        self.forward = api.get("forward", "")  # a library that is forwarded at its own interface: the header of both halves
        self.library, self.title = api.get("library", False), api.get("title", self.name)  # of the software device's alone
        self.also = api.get("also", "")  # what stands before a second name of each call
        self.client, self.worker = api.get("client", ""), api.get("worker", "")  # headers that generated bodies are made of
        self.door = api.get("door", "")  # the header of door_enter() and door_leave(), through which all calls can be led
        self.wire = api.get("wire", True)  # False: nothing of it travels, and what pointers point to need not be said
        self.inside = api.get("inside", "")  # the header of inside_enter() and inside_leave(), between which treated calls run
        self.outside = re.compile(api.get("outside", "(?!)"))  # but those whose names begin so
        self.types = api.get("types")  # a header written by hand that declares the types; then they are not checked here
        self.stream = api.get("stream")  # the type of a stream; calls that submit to one say whether they are gated
        self.submits = re.compile(api.get("submits", r"$.^"))  # and so do calls of these names
        self.upper = self.name.upper()
        self.defaults = {"treat": "pass", **data.get("default", {})}
        self.read_bodies(data.get("body", {}))
        self.read_types(data)
        self.read_calls(data.get("call", {}))
        self.read_untyped(data.get("untyped", {}))
        self.read_nodes(data.get("nodes", {}))
        self.newer_names, self.internal_names = self.read_newer() if self.library or self.forward else ({}, {})
        self.check_calls()
        self.check_versions()

    def read_newer(self):
        """
        library-newer.toml: by library, the names of calls of later releases, and those that only NVIDIA's libraries call;
        both are exported, and refused.
        """
        path = os.path.join(os.path.dirname(os.path.abspath(self.path)), "library-newer.toml")
        if not os.path.exists(path):
            return {}, {}
        with open(path, "rb") as f:
            tables = tomllib.load(f)
        declared = {c.symbol for c in self.calls}
        for name in [s for names in tables.values() for of in names.values() for s in of if s in declared]:
            self.fault("untyped", f'"{name}" is declared, and stands in library-newer.toml')
        return tables["newer"], tables["internal"]

    def newer(self, library=None):
        """Those of the API's own library, or of another one with the same spec."""
        return self.newer_names.get(library or self.name, [])

    def by_name(self, library=None):
        """All exports of which nothing but the name is known."""
        return [*self.newer(library), *self.internal_names.get(library or self.name, [])]

    def unknown_keys(self, where, block, known):
        for k in block:
            if k not in known:
                self.fault(where, f'unknown key "{k}"')

    def read_bodies(self, blocks):
        self.bodies, self.body_maps, self.body_includes, self.body_charges = {}, {}, [], {}
        for name, block in blocks.items():
            where = f"body.{name}"
            self.unknown_keys(where, block, {"code", "include", "args", "told", "charges"})
            if name in TREAT:
                self.fault(where, f'"{name}" has a meaning already')
            self.bodies[name] = string.Template(block.get("code", ""))
            self.body_charges[name] = block.get("charges", False)
            self.body_maps[name] = {key: {ctype: string.Template(text) for ctype, text in block.get(key, {}).items()}
                                    for key in ("args", "told")}
            if "include" in block and block["include"] not in self.body_includes:
                self.body_includes.append(block["include"])
            if not self.bodies[name].is_valid() or not set(self.bodies[name].get_identifiers()) <= BODY_WORDS:
                self.fault(where, f"unknown word behind $; known: {', '.join(sorted(BODY_WORDS))}")
            if not block.get("code"):
                self.fault(where, '"code" is missing')

    def read_types(self, data):
        self.handles = data.get("handle", {})
        self.kinds = data.get("kind", {})
        self.typedefs = data.get("typedef", {})
        self.functions = data.get("function", {})
        self.constants = data.get("constant", {})
        self.objects = data.get("object", {})
        for kind, block in self.objects.items():
            self.unknown_keys(f"object.{kind}", block, {"owner", "destroy", "raw", "known"})
        self.enums, self.records = [], []
        for tag, block in data.get("enum", {}).items():
            self.unknown_keys(f"enum.{tag}", block, ENUM_KEYS)
            if "values" in block:
                self.enums.append(Enum(tag, block))
            else:
                self.fault(f"enum.{tag}", '"values" is missing')
        for kind in ("struct", "union"):
            for tag, block in data.get(kind, {}).items():
                self.unknown_keys(f"{kind}.{tag}", block, RECORD_KEYS)
                if "fields" in block:
                    self.records.append(Record(tag, kind, block))
                else:
                    self.fault(f"{kind}.{tag}", '"fields" is missing')
        self.record_of = {n: r for r in self.records for n in [f"{r.kind} {r.tag}", *r.typedefs]}
        self.enum_of = {e.typedef: e for e in self.enums if e.typedef}
        self.known = {*self.handles, *self.typedefs, *self.functions, *self.record_of, *self.enum_of,
                      *(r.tag for r in self.records)}
        for name, target in self.typedefs.items():
            self.check_type(target, f"typedef.{name}" if f"typedef.{name}" in self.lines else "typedef", name)
        for r in self.records:
            self.read_fields(r)

    def read_fields(self, r):
        where = f"{r.kind}.{r.tag}"
        open_ = [(r.kind, [])]  # records around the field, innermost last: their kind, and what they hold

        for line in r.lines:
            s = line.strip()
            if s.endswith("{"):
                open_.append((s.split()[0], []))
                continue
            if s.startswith("}") and len(open_) > 1:
                kind, inside = open_.pop()
                name = s.removeprefix("}").strip()
                for a in inside:
                    a.path = f"{name}.{a.path}" if name else a.path
                    a.in_union = a.in_union or kind == "union"
                open_[-1][1].extend(inside)
                continue
            if s.startswith("}"):
                continue
            a = Arg(re.sub(r":\d+$", "", s), where, self.fault)
            if a.name:
                self.check_type(a.type, where, a.name)
                if a.type.endswith("*") or self.is_function(a.type):
                    self.check_pointer(a, where, "field", None)
                a.path = a.name
                r.fields.append(a)
                open_[-1][1].append(a)
        for a in open_[0][1]:
            a.in_union = a.in_union or r.kind == "union"
        self.check_when(r, where)
        if r.lines and sum(s.strip().endswith("{") for s in r.lines) != sum(s.strip().startswith("}") for s in r.lines):
            self.fault(where, "braces do not match")

    def check_when(self, r, where):
        for a in r.fields:
            if a.when and a.when[0] not in {f.path for f in r.fields}:
                self.fault(where, f'field "{a.name}": "{a.when[0]}" of when() is no field')

    def read_calls(self, blocks):
        self.calls = []
        for symbol, block in blocks.items():
            where = f"call.{symbol}"
            self.unknown_keys(where, block, CALL_KEYS)
            for k in REQUIRED + (("since",) if self.version else ()):
                if k not in block and k not in self.defaults:
                    self.fault(where, f'"{k}" is missing')
            block = {**self.defaults, **block}
            block.setdefault("sync", "local")
            block.setdefault("charge", "none")
            if block["sync"] in ("local", "refused"):
                block.setdefault("travel", "none")
            elif "travel" not in block and block["sync"] in SYNC:
                self.fault(where, f'"travel" is missing: a call of class "{block["sync"]}" goes over the wire')
            block.setdefault("travel", "none")
            self.check_words(where, block)
            if block.get("as") and block["travel"] not in GENERATED:
                self.fault(where, '"as" is for calls whose travel is "plain" or "around"')
            block["_args"] = [Arg(a, where, self.fault) for a in block.get("args", [])]
            self.check_args(where, block)
            self.check_gate(where, symbol, block)
            self.check_maps(where, block)
            self.add_call(Call(symbol, block, self))
            for suffix in PER_THREAD:
                if suffix in block:
                    self.add_call(Call(symbol, block, self, suffix))

    def read_untyped(self, section):
        """Calls of which only the name is known: they pass, or are not supported; both need no parameters."""
        self.unknown_keys("untyped", section, {"calls"})
        for symbol in section.get("calls", []):
            block = {"sync": "local", "charge": "none", "travel": "none", **self.defaults, "treat": "pass", "_args": [],
                     "untyped": True}
            self.add_call(Call(symbol, block, self))

    def read_nodes(self, nodes):
        """The versions of exports: each has one. What has no block is known by name alone."""
        self.nodes = nodes
        named = [s for symbols in nodes.values() for s in symbols]
        for symbol in sorted({s for s in named if named.count(s) > 1}):
            self.fault("nodes", f'"{symbol}" is named twice')
        known = {c.symbol for c in self.calls}
        if nodes:
            for symbol in sorted(known - set(named)):
                self.fault("nodes", f'"{symbol}" has no version')
            self.read_untyped({"calls": [s for s in named if s not in known]})

    def check_calls(self):
        self.by_symbol = {}
        for c in self.calls:
            if c.symbol in self.by_symbol:
                where = f"call.{c.plain}"
                self.fault(where if where in self.lines else "untyped", f'"{c.symbol}" is declared twice')
            self.by_symbol[c.symbol] = c
        for c in self.calls:
            other = self.by_symbol.get(c.goes_as)
            if c.goes_as and not c.per_thread and (not other or [a.name for a in c.args] != [a.name for a in other.args][:len(c.args)]
                                                   or any(self.kind_of(a.type) != "stream" for a in other.args[len(c.args):])):
                self.fault(f"call.{c.plain}", f'as "{c.goes_as}", which is no call with these parameters and at most a stream'
                           " more")

    def add_call(self, call):
        call.index = len(self.calls)
        self.calls.append(call)

    # Checking --------------------------------------------------------------------------------------------------------

    def check_words(self, where, block):
        def word(key, known, more=""):
            if block[key] not in known:
                self.fault(where, f'unknown {key} "{block[key]}"; known: {", ".join(known)}{more}')

        word("sync", SYNC)
        word("travel", TRAVEL)
        word("treat", TREAT + tuple(self.bodies))
        if not re.fullmatch(r"bytes\(.+\)", block["charge"]) and not UNCHARGED.match(block["charge"]):
            word("charge", CHARGE, ', bytes(EXPRESSION), "not: REASON"')
        if block.get("returns", self.result) != self.result and "otherwise" not in block:
            self.fault(where, f'returns "{block["returns"]}", so "otherwise" must say what is returned when it cannot run')

    def check_args(self, where, block):
        args = {a.name: a for a in block["_args"]}
        if len(args) != len(block["_args"]):
            self.fault(where, "two parameters have the same name")
        for name in args:
            if name.endswith("_"):
                self.fault(where, f'parameter "{name}": names that end in _ belong to generated functions')
        for a in block["_args"]:
            if not a.name:
                continue
            self.check_type(a.type, where, a.name)
            if a.pointer or self.is_function(a.type):
                if self.wire:
                    self.check_pointer(a, where, "parameter", args)
            elif a.direction or a.extent or a.value:
                self.fault(where, f'parameter "{a.name}": "{a.type}" is not a pointer')
            elif a.flags and not self.kind_of(a.type):
                self.fault(where, f'parameter "{a.name}": "{a.type}" is not a handle')
            if a.range and (self.kind_of(a.type) != "address" and a.value != "device" or len(a.range) not in (1, 3)):
                self.fault(where, f'parameter "{a.name}": range(BYTES) or range(ROW, ROWS, PITCH), of an address in device memory')
            for e in a.range:
                self.check_expr(e, args, where, f'range of "{a.name}"')
        self.check_charge(where, block)
        charge = re.fullmatch(r"bytes\((.+)\)", block["charge"])
        if charge:
            self.check_expr(charge[1], args, where, "charge")
        if block.get("forgets") and block["forgets"] not in args:
            self.fault(where, f'forgets "{block["forgets"]}", which is no parameter')
        if block["travel"] in GENERATED and not block.get("as"):
            for a in block["_args"]:
                why = self.not_plain(a)
                if why:
                    self.fault(where, f'travel "{block["travel"]}" cannot carry parameter "{a.name}": {why}')

    def check_charge(self, where, block):
        """Only a body written by hand, or a generated one that says so, charges; the driver itself charges nobody."""
        says = block["charge"]
        charged = block["treat"] == "custom" or self.body_charges.get(block["treat"], False)
        if not charged and (says in CHARGE[1:] or says.startswith("bytes(")) and block["treat"] in TREAT + tuple(self.bodies):
            self.fault(where, f'charge "{says}" with treat "{block["treat"]}": nobody would charge it; treat it, or say "not: REASON"')

    def check_gate(self, where, symbol, block):
        args = {a.name: a for a in block["_args"]}
        submits = block["sync"] in ("forget", "blocking") and any(a.type == self.stream for a in args.values())
        if "gate" not in block:
            if submits or self.submits.match(symbol):
                self.fault(where, '"gate" is missing: the call may submit work')
            return
        gate = GATE.match(block["gate"])
        if not gate:
            self.fault(where, f'cannot read gate "{block["gate"]}": compute, copy, copy(BYTES) or "not: REASON"')
        elif gate[2]:
            self.check_expr(gate[2], args, where, "gate")
        if gate and not gate[3] and block["treat"] in ("pass", "refuse"):
            self.fault(where, f'gate "{block["gate"]}" with treat "{block["treat"]}": nobody would gate it')

    def check_maps(self, where, block):
        maps = self.body_maps.get(block["treat"], {})
        known = {*maps.get("args", {}), *maps.get("told", {})}
        if known and not known & {a.type.removeprefix("const ") for a in block["_args"]}:
            self.fault(where, f'treat "{block["treat"]}" maps {", ".join(sorted(known))}: no parameter is one')

    def check_type(self, ctype, where, name):
        if self.types:
            return
        tagged = re.match(r"(?:const )?((?:struct|union) \w+)", ctype)
        if tagged:
            if tagged[1] not in self.record_of:
                self.fault(where, f'"{name}": unknown type "{tagged[1]}"')
            return
        for word in re.findall(r"[A-Za-z_]\w*", ctype):
            if word not in BUILTIN and word not in self.known:
                self.fault(where, f'"{name}": unknown type "{word}"')

    def check_pointer(self, a, where, what, args):
        def bad(message):
            self.fault(where, f'{what} "{a.name}": {message}')

        if self.is_function(a.type):
            if a.value != "callback":
                bad('is a function pointer and must be declared "callback"')
            return
        if a.value:
            if a.direction or a.extent:
                bad(f'"{a.value}" has neither direction nor length')
            return
        if not a.direction:
            bad(f'is a pointer ("{a.text}") and nothing is declared about it')
            return
        if not a.extent:
            bad("its length is missing: one, count(), bytes(), string, image or custom")
            return
        if a.const and a.direction != "in":
            bad(f'points to const and cannot be "{a.direction}"')
        if a.extent in ("one", "count") and a.target == "void" and not a.array:
            bad("points to void: give its length as bytes() or say custom")
        if a.extent == "string" and a.direction == "out" and not a.expr:
            bad("an output string needs string(SIZE)")
        if a.extent == "scalar":
            for name in filter(None, re.split(r",\s*", a.expr)):
                if args is None or name not in args:
                    bad(f'"{name}" in scalar() is no parameter')
        elif a.expr and args is not None:
            self.check_expr(a.expr, args, where, f'{what} "{a.name}"')
        if args is not None and a.direction == "out" and self.kind_of(a.target) not in (None, "device"):
            if not a.flags & {"creates", "borrows", "static"}:
                bad("gives out a handle: creates or borrows?")

    def check_expr(self, expr, args, where, what):
        try:
            used = length.names(length.parse(expr))
        except length.LengthError as e:
            self.fault(where, f"{what}: {e}")
            return
        for kind, name, field in used:
            record = self.record(args[name].target.removeprefix("const ").strip()) if name in args else None
            if name not in args:
                self.fault(where, f'{what}: "{name}" in "{expr}" is no parameter')
            elif kind == "field" and (not record or field not in {f.name for f in record.fields}):
                self.fault(where, f'{what}: "{name}->{field}" in "{expr}" is no field')
            elif kind == "value" and args[name].pointer:
                self.fault(where, f'{what}: "{name}" in "{expr}" is a pointer')
            elif kind == "target" and (not args[name].pointer or args[name].direction == "out"):
                self.fault(where, f'{what}: "*{name}" in "{expr}" is nothing that the caller filled')

    def check_versions(self):
        groups = {}
        for c in self.calls:
            if not c.untyped:
                groups.setdefault((c.base, c.per_thread), []).append(c)
        for calls in groups.values():
            calls.sort(key=lambda c: c.revision)
            for older, newer in zip(calls, calls[1:]):
                if self.version and newer.since <= older.since:
                    self.fault(f"call.{newer.plain}", f"since {newer.since} is not above the {older.since} of"
                               f" {older.symbol}")
        macros = {}
        for c in self.calls:
            where = f"call.{c.plain}"
            if self.version and not c.per_thread and c.block.get("since") is not None and not 0 < c.since <= self.version:
                self.fault(where, f"since {c.since} is not between 1 and the API's {self.version}")
            if c.per_thread and c.since < c.block.get("since", 0):
                self.fault(where, f"{c.per_thread} {c.since} is below since {c.block['since']}")
            if c.macro and not c.per_thread:
                if c.macro in macros:
                    self.fault(where, f'macro "{c.macro}" is taken by {macros[c.macro]}')
                macros[c.macro] = c.symbol

    # Questions about types -------------------------------------------------------------------------------------------

    def resolve(self, ctype):
        """The type behind all typedefs, without const."""
        ctype = ctype.removeprefix("const ").strip()
        while ctype in self.typedefs:
            ctype = self.typedefs[ctype]
        return ctype

    def is_function(self, ctype):
        return ctype.removeprefix("const ") in self.functions

    def record(self, ctype):
        return self.record_of.get(self.resolve(ctype))

    def kind_of(self, ctype):
        """The kind of handle, or None."""
        ctype = ctype.removeprefix("const ").strip()
        while True:
            if ctype in self.kinds:
                return self.kinds[ctype]
            if ctype in self.handles:
                return self.handles[ctype]["kind"]
            if ctype not in self.typedefs:
                return None
            ctype = self.typedefs[ctype]

    def travels_as_id(self, ctype):
        """Is a value of this type something else on the wire than what the program has (an id, another ordinal)?"""
        kind = self.kind_of(ctype)
        return kind not in (None, "address") and not self.objects.get(kind, {}).get("raw")

    def has_pointers(self, ctype, seen=()):
        """Does a value of this type hold addresses of the process (handles are not)?"""
        if ctype.endswith("*") or self.is_function(ctype):
            return True
        r = self.record(ctype)
        return bool(r) and any(self.has_pointers(f.type) for f in r.fields)

    def translated(self, ctype):
        """Does a value of this type hold handles, devices' ordinals or pointers, which differ between the two ends?"""
        if self.kind_of(ctype):
            return self.travels_as_id(ctype)
        r = self.record(ctype)
        return bool(r) and any(f.type.endswith("*") or f.range or "ordinal" in f.flags or self.translated(f.type)
                               for f in r.fields)

    def not_plain_record(self, r, direction):
        """Why values of this record cannot travel in this direction; None if they can."""
        for f in r.fields:
            record = self.record(f.type)
            if f.value in ("address", "user", "callback") or f.type.endswith("*") and "static" in f.flags:
                return f'its field "{f.name}" is an address of the process'
            if f.type.endswith("*") and not f.value:
                if direction != "in" or f.direction != "in" or f.extent not in ("one", "count") or f.in_union:
                    return "what it points to holds pointers"
                if any(kind != "value" for kind, _, _ in length.names(length.parse(f.expr or "1"))):
                    return f'the length of its field "{f.name}" is not made of fields'
                if self.has_pointers(f.target):
                    return f'what its field "{f.name}" points to holds pointers'
            if record and (why := self.not_plain_record(record, direction)):
                return why
            if f.in_union and not f.when and (self.translated(f.type) or f.range):
                return f'its field "{f.name}" counts only in some values of the union: when()?'
            if f.array and self.translated(f.type):
                return f'its field "{f.name}" is an array of handles'
        return None

    def not_plain(self, a):
        """Why the generator cannot write the travel of this parameter; None if it can."""
        if a.value == "callback":
            return "a callback"
        if a.value in ("address", "user"):
            return "an address of the process"
        if a.value in ("ignored", "device"):
            return None
        if not a.pointer:
            r = self.record(a.type)
            return "a struct with pointers" if r and self.not_plain_record(r, "value") else None
        if a.extent == "scalar":
            return None if self.forward else "a scalar of a library that is not forwarded"
        if a.extent in ("image", "custom"):
            return f'its length is "{a.extent}"'
        if "static" in a.flags:
            return "it points into the library"
        record = self.record(a.target)
        if not record and self.has_pointers(a.target):
            return "what it points to holds pointers"
        why = self.not_plain_record(record, a.direction) if record else None
        if why:
            return why
        if "->" in a.expr:
            return "its length stands in a struct"
        if record and record.align and a.extent != "one":
            return "what it points to wants a larger alignment than a message has"
        if "creates" in a.flags and self.kind_of(a.target) != "address" and a.extent != "one":
            return "it creates several at once"
        return None
