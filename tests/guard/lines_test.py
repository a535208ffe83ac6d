"""mete-guard's and mete-guard-notify's lines for bad input: one each, and a status that says so. lines_test.py BUILD"""
import os
import subprocess
import sys

build = os.path.abspath(sys.argv[1])
count = failed = 0


def check(words, status, text):
    global count, failed
    done = subprocess.run([os.path.join(build, "src/guard", words[0]), *words[1:]], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    said = done.stderr + done.stdout
    good = done.returncode == status and text in said and len(said.splitlines()) == 1
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - {' '.join(words)}: {said.strip().splitlines()[0] if said.strip() else 'nothing'}")
    if not good:
        print("#", done.returncode, repr(said))


there = os.path.exists(os.path.join(build, "src/guard/mete-guard"))
if there and not os.path.exists("/sys/fs/bpf/mete-guard"):
    root = not os.geteuid()
    check(["mete-guard", "set", "/sys/fs/cgroup/gone", "--memory", "1G"], 1, "No such file or directory")
    check(["mete-guard", "set", "/tmp", "--memory", "1G"], 1, "not the folder of a cgroup")
    check(["mete-guard", "set", "grant:x", "--memory", "1G"], 1, "not the number of a grant")
    check(["mete-guard", "set", "grant:5", "--memory", "1G"], 2, "--process")
    check(["mete-guard", "set", "grant:5"], 2, "--memory")
    check(["mete-guard", "set", "grant:5", "--memory", "12Q"], 2, "--memory")
    check(["mete-guard", "set", "grant:5", "--memory", "5%"], 2, "percentage")
    check(["mete-guard", "set", "grant:5", "--memory", "1G", "--devices", "64"], 2, "0 to 63")
    check(["mete-guard", "set", "grant:5", "--memory", "1G", "--groups", "-1"], 2, "not a number")
    if root:
        check(["mete-guard", "set", "grant:5", "--memory", "1G", "--process", str(os.getpid())], 1, "not loaded")
    check(["mete-guard", "show"], 1, "not loaded")
    check(["mete-guard", "drop", "grant:5"], 1, "not loaded")
    if not os.path.exists("/sys/module/nvidia"):
        check(["mete-guard", "check"], 1, "the guard does not hold here: ")
        check(["mete-guard", "load"], 1, "load: ")
        check(["mete-guard", "watch"], 1, "load: ")
if not os.path.exists("/sys/module/nvidia"):
    check(["mete-guard-notify", "--socket", "0", "--memory", "1G"], 1, "NVIDIA's kernel module is not loaded")
check(["mete-guard-notify", "--socket", "x", "--memory", "1G"], 2, "--socket")
check(["mete-guard-notify", "--socket", "3", "--memory", "zero"], 2, "--memory")
check(["mete-guard-notify", "--socket", "3", "--memory", "1G", "--devices", "70"], 2, "0 to 63")
print(f"1..{count}")
sys.exit(failed != 0)
