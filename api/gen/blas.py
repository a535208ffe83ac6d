"""<api>_soft.h, <api>_soft_<library>.c: a library of the software device's, over bodies that take all their arguments in one struct.

Each call that a [[routine]] of the list names fills a struct blas_work, whose fields have the names of parameters, and goes to
blas_call(). A typed pointer gives the type of what it points to, in a field NAMEType (Atype and so on for matrices), where the
call has no parameter of that name. Calls written by hand are left out; all others answer that they are not supported.
"""

import re
import tomllib

from .spec import SpecError, toml_fault
from .text import banner, failure, refused_by_name, ret

TYPES = {"float": "CUDA_R_32F", "double": "CUDA_R_64F", "cuComplex": "CUDA_C_32F", "cuDoubleComplex": "CUDA_C_64F",
         "__half": "CUDA_R_16F", "__nv_bfloat16": "CUDA_R_16BF", "int": "CUDA_R_32I", "int64_t": "CUDA_R_64I"}
LETTERS = {"S": "CUDA_R_32F", "D": "CUDA_R_64F", "C": "CUDA_C_32F", "Z": "CUDA_C_64F", "H": "CUDA_R_16F"}
TYPED = {"alpha": "alphaType", "beta": "betaType", "result": "resultType", "x": "xType", "y": "yType", "c": "cType",
         "s": "sType", "A": "Atype", "B": "Btype", "C": "Ctype"}


def plain(symbol):
    return re.sub(r"(_v2)?(_64)?$", "", symbol)


class Routines:
    def __init__(self, spec, path, shown):
        try:
            with open(path, encoding="utf-8") as f:
                text = f.read()
            data = tomllib.loads(text)
        except OSError as e:
            raise SpecError(f"{shown}: {e.strerror}") from None
        except tomllib.TOMLDecodeError as e:
            raise SpecError(toml_fault(shown, text, str(e))) from None
        self.byhand = set(data.get("byhand", []))
        self.rows = data.get("routine", [])
        faults = [f"{shown}: \"{s}\" is no call of {spec.path}" for s in sorted(self.byhand) if s not in spec.by_symbol]
        self.of = {}
        for row in self.rows:
            row["found"] = [c for c in spec.calls if not c.untyped and re.fullmatch(row["calls"], plain(c.symbol))]
            if not row["found"]:
                faults.append(f"{shown}: no call is \"{row['calls']}\"")
            for c in row["found"]:
                if c.symbol in self.of or c.symbol in self.byhand:
                    faults.append(f"{shown}: {c.symbol} is there twice")
                self.of[c.symbol] = row
        if faults:
            raise SpecError("\n".join(faults))
        self.bodies = sorted({row["body"] for row in self.rows} | set(data.get("bodies", [])))

    def has(self, symbol):
        return symbol in self.byhand or symbol in self.of


def header(spec, routines):
    out = [banner(spec, f"bodies of the {spec.name} API on the software device"), "#pragma once", "", "enum blas_body {"]
    out += [f"\tBLAS_{b.upper()}," for b in routines.bodies]
    out += ["\tBLAS_BODIES", "};", "", "/* X(number, name) for each. */", "#define BLAS_EACH_BODY(X) \\"]
    out += [f"\tX(BLAS_{b.upper()}, {b}) \\" for b in routines.bodies]
    return "\n".join([*out, "", ""])


def fields(call, row):
    letter = re.fullmatch(row["calls"], plain(call.symbol))
    letter = letter[1] if letter.re.groups and letter[1] in LETTERS else None
    names = {a.name for a in call.args}
    given = {"body": f"BLAS_{row['body'].upper()}"}
    if letter:
        given["type"] = LETTERS[letter]
    for a in call.args[1:]:
        value = f"work_type({a.name})" if a.type.startswith("cudaDataType") else a.name
        given[a.name] = f"(uint64_t)(uintptr_t){a.name}" if a.pointer else value
        target = re.fullmatch(r"(?:const )?(\w+) \*", a.type.strip()) if a.pointer else None
        kind = TYPED.get(a.name)
        if target and target[1] in TYPES and kind and kind not in names:
            given[kind] = TYPES[target[1]]
    given.update({k: str(v) for k, v in row.get("set", {}).items()})
    if call.symbol.endswith("_64"):
        given["wide"] = "1"
    return given


# What a client on the remote path is made of, so that it answers at once what the library would.
INCLUDES = ['#include "libs/blas/checks.h"', '#include "libs/blas/grouped.h"']


def grouped_fields(call):
    """Of a call about groups of products, whose arrays have the names of a gemm's parameters."""
    letter = re.match(r"cublas([SDCZH])gemm", call.symbol)
    given = {"groups": "group_count", "size": "group_size", "wide": "true" if call.symbol.endswith("_64") else "false"}
    for a in call.args[1:]:
        if a.name.endswith("_array"):
            given[a.name.removesuffix("_array")] = a.name
        elif a.name.endswith("array"):
            given[a.name.removesuffix("array")] = a.name
    return {**given, **{f"{m}type": LETTERS[letter[1]] for m in "ABC"}}


def judgement(call, routines):
    """C text, declarations and statements: the handle is found, and the arguments are checked."""
    row = routines.of.get(call.symbol)
    if row:
        kind, given, check = "blas_work", fields(call, row), "blas_check(&w_)"
    elif "GroupedBatched" in call.symbol:
        kind, given, check = "grouped", grouped_fields(call), "grouped_check(&w_)"
    else:
        kind, given, check = None, {}, "CUBLAS_STATUS_NOT_SUPPORTED"
    handle = call.args[0].name
    work = [f"\tstruct {kind} w_ = {{", *(f"\t\t.{k} = {v}," for k, v in given.items()), "\t};"] if kind else []
    return ([*work, f"\tcublasStatus_t status_ = forward_known({handle}, BLAS_HANDLE);"],
            ["\tif (!status_)", f'\t\tstatus_ = forward_judged({handle}, BLAS_HANDLE, {check}, "{call.symbol}");',
             "\tif (status_)", "\t\treturn status_;"])


def source(spec, routines, library):
    out = [banner(spec, f"the calls of {library or spec.name} on the software device"), f'#include "{spec.name}_forward.h"',
           '#include "libs/blas/blas.h"', ""]
    for c in spec.calls:
        if c.header != (library + ".h" if library else None) or c.symbol in routines.byhand:
            continue
        out += [c.prototype(), "{"]
        row = routines.of.get(c.symbol)
        if row:
            out += ["\tstruct blas_work w_ = {", *(f"\t\t.{k} = {v}," for k, v in fields(c, row).items()), "\t};", "",
                    f'\treturn blas_call({c.args[0].name}, &w_, "{c.symbol}");']
        else:
            out += [f'\tblas_refused("{c.symbol}");', f"\t{ret(c)}{failure(spec, c)};" if ret(c) else "\treturn;"]
        out += ["}", ""]
    out += refused_by_name(spec, library, "blas_refused(")
    return "\n".join(out)


def outputs(spec, routines):
    n = spec.name
    files = {f"{n}_soft.h": header(spec, routines), f"{n}_soft_{n}.c": source(spec, routines, None)}
    for library in sorted({c.header.removesuffix(".h") for c in spec.calls if c.header}):
        files[f"{n}_soft_{library}.c"] = source(spec, routines, library)
    return files


# The page ----------------------------------------------------------------------------------------------------------------

BEGIN, END = "<!-- the calls: written by `meson compile libraries-page` -->", "<!-- the end of the calls -->"


def shown_names(symbols):
    """"cublasSgemm, cublasSgemm_64" as one: the name that a program writes."""
    return sorted({plain(s) for s in symbols})


def page(spec, routines, path):
    """The page at this path with its tables as the spec has them."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if BEGIN not in text or END not in text:
        raise SpecError(f"{path}: no lines \"{BEGIN}\" and \"{END}\"")
    out = []
    for library, has_header in (("cuBLAS", False), ("cuBLASLt", True)):
        calls = [c for c in spec.calls if bool(c.header) == has_header and not c.untyped]
        there = shown_names(c.symbol for c in calls if routines.has(c.symbol))
        refused = [n for n in shown_names(c.symbol for c in calls if not routines.has(c.symbol)) if n not in there]
        refused += spec.newer(library if has_header else None)
        out += [f"| {library}: {len(there)} calls work, {len(refused)} are refused |", "|---|",
                "| work: " + ", ".join(there) + " |", "| refused: " + ", ".join(refused) + " |", ""]
    untyped = [c.symbol for c in spec.calls if c.untyped]
    xt = [s for s in untyped if s.startswith("cublasXt")]
    there = [s for s in xt if routines.has(s)]
    out += [f"cublasXt: {len(there)} of {len(xt)} calls work; refused: {', '.join(s for s in xt if s not in there)}. "
            f"Refused too: the {len(untyped) - len(xt)} calls of the older interface (`cublas.h`)."]
    head, _, rest = text.partition(BEGIN)
    return head + BEGIN + "\n\n" + "\n".join(out) + "\n\n" + END + rest.partition(END)[2]
