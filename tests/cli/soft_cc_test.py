#!/usr/bin/env python3
"""`mete soft cc`: soft_cc_test.py BUILD_ROOT. What nvcc is told, and, where there is one, programs that it makes."""
import os
import shutil
import subprocess
import sys
import tempfile

build = os.path.abspath(sys.argv[1])
METE = os.path.join(build, "src/cli/mete")
env = {k: v for k, v in os.environ.items() if not k.startswith(("METE_", "CUDA_", "LD_"))}
count = failed = 0

PROGRAM = r"""
#include <cstdio>
__global__ void add(int n, const float *a, float *b)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		b[i] += a[i];
}
int main()
{
	const int n = 1000;
	float a[n], b[n], *da, *db;
	for (int i = 0; i < n; i++)
		a[i] = i, b[i] = 2 * i;
	cudaMalloc(&da, sizeof(a));
	cudaMalloc(&db, sizeof(b));
	cudaMemcpy(da, a, sizeof(a), cudaMemcpyHostToDevice);
	cudaMemcpy(db, b, sizeof(b), cudaMemcpyHostToDevice);
	add<<<(n + 127) / 128, 128>>>(n, da, db);
	cudaError_t r = cudaMemcpy(b, db, sizeof(b), cudaMemcpyDeviceToHost);
	for (int i = 0; i < n; i++)
		if (r || b[i] != 3 * i)
			return printf("wrong: %d (%s)\n", i, cudaGetErrorString(r)), 1;
	puts("right");
	return 0;
}
"""


def ok(good, what, *shown):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - {what}", flush=True)
    for s in shown if not good else ():
        print("".join(f"#   {line}\n" for line in str(s).splitlines()[:30]), end="", flush=True)


def run(*words, **more):
    return subprocess.run([METE, *words], env={**env, **more}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=280, check=False)


def told(folder, *words, **more):
    """What a stand-in for nvcc is called with."""
    nvcc = os.path.join(folder, "nvcc")
    with open(nvcc, "w", encoding="utf-8") as f:
        f.write('#!/bin/sh\n[ "$*" = --version ] && { echo "release 99.0, V99.0.1"; exit; }\nprintf "%s\\n" "$@"\nexit 7\n')
    os.chmod(nvcc, 0o755)
    done = run("soft", "cc", *words, METE_NVCC=nvcc, **more)
    return done.stdout.splitlines(), done.returncode


def words(folder):
    own = ["-gencode", "arch=compute_90,code=compute_90", "-cudart", "shared"]
    got, status = told(folder, "-O2", "-o", "a b", "x.cu", METE_SOFT_CC="9.0")
    ok(got == ["-O2", "-o", "a b", "x.cu", *own], "everything goes to nvcc, with a target and the shared runtime behind it", got)
    ok(status == 7, "its status is nvcc's", status)
    table = {
        ("-arch=sm_80",): ["-arch=compute_80"],
        ("-arch", "sm_90a"): ["-arch=compute_90a"],
        ("--gpu-architecture=compute_75", "--gpu-code=sm_75,compute_75"): ["-arch=compute_75", "-code=compute_75,compute_75"],
        ("-gencode", "arch=compute_90,code=sm_90"): ["-gencode=arch=compute_90,code=compute_90"],
        ("-gencode=arch=compute_80,code=lto_80",): ["-gencode=arch=compute_80,code=compute_80"],
        ("--generate-code", "arch=compute_80,code=[sm_80,compute_80]"): ["-gencode=arch=compute_80,code=[compute_80,compute_80]"],
    }
    for given, wanted in table.items():
        got, _ = told(folder, *given, "x.cu")
        ok(got == [*wanted, "x.cu", "-cudart", "shared"], f"{' '.join(given)} becomes {' '.join(wanted)}", got)
    for summary in ("native", "all", "all-major"):
        got, _ = told(folder, f"-arch={summary}", "x.cu", METE_SOFT_CC="12.0")
        ok(got == ["x.cu", "-gencode", "arch=compute_120,code=compute_120", "-cudart", "shared"],
           f"-arch={summary} becomes the device's own target", got)
    got, _ = told(folder, "-cudart=static", "x.cu")
    ok(got[:3] == ["-cudart", "static", "x.cu"] and "shared" not in got, "a runtime that is asked for stays", got)
    got, _ = told(folder, "--", "-c", "x.cu")
    ok(got[:2] == ["-c", "x.cu"], "a -- of one's own is taken away", got)
    got, _ = told(folder, os.path.join(folder, "nvcc"), "-c", "x.cu")
    ok(got[:2] == ["-c", "x.cu"], "as a launcher, before nvcc's own path", got)
    done = run("soft", "cc", "--help")
    ok(done.returncode == 0 and "NVCC-ARGUMENT" in done.stdout, "--help alone is mete's", done.stdout)
    done = run("soft", "cc")
    ok(done.returncode == 125 and "NVCC-ARGUMENT" in done.stderr, "without words", done.stderr)
    done = run("soft", "cc", "x.cu", METE_NVCC="/none/nvcc")
    ok(done.returncode == 127 and done.stderr.count("\n") == 1 and "METE_NVCC=/none/nvcc" in done.stderr, "an nvcc that is not there",
       done.stderr)
    if not os.path.exists("/usr/local/cuda/bin/nvcc") and not os.path.exists("/opt/cuda/bin/nvcc"):
        done = run("soft", "cc", "x.cu", PATH="/usr/bin:/bin")
        ok(done.returncode == 127 and "install the CUDA toolkit" in done.stderr, "no nvcc at all", done.stderr)


def programs(folder):
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not os.path.exists(nvcc):
        return ok(True, "programs # SKIP no nvcc")
    source = os.path.join(folder, "add.cu")
    with open(source, "w", encoding="utf-8") as f:
        f.write(PROGRAM)
    for name, more in {"shared": (), "static": ("-cudart", "static")}.items():
        out = os.path.join(folder, name)
        done = run("soft", "cc", *more, "-o", out, source, METE_NVCC=nvcc)
        ok(done.returncode == 0, f"{name}: it is compiled", done.stderr)
        if name == "static":
            needed = subprocess.run(["readelf", "-d", out], stdout=subprocess.PIPE, text=True, check=True).stdout
            ok("libcudart" not in needed, "static: it needs no runtime library", needed)
        done = run("soft", "run", out)
        ok(done.stdout == "right\n" and not done.stderr, f"{name}: right on the software device, without a word", done.stdout,
           done.stderr)
        done = run("doctor", "--program", out)
        ok("on the software device (mete run --soft): works" in done.stdout, f"{name}: as the doctor says", done.stdout, done.stderr)
    out = os.path.join(folder, "nvidias")
    if subprocess.run([nvcc, "-cudart", "static", "-o", out, source], check=False).returncode == 0:
        done = run("soft", "run", out)
        ok(done.returncode and "mete soft cc" in done.stderr, "a program with NVIDIA's own is told the word", done.stderr)
        done = run("doctor", "--program", out)
        ok("on the software device (mete run --soft): fails" in done.stdout and "mete soft cc" in done.stdout,
           "and the doctor has said so before", done.stdout, done.stderr)


def machine_code(folder):
    """Whatever way a program takes, one line says which file holds no PTX, and its call fails."""
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not os.path.exists(nvcc):
        return ok(True, "machine code # SKIP no nvcc")
    source, out = os.path.join(folder, "add.cu"), os.path.join(folder, "machine")
    subprocess.run([nvcc, "-cudart", "shared", "-gencode", "arch=compute_90,code=sm_90", "-o", out, source], check=True)
    own = {"METE_RUNTIME_DIR": os.path.join(folder, "run"), "METE_SOFT_DIR": os.path.join(folder, "soft")}
    os.mkdir(own["METE_SOFT_DIR"])
    for way in (("soft", "run"), ("run", "--soft", "--mem", "64M"), ("run", "--soft", "--wall", "--mem", "64M")):
        done = run(*way, "--", out, **own)
        lines = done.stderr.splitlines()
        ok(done.returncode and len(lines) == 1 and lines[0].startswith("mete: module: machine: the image "),
           f"mete {' '.join(way)}: one line names the file", done.stdout, done.stderr)


# A private meted may still be on its way out.
with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
    words(scratch)
    programs(scratch)
    machine_code(scratch)
print(f"1..{count}")
sys.exit(1 if failed else 0)
