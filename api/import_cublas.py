#!/usr/bin/env python3
"""Reads cuBLAS's and cuBLASLt's declarations through the compiler, and writes or checks their spec, cublas.toml.

import_cublas.py write cublas.toml [INCLUDE]   writes the spec from a toolkit's headers (default /usr/local/cuda/include)
import_cublas.py check cublas.toml [INCLUDE]   compares; status 1 if they differ, 77 (meson: skipped) without clang or toolkit

Only the compiler's syntax tree is read (clang -ast-dump=json), never the text of a header. What the tree cannot tell, what
a pointer is, follows from the names of the parameters, by the rules in words() below; a call to which no rule applies is
refused on the remote path. The rules are this file's; their result stands in the spec, to be read before it is committed.
"""

import json
import os
import re
import shutil
import sys
import tempfile

from import_cuda import SKIPPED, compiler, enum_values

# Exported by cuBLAS without a declaration: cuSOLVER 12 is linked against the first, and is not loaded without it.
UNDECLARED = {"cublasSetEnvironmentMode", "cublasGetEnvironmentMode"}
INCLUDE = "/usr/local/cuda/include"
HEAD = """# cuBLAS and cuBLASLt, as libcublas.so and libcublasLt.so export them: the calls that are forwarded on the remote path.
#
# Written by import_cublas.py from the headers of cuBLAS VERSION: a change belongs there. The format is that of cuda.toml; and
#   in scalar, out scalar    a value of its type in the program's memory or in the device's, as the handle's pointer mode
#                            says; scalar(TYPE) and scalar(COMPUTE, TYPE): its type stands in these parameters
# travel "plain": both ends are generated; "custom": by hand in src/remote/blas; sync "refused": not supported.

[api]
name = "cublas"
header = "cublas_v2.h"
result = "cublasStatus_t"
success = "CUBLAS_STATUS_SUCCESS"
not_supported = "CUBLAS_STATUS_NOT_SUPPORTED"
invalid = "CUBLAS_STATUS_INVALID_VALUE"
forward = "remote/blas/blas.h"

[default]
charge = "none"
"""

# Types that are someone else's.
TYPES = """
[handle]
cublasHandle_t = { tag = "cublasContext", kind = "blas" }
cublasLtHandle_t = { tag = "cublasLtContext", kind = "blas_lt" }
cublasLtMatmulDesc_t = { tag = "cublasLtMatmulDescOpaque", kind = "blas_description" }
cublasLtMatrixLayout_t = { tag = "cublasLtMatrixLayoutOpaque", kind = "blas_description" }
cublasLtMatmulPreference_t = { tag = "cublasLtPreferenceOpaque", kind = "blas_description" }
cublasLtMatrixTransformDesc_t = { tag = "cublasLtTransformOpaque", kind = "blas_description" }
cublasLtEmulationDesc_t = { tag = "cublasLtEmulationOpaque", kind = "blas_description" }
cudaStream_t = { tag = "CUstream_st", kind = "stream" }

[typedef]
cudaDataType_t = "cudaDataType"
libraryPropertyType_t = "libraryPropertyType"

[function]
cublasLogCallback = "void (*)(const char *msg)"
cublasLtLoggerCallback_t = "void (*)(int level, const char *name, const char *message)"

[struct.cuComplex_st]
typedef = "cuComplex"
size = 8
fields = [
  "float x",
  "float y",
]

[struct.cuDoubleComplex_st]
typedef = "cuDoubleComplex"
size = 16
align = 16
fields = [
  "double x",
  "double y",
]

[struct.half_st]
typedef = "__half"
size = 2
fields = [
  "unsigned short bits",
]

[struct.bfloat16_st]
typedef = "__nv_bfloat16"
size = 2
fields = [
  "unsigned short bits",
]

[struct.cublasLtMatmulAlgo_st]
typedef = "cublasLtMatmulAlgo_t"
size = 64
fields = [
  "uint64_t data[8]",
]

[struct.cublasLtMatmulHeuristicResult_st]
typedef = "cublasLtMatmulHeuristicResult_t"
size = 96
fields = [
  "cublasLtMatmulAlgo_t algo",
  "size_t workspaceSize",
  "cublasStatus_t state",
  "float wavesCount",
  "int reserved[4]",
]
"""

# State of a handle, which the client keeps, and what needs no handle at all: by hand.
BY_HAND = re.compile(
    r"cublas(Create_v2|Destroy_v2|GetVersion_v2|GetProperty|GetCudartVersion|GetStatus(Name|String)|[SG]etStream_v2"
    r"|[SG]etPointerMode_v2|[SG]etMathMode|[SG]etAtomicsMode|[SG]etSmCountTarget|SetWorkspace_v2(_64)?"
    r"|[SG]et(Vector|Matrix)(Async)?(_64)?|LoggerConfigure|[SG]etLoggerCallback|Xerbla"
    r"|Lt(Create|Destroy|GetVersion|GetCudartVersion|GetProperty|GetStatus(Name|String)|Matmul|MatrixTransform"
    r"|HeuristicsCache[GS]etCapacity|DisableCpuInstructionsSetMask|Logger\w+"
    r"|(MatmulDesc|MatrixLayout|MatmulPreference|MatrixTransformDesc)(Create|Destroy|SetAttribute|GetAttribute)"
    r"|MatmulAlgoGetHeuristic))$")
# No rule says what their pointers are, or how long what they point to is.
REFUSED = re.compile(r"cublas\w*(rotm|rotmg|Rotm|Rotmg|Emulation|Mantissa|GroupedBatchedEx|RotgEx|Migrate)\w*$")

SCALARS = {"alpha", "beta"}
TYPE_OF = {  # of scalars whose type is void: the parameters that say it
    "alpha": ("computeType", "alphaType"), "beta": ("computeType",), "result": ("resultType",), "c": ("csType",), "s": ("csType",)}
ELEMENT = r"(float|double|cuComplex|cuDoubleComplex|__half|__nv_bfloat16|int|int64_t)"


def read_more(include, known):
    """Value: the functions that the header declares for C++ alone, which are C functions all the same."""
    with tempfile.TemporaryDirectory() as tmp:
        with open(os.path.join(tmp, "all.cc"), "w", encoding="utf-8") as f:
            f.write("#include <cublas_v2.h>\n")
        text = compiler(["clang++", "-fno-caret-diagnostics", "-I", include, "-w", "-fsyntax-only", "-Xclang", "-ast-dump=json",
                         "-Xclang", "-ast-dump-filter=cublas", "all.cc"], tmp)
    nodes, at, decoder = [], 0, json.JSONDecoder()
    while text[at:].strip():  # one tree behind the other
        at += len(text[at:]) - len(text[at:].lstrip())
        node, at = decoder.raw_decode(text, at)
        nodes.append(node)
    return {name: shape for name, shape in functions_of(nodes) if name not in known}


def functions_of(nodes):
    for n in nodes:
        name = n.get("name", "")
        if n["kind"] == "FunctionDecl" and name.startswith("cublas") and not n.get("inline") and n.get("mangledName", name) == name:
            yield name, (n["type"]["qualType"].split("(")[0].strip(),
                         [(re.sub(r"\bstruct ", "", p["type"]["qualType"]), p.get("name", ""))
                          for p in n.get("inner", []) if p["kind"] == "ParmVarDecl"])


def read(include):
    """Value: functions {name: (returns, [(type, name)], header)} and enums {tag: {name: value}} of the toolkit."""
    with tempfile.TemporaryDirectory() as tmp:
        with open(os.path.join(tmp, "all.c"), "w", encoding="utf-8") as f:
            f.write("#include <cublas_v2.h>\n#include <cublasLt.h>\n")
        tree = json.loads(compiler(["clang", "-fno-caret-diagnostics", "-I", include, "-w", "-fsyntax-only", "-Xclang",
                                    "-ast-dump=json", "all.c"], tmp))
    functions, enums, anonymous = {}, {}, None
    for n in tree["inner"]:
        name = n.get("name", "")
        if n["kind"] == "EnumDecl":
            anonymous = n
            if name:
                enums[name] = enum_values(n)
        if n["kind"] == "TypedefDecl" and anonymous and (m := re.match(r"enum (\w+)$", n["type"]["qualType"])):
            if m[1] == name or m[1] in enums:
                enums[name] = enums.pop(m[1]) if m[1] in enums else enum_values(anonymous)
        if n["kind"] == "FunctionDecl" and name.startswith("cublas") and not n.get("inline"):
            functions[name] = (n["type"]["qualType"].split("(")[0].strip(),
                               [(p["type"]["qualType"], p.get("name", "")) for p in n.get("inner", []) if p["kind"] == "ParmVarDecl"])
    functions.update(read_more(include, functions))
    return functions, enums


def names_in(include, header):
    """The calls that a header declares, which cannot be read together with the others: names alone."""
    with tempfile.TemporaryDirectory() as tmp:
        with open(os.path.join(tmp, "one.c"), "w", encoding="utf-8") as f:
            f.write(f"#include <{header}>\n")
        tree = json.loads(compiler(["clang", "-fno-caret-diagnostics", "-I", include, "-w", "-fsyntax-only", "-Xclang",
                                    "-ast-dump=json", "one.c"], tmp))
    return {n["name"] for n in tree["inner"] if n["kind"] == "FunctionDecl" and n.get("name", "").startswith("cublas")
            and not n.get("inline")}


def words(call, ctype, name, names):
    """What the spec says about a pointer: (type, words), or None: nobody knows."""
    target = re.match(rf"(const )?{ELEMENT} \*$", ctype)
    plain = re.fullmatch(r"(const )?\w+( \w+)* \*", ctype)
    rotates = re.match(r"cublas(\w*?)(rot|Rot)(g)?(Ex)?(_v2)?(_64)?$", call)
    if not plain:  # pointers to pointers stand in the device's memory
        return "const void *", "device"
    if call.startswith("cublas") and "GroupedBatched" in call and name.endswith("_array") or name in ("group_size",):
        return ctype, "in count(group_count)"
    direction = None
    if name in SCALARS or rotates and not rotates[3] and name in ("c", "s"):
        direction = "in"
    elif name == "result" or rotates and rotates[3] and name in ("c", "s"):
        direction = "out"
    elif rotates and rotates[3] and name in ("a", "b"):
        direction = "inout"
    if direction:
        if target:
            return ctype, f"{direction} scalar"
        kinds = [k for k in TYPE_OF.get(name, ()) if k in names]
        if not kinds:
            return None
        more = ", Atype" if kinds[0] == "computeType" and "Atype" in names else ""
        return ctype, f"{direction} scalar({kinds[0]}{more})"
    if name == "info" and re.search(r"(getrs|geqrf|gels)Batched", call):
        return ctype, "out one"
    return ctype, "device"


def block(call, returns, params):
    names = [n for _, n in params]
    lt = call.startswith("cublasLt")
    args, sync, travel = [], "forget", "plain"
    if BY_HAND.match(call):
        travel, sync = "custom", "round"
    elif REFUSED.match(call) or lt or not any(t == "cublasHandle_t" for t, _ in params):
        travel, sync = "none", "refused"
    for ctype, name in params:
        if not ctype.endswith("*") and not ctype.endswith("*const *"):
            more = " : callback" if re.search("Callback", ctype) else ""
            args.append(f"{ctype} {name}{more}")
            continue
        if travel != "plain":
            flat = ctype.replace("*const *", "*").replace("**", "*").replace("FILE", "void").replace("cublasLogCallback *", "void *")
            args.append(f"{flat}{name} : address")
            continue
        found = words(call, ctype, name, names)
        if not found:
            return block_refused(call, returns, params)
        ctype, word = found
        sync = "round" if word.startswith(("out", "inout")) else sync
        args.append(f"{ctype}{name} : {word}")
    out = [f"[call.{call}]", "args = [", *(f'  "{a}",' for a in args), "]"] if args else [f"[call.{call}]", "args = []"]
    if returns != "cublasStatus_t":
        out += [f'returns = "{returns}"', f"otherwise = {json.dumps({'const char *': 'NULL', 'void': ''}.get(returns, '0'))}"]
    if lt:
        out.append('header = "cublasLt.h"')
    out.append(f'sync = "{sync}"')
    if travel != "none":
        out.append(f'travel = "{travel}"')
    return "\n".join([*out, ""])


def block_refused(call, returns, params):
    flat = [(t.replace("*const *", "*"), n) for t, n in params]
    args = [f'  "{t}{n} : address",' if t.endswith("*") else f'  "{t} {n}",' for t, n in flat]
    return "\n".join([f"[call.{call}]", "args = [", *args, "]", 'sync = "refused"', ""])


def version(include):
    """As the headers' macros have it: "13.1"."""
    with tempfile.TemporaryDirectory() as tmp:
        with open(os.path.join(tmp, "one.c"), "w", encoding="utf-8") as f:
            f.write("#include <cublas_v2.h>\n")
        macros = compiler(["clang", "-I", include, "-w", "-E", "-dM", "one.c"], tmp)
    return ".".join(re.search(rf"#define CUBLAS_VER_{part} (\d+)", macros)[1] for part in ("MAJOR", "MINOR"))


def spec_text(include):
    functions, enums = read(include)
    out = [HEAD.replace("VERSION", version(include)), TYPES]
    used = {re.sub(r"[ *]|const", "", t) for _, params in functions.values() for t, _ in params} | {"cublasStatus_t"}
    used = {n.removesuffix("_t") if n.removesuffix("_t") in enums else n for n in used} | {"cudaDataType"}
    for name in sorted(n for n in enums if n in used):
        out += [f"[enum.{name}]", f'typedef = "{name}"', f"[enum.{name}.values]"]
        out += [f"{k} = {v}" for k, v in enums[name].items()] + [""]
    out += [block(call, returns, params) for call, (returns, params) in sorted(functions.items())]
    # Older interfaces of the same library, and the one for several devices: exported, and refused.
    others = sorted((names_in(include, "cublas.h") | names_in(include, "cublasXt.h") | UNDECLARED) - set(functions))
    out += ["[untyped]", "calls = [", *(f'  "{n}",' for n in others), "]"]
    return "\n".join(out).rstrip() + "\n"


def main(argv):
    include = argv[3] if len(argv) > 3 else INCLUDE
    if not shutil.which("clang") or not shutil.which("clang++") or not os.path.exists(os.path.join(include, "cublasLt.h")):
        print("no clang, or no toolkit with cuBLAS")
        return SKIPPED
    if argv[1] == "check":
        with open(argv[2], encoding="utf-8") as f:
            if f"the headers of cuBLAS {version(include)}:" not in f.read():
                print("a toolkit of another version")
                return SKIPPED
    text = spec_text(include)
    if argv[1] == "write":
        with open(argv[2], "w", encoding="utf-8") as f:
            f.write(text)
        return 0
    with open(argv[2], encoding="utf-8") as f:
        same = f.read() == text
    if not same:
        print(f"{argv[2]} is not what this toolkit's headers give; write it anew, and read the difference", file=sys.stderr)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
