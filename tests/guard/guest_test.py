#!/usr/bin/env python3
"""The guard in a virtual machine: guest_test.py BUILD CASES [PROCESSORS [KERNEL_WORDS]]

Boots Debian's kernel under emulation with the stand-in driver (standin/), mete-guard and cases.c, and passes on what they say. What is
booted is in the folder METE_TEST_GUEST, which tests/guard/make_guest fills; every kernel in it is tried.

Where the cost is taken, the guest's clock counts instructions, one a nanosecond: the same figures whatever this machine does beside.
"""
import glob
import gzip
import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import threading

build, cases = sys.argv[1], sys.argv[2]
processors = sys.argv[3] if len(sys.argv) > 3 else "1"
words = sys.argv[4] if len(sys.argv) > 4 else ""
here = os.path.dirname(os.path.abspath(__file__))
LIMIT_S = float(os.environ.get("METE_TEST_GUEST_LIMIT_S", "540"))


def skip(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


def entry(name, mode, data, number):
    """One file of a cpio archive in the form that the kernel unpacks (newc)."""
    name = name.encode() + b"\0"
    head = "070701" + "".join(f"{v:08X}" for v in (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0))
    out = head.encode() + name
    out += b"\0" * (-len(out) % 4) + data
    return out + b"\0" * (-len(data) % 4)


def libraries(program):
    """What the program is linked with, and its loader: paths."""
    out = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return sorted({p for line in out.splitlines() for p in re.findall(r"(/\S+)", line)})


def pack(module, to):
    files = {"init": os.path.join(here, "init"), "cases": os.path.join(build, "tests/guard/guard_cases"),
             "mete-guard": os.path.join(build, "src/guard/mete-guard"),
             "mete-guard-notify": os.path.join(build, "src/guard/mete-guard-notify"),
             "bin/busybox": busybox, "mete_standin.ko": module}
    if "floor" in cases.split(","):
        files["mete-guard-floor"] = os.path.join(build, "src/guard/mete-guard-floor")
    mete = os.path.join(build, "src/cli/mete")
    if "lines" in cases.split(",") and os.path.exists(mete):
        files["mete"] = mete
    files |= {p.lstrip("/"): p for program in ("mete-guard", "mete") if program in files for p in libraries(files[program])}
    folders = {""} | {"/".join(n.split("/")[:i]) for n in files for i in range(1, n.count("/") + 1)}
    parts = [entry(f, stat.S_IFDIR | 0o755, b"", i) for i, f in enumerate(sorted(folders - {""}))]
    for i, (name, path) in enumerate(files.items()):
        with open(path, "rb") as f:
            parts.append(entry(name, stat.S_IFREG | 0o755, f.read(), 1000 + i))
    parts.append(entry("TRAILER!!!", 0, b"", 0))
    with gzip.open(to, "wb", compresslevel=1) as f:
        f.write(b"".join(parts))


# QEMU's emulation of two processors may run code that the kernel has just rewritten, and the kernel ends with it. Processors do not.
EMULATION = "Oops: int3"
BOOTS_MOST = 4
counted = {"cost", "floor", "watched"} & set(cases.split(","))


def boot_until(folder):
    """The guest's lines; of a boot that emulation has spoilt nothing but that it was, and where."""
    for _ in range(BOOTS_MOST):
        lines, spoilt = [], ""
        for line in boot(folder):
            lines.append(line)
            if EMULATION in line or (spoilt and not spoilt.startswith("RIP") and "RIP:" in line):
                spoilt = line[line.index("RIP:") if "RIP:" in line else line.index("Oops"):].strip()
        if not spoilt or any(line.startswith("not ok") for line in lines):
            break
        print("# booted again: emulation ran code that the kernel had rewritten:", spoilt, flush=True)
    return lines


def source_id():
    """Of the stand-in, as make_guest writes it beside the module."""
    digest = hashlib.sha256()
    for name in ("Makefile", "mete_standin.c"):
        with open(os.path.join(here, "standin", name), "rb") as f:
            digest.update(f.read())
    return digest.hexdigest()


def is_old(folder):
    try:
        with open(os.path.join(folder, "standin.sha256"), encoding="ascii") as f:
            return f.read().strip() != source_id()
    except OSError:
        return True


def boot(folder):
    """The guest's lines, as they come."""
    with tempfile.TemporaryDirectory() as temporary:
        image = os.path.join(temporary, "initramfs")
        pack(os.path.join(folder, "mete_standin.ko"), image)
        command = ["nice", "-n", "5", qemu, "-machine", "q35", "-cpu", "max", "-accel", "tcg,thread=" + ("single" if counted else "multi"), "-smp", processors, "-m", "512", "-no-reboot",
                   "-nodefaults", "-display", "none", "-serial", "stdio", "-kernel", os.path.join(folder, "vmlinuz"), "-initrd", image,
                   "-append", f"console=ttyS0 panic=-1 quiet no_timer_check {words} cases={cases}"]
        if counted:
            command += ["-icount", "shift=0,sleep=off"]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            watchdog = threading.Timer(LIMIT_S, process.kill)
            watchdog.start()
            for line in process.stdout:
                yield line.decode(errors="replace")
            if not watchdog.is_alive():
                yield "# the guest did not end in time"
            watchdog.cancel()


qemu, busybox = shutil.which("qemu-system-x86_64"), shutil.which("busybox")
guests = sorted(os.path.dirname(p) for p in glob.glob(os.path.join(os.environ.get("METE_TEST_GUEST", "/nowhere"), "*/vmlinuz")))
if not qemu:
    skip("there is no qemu-system-x86_64 here")
if not busybox or libraries(busybox):
    skip("there is no static busybox here (busybox-static)")
if not guests:
    skip("METE_TEST_GUEST names no folder that tests/guard/make_guest has filled")

count = bad = 0
for guest in guests:
    ended = False
    if is_old(guest):
        count += 1
        bad += 1
        print(f"not ok {count} - {os.path.basename(guest)}: its stand-in is built from another source: run tests/guard/make_guest again")
        continue
    for line in boot_until(guest):
        m = re.match(r"(not )?ok \d+ - (.*)", line.strip())
        if m:
            count += 1
            bad += bool(m.group(1))
            print(f"{m.group(1) or ''}ok {count} - {os.path.basename(guest)}: {m.group(2)}", flush=True)
        elif "guest: cases ended with 0" in line:
            ended = True
        elif line.strip():
            print("#", line.strip(), flush=True)
    count += 1
    bad += not ended
    print(f"{'' if ended else 'not '}ok {count} - {os.path.basename(guest)}: the guest came to its end")
print(f"1..{count}")
sys.exit(bad != 0)
