#!/usr/bin/env python3
"""Reads the CUDA runtime API's declarations through the compiler, and writes or checks its spec, cudart.toml.

import_cudart.py write cudart.toml MAJOR=INCLUDE,LIBRARY...   writes the spec from one toolkit per major version: the folder
                                                              of its headers, and its libcudart, for the exported names
import_cudart.py check cudart.toml [MAJOR=INCLUDE,LIBRARY]    compares; default: the installed toolkit. Status 1 if they
                                                              differ, 77 (meson: skipped) without clang or toolkit

Only the compiler's syntax tree (clang -ast-dump=json), its macro table and the linker's name table (nm -D) are read, never
the text of a header. What a tree cannot tell, sizes and alignments, is asked of the compiler by a program.
A block that is the same in all versions stands once; else its name carries the versions: [call."cudaMemAdvise@11,12"].
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from import_cuda import SKIPPED, compiler, declare, enum_values, function_macro, record_lines

HEADERS = ["cuda_runtime_api.h", "cuda_profiler_api.h"]
TOOLKIT = "13=/usr/local/cuda/include,/usr/local/cuda/lib64/libcudart.so.13"
KINDS = ("typedef", "function", "constant", "enum", "struct", "union", "call", "untyped")
NOT_OURS = {"size_t", "wchar_t", "ptrdiff_t", "max_align_t"}

# The compiler's side of kernels calls these; no header for programs declares them. Their shapes are what a program that
# nvcc has translated declares, as its syntax tree shows it.
COMPILER_CALLS = {
    "__cudaRegisterFatBinary": ("void **", ["void *fatCubin"]),
    "__cudaRegisterFatBinaryEnd": ("void", ["void **fatCubinHandle"]),
    "__cudaUnregisterFatBinary": ("void", ["void **fatCubinHandle"]),
    "__cudaRegisterFunction": ("void", [
        "void **fatCubinHandle", "const char *hostFun", "char *deviceFun", "const char *deviceName", "int thread_limit",
        "struct uint3 *tid", "struct uint3 *bid", "struct dim3 *bDim", "struct dim3 *gDim", "int *wSize"]),
    "__cudaRegisterVar": ("void", [
        "void **fatCubinHandle", "char *hostVar", "char *deviceAddress", "const char *deviceName", "int ext",
        "size_t size", "int constant", "int global"]),
    "__cudaRegisterManagedVar": ("void", [
        "void **fatCubinHandle", "void **hostVarPtrAddress", "char *deviceAddress", "const char *deviceName", "int ext",
        "size_t size", "int constant", "int global"]),
    "__cudaRegisterTexture": ("void", [
        "void **fatCubinHandle", "const struct textureReference *hostVar", "const void **deviceAddress",
        "const char *deviceName", "int dim", "int norm", "int ext"]),
    "__cudaRegisterSurface": ("void", [
        "void **fatCubinHandle", "const struct surfaceReference *hostVar", "const void **deviceAddress",
        "const char *deviceName", "int dim", "int ext"]),
    "__cudaInitModule": ("char", ["void **fatCubinHandle"]),
    "__cudaPushCallConfiguration": ("unsigned int", [
        "struct dim3 gridDim", "struct dim3 blockDim", "size_t sharedMem", "struct CUstream_st *stream"]),
    "__cudaPopCallConfiguration": ("cudaError_t", [
        "struct dim3 *gridDim", "struct dim3 *blockDim", "size_t *sharedMem", "void *stream"]),
    "__cudaGetKernel": ("cudaError_t", ["cudaKernel_t *kernel", "const void *entry"]),
    "__cudaLaunchKernel": ("cudaError_t", [
        "cudaKernel_t kernel", "struct dim3 gridDim", "struct dim3 blockDim", "void **args", "size_t sharedMem",
        "cudaStream_t stream"]),
}

# The last 11 was 11.8; 12 went on to 12.9 (as documented): names that 12 had before 13, shaped as in 13 ...
LATER_12 = """cudaGetDriverEntryPointByVersion cudaStreamGetDevice cudaLibraryLoadData cudaLibraryLoadFromFile
cudaLibraryUnload cudaLibraryGetKernel cudaLibraryGetGlobal cudaLibraryGetManaged cudaLibraryGetUnifiedFunction
cudaLibraryGetKernelCount cudaLibraryEnumerateKernels cudaKernelSetAttributeForDevice cudaFuncGetParamInfo cudaGetKernel
cudaFuncGetName cudaInitDevice cudaDeviceRegisterAsyncNotification cudaDeviceUnregisterAsyncNotification
cudaGraphConditionalHandleCreate __cudaGetKernel __cudaLaunchKernel __cudaRegisterHostVar __cudaRegisterUnifiedTable
__cudaGetProcAddress cudaLogsRegisterCallback cudaLogsUnregisterCallback cudaLogsCurrent cudaLogsDumpToFile
cudaLogsDumpToMemory""".split()
# ... and otherwise: (returns, arguments, what cuda_runtime_api.h maps to it).
OWN_12 = {
    "cudaEventElapsedTime_v2": ("cudaError_t", ["float *ms", "cudaEvent_t start", "cudaEvent_t end"], "cudaEventElapsedTime"),
    "cudaMemcpyBatchAsync": ("cudaError_t", [
        "void **dsts", "void **srcs", "size_t *sizes", "size_t count", "struct cudaMemcpyAttributes *attrs",
        "size_t *attrsIdxs", "size_t numAttrs", "size_t *failIdx", "cudaStream_t stream"], None),
    "cudaMemcpy3DBatchAsync": ("cudaError_t", [
        "size_t numOps", "struct cudaMemcpy3DBatchOp *opList", "size_t *failIdx", "unsigned long long flags",
        "cudaStream_t stream"], None),
}


def exported(library):
    lines = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[2].split("@")[0] for line in lines if " T " in line}


def read_toolkit(include, library):
    """Value: {kind: {name: block}} of one version."""
    with tempfile.TemporaryDirectory() as tmp:
        with open(os.path.join(tmp, "all.c"), "w") as f:
            f.writelines(f"#include <{h}>\n" for h in HEADERS)
        flags = ["-fno-caret-diagnostics", "-w", "-I", include]
        tree = json.loads(compiler(["clang", *flags, "-fsyntax-only", "-Xclang", "-ast-dump=json", "all.c"], tmp))
        plain = compiler(["clang", *flags, "-E", "-dM", "all.c"], tmp)
        thread = compiler(["clang", *flags, "-DCUDA_API_PER_THREAD_DEFAULT_STREAM", "-E", "-dM", "all.c"], tmp)
        data = {kind: {} for kind in KINDS}
        calls = read_tree(tree, data)
        read_layout(data, flags, tmp)
    names = exported(library)
    add_calls(data, calls, names, macros(plain, calls), macros(thread, calls))
    data["constant"] = constants(plain)
    return data


def read_tree(tree, data):
    """Fills in the types; value: {name: (returns, arguments)} of the calls."""
    calls, anonymous = {}, None
    for n in tree["inner"]:
        name, kind = n.get("name", ""), n["kind"]
        if kind in ("RecordDecl", "EnumDecl"):
            anonymous = None if name else n
        if name.startswith("__") or name in NOT_OURS:
            continue
        if kind == "TypedefDecl":
            target = n["type"]["qualType"]
            if anonymous is not None and re.match(rf"(struct|union|enum) {name}$", target):
                add_type(data, name, anonymous)
            data["function" if "(*)" in target else "typedef"][name] = {"is": target}
        elif kind == "FunctionDecl":
            args = [p for p in n.get("inner", []) if p["kind"] == "ParmVarDecl"]
            calls[name] = (n["type"]["qualType"].split("(")[0].strip(),
                           [declare(a["type"]["qualType"], a.get("name", f"arg{i}")) for i, a in enumerate(args)])
        elif kind in ("RecordDecl", "EnumDecl") and name:
            add_type(data, name, n)
    return calls


def add_type(data, name, node):
    if node["kind"] == "EnumDecl":
        data["enum"][name] = {"values": enum_values(node)}
    elif node.get("completeDefinition"):
        aligned = any(a["kind"] == "AlignedAttr" for a in node.get("inner", []))
        data[node["tagUsed"]][name] = {"fields": record_lines(node), "align": aligned}


def read_layout(data, flags, tmp):
    """Adds size and, where it is declared, alignment of every record."""
    records = [(kind, name) for kind in ("struct", "union") for name in data[kind]]
    lines = [f'printf("%zu %zu\\n", sizeof({t}), _Alignof({t}));'
             for t in (n if data["typedef"].get(n, {}).get("is", "") == f"{k} {n}" else f"{k} {n}" for k, n in records)]
    with open(os.path.join(tmp, "layout.c"), "w") as f:
        f.write("".join(f"#include <{h}>\n" for h in ["stdio.h", *HEADERS]) + "int main(void) {" + "\n".join(lines) + "}")
    compiler(["clang", *flags, "layout.c", "-o", "layout"], tmp)
    for (kind, name), line in zip(records, compiler([os.path.join(tmp, "layout")], tmp).splitlines()):
        size, align = map(int, line.split())
        block = data[kind][name]
        block["size"] = size
        block["align"] = align if block["align"] else None


def macros(text, calls):
    """{public name: symbol} of the calls that the header renames."""
    found = {}
    for line in text.splitlines():
        m = re.match(r"#define (cuda\w+) (.*\S)\s*$", line)
        thread = m and re.match(r"__CUDART_API_(PTSZ|PTDS)\((\w+)\)$", m[2])
        if thread:
            on = re.search(r"##\s*_(ptsz|ptds)", function_macro(text, f"__CUDART_API_{thread[1]}"))
            found[m[1]] = thread[2] + (f"_{on[1]}" if on else "")
        elif m and m[2] in calls:
            found[m[1]] = m[2]
    return {k: v for k, v in found.items() if k != v}


def constants(text):
    found = {}
    for line in text.splitlines():
        m = re.match(r"#define ((?:cuda|CUDA_|CUDART)\w+) ?(.*?)\s*$", line)
        if m and not re.search(r"__CUDART_API|_H_*$|CUDARTAPI|CUDA_VERSION|CUDART_DEVICE", m[0]) \
                and not re.match(r"cuda[A-Z]\w*(_v\d|_pts?[zd]s?)$", m[2]):
            found[m[1]] = {"is": m[2]}
    return found


def add_calls(data, calls, names, plain, thread):
    mapped = {}
    for public, symbol in plain.items():
        mapped.setdefault(symbol, public)
    for symbol in names:
        calls.update({symbol: COMPILER_CALLS[symbol]} if symbol in COMPILER_CALLS else {})
    for symbol, (returns, args) in calls.items():
        if symbol not in names:
            continue
        block = {"returns": returns, "args": args, "macro": mapped.get(symbol)}
        block["twin"] = next((s for s in ("ptsz", "ptds") if f"{symbol}_{s}" in names), None)
        data["call"][symbol] = block
    known = {f"{c}{s}" for c in data["call"] for s in ("", "_ptsz", "_ptds")}
    for symbol in sorted(names - known):
        data["untyped"][symbol] = {}


def complete(versions):
    """What a later minor version of 12 has beyond the one that was read."""
    if 12 not in versions or 13 not in versions:
        return
    old, new = versions[12], versions[13]
    for name in LATER_12:
        for kind in ("call", "untyped"):
            if name in new[kind] and name not in old["call"]:
                old["untyped"].pop(name, None)
                old[kind].setdefault(name, new[kind][name])
    for name, (returns, args, macro) in OWN_12.items():
        twin = "ptsz" if any("cudaStream_t" in a for a in args) else None
        old["call"][name] = {"returns": returns, "args": args, "macro": macro, "twin": twin}
    if 11 in versions:  # the library still has these as 11 had them; 12's header maps their names to newer ones
        eleven = versions[11]
        old["struct"]["cudaDevicePropV11"] = eleven["struct"]["cudaDeviceProp"]
        for name, args in (("cudaGetDeviceProperties", ["struct cudaDevicePropV11 *prop", "int device"]),
                           ("cudaStreamGetCaptureInfo", eleven["call"]["cudaStreamGetCaptureInfo"]["args"])):
            block = {**eleven["call"][name], "args": args, "macro": None}
            old["call"][name] = block
            for symbol in (name, f"{name}_{block['twin']}"):
                old["untyped"].pop(symbol, None)
    for name, block in new["enum"].items():
        if name not in old["enum"]:
            old["enum"][name] = block
        else:
            taken = set(old["enum"][name]["values"].values())
            values = old["enum"][name]["values"]
            old["enum"][name] = {"values": {**values, **{k: v for k, v in block["values"].items()
                                                         if k not in values and (v not in taken or v == 0)}}}
    for kind in ("typedef", "function", "struct", "union"):
        for name, block in new[kind].items():
            old[kind].setdefault(name, block)


# Writing -----------------------------------------------------------------------------------------------------------------


def quoted(value):
    return json.dumps(value, ensure_ascii=False)


def strings(key, values):
    line = f"{key} = [{', '.join(map(quoted, values))}]"
    if len(line) <= 118:
        return [line]
    return [f"{key} = [", *(f"  {quoted(v)}," for v in values), "]"]


def block_lines(kind, head, block):
    out = [head]
    if kind in ("struct", "union"):
        out += [f"size = {block['size']}"] + ([f"align = {block['align']}"] if block["align"] else [])
        out += strings("fields", block["fields"])
    elif kind == "enum":
        out += ["values = {}"] if not block["values"] else []
        out += [f"values.{k} = {v}" for k, v in block["values"].items()]
    elif kind == "call":
        out += [f"returns = {quoted(block['returns'])}"] if block["returns"] != "cudaError_t" else []
        out += strings("args", block["args"])
        out += [f"{k} = {quoted(block[k])}" for k in ("macro", "twin") if block[k]]
    return out


def merged(versions):
    """{kind: [(name, majors, block)]}: equal blocks of several versions are one; the newest's order leads."""
    every, result = sorted(versions), {}
    for kind in KINDS:
        names = list(dict.fromkeys(n for m in reversed(every) for n in versions[m][kind]))
        rows = []
        for name in names:
            groups = []
            for m in every:
                block = versions[m][kind].get(name)
                if block is None:
                    continue
                group = next((g for g in groups if g[1] == block), None)
                if group:
                    group[0].append(m)
                else:
                    groups.append(([m], block))
            rows += [(name, majors, block) for majors, block in reversed(groups)]
        result[kind] = rows
    return result


def key(name, majors, every):
    return name if majors == every else f"\"{name}@{','.join(map(str, majors))}\""


def spec_text(head, versions):
    every, out = sorted(versions), [head.rstrip(), ""]
    out += ["[api]", f"majors = {every}", "", "[version]"]
    out += [f"{m} = {versions[m]['constant'].pop('CUDART_VERSION')['is']}" for m in every] + [""]
    for kind, rows in merged(versions).items():
        if kind in ("typedef", "function", "constant"):
            out += [f"[{kind}]", *(f"{key(n, m, every)} = {quoted(b['is'])}" for n, m, b in rows), ""]
        elif kind == "untyped":
            out += ["[untyped]", *(f"{m} = [{', '.join(quoted(n) for n, majors, _ in rows if m in majors)}]" for m in every), ""]
        else:
            for n, m, b in rows:
                out += [*block_lines(kind, f"[{kind}.{key(n, m, every)}]", b), ""]
    return "\n".join(out)


# Comparing ---------------------------------------------------------------------------------------------------------------


def differences(spec, major, data):
    """Lines: where the spec's version `major` and what the toolkit declares differ."""
    ours, diff = spec.view(major), []
    for kind in KINDS:
        theirs = data[kind]
        for n in sorted({*ours[kind], *theirs}):
            a, b = ours[kind].get(n), theirs.get(n)
            if a is None or b is None:
                diff.append(f"{kind} {n}: only in the {'toolkit' if a is None else 'spec'}")
            elif any(a.get(k) != v for k, v in b.items()):
                diff.append(f"{kind} {n}: spec {a}, toolkit {b}")
    return diff


def arguments(words):
    tools = {}
    for w in words or [TOOLKIT]:
        major, _, rest = w.partition("=")
        tools[int(major)] = tuple(rest.split(","))
    return tools


def main(argv):
    if len(argv) < 2 or argv[0] not in ("write", "check"):
        print(__doc__, file=sys.stderr)
        return 2
    tools = arguments(argv[2:])
    if not shutil.which("clang") or not all(os.path.exists(p) for t in tools.values() for p in (f"{t[0]}/{HEADERS[0]}", t[1])):
        print(f"skipped: needs clang and {tools}")
        return SKIPPED
    versions = {m: read_toolkit(*t) for m, t in tools.items()}
    if argv[0] == "write":
        from gen.cudart import HEAD
        complete(versions)
        with open(argv[1], "w") as f:
            f.write(spec_text(HEAD, versions))
        return 0
    from gen.cudart import Spec
    spec, diff = Spec(argv[1]), []
    for m, data in versions.items():
        version = data["constant"].pop("CUDART_VERSION")["is"]
        if version != str(spec.versions[m]):
            print(f"skipped: the toolkit is {version}, the spec says {spec.versions[m]}")
            return SKIPPED
        diff += differences(spec, m, data)
    for line in diff:
        print(line)
    print(f"{sum(len(d[k]) for d in versions.values() for k in KINDS)} declarations compared; {len(diff)} differences")
    return 1 if diff else 0


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    sys.exit(main(sys.argv[1:]))
