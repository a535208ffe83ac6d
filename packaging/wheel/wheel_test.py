#!/usr/bin/env python3
"""
The wheel, as a user gets it: wheel_test.py BUILD_ROOT. Made by `meson compile -C BUILD wheel`; skipped where there is none.

A fresh environment, without a compiler or a toolkit in PATH and without mete's own variables: installed, run alone and under
a quota. The tag is compared with what the files need. With METE_WHEEL_NETWORK=1 also what comes from a package index: pytest,
and numba-cuda, where installation and a vector addition under a quota may take 60 seconds together.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile

build = os.path.abspath(sys.argv[1])
wheels = sorted(glob.glob(os.path.join(build, "mete-*.whl")), key=os.path.getmtime)
if not wheels:
    print("1..0 # SKIP no wheel: meson compile -C BUILD wheel makes it")
    sys.exit(0)
wheel = wheels[-1]
count = failed = 0

# A vector addition over the driver alone, as any CUDA program in Python.
ADD = r'''
import ctypes, sys

PTX = b""".version 7.0
.target sm_50
.address_size 64
.visible .entry add(.param .u64 x, .param .u64 y)
{
	.reg .b32 %r; .reg .f32 %f<3>; .reg .b64 %d<3>;
	mov.u32 %r, %tid.x; mul.wide.u32 %d2, %r, 4;
	ld.param.u64 %d0, [x]; ld.param.u64 %d1, [y];
	add.u64 %d0, %d0, %d2; add.u64 %d1, %d1, %d2;
	ld.global.f32 %f0, [%d0]; ld.global.f32 %f1, [%d1];
	add.f32 %f2, %f0, %f1; st.global.f32 [%d1], %f2; ret;
}
"""
cuda = ctypes.CDLL("libcuda.so.1")


def must(r):
    if r:
        raise SystemExit(f"CUDA error {r}")


def total():
    free, all_ = ctypes.c_size_t(), ctypes.c_size_t()
    must(cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(all_)))
    return all_.value


def run():
    context, module, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    x, y = ctypes.c_uint64(), ctypes.c_uint64()
    must(cuda.cuInit(0))
    must(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    must(cuda.cuCtxSetCurrent(context))
    must(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
    must(cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"add"))
    a = (ctypes.c_float * 100)(*range(100))
    for p in (x, y):
        must(cuda.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(400)))
        must(cuda.cuMemcpyHtoD_v2(p, a, ctypes.c_size_t(400)))
    words = (ctypes.c_void_p * 2)(ctypes.addressof(x), ctypes.addressof(y))
    must(cuda.cuLaunchKernel(kernel, 1, 1, 1, 100, 1, 1, 0, None, words, None))
    must(cuda.cuMemcpyDtoH_v2(a, y, ctypes.c_size_t(400)))
    return list(a) == [2.0 * i for i in range(100)]
'''
TRAIN = ADD + '\nprint(run(), total())\n'
TESTS = ADD + '\n\ndef test_add():\n    assert run()\n\n\ndef test_total():\n    run()\n    assert total() > 0\n'
NUMBA = '''
import numpy
from numba import cuda


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


a = numpy.arange(10000, dtype=numpy.float32)
c = numpy.zeros_like(a)
add[80, 128](a, a, c)
print((c == 2 * a).all(), cuda.current_context().get_memory_info().total)
'''


def ok(good, what, *shown):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - {what}", flush=True)
    for s in shown if not good else ():
        print("".join(f"#   {line}\n" for line in str(s).splitlines()[-20:]), end="", flush=True)
    return good


def elf_needs(folder):
    """(newest glibc that any file asks for, libraries that are asked for and are no part of the wheel)"""
    newest, needed, own = (0, 0), set(), set()
    for top, _, names in os.walk(folder):
        for n in names:
            path = os.path.join(top, n)
            with open(path, "rb") as f:
                if f.read(4) != b"\x7fELF":
                    continue
            own.add(n)
            said = subprocess.run(["readelf", "-dVW", path], stdout=subprocess.PIPE, text=True, check=True).stdout
            needed |= set(re.findall(r"\(NEEDED\).*\[(.*)\]", said))
            versions = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", said)
            newest = max([newest, *((int(a), int(b)) for a, b in versions)])
    return newest, needed - own


# Of every machine with glibc, as the policies of manylinux say.
SYSTEM = re.compile(r"^(libc|libm|libdl|libpthread|librt|ld-linux-.*|ld-linux|libgcc_s)\.so\.\d+$")


def tag(scratch):
    folder = os.path.join(scratch, "unpacked")
    with zipfile.ZipFile(wheel) as z:
        z.extractall(folder)
    newest, foreign = elf_needs(folder)
    said = tuple(int(n) for n in re.search(r"manylinux_(\d+)_(\d+)_", wheel).groups())
    ok(newest <= said, f"its tag says glibc {said[0]}.{said[1]}, and no file needs more than {newest[0]}.{newest[1]}")
    strangers = sorted(n for n in foreign if not SYSTEM.match(n))
    ok(not strangers, "its files need nothing but the C library", strangers)


def environment(scratch):
    folder = os.path.join(scratch, "venv")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    # A machine without a compiler: what is in PATH is named one by one.
    tools = os.path.join(scratch, "tools")
    os.mkdir(tools)
    for name in ("sh", "env", "true", "ldconfig", "uname"):
        for place in ("/usr/bin", "/bin", "/usr/sbin", "/sbin"):
            if os.path.exists(os.path.join(place, name)):
                os.symlink(os.path.join(place, name), os.path.join(tools, name))
                break
    os.mkdir(os.path.join(scratch, "run"), 0o700)
    env = {"PATH": os.path.join(folder, "bin") + ":" + tools, "HOME": scratch, "METE_RUNTIME_DIR": os.path.join(scratch, "run"),
           "LANG": "C.UTF-8", "VIRTUAL_ENV": folder}
    for n in ("PIP_INDEX_URL", "PIP_TRUSTED_HOST", "PIP_CONFIG_FILE", "PIP_CERT", "SSL_CERT_FILE", "http_proxy", "https_proxy",
              "HTTP_PROXY", "HTTPS_PROXY", "no_proxy", "NO_PROXY"):
        if n in os.environ:
            env[n] = os.environ[n]
    return folder, env


def run(env, *command, cwd=None, seconds=300):
    return subprocess.run(command, env=env, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=seconds,
                          check=False)


def write(scratch, name, text):
    with open(os.path.join(scratch, name), "w", encoding="utf-8") as f:
        f.write(text)


def main(scratch):
    tag(scratch)
    folder, env = environment(scratch)
    python, mete = os.path.join(folder, "bin/python"), os.path.join(folder, "bin/mete")
    done = run(env, python, "-m", "pip", "install", "-q", "--no-index", "--disable-pip-version-check", wheel)
    if not ok(done.returncode == 0, "pip installs it, without a package index", done.stdout, done.stderr):
        return
    done = run(env, "mete", "version")
    ok(done.returncode == 0 and done.stdout, "mete is in PATH", done.stderr)
    done = run(env, python, "-m", "mete", "help")
    ok(done.returncode == 0, "python -m mete", done.stderr)
    write(scratch, "train.py", TRAIN)
    write(scratch, "test_add.py", TESTS)
    done = run(env, "mete", "soft", "run", "python", "train.py", cwd=scratch)
    ok(done.stdout.startswith("True ") and not done.stderr, "mete soft run python train.py", done.stdout, done.stderr)
    done = run(env, "mete", "run", "--soft", "--mem", "4G", "python", "train.py", cwd=scratch)
    ok(done.stdout == f"True {4 << 30}\n" and not done.stderr, "mete run --soft --mem 4G python train.py", done.stdout, done.stderr)
    done = run(env, "mete", "run", "--soft", "--wall", "--mem", "1G", "python", "train.py", cwd=scratch)
    ok(done.stdout == f"True {1 << 30}\n" and not done.stderr, "behind a wall", done.stdout, done.stderr)
    done = run(env, "mete", "doctor", "--", "python", "train.py", cwd=scratch)
    ok(done.returncode == 0, "mete doctor -- python train.py", done.stdout, done.stderr)
    if os.environ.get("METE_WHEEL_NETWORK") != "1":
        ok(True, "pytest and numba-cuda # SKIP METE_WHEEL_NETWORK=1 installs them from a package index")
    else:
        network(scratch, env, python)
    done = run(env, python, "-m", "pip", "uninstall", "-q", "-y", "mete")
    left = [n for top, _, names in os.walk(os.path.join(folder, "lib/mete")) for n in names]
    ok(done.returncode == 0 and not os.path.exists(mete) and not left, "pip takes all of it away again", done.stderr, left)


def network(scratch, env, python):
    done = run(env, python, "-m", "pip", "install", "-q", "pytest")
    if ok(done.returncode == 0, "pytest is installed", done.stderr):
        done = run(env, "mete", "soft", "run", "pytest", "-q", "test_add.py", "--junitxml", "tests.xml", cwd=scratch)
        ok(done.returncode == 0 and "2 passed" in done.stdout, "mete soft run pytest", done.stdout, done.stderr)
        ok(os.path.exists(os.path.join(scratch, "tests.xml")), "with its JUnit file")
    write(scratch, "add.py", NUMBA)
    # Two commands, from an environment that has neither.
    run(env, python, "-m", "pip", "uninstall", "-q", "-y", "mete")
    began = time.monotonic()
    done = run(env, python, "-m", "pip", "install", "-q", wheel, "numba-cuda[cu13]", seconds=900)
    installed = time.monotonic() - began
    if not ok(done.returncode == 0, f"pip install of the wheel and numba-cuda: {installed:.0f} s", done.stderr):
        return
    began = time.monotonic()
    done = run(env, "mete", "run", "--soft", "--mem", "2G", "python", "add.py", cwd=scratch)
    took = time.monotonic() - began
    ok(done.stdout == f"True {2 << 30}\n", f"mete run --soft --mem 2G python add.py: {took:.0f} s", done.stdout, done.stderr)
    ok(installed + took < 60 * float(os.environ.get("METE_TEST_PATIENCE", "1")), f"both within a minute: {installed + took:.0f} s")


with tempfile.TemporaryDirectory(prefix="mete-wheel-") as folder_of_this:
    main(folder_of_this)
print(f"1..{count}")
sys.exit(1 if failed else 0)
