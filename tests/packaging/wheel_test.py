#!/usr/bin/env python3
"""
The wheel holds what the bundle holds: wheel_test.py SOURCE_ROOT METE SOFT_LIBCUDA

A small bundle is made of this build's mete and software device, the wheel of it, and the wheel is installed where no index
is reached.
"""
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

source, mete, driver = sys.argv[1:4]
count = failed = 0


def check(good, text, *details):
    global count, failed
    count += 1
    failed += not good
    for d in () if good else details:
        print("#", d)
    print(f"{'' if good else 'not '}ok {count} - {text}", flush=True)


def bundle(folder):
    machine = os.uname().machine
    top = os.path.join(folder, f"mete-0.0.1-{machine}")
    for part in ("bin", "lib/mete/soft", "lib/mete/shim", "share/man/man1"):
        os.makedirs(os.path.join(top, part))
    def put(path, name):  # as in a bundle, without what a debugger wants
        subprocess.run(["strip", "-g", "-o", os.path.join(top, name), path], check=True)
    put(mete, "bin/mete")
    for part in ("soft", "shim"):
        put(driver, f"lib/mete/{part}/libcuda.so.1.0.0")
        os.symlink("libcuda.so.1.0.0", os.path.join(top, f"lib/mete/{part}/libcuda.so.1"))
        os.symlink("libcuda.so.1", os.path.join(top, f"lib/mete/{part}/libcuda.so"))
    for name in ("share/man/man1/mete.1", "LICENSE"):
        with open(os.path.join(top, name), "w", encoding="utf-8") as f:
            f.write("text\n")
    with tarfile.open(top + ".tar.gz", "w:gz", compresslevel=1) as tar:
        tar.add(top, arcname=os.path.basename(top))


with tempfile.TemporaryDirectory(prefix="mete-w-") as tmp:
    make = [sys.executable, "-B", os.path.join(source, "packaging/wheel/make.py"), tmp, "0.0.1"]
    done = subprocess.run(make, capture_output=True, text=True)
    check(done.returncode != 0 and "is not there" in done.stderr, "without a bundle it says what makes one", done.stderr)
    bundle(tmp)
    done = subprocess.run(make, capture_output=True, text=True)
    wheels = [n for n in os.listdir(tmp) if n.endswith(".whl")]
    symbols = "".join(subprocess.run(["objdump", "-T", p], capture_output=True, text=True).stdout for p in (mete, driver))
    newest = max([(2, 17)] + [(int(a), int(b)) for a, b in re.findall(r"\*UND\*.*GLIBC_(\d+)\.(\d+)", symbols)])
    name = "mete-0.0.1-py3-none-manylinux_{}_{}_{}.whl".format(*newest, os.uname().machine)
    check(wheels == [name], "the tag names the newest glibc that a file asks for", wheels, name, done.stderr)
    with zipfile.ZipFile(os.path.join(tmp, wheels[0])) as wheel:
        names = wheel.namelist()
    check([n for n in names if "libcuda" in n] == [f"mete-0.0.1.data/data/lib/mete/{p}/libcuda.so.1" for p in ("shim", "soft")],
          "each library stands there once, under the name that programs ask for", names)
    place = os.path.join(tmp, "env")
    python = os.path.join(place, "bin/python")
    # This interpreter's pip installs for the other one, where it can: to bring pip there takes longer than all else.
    ours = [sys.executable, "-m", "pip", "--python", python]
    with_pip = subprocess.run([sys.executable, "-m", "pip", "--python", sys.executable, "--version"], capture_output=True).returncode != 0
    subprocess.run([sys.executable, "-m", "venv", *([] if with_pip else ["--without-pip"]), place], check=True)
    done = subprocess.run([*([python, "-m", "pip"] if with_pip else ours), "install", "-q", "--no-index",
                           os.path.join(tmp, wheels[0])], capture_output=True, text=True)
    check(done.returncode == 0, "pip installs it without an index", done.stderr)
    for words in ([os.path.join(place, "bin/mete")], [python, "-m", "mete"]):
        done = subprocess.run([*words, "--version"], capture_output=True, text=True)
        check(done.returncode == 0 and done.stdout.startswith("mete "), " ".join(words[1:] or ["mete"]) + " runs", done.stderr)
    env = {k: v for k, v in os.environ.items() if not k.startswith("METE_")}
    done = subprocess.run([os.path.join(place, "bin/mete"), "soft", "run", "--", "true"], capture_output=True, text=True, env=env)
    check(done.returncode == 0, "mete soft run finds the software device", done.stderr)
print(f"1..{count}")
sys.exit(1 if failed else 0)
