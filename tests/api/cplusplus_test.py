#!/usr/bin/env python3
"""Our <cuda.h> in a C++ program, with every warning an error; skipped without a C++ compiler."""

import os
import shutil
import subprocess
import sys
import tempfile

PROGRAM = """#include <cuda.h>
#include <cuda.h>
int main()
{
	CUdeviceptr address;
	CUDA_MEMCPY2D copy = {};
	return cuInit(0) || cuMemAlloc(&address, 4) || cuMemcpy2D(&copy);
}
"""

compiler = shutil.which("g++") or shutil.which("clang++")
if not compiler:
    print("skipped: no C++ compiler")
    sys.exit(77)
with tempfile.TemporaryDirectory() as tmp:
    source = os.path.join(tmp, "program.cc")
    with open(source, "w", encoding="utf-8") as f:
        f.write(PROGRAM)
    for standard in ("c++11", "c++20"):
        include = os.path.dirname(os.path.abspath(sys.argv[1]))
        subprocess.run([compiler, f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-I", include, "-c", source, "-o",
                        os.path.join(tmp, "program.o")], check=True)
print(f"{compiler}: c++11 and c++20")
