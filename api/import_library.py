#!/usr/bin/env python3
"""Reads the declarations of one of NVIDIA's libraries through the compiler, and writes or checks its spec.

import_library.py write NAME [INCLUDE]   writes NAME.toml beside this file (default headers: /usr/local/cuda/include)
import_library.py check NAME [INCLUDE]   compares; status 1 if they differ, 77 (meson: skipped) without clang or toolkit

For libraries that the software device has and that are not forwarded: every call's name, result and parameters, with the
types that they need. Only the compiler's syntax tree is read (clang -ast-dump=json), never the text of a header.
"""

import json
import os
import re
import shutil
import sys
import tempfile

from import_cuda import SKIPPED, compiler, enum_values, record_lines

INCLUDE = "/usr/local/cuda/include"
HEAD = """# TITLE, as libNAME.so exports it: every call, with the types that they need.
#
# Written by import_library.py from the headers of TITLE VERSION: a change belongs there. The format is that of cuda.toml.
# NAME-soft.toml names the calls that the software device's library implements (src/libs/NAME).

[api]
name = "NAME"
title = "TITLE"
library = true
"""

# Per library: title, headers, prefix of calls, macros of its version, result and statuses.
LIBRARIES = {
    "curand": ("cuRAND", ["curand.h"], "curand", "CURAND_VER", "curandStatus_t", "CURAND_STATUS_SUCCESS", "CURAND_STATUS_TYPE_ERROR"),
    "cufft": ("cuFFT", ["cufft.h", "cufftXt.h"], "cufft", "CUFFT_VER", "cufftResult", "CUFFT_SUCCESS", "CUFFT_NOT_SUPPORTED"),
    "cusolver": ("cuSOLVER", ["cusolverDn.h", "cusolverSp.h", "cusolverRf.h", "cusolverSp_LOWLEVEL_PREVIEW.h"], "cusolver",
                 "CUSOLVER_VER", "cusolverStatus_t", "CUSOLVER_STATUS_SUCCESS", "CUSOLVER_STATUS_NOT_SUPPORTED"),
    "cusparse": ("cuSPARSE", ["cusparse.h"], "cusparse", "CUSPARSE_VER", "cusparseStatus_t", "CUSPARSE_STATUS_SUCCESS",
                 "CUSPARSE_STATUS_NOT_SUPPORTED"),
    "cudnn": ("cuDNN", ["cudnn.h"], "cudnn", "CUDNN", "cudnnStatus_t", "CUDNN_STATUS_SUCCESS", "CUDNN_STATUS_NOT_SUPPORTED"),
    "nccl": ("NCCL", ["nccl.h"], "nccl", "NCCL", "ncclResult_t", "ncclSuccess", "ncclInvalidUsage"),
}
ALSO = {"nccl": "p"}  # what each name has in front as well
# Enumerations whose values stand in memory only.
BEHIND = {"cudnn": ["cudnnPointwiseMode_t", "cudnnResampleMode_t", "cudnnGenStatsMode_t", "cudnnRngDistribution_t", "cudnnBackendNormMode_t",
                    "cudnnBackendNormFwdPhase_t", "cudnnBackendHeurMode_t"]}
WORD = re.compile(r"[A-Za-z_]\w*")
C_WORDS = {"void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "size_t", "const", "struct", "union",
           "enum", "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "FILE"}
OURS = {"cudaStream_t": "CUstream_st", "cudaEvent_t": "CUevent_st"}


class Types:
    """What the syntax tree declares, and which of it the calls need."""

    def __init__(self, tree):
        self.enums, self.records, self.typedefs, self.functions = {}, {}, {}, {}
        anonymous = None
        for n in tree:
            name, kind = n.get("name", ""), n["kind"]
            if kind == "EnumDecl":
                anonymous = n
                if name:
                    self.enums[name] = enum_values(n)
            elif kind == "RecordDecl":
                anonymous = n
                if name and n.get("completeDefinition"):
                    self.records[name] = n
            elif kind == "TypedefDecl":
                target = n["type"]["qualType"]
                tag = re.fullmatch(r"(?:enum|struct|union) (\w+)", target)
                if tag and tag[1] == name and anonymous is not None and not anonymous.get("name"):
                    if anonymous["kind"] == "EnumDecl":
                        self.enums[name] = enum_values(anonymous)
                    else:
                        self.records[name] = anonymous
                self.typedefs[name] = target
            elif kind == "FunctionDecl":
                self.functions[name] = n
        self.out, self.done = {"handle": [], "typedef": [], "function": [], "enum": [], "record": []}, set(C_WORDS)

    def need(self, text):
        for word in WORD.findall(text):
            self.emit(word)

    def emit(self, name):
        if name in self.done:
            return
        self.done.add(name)
        target = self.typedefs.get(name)
        if name in OURS:
            self.out["handle"].append(f'{name} = {{ tag = "{OURS[name]}", kind = "{name}" }}')
        elif name in self.enums:
            self.out["enum"] += [f"[enum.{name}]", f'typedef = "{self.enum_name(name)}"', f"[enum.{name}.values]",
                                 *(f"{k} = {v}" for k, v in self.enums[name].items()), ""]
            self.done.add(self.enum_name(name))
            if name in self.typedefs and name != self.enum_name(name):
                self.out["typedef"].append(f'{name} = "{self.enum_name(name)}"')
        elif target is None and name in self.records:
            pass
        elif target is None:
            raise SystemExit(f"nobody declares {name}")
        elif (m := re.fullmatch(r"(?:const )?struct (\w+) \*", target)) and m[1] not in self.records:
            self.out["handle"].append(f'{name} = {{ tag = "{m[1]}", kind = "{m[1]}" }}')
        elif m := re.fullmatch(r"enum (\w+)", target):
            self.emit(m[1])
        elif (m := re.fullmatch(r"struct (\w+)", target)) and m[1] not in self.records:  # behind pointers only
            self.out["typedef"].append(f'{name} = "void"')
        elif m:
            self.record(m[1], name)
        elif "(*)" in target:
            self.need(target)
            self.out["function"].append(f"{name} = {json.dumps(target)}")
        else:
            self.need(target)
            self.out["typedef"].append(f"{name} = {json.dumps(target)}")

    def enum_name(self, tag):
        return next((n for n, t in self.typedefs.items() if t == f"enum {tag}"), tag)

    def record(self, tag, name):
        lines = [re.sub(r"\* (?=\w)", "*", line.replace("__half_raw", "unsigned short")) for line in record_lines(self.records[tag])]
        for line in lines:
            self.need(" ".join(WORD.findall(line)[:-1]) if "[" not in line else line.split("[")[0].rsplit(None, 1)[0])
        align = next((n for n in self.records[tag].get("inner", []) if n["kind"] == "AlignedAttr"), None)
        self.out["record"] += [f"[struct.{tag}]", f'typedef = "{name}"', *(["align = 16"] if align and name == "cuDoubleComplex" else []),
                               "fields = [", *(f"  {json.dumps(line + (' : address' if '*' in line else ''))}," for line in lines), "]", ""]


def clean(ctype):
    """A parameter's type as the spec writes it: arrays and pointers to const pointers are pointers."""
    ctype = re.sub(r"\[\d*\]", "", ctype.replace("*const ", "*").replace("*const", "*").replace("**", "**"))
    ctype = re.sub(r"\b(struct|enum) ", "", ctype).replace("FILE", "void").strip()
    return re.sub(r"\s*\*", " *", ctype).replace("* *", "**")


def parameters(types, node):
    params = [(p["type"]["qualType"], p.get("name", "")) for p in node.get("inner", []) if p["kind"] == "ParmVarDecl"]
    for i, (ctype, name) in enumerate(params):
        array = "[" in ctype or types.typedefs.get(ctype.rstrip(" *"), "").endswith("]")
        if array:  # of whatever it is: an address
            ctype = "void **" if "*" in ctype else "void *"
        ctype = clean(ctype)
        types.need(ctype)
        if "(" in ctype:
            ctype = "void *"
        word = " : address" if ctype.endswith("*") else " : callback" if "(*)" in types.typedefs.get(ctype, "") else ""
        yield f"{ctype}{'' if ctype.endswith('*') else ' '}{(name or f'arg{i}').rstrip('_')}{word}"


def spec_text(name, include):
    title, headers, prefix, macro, result, success, refused = LIBRARIES[name]
    tree, version = read(headers, include, macro)
    types = Types(tree)
    types.need(" ".join([result, *BEHIND.get(name, [])]))
    calls = []
    for call, node in sorted(types.functions.items()):
        if not re.match(prefix + "[A-Z]", call) or node.get("inline"):
            continue
        args = list(parameters(types, node))
        returns = clean(node["type"]["qualType"].split("(")[0].strip())
        calls += [f"[call.{call}]", *(["args = [", *(f'  "{a}",' for a in args), "]"] if args else ["args = []"])]
        if returns != result:
            calls += [f'returns = "{returns}"', f"otherwise = {json.dumps('' if returns == 'void' else '0')}"]
        calls.append("")
    out = [HEAD.replace("NAME", name).replace("TITLE", title).replace("VERSION", version) +
           f'header = "{headers[0]}"\nresult = "{result}"\nsuccess = "{success}"\nnot_supported = "{refused}"\n' +
           (f'also = "{ALSO[name]}"\n' if name in ALSO else "") + "\n"
           '[default]\ncharge = "none"\nsync = "refused"\n']
    for section in ("handle", "typedef", "function"):
        if types.out[section]:
            out += [f"[{section}]", *types.out[section], ""]
    return "\n".join([*out, *types.out["enum"], *types.out["record"], *calls]).rstrip() + "\n"


def read(headers, include, macro):
    with tempfile.TemporaryDirectory() as tmp:
        with open(os.path.join(tmp, "all.c"), "w", encoding="utf-8") as f:
            f.write("".join(f"#include <{h}>\n" for h in headers))
        flags = ["-I", include, "-w", "-DDISABLE_CUSPARSE_DEPRECATED"]
        tree = json.loads(compiler(["clang", "-fno-caret-diagnostics", *flags, "-fsyntax-only", "-Xclang", "-ast-dump=json",
                                    "all.c"], tmp))
        macros = compiler(["clang", *flags, "-E", "-dM", "all.c"], tmp)
    found = {m[1]: m[2] for m in re.finditer(rf"#define {macro}_(MAJOR|MINOR) (\d+)", macros)}
    return tree["inner"], f"{found['MAJOR']}.{found['MINOR']}"


def main(argv):
    name = argv[2]
    include = argv[3] if len(argv) > 3 else INCLUDE
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.toml")
    title, headers, macro = LIBRARIES[name][0], LIBRARIES[name][1], LIBRARIES[name][3]
    if not shutil.which("clang") or not os.path.exists(os.path.join(include, headers[0])):
        print(f"no clang, or no toolkit with {title}")
        return SKIPPED
    if argv[1] == "check":
        with open(path, encoding="utf-8") as f:
            text = f.read()
        if f"the headers of {title} {read(headers, include, macro)[1]}:" not in text:
            print("a toolkit of another version")
            return SKIPPED
        same = text == spec_text(name, include)
        if not same:
            print(f"{path} is not what this toolkit's headers give; write it anew, and read the difference", file=sys.stderr)
        return 0 if same else 1
    text = spec_text(name, include)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
