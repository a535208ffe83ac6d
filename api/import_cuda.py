#!/usr/bin/env python3
"""Reads the CUDA driver API's declarations through the compiler, and compares the spec with them.

import_cuda.py check cuda.toml    says where the spec and the installed toolkit's headers differ; status 1 if they do
import_cuda.py propose cuda.toml  prints blocks for calls and types that the toolkit declares and the spec lacks. What the
                                  compiler cannot know stands there as "?", which apigen.py refuses, so that a person
                                  decides it.

Only the compiler's syntax tree is read (clang -ast-dump=json), never the text of a header. Both modes need clang and a
toolkit (--include DIR, default /usr/local/cuda/include); without them, or with a toolkit newer than the spec, the status is
77, which meson takes as "skipped". Of a toolkit older than the spec everything must be in the spec, and records must have
their sizes; what the spec has beyond it is not compared.
The tree gives names, types, enumerators and the order of fields; sizes and offsets are asked of the compiler by a program
that is built twice, once over the toolkit's header and once over ours.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77

# What the interop headers want of others' headers: just the integer and pointer types that they mention.
OTHERS = {
    "GL/gl.h": "typedef unsigned int GLuint; typedef unsigned int GLenum;\n",
    "EGL/egl.h": "typedef void *EGLDisplay; typedef int EGLint; typedef unsigned int EGLBoolean; typedef void *EGLSync;\n",
    "EGL/eglext.h": "typedef void *EGLStreamKHR; typedef void *EGLImageKHR; typedef void *EGLSyncKHR;\n",
    "vdpau/vdpau.h": "#include <stdint.h>\ntypedef uint32_t VdpDevice; typedef uint32_t VdpVideoSurface;"
                     " typedef uint32_t VdpOutputSurface; typedef uint32_t VdpStatus; typedef uint32_t VdpFuncId;\n"
                     "typedef VdpStatus VdpGetProcAddress(VdpDevice, VdpFuncId, void **);\n",
}
HEADERS = ["vdpau/vdpau.h", "cuda.h", "cudaProfiler.h", "cudaGL.h", "cudaEGL.h", "cudaVDPAU.h"]
TYPEDEF_HEADERS = ["cudaTypedefs.h", "cudaProfilerTypedefs.h", "cudaGLTypedefs.h", "cudaEGLTypedefs.h",
                   "cudaVDPAUTypedefs.h"]
PREFIX = ("CU", "cu")


class Declarations:
    """What the compiler saw: plain dictionaries in the order of declaration."""

    def __init__(self):
        self.functions = {}  # name -> (return type, [(type, parameter name)])
        self.typedefs = {}  # name -> type
        self.enums = {}  # tag -> {enumerator: value}
        self.records = {}  # tag -> (struct or union, [field lines])
        self.variants = {}  # (name, "" or ptsz or ptds) -> [(since, type)]
        self.macros = {}  # object-like macros of the API
        self.calls_mapped = {}  # public name -> symbol, from the preprocessor
        self.calls_mapped_ptds = {}  # the same with the per-thread default stream chosen


def declare(qual_type, name):
    """C text of a declaration: declare("char [64]", "x") is "char x[64]"."""
    m = re.match(r"^(.*?)((?:\[\d*\])+)$", qual_type)
    if m:
        return f"{m[1].rstrip()} {name}{m[2]}"
    if "(*)" in qual_type:
        return qual_type.replace("(*)", f"(*{name})")
    return f"{qual_type}{name}" if qual_type.endswith("*") else f"{qual_type} {name}"


def record_lines(node, depth=0):
    """The fields of a record as lines of C; a nested record opens and closes with lines of its own."""
    lines, nested = [], None
    pad = "  " * depth
    for n in node.get("inner", []):
        if n["kind"] == "RecordDecl":
            nested = n
        elif n["kind"] == "FieldDecl":
            t = n["type"]["qualType"]
            if nested is not None and ("unnamed" in t or "anonymous" in t or n.get("isImplicit")):
                array = re.search(r"((?:\[\d+\])+)$", t)
                lines.append(f"{pad}{nested['tagUsed']} {{")
                lines += record_lines(nested, depth + 1)
                lines.append(f"{pad}}} {n.get('name', '')}{array[1] if array else ''}".rstrip())
                nested = None
            elif nested is not None and nested.get("name") and nested["name"] in t:
                lines.append(f"{pad}{nested['tagUsed']} {nested['name']} {{")
                lines += record_lines(nested, depth + 1)
                lines.append(f"{pad}}} {n['name']}")
                nested = None
            else:
                lines.append(pad + declare(t, n["name"]))
    return lines


def enum_values(node):
    values, last = {}, -1
    for n in node.get("inner", []):
        if n["kind"] != "EnumConstantDecl":
            continue
        value = constant(n)
        last = last + 1 if value is None else value
        values[n["name"]] = last
    return values


def constant(node):
    for n in node.get("inner", []):
        if n["kind"] == "ConstantExpr" and "value" in n:
            return int(n["value"])
        value = constant(n)
        if value is not None:
            return value
    return None


def compiler(argv, where):
    r = subprocess.run(argv, cwd=where, capture_output=True, text=True)
    if r.returncode:
        raise RuntimeError(f"{argv[0]} failed: {r.stderr[:2000]}")
    return r.stdout


def read_toolkit(include):
    """Value: the toolkit's Declarations. Raises CalledProcessError if the compiler fails."""
    d = Declarations()
    with tempfile.TemporaryDirectory() as tmp:
        for name, text in OTHERS.items():
            os.makedirs(os.path.join(tmp, os.path.dirname(name)), exist_ok=True)
            with open(os.path.join(tmp, name), "w") as f:
                f.write(text)
        def source(name, headers, internal):
            with open(os.path.join(tmp, name), "w") as f:
                f.write("#define __CUDA_API_VERSION_INTERNAL\n" if internal else "")
                f.writelines(f"#include <{h}>\n" for h in headers)
        flags = ["-fno-caret-diagnostics", "-I.", "-I", include, "-w"]
        source("all.c", HEADERS, True)
        source("typedefs.c", HEADERS + TYPEDEF_HEADERS, True)
        source("macros.c", HEADERS, False)
        tree = json.loads(compiler(["clang", *flags, "-fsyntax-only", "-Xclang", "-ast-dump=json", "all.c"], tmp))
        typedefs = json.loads(compiler(["clang", *flags, "-fsyntax-only", "-Xclang", "-ast-dump=json", "typedefs.c"], tmp))
        plain = compiler(["clang", *flags, "-E", "-dM", "macros.c"], tmp)
        thread = compiler(["clang", *flags, "-DCUDA_API_PER_THREAD_DEFAULT_STREAM", "-E", "-dM", "macros.c"], tmp)
    read_tree(tree, d)
    read_variants(typedefs, d)
    read_macros(plain, d.macros, d.calls_mapped, d.functions)
    read_macros(thread, {}, d.calls_mapped_ptds, d.functions)
    return d


def read_tree(tree, d):
    anonymous = None
    for n in tree["inner"]:
        name = n.get("name", "")
        if n["kind"] in ("RecordDecl", "EnumDecl"):
            anonymous = None if name else n
        if n["kind"] == "TypedefDecl" and name.startswith(PREFIX):
            d.typedefs[name] = n["type"]["qualType"]
            if anonymous is not None and re.match(rf"(struct|union|enum) {name}$", d.typedefs[name]):
                add_tagged(anonymous, name, d)
        if not name.startswith(PREFIX):
            continue
        if n["kind"] == "FunctionDecl":
            d.functions[name] = (n["type"]["qualType"].split("(")[0].strip(),
                                 [(p["type"]["qualType"], p.get("name", ""))
                                  for p in n.get("inner", []) if p["kind"] == "ParmVarDecl"])
        else:
            add_tagged(n, name, d)


def add_tagged(node, name, d):
    if node["kind"] == "EnumDecl":
        d.enums[name] = enum_values(node)
    elif node["kind"] == "RecordDecl" and node.get("completeDefinition"):
        d.records[name] = (node["tagUsed"], record_lines(node))


def read_variants(tree, d):
    for n in tree["inner"]:
        m = re.match(r"PFN_(\w+?)_v(\d+)(?:_(ptsz|ptds))?$", n.get("name", ""))
        if n["kind"] == "TypedefDecl" and m:
            d.variants.setdefault((m[1], m[3] or ""), []).append((int(m[2]), n["type"]["qualType"]))
    for v in d.variants.values():
        v.sort()


def read_macros(text, constants, mapped, functions):
    table = {}
    for line in text.splitlines():
        m = re.match(r"#define (\w+) (.*\S)\s*$", line)
        if m:
            table[m[1]] = m[2]
    for name, value in table.items():
        thread = re.match(r"__CUDA_API_(PTSZ|PTDS)\((\w+)\)$", value)
        if thread:
            on = re.search(r"##\s*_(ptsz|ptds)", function_macro(text, f"__CUDA_API_{thread[1]}"))
            value = thread[2] + (f"_{on[1]}" if on else "")
        if name.startswith("cu") and value in functions:
            if name != value:
                mapped[name] = value
        elif name.startswith(("CU_", "CUDA_")) and not name.endswith("_H"):
            constants[name] = value


def function_macro(text, name):
    m = re.search(rf"^#define {name}\([^)]*\) (.*)$", text, re.M)
    return m[1] if m else ""


# Comparing ---------------------------------------------------------------------------------------------------------------


def squeezed(text):
    """C text without differences of spacing."""
    return re.sub(r"\s*([*,(){}])\s*", r"\1", " ".join(text.split()))


def foreign(ctype):
    """The interop calls stand in the spec with the plain types behind the names of others' headers."""
    return {"GLuint": "unsigned int", "GLenum": "unsigned int", "EGLint": "int", "EGLImageKHR": "void *",
            "EGLStreamKHR": "void *", "EGLSyncKHR": "void *", "VdpDevice": "uint32_t", "VdpVideoSurface": "uint32_t",
            "VdpOutputSurface": "uint32_t", "VdpGetProcAddress *": "void *"}.get(ctype, ctype)


def function_type(text):
    """A function pointer's type without the names of its parameters."""
    head, _, inner = text.partition("(*)(")
    params = [re.sub(r"(?<=[\s*])\w+$", "", p.strip()) if re.search(r"[\w*]\s*[\s*]\w+$", p.strip()) else p
              for p in inner.rstrip(")").split(",")]
    return squeezed(head + "(*)(" + ",".join(params) + ")")


def compare(spec, d):
    """Value: a line for each thing in which the spec and the toolkit differ."""
    diff = []

    def names(what, ours, theirs):
        diff.extend(f"{what} {n}: only in the toolkit" for n in theirs if n not in ours)
        diff.extend(f"{what} {n}: only in the spec" for n in ours if n not in theirs)
        return [n for n in ours if n in theirs]

    calls = {c.symbol: c for c in spec.calls if not c.untyped}
    for n in names("call", calls, d.functions):
        ret, params = d.functions[n]
        ours = [squeezed(a.type) for a in calls[n].args]
        theirs = [squeezed(foreign(t)) for t, _ in params]
        if ours != theirs or squeezed(calls[n].returns) != squeezed(ret):
            diff.append(f"call {n}: spec {calls[n].returns} {ours}, toolkit {ret} {theirs}")
        if not calls[n].per_thread and [a.name for a in calls[n].args] != [p for _, p in params]:
            diff.append(f"call {n}: parameters are named otherwise")
    compare_versions(calls, d, diff)
    compare_macros(spec, d, diff)
    enums = {e.tag: e for e in spec.enums}
    for n in names("enum", enums, d.enums):
        for v in names(f"enumerator of {n}:", enums[n].values, d.enums[n]):
            if enums[n].values[v] != d.enums[n][v]:
                diff.append(f"enumerator {v}: spec {enums[n].values[v]}, toolkit {d.enums[n][v]}")
    records = {r.tag: r for r in spec.records}
    for n in names("record", records, d.records):
        ours = [squeezed(line.split(" : ")[0]) for line in records[n].lines]
        if (records[n].kind, ours) != (d.records[n][0], [squeezed(line) for line in d.records[n][1]]):
            diff.append(f"record {n}: spec {ours}, toolkit {d.records[n]}")
    compare_typedefs(spec, d, diff, names)
    for n in names("constant", [c for c, v in spec.constants.items() if v], without(d.macros, spec.version_macro)):
        if spec.constants[n] != d.macros[n]:
            diff.append(f"constant {n}: spec {spec.constants[n]}, toolkit {d.macros[n]}")
    if str(spec.version) != d.macros.get(spec.version_macro):
        diff.append(f"version: spec {spec.version}, toolkit {d.macros.get(spec.version_macro)}")
    return diff


def without(table, key):
    return {k: v for k, v in table.items() if k != key}


def compare_versions(calls, d, diff):
    """The n-th version of a name in the typedef headers is its n-th export."""
    groups = {}
    for c in calls.values():
        groups.setdefault((c.base, c.per_thread), []).append(c)
    for key, group in groups.items():
        group.sort(key=lambda c: c.revision)
        ours, theirs = [c.since for c in group], [v for v, _ in d.variants.get(key, [])]
        if ours != theirs:
            diff.append(f"versions of {' '.join(key).strip()}: spec {ours}, toolkit {theirs}")


def compare_macros(spec, d, diff):
    from gen.types import version_macros
    plain, twins = version_macros(spec.calls)
    for what, ours, theirs in (("", plain, d.calls_mapped), (" per thread", {**plain, **twins}, d.calls_mapped_ptds)):
        for name in sorted({*ours, *theirs}):
            if ours.get(name) != theirs.get(name):
                diff.append(f"macro {name}{what}: spec {ours.get(name)}, toolkit {theirs.get(name)}")


def compare_typedefs(spec, d, diff, names):
    ours = {n: f"struct {h['tag']} *" for n, h in spec.handles.items()}
    ours.update(spec.typedefs)
    ours.update({t: f"{r.kind} {r.tag}" for r in spec.records for t in r.typedefs})
    ours.update({e.typedef: f"enum {e.tag}" for e in spec.enums if e.typedef})
    ours.update(spec.functions)
    for n in names("type", ours, d.typedefs):
        shape = function_type if n in spec.functions else squeezed
        if shape(ours[n]) != shape(d.typedefs[n]):
            diff.append(f"type {n}: spec {ours[n]}, toolkit {d.typedefs[n]}")


def layout_program(records, fields):
    """C that prints size and alignment of every record and, with `fields`, the offset of every field."""
    out = ["#include <stdio.h>", "#include <stddef.h>", "int main(void)", "{"]
    for r in records:
        name = r.typedefs[0] if r.typedefs else f"{r.kind} {r.tag}"
        out.append(f'\tprintf("{r.tag} size %zu align %zu\\n", sizeof({name}), _Alignof({name}));')
        out += [f'\tprintf("{r.tag}.{p} %zu\\n", offsetof({name}, {p}));' for p in field_paths(r.lines) if fields]
    return "\n".join([*out, "\treturn 0;", "}", ""])


def field_paths(lines):
    paths, at = [], 0

    def block(prefix):
        """Reads up to the closing line of a nested record; value: that line."""
        nonlocal at
        found = []
        while at < len(lines):
            line = lines[at].split(" : ")[0].strip()
            at += 1
            if line.startswith("}"):
                name = re.sub(r"\[.*", "", line[1:].strip())
                return found, name
            if line.endswith("{"):
                inner, name = block(prefix)
                found += ([name] if name else []) + [f"{name}.{p}" if name else p for p in inner]
            else:
                found.append(re.search(r"(\w+)(?:\[\d+\])*$", line)[1])
        return found, ""

    paths, _ = block("")
    return paths


def compare_layout(spec, include, diff, records, fields):
    from gen import types
    with tempfile.TemporaryDirectory() as tmp:
        for name, text in OTHERS.items():
            os.makedirs(os.path.join(tmp, os.path.dirname(name)), exist_ok=True)
            with open(os.path.join(tmp, name), "w") as f:
                f.write(text)
        with open(os.path.join(tmp, "ours.h"), "w") as f:
            f.write(types.types_header(spec))
        program = layout_program(records, fields)
        theirs = "#define __CUDA_API_VERSION_INTERNAL\n" + "".join(f"#include <{h}>\n" for h in HEADERS)
        answers = []
        for name, head in (("ours", '#include "ours.h"\n'), ("theirs", theirs)):
            with open(os.path.join(tmp, name + ".c"), "w") as f:
                f.write(head + program)
            compiler(["clang", "-fno-caret-diagnostics", "-w", "-I.", "-I", include, name + ".c", "-o", name], tmp)
            answers.append(compiler([os.path.join(tmp, name)], tmp).splitlines())
    diff.extend(f"layout: spec {a}, toolkit {b}" for a, b in zip(*answers) if a != b)
    return len(answers[0])


# What a toolkit that is older than the spec may say otherwise: it lacks what is newer, ends of enumerations have moved, and
# reserved bytes of records have got names.
OLDER = re.compile(r".*: only in the spec$|.*_MAX: only in the toolkit$|enumerator \w+(_MAX|_NUM_OPTIONS|_FLAGS): |record |version: |macro \w+( per thread)?: "
                   r"|call \w+: parameters are named otherwise$|(enum|type) CUdevSmResourceSplit_flags: ")
# Parts of unions with room, which grew within it; the last has a pointer in its room.
GREW = ("CUDA_HOST_NODE_PARAMS_v2_st", "CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v2_st", "CUDA_EXT_SEM_WAIT_NODE_PARAMS_v2_st",
        "CUDA_EVENT_RECORD_NODE_PARAMS_st", "CUdevSmResource_st", "CUdevResource_st")


def without_newer(diff):
    """The differences that an older toolkit may not have. Versions of a name may only follow those that it has."""
    left = []
    for line in diff:
        m = re.match(r"versions of [^:]*: spec \[(.*)\], toolkit \[(.*)\]$", line)
        if m and (m[1] == m[2] or not m[2] or m[1].startswith(m[2] + ", ")):
            continue
        if not OLDER.match(line):
            left.append(line)
    return left


# Proposing ---------------------------------------------------------------------------------------------------------------


def propose(spec, d):
    """Blocks for what the toolkit has and the spec lacks; what a person must decide stands as "?"."""
    out = []
    tags = {t.split()[1]: n for n, t in d.typedefs.items() if re.match(r"(struct|union|enum) \w+$", t)}
    for tag, values in d.enums.items():
        if tag not in {e.tag for e in spec.enums}:
            head = [f'typedef = "{tags[tag]}"'] if tag in tags else []
            out.append("\n".join([f"[enum.{tag}]", *head, f"[enum.{tag}.values]", *(f"{k} = {v}" for k, v in values.items())]))
    for tag, (kind, lines) in d.records.items():
        if tag not in {r.tag for r in spec.records}:
            head = [f'typedef = "{tags[tag]}"'] if tag in tags else []
            fields = [f'  "{line}{" : ?" if "*" in line else ""}",' for line in lines]
            out.append("\n".join([f"[{kind}.{tag}]", *head, "fields = [", *fields, "]"]))
    for n, (ret, params) in d.functions.items():
        m = re.match(r"(\w+?)(?:_v\d+)?(?:_(ptsz|ptds))?$", n)
        if n in spec.by_symbol or m[2]:
            continue
        args = [f'  "{declare(foreign(t), p)}{" : ?" if t.endswith("*") else ""}",' for t, p in params]
        since = [v for v, _ in d.variants.get((m[1], ""), [])]
        lines = [f"[call.{n}]", "args = [", *args, "]", f"since = {since[-1] if since else '?'}"]
        lines += [f"{s} = {d.variants[(m[1], s)][-1][0]}" for s in ("ptsz", "ptds") if (m[1], s) in d.variants]
        out.append("\n".join([*lines, 'sync = "?"', 'charge = "?"', 'travel = "?"']))
    return "\n\n".join(out)


def main(argv):
    p = argparse.ArgumentParser(description="compare the spec of the CUDA driver API with an installed toolkit")
    p.add_argument("mode", choices=("check", "propose"))
    p.add_argument("spec")
    p.add_argument("--include", default="/usr/local/cuda/include")
    a = p.parse_args(argv)
    if not shutil.which("clang") or not os.path.exists(os.path.join(a.include, "cuda.h")):
        print(f"skipped: needs clang and {a.include}/cuda.h")
        return SKIPPED
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    from gen.spec import Spec
    spec, d = Spec(a.spec), read_toolkit(a.include)
    if a.mode == "propose":
        print(propose(spec, d))
        return 0
    version = int(d.macros.get(spec.version_macro, "0"))
    if version > spec.version:
        print(f"skipped: the toolkit is {version}, the spec says {spec.version}")
        return SKIPPED
    older = version < spec.version
    diff = without_newer(compare(spec, d)) if older else compare(spec, d)
    records = [r for r in spec.records if r.tag in d.records and not (older and r.tag in GREW)]
    places = compare_layout(spec, a.include, diff, records, not older)
    for line in diff:
        print(line)
    print(f"{len(d.functions)} calls, {len(d.enums)} enums, {len(d.records)} records, {places} sizes and offsets,"
          f" {len(d.macros)} constants compared; {len(diff)} differences")
    return 1 if diff else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
