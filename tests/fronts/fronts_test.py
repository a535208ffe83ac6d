#!/usr/bin/env python3
"""
The fronts that stand before NVRTC, nvJitLink, cuDNN, ptxas and nvcc on the software device: fronts_test.py BUILD_ROOT

The libraries before which they stand are stand-ins (real_nvrtc.c, real_nvjitlink.c, real_cudnn.c): they write down what they are asked.
"""
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
build = sys.argv[1]
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
import inside  # noqa: E402

METE = os.path.join(build, "src/cli/mete")
FRONTS = os.path.join(build, "src/fronts")
REAL = {n: os.path.join(build, f"tests/fronts/libreal-{n}.so") for n in ("nvrtc", "nvJitLink", "cudnn")}
count = failed = 0
tmp = tempfile.mkdtemp(prefix="mete-f-")
log, ptx = os.path.join(tmp, "log"), os.path.join(tmp, "text.ptx")
python = os.path.realpath(sys.executable)
env = {k: v for k, v in os.environ.items() if not k.startswith(("METE_", "TRITON_", "CUDA_", "XLA_", "JAX_", "LD_", "CONDA", "VIRTUAL"))}
env.update(HOME=tmp, REAL_LOG=log, REAL_PTX=ptx, METE_RUNTIME_DIR=os.path.join(tmp, "run"), METE_LOG=os.path.join(tmp, "mete.log"))


def check(good, text, *details):
    global count, failed
    count += 1
    failed += not good
    for d in () if good else details:
        print("#", d)
    print(f"{'' if good else 'not '}ok {count} - {text}", flush=True)


def soft(*command, **more):
    return subprocess.run([METE, "soft", "run", "--", *command], env={**env, **more}, capture_output=True, text=True, timeout=120)


def case(name, text=inside.DOUBLE, **more):
    """What a case of inside.py prints, and what the stand-in was asked."""
    with open(log, "w", encoding="utf-8"):
        pass
    with open(ptx, "w", encoding="utf-8") as f:
        f.write(text)
    done = soft(python, "-B", os.path.join(here, "inside.py"), name, **more)
    with open(log, encoding="utf-8") as f:
        asked = f.read().splitlines()
    try:
        return json.loads(done.stdout), asked
    except ValueError:
        check(False, f"{name} prints its answers", done.stdout, done.stderr)
        return {}, asked


def is_machine_code(a):
    return a.get("result") == [0, 0] and a["cubin"].startswith("// PTX in the place of machine code") and a["value"] == 42


def nvrtc():
    by_name = {"METE_NVRTC": REAL["nvrtc"]}
    answers, asked = case("sm", **by_name)
    check(len(answers) == 4 and all(is_machine_code(a) for a in answers), "an sm_ target gives PTX as the CUBIN, which runs", answers)
    check(asked == ["--gpu-architecture=compute_90", "--gpu-architecture=compute_90a -std=c++17", "--gpu-architecture=compute_75",
                    "--gpu-architecture=compute_90"], "NVRTC is asked for the compute_ target, and for all else as it was", asked)
    answer, asked = case("compute", **by_name)
    check(answer.get("bytes") == 0 and answer["ptx"] > 100 and asked == ["-arch=compute_90"],
          "a compute_ target goes through unchanged, and has no CUBIN", answer, asked)
    done = soft(python, "-B", os.path.join(here, "inside.py"), "machine code", **by_name)
    check(done.stdout == "[209, 209, 209]\n" and done.stderr.count("\n") == 1 and
          "libreal-nvrtc.so: the image holds machine code only" in done.stderr,
          "that a library holds machine code only is said once, with its name", done.stdout, done.stderr)
    answer, asked = case("none", **by_name)
    check(answer.get("bytes") == 0 and asked == ["-std=c++17"], "no target goes through unchanged", answer, asked)


def finding():
    """NVRTC where packages and people have it."""
    wheel = os.path.join(tmp, "venv/lib/python3.11/site-packages/nvidia/cu13/lib")
    plain = os.path.join(tmp, "plain")
    for folder in (wheel, plain):
        os.makedirs(folder)
        shutil.copy(REAL["nvrtc"], os.path.join(folder, "libnvrtc.so.13"))
    for text, more in (("of a virtual environment", {"VIRTUAL_ENV": os.path.join(tmp, "venv")}),
                       ("in LD_LIBRARY_PATH", {"LD_LIBRARY_PATH": plain})):
        answer, asked = case("compute", **more)
        check(answer.get("result") == [0, 0] and len(asked) == 1, f"the NVRTC {text} is found", answer, asked)
    # A program's own neighbour: the interpreter of a virtual environment, started by its path there.
    os.makedirs(os.path.join(tmp, "venv/bin"))
    link = os.path.join(tmp, "venv/bin/python")
    os.symlink(python, link)
    with open(log, "w", encoding="utf-8"):
        pass
    done = soft(link, "-B", os.path.join(here, "inside.py"), "compute")
    check('"result": [0, 0]' in done.stdout, "the NVRTC beside the program is found", done.stdout, done.stderr)
    answer, _ = case("compute", METE_NVRTC="/nowhere/libnvrtc.so.13")
    check("METE_NVRTC" in answer.get("error", ""), "without NVRTC the error names the remedy", answer)
    # This mete's own front is not taken for the real one.
    answer, _ = case("compute", METE_NVRTC=os.path.join(FRONTS, "libnvrtc.so.13"))
    check("error" in answer, "a front is not taken for the real one", answer)


def nvjitlink():
    nowhere = {"METE_NVJITLINK": "/nowhere"}
    for name in ("link", "versioned", "twelve", "containers"):
        answer, _ = case(name, **nowhere)
        check(answer.get("complete") == 0 and answer["value"] == 42 and answer["named"],
              f"{name}: PTX inputs are linked without nvJitLink", answer)
    answer, _ = case("driver")
    check(answer.get("add") == [0, 0, 0, 200] and answer["value"] == 42,
          "the driver's linker reads archives: machine code in them adds nothing, damaged ones are invalid images", answer)
    answer, _ = case("link", **nowhere)
    check(answer.get("version") == 6, "without nvJitLink there is no version, so that programs do without", answer)
    answer, _ = case("unresolved", **nowhere)
    check(answer.get("complete") in (4, 9) and "more" in answer["log"], "an open name is an error that names it", answer)
    answer, _ = case("bad", **nowhere)
    check(answer.get("complete") == 4 and "add.f33" in answer["log"], "an unknown instruction is an error that names it", answer)
    answer, _ = case("code", **nowhere)
    check(answer.get("add") == [3] and "machine code" in answer["log"], "machine code is an invalid input", answer)
    answer, _ = case("damaged", **nowhere)
    check(answer.get("add") == [3] and "damaged" in answer["log"], "a damaged archive is an invalid input", answer)
    answer, _ = case("arch", **nowhere)
    check(answer.get("create") == 2, "no -arch is an error", answer)
    answer, _ = case("lto", **nowhere)
    check(answer.get("add") == [6, 0] and answer["complete"] and "nvidia-nvjitlink" in answer["log"],
          "LTO-IR without nvJitLink names the remedy", answer)
    for name, kind in (("lto", 3), ("lto in a fat binary", 4)):
        answer, asked = case(name, text=inside.CALLER, METE_NVJITLINK=REAL["nvJitLink"])
        check(answer.get("complete") == 0 and answer["value"] == 42 and answer["version"] == 0 and
              asked == ["-arch=sm_90 -lto -ptx", f"input of type {kind}"],
              f"{name}: goes to nvJitLink for PTX, and is linked with the rest", answer, asked)


def ptxas():
    tool = os.path.join(FRONTS, "bin/ptxas")
    source, target = os.path.join(tmp, "a.ptx"), os.path.join(tmp, "a.cubin")

    def run(*arguments, text=inside.DOUBLE):
        with open(source, "w", encoding="utf-8") as f:
            f.write(text)
        return subprocess.run([tool, *arguments], env=env, capture_output=True, text=True, timeout=60)

    done = run("--version")
    check(re.search(r"release (\d+)\.(\d+)", done.stdout) and re.search(r"\bV(\d+)\.(\d+)\.(\d+)\b", done.stdout),
          "the version is as Triton and XLA look for it", done.stdout)
    done = run("-lineinfo", "-v", "--gpu-name=sm_90a", source, "-o", target)
    with open(target, "rb") as f:
        image = f.read()
    check(done.returncode == 0 and image.endswith(b"}\n\0") and inside.DOUBLE.encode() in image and b"mete" in image[:80],
          "the output is the text, and says whose it is", done.stderr)
    check("Compiling entry function 'twice' for 'sm_90a'" in done.stderr and "registers" in done.stderr and not done.stdout,
          "-v reports each kernel", done.stderr)
    done = run("-arch=sm_90", source, "-o", target, text=inside.DOUBLE.replace("add.f32", "add.f33"))
    check(done.returncode == 255 and re.search(r"a\.ptx, line 10; error   : .*add\.f33", done.stderr) and
          "ptxas fatal   : Ptx assembly aborted due to errors" in done.stderr, "an error has its line", done.stderr)
    done = run("-arch=sm_x", source, "-o", target)
    check(done.returncode == 1 and "Value 'sm_x' is not defined for option 'gpu-name'" in done.stderr, "an unknown target", done.stderr)
    check(run("-arch=sm_90", "/nowhere.ptx").returncode == 1, "no such file")
    check(run("-arch=sm_90", source, "-o", "/nowhere/a").returncode == 1, "no such output")
    check(run().returncode == 1, "no input")
    run("-maxrregcount", "48", "-arch=sm_90", source, "-o", target)
    with open(target, "rb") as f:
        check(f.read().endswith(b'.pragma "mete registers 48";\n\0'), "a limit of registers stays in the output")
    done = run("--fmad", "false", "-maxntid", "128,1,1", "-flcm", "ca", "--warn-on-spills", "-arch=sm_90", source, "-o", target)
    check(done.returncode == 0, "options about machine code, with their values", done.stderr)
    done = run("-arch=sm_60", source, "-o", target)
    check(done.returncode == 255 and "sm_75" in done.stderr, "a text for a newer target is refused", done.stderr)


def nvcc():
    """Before an nvcc that writes down its arguments and the text of REAL_PTX."""
    folder = os.path.join(tmp, "toolkit")
    os.makedirs(folder)
    tool = os.path.join(folder, "nvcc")
    with open(tool, "w", encoding="utf-8") as f:
        f.write('#!/bin/sh\necho "$@" >> $REAL_LOG\nwhile [ $# -gt 0 ]; do [ "$1" = -o ] && cp $REAL_PTX "$2"; shift; done\n'
                "echo the toolkit\n")
    os.chmod(tool, 0o755)
    with open(ptx, "w", encoding="utf-8") as f:
        f.write(inside.DOUBLE)
    path = f"{folder}:{env['PATH']}"

    def run(words):
        with open(log, "w", encoding="utf-8"):
            pass
        done = soft("sh", "-c", f"cd {tmp}; {words}", PATH=path)
        with open(log, encoding="utf-8") as f:
            return done, f.read().strip()

    run("nvcc --cubin -arch sm_90 --maxrregcount=40 kernel.cu")
    with open(os.path.join(tmp, "kernel.cubin"), "rb") as f:
        check(f.read().endswith(b'.pragma "mete registers 40";\n\0'), "a limit of registers stays in what nvcc makes")
    done, asked = run("nvcc --cubin -arch sm_90 -I/x kernel.cu")
    check(done.returncode == 0 and asked == "--ptx -arch compute_90 -I/x kernel.cu -o kernel.cubin", "--cubin becomes PTX", asked, done.stderr)
    with open(os.path.join(tmp, "kernel.cubin"), "rb") as f:
        image = f.read()
    check(image.startswith(b"// PTX in the place") and image.endswith(b"}\n\0"), "its output is PTX that says whose it is")
    _, asked = run("nvcc -cubin -gencode=arch=compute_90,code=sm_90 -o x.bin kernel.cu")
    check(asked == "--ptx -gencode=arch=compute_90,code=compute_90 -o x.bin kernel.cu", "other ways to name the target", asked)
    _, asked = run("nvcc -arch=sm_90 -o program kernel.cu")
    check(asked == "-arch=sm_90 -o program kernel.cu", "everything else goes through", asked)
    done, _ = run("nvcc --version")
    check(done.stdout.startswith("the toolkit\n") and "mete" in done.stdout, "--version says that mete stands before it", done.stdout)
    done = soft("sh", "-c", "command -v nvcc", PATH="/usr/bin:/bin")
    check("/nvcc/nvcc" not in done.stdout, "without an nvcc in PATH there is none of mete's", done.stdout)


def name():
    """Inductor keeps compiled code by the device's name: another compute capability has another one."""
    text = ("import ctypes; c = ctypes.CDLL('libcuda.so.1'); b = ctypes.create_string_buffer(64); c.cuInit(0);"
            "c.cuDeviceGetName(b, 64, 0); print(b.value.decode())")

    def named(**more):
        return soft(python, "-B", "-c", text, **more).stdout.strip()

    check(named() == named(METE_SOFT_CC="12.0") == "mete software device", "the device's name", named())
    check(named(METE_SOFT_CC="9.0") == "mete software device 9.0", "with another compute capability", named(METE_SOFT_CC="9.0"))
    check(named(METE_SOFT_CC="9.0", METE_SOFT_NAME="own") == "own", "and as the user says", named(METE_SOFT_NAME="own"))


def environment():
    """What is set adds to what the user set, on both ways to the software device."""
    show = ["sh", "-c", 'echo "$TRITON_PTXAS_PATH"; echo "$PATH"; echo "$LD_PRELOAD"']
    ways = {"mete soft run": [METE, "soft", "run", "--"], "mete run --soft": [METE, "run", "--soft", "--mem", "64M", "--"],
            "mete run --soft --wall": [METE, "run", "--soft", "--wall", "--mem", "64M", "--"]}
    for way, words in ways.items():
        def run(command, **more):
            done = subprocess.run([*words, *command], env={**env, **more}, capture_output=True, text=True, timeout=120)
            return (done.stdout.splitlines() + [done.stderr] * 3)[:3]

        triton, path, preload = run(show)
        check(triton == f"{FRONTS}/bin/ptxas" and path.endswith(env["PATH"]) and f"{FRONTS}/bin" in path.split(":") and
              all(f"{FRONTS}/{n}" in preload.split(":") for n in ("libnvrtc.so.13", "libnvJitLink.so.13", "libnvrtc.so.12")),
              f"{way} puts the fronts in place", triton, path, preload)
        triton, path, preload = run(show, TRITON_PTXAS_PATH="/own/ptxas", PATH=f"/own:{env['PATH']}")
        check(triton == "/own/ptxas" and path.endswith(f"/own:{env['PATH']}"), f"{way}: what the user set stays", triton, path)
        triton, path, preload = run([*words, *show])
        check(path.split(":").count(f"{FRONTS}/bin") == 1 and preload.split(":").count(f"{FRONTS}/libnvrtc.so.13") == 1,
              f"{way} within itself puts them in place once", path, preload)
    for way, words in ways.items():
        verbose = [*words[:-1], "--verbose", "--", "env"]
        done = subprocess.run(verbose, env={**env, "PYTHONPATH": "/own"}, capture_output=True, text=True, timeout=120)
        now = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
        changed = {n: v for n, v in now.items() if n != "_" and v != {**env, "PYTHONPATH": "/own"}.get(n)}
        wrong = [n for n, v in changed.items() if f"mete: set {n}={v}\n" not in done.stderr and not
                 all(f"mete: set {n}: {entry}\n" in done.stderr for entry in v.split(":") if entry.startswith(build))]
        check({"LD_PRELOAD", "PATH", "PYTHONPATH", "TRITON_PTXAS_PATH"} <= set(changed) and not wrong,
              f"{way} --verbose shows all that is set", wrong, done.stderr)
        check(now.get("PYTHONPATH", "").endswith(":/own") and "mete: set PYTHONPATH: then what was there\n" in done.stderr,
              f"{way} leaves what is in PYTHONPATH", now.get("PYTHONPATH"))


# What JAX asks before it asks for a device of CUDA, and how it finds plugins.
JAX = """
_NVIDIA_GPU_DEVICES = ["/dev/nvidia-of-nobody"]


def has_visible_nvidia_gpu():
    return any(os.path.exists(d) for d in _NVIDIA_GPU_DEVICES)
"""
# As in a container, where cuDNN is its front.
FRONT = """
import ctypes
ctypes.CDLL = lambda name, *more, cdll=ctypes.CDLL, **others: cdll("%s/libcudnn.so.9" if name == "libcudnn.so.9" else name, *more, **others)
""" % FRONTS
ASKS = """
import importlib, os, pkgutil
import jax_plugins
from jax._src import hardware_utils, lib
for _, name, _ in pkgutil.iter_modules(jax_plugins.__path__, "jax_plugins."):
    importlib.import_module(name).initialize()
print(hardware_utils.has_visible_nvidia_gpu(), len(hardware_utils._NVIDIA_GPU_DEVICES), bool(os.environ["JAX_SKIP_CUDA_CONSTRAINTS_CHECK"]))
print(lib.cuda_path)
print(os.environ.get("XLA_FLAGS", ""))
"""


def jax():
    packages, flag = os.path.join(tmp, "packages"), "xla_gpu_experimental_disable_binary_libraries"

    def write(name, text):
        os.makedirs(os.path.dirname(os.path.join(packages, name)), exist_ok=True)
        with open(os.path.join(packages, name), "w", encoding="utf-8") as f:
            f.write(text)

    def asks(text=FRONT + ASKS, **more):
        done = soft(python, "-B", "-c", text, PYTHONPATH=packages, **more)
        return done.stdout.splitlines() + [""] * 3, done

    write("jax/_src/hardware_utils.py", "import os\n" + JAX)
    write("jax/_src/lib.py", "cuda_path = 'of its own package'\n")
    write("jaxlib/__init__.py", "")
    write("jaxlib/libjax_common.so", f"\0{flag}\0")
    (found, path, flags, *_), done = asks()
    check(found == "True 2 True", "JAX finds the device, though no node is in /dev", done.stdout, done.stderr)
    check(path == FRONTS and flags == f"--{flag}=true", "XLA assembles with mete's ptxas, and does without cuDNN", done.stdout)
    (_, _, flags, *_), done = asks(ASKS)
    check(flags == "", "with mete's own cuDNN XLA convolves by it", done.stdout)
    (_, path, flags, *_), done = asks(CUDA_ROOT="/own", XLA_FLAGS=f"--{flag}=false")
    check(path == "of its own package" and flags == f"--{flag}=false", "what the user set for JAX stays", done.stdout)
    (_, _, flags, *_), done = asks(XLA_FLAGS="--xla_other=1")
    check(flags == f"--xla_other=1 --{flag}=true", "it comes behind the user's other flags", done.stdout)
    write("jaxlib/libjax_common.so", f"\0{flag}\0xla_gpu_autotune_level\0")
    (_, _, flags, *_), done = asks(METE_SOFT_CC="9.0")
    check(flags == f"--{flag}=true --xla_gpu_autotune_level=0", "below 12.0 XLA tries no ways, for want of kernels of its packages", done.stdout)
    (_, _, flags, *_), done = asks(METE_SOFT_CC="9.0", XLA_FLAGS="--xla_gpu_autotune_level=3")
    check(flags == f"--xla_gpu_autotune_level=3 --{flag}=true", "unless the user says how many", done.stdout)
    (_, _, flags, *_), done = asks()
    check(flags == f"--{flag}=true", "at 12.0 it does as it does", done.stdout)
    write("jaxlib/libjax_common.so", f"\0{flag}_of_another_name\0")
    (_, _, flags, *_), done = asks()
    check(flags == "", "a flag that this XLA does not know is not given to it", done.stdout)
    write("jax/_src/hardware_utils.py", "")
    _, done = asks(ASKS.split("print(", 1)[0])
    check(not done.returncode and not done.stderr, "a JAX that asks in another way is left alone", done.stderr)


def end_meted():
    """The one that `mete run` started, known by its folder."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read().split(b"\0")
            if words[0].endswith(b"meted") and env["METE_RUNTIME_DIR"].encode() in words:
                os.kill(int(pid), signal.SIGTERM)
                while os.path.exists(f"/proc/{pid}"):
                    time.sleep(0.01)
        except OSError:
            pass


def cudnn():
    def run(**more):
        done = soft(python, "-B", os.path.join(here, "inside.py"), "cudnn", METE_LOG="", FRONT_CUDNN=f"{FRONTS}/libcudnn.so.9", **more)
        return json.loads(done.stdout), done.stderr

    a, said = run(METE_CUDNN=REAL["cudnn"])
    check((a["create"], a["made"], a["null"], a["destroy"]) == (0, True, 2002, 0), "a handle of cuDNN is made and given back", a)
    check(a["stream"] == [0, 0, 0x1230], "and has its stream", a)
    check((a["version"], a["property"], a["word"]) == (92600, [0, 26], "the real word for not supported"),
          "versions, properties and words are the real library's", a)
    check(a["compute"] == [3000, 3000] and a["reason"].startswith("cudnnActivationForward: "),
          "what would compute is not supported, and the reason names the call", a)
    check(said.count("\n") == 1 and said.startswith("mete: cudnnAddTensor: NVIDIA's cuDNN computes on NVIDIA's driver only"),
          "one line says so, for the first call", said)
    a, said = run(METE_CUDNN=os.path.join(tmp, "nowhere.so"))
    check(a["create"] == 1001 and "install the package nvidia-cudnn-cu13" in a["error"], "without cuDNN no handle is made", a)
    check("cudnnCreate: NVIDIA's cuDNN was not found" in said, "and a line says what to install", said)


os.makedirs(env["METE_RUNTIME_DIR"], 0o700)
os.chmod(tmp, stat.S_IRWXU)
try:
    for part in (nvrtc, finding, nvjitlink, cudnn, name, ptxas, nvcc, environment, jax):
        part()
finally:
    end_meted()
    shutil.rmtree(tmp, ignore_errors=True)
print(f"1..{count}")
sys.exit(1 if failed else 0)
