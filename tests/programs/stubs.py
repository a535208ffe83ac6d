#!/usr/bin/env python3
"""Writes what lets a C compiler build a program without nvcc: stubs.py NAME.cu NAME.ptx OUTPUT.c OUTPUT_stubs.h.

The header has the PTX as an image, a function per KERNEL that launches it as nvcc's stub would, a shadow per variable,
and the constructor that registers them; OUTPUT.c includes it and the program. Declarations are read from the program's
own text, so they are written plainly there: KERNEL name(type a, type b), VARIABLE type name[n], CONSTANT, MANAGED.
"""
import os
import re
import struct
import sys

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
KERNEL = re.compile(r"^KERNEL(?:\s+__\w+__\([^)]*\))*\s+(\w+)\(([^)]*)\)", re.M)
VARIABLE = re.compile(r"^(VARIABLE|CONSTANT|MANAGED)\s+(?:__\w+__\([^)]*\)\s+)?([\w\s*]*?[\s*])(\w+)((?:\[[^\]]+\])*)\s*(?:=[^;]*)?;",
                      re.M)
KIND_PTX, IMAGE_MAGIC, WRAPPER_MAGIC = 1, 0xBA55ED50, 0x466243B1


def image(ptx):
    """The fat binary around the text: a header, one entry."""
    text = ptx.encode() + b"\0"
    text += b"\0" * (-len(text) % 8)
    major, minor = (int(n) for n in re.search(r"^\.version (\d+)\.(\d+)", ptx, re.M).groups())
    arch = int(re.search(r"^\.target sm_(\d+)", ptx, re.M).group(1))
    entry = struct.pack("<HHIQIIHHIIIQQQQQ", KIND_PTX, 0x101, 80, len(text), 0, 64, minor, major, arch, 0, 0, 0x11, 0, 0, 72, 0)
    return struct.pack("<IHHQ", IMAGE_MAGIC, 1, 16, len(entry) + len(text)) + entry + text


def words(data):
    numbers = [f"0x{n:x}u" for (n,) in struct.iter_unpack("<Q", data)]
    return ",\n".join("\t" + ", ".join(numbers[i:i + 6]) for i in range(0, len(numbers), 6))


def kernel(name, parameters):
    names = [re.search(r"(\w+)(?:\[\d*\])?$", p.strip()).group(1) for p in parameters.split(",")] if parameters.strip() else []
    array = "void *args[] = { " + ", ".join(f"&{n}" for n in names) + " };\n\n" if names else "void **args = NULL;\n\n"
    return (f"__attribute__((unused)) static void {name}({' '.join(parameters.split()) or 'void'})\n{{\n"
            f"\t{array}\tprogram_launch((const void *){name}, args);\n}}\n")


def stubs(source, ptx):
    source = COMMENT.sub("", source)
    if "PROGRAM_DRIVER" in source:
        lines = "".join('\t"' + l.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t") + '\\n"\n' for l in ptx.splitlines())
        return f"static const char program_ptx[] =\n{lines}\t;\n"
    out = [f"static const uint64_t program_image[] = {{\n{words(image(ptx))}\n}};\n",
           f"static const struct {{\n\tuint32_t magic, version;\n\tconst void *data, *aux;\n}} program_wrapper = "
           f"{{ 0x{WRAPPER_MAGIC:x}, 1, program_image, NULL }};\n", "static void **program_handle;\n"]
    register = []
    for name, parameters in KERNEL.findall(source):
        out.append(kernel(name, parameters))
        register.append(f'__cudaRegisterFunction(program_handle, (const char *){name}, (char *){name}, "{name}", -1, NULL, NULL, NULL,'
                        " NULL, NULL);")
    for kind, type_, name, dims in VARIABLE.findall(source):
        if kind == "MANAGED":
            shadow = f"program_managed_{name}"
            out.append(f"static {type_}(*{shadow}){dims};\n#define {name} (*{shadow})\n")
            register.append(f'__cudaRegisterManagedVar(program_handle, (void **)&{shadow}, (char *)"{name}", "{name}", 0,'
                            f" sizeof(*{shadow}), 0, 0);")
        else:
            out.append(f"static {type_}{name}{dims};\n")
            register.append(f'__cudaRegisterVar(program_handle, (char *)&{name}, (char *)"{name}", "{name}", 0, sizeof({name}),'
                            f" {int(kind == 'CONSTANT')}, 0);")
    body = "".join(f"\t{line}\n" for line in register)
    out.append("__attribute__((constructor)) static void program_register(void)\n{\n"
               "\tprogram_handle = __cudaRegisterFatBinary((void *)&program_wrapper);\n"
               f"{body}\t__cudaRegisterFatBinaryEnd(program_handle);\n"
               + ("\t__cudaInitModule(program_handle);\n" if "program_managed_" in body else "") + "}\n")
    out.append("__attribute__((destructor)) static void program_unregister(void)\n{\n"
               "\t__cudaUnregisterFatBinary(program_handle);\n}\n")
    return "\n".join(out)


def main():
    source, ptx, program, header = sys.argv[1:]
    with open(source, encoding="utf-8") as s, open(ptx, encoding="utf-8") as p:
        text = stubs(s.read(), p.read())
    with open(header, "w", encoding="utf-8") as f:
        f.write(text)
    with open(program, "w", encoding="utf-8") as f:
        f.write(f'#define PROGRAM_STUBS "{os.path.basename(header)}"\n#include "{os.path.abspath(source)}"\n')


if __name__ == "__main__":
    main()
