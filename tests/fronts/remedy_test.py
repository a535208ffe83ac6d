#!/usr/bin/env python3
"""
What a refusal of a .version or a .target names as the remedy, tried: remedy_test.py BUILD_ROOT

Devices of several compute capabilities load texts for many targets, and mete's ptxas assembles them. The remedy is read
from each refusal and carried out. Names that mete says do not exist are shown to NVIDIA's ptxas too, where it is installed.
"""
import ctypes as C
import json
import os
import re
import subprocess
import sys
import tempfile

import judge_test

DEVICES = ("5.0", "7.5", "8.6", "9.0", "10.0", "12.0", "12.9")
NUMBERS = (0, 5, 10, 13, 20, 22, 35, 50, 52, 61, 70, 71, 75, 76, 80, 86, 87, 89, 90, 91, 99, 100, 101, 103, 110, 120, 121, 129, 130, 200, 999, 1200, 99999999999)
TARGETS = [f"sm_{n}{letter}" for n in NUMBERS for letter in ("", "a", "f")] + ["sm_", "sm_abc", "sm", "SM_80", "cuda", "80", "debug", "compute_75", "compute_90a", "compute_121",
                                                                              "compute_130", "sm_80, debug", "sm_80, sideways", "sm_121, sm_80", "sm_80, sm_121"]
VERSIONS = ("0.9", "1.0", "1.6", "2.4", "3.3", "4.4", "5.2", "6.5", "6.6", "7.8", "7.9", "8.8", "8.9", "9.0", "9.5", "9.9", "10.0", "99.0", "9", "9.", ".9", "9.0.1", "8.80", "x")
NO_SUCH = re.compile(r"there is no (target|PTX version)")
count = failed = 0


def check(good, text, *details):
    global count, failed
    count += 1
    failed += not good
    for d in () if good else details:
        print("#", d)
    print(f"{'' if good else 'not '}ok {count} - {text}", flush=True)


def text_of(target="sm_50", version="9.0"):
    return f".version {version}\n.target {target}\n.address_size 64\n.visible .entry k()\n{{\n\tret;\n}}\n"


def load_all():
    """In a program of its own: loads each text of standard input and prints what the driver answers and logs."""
    cuda, context, module = C.CDLL("libcuda.so.1"), C.c_void_p(), C.c_void_p()
    r = cuda.cuInit(0) or cuda.cuDevicePrimaryCtxRetain(C.byref(context), 0) or cuda.cuCtxSetCurrent(context)
    if r:
        print(json.dumps({"init": r}))
        return 0
    answers = []
    for text in json.load(sys.stdin):
        log = C.create_string_buffer(1024)
        names, values = (C.c_int * 2)(5, 6), (C.c_void_p * 2)(C.cast(log, C.c_void_p), 1024)  # the error log and its size
        code = cuda.cuModuleLoadDataEx(C.byref(module), text.encode(), 2, names, values)
        answers.append((code, log.value.decode()))
    print(json.dumps({"init": 0, "answers": answers}))
    return 0


def device(build, capability, texts):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("METE_", "CUDA_"))}
    with tempfile.TemporaryDirectory(prefix="mete-t-") as own:  # a device of its own: programs that share one share its capability
        env.update(LD_LIBRARY_PATH=os.path.join(build, "src/softdev"), METE_SOFT_CC=capability, METE_SOFT_DIR=own)
        done = subprocess.run([sys.executable, "-B", __file__, "--load"], env=env, input=json.dumps(texts), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=120, check=True)
    return json.loads(done.stdout)


class Devices:
    """What the devices answer. What several remedies lead to is asked once."""

    def __init__(self, build):
        self.build, self.known = build, {}

    def ask(self, capability, texts):
        texts = [t for t in texts if (capability, t) not in self.known]
        got = device(self.build, capability, texts) if texts else {"init": 0, "answers": []}
        for text, answer in zip(texts, got.get("answers", [(-1, "no device")] * len(texts))):
            self.known[capability, text] = answer

    def takes(self, capability, text):
        self.ask(capability, [text])
        return self.known[capability, text][0] == 0

    def follow(self, capability, target, said):
        """Carries out what was said; what is wrong with it, or None."""
        tried = 0
        for remedy in re.findall(r"METE_SOFT_CC=([\d.]+)", said):
            tried += 1
            if not self.takes(remedy, text_of(target)):
                return f"METE_SOFT_CC={remedy} does not help"
        if "build for a" in said:
            tried += 1
            if not self.takes(capability, text_of(f"sm_{capability.replace('.', '')}")) and not self.takes(capability, text_of("sm_50")):
                return "no other target helps"
        span = re.search(r"a software device is of ([\d.]+) to ([\d.]+)", said)
        if span:
            number = int(re.search(r"\d+", target).group())
            wanted = f"{number // 10}.{number % 10}"
            if self.takes(wanted, text_of()) or not all(self.takes(end, text_of()) for end in span.groups()):
                return f"the devices are not of {span.group(1)} to {span.group(2)}"
        return None if tried or NO_SUCH.search(said) else "names no remedy"


def try_devices(build):
    devices, nobody = Devices(build), set()
    refusals = loads = 0
    wrong = []
    for capability in DEVICES:
        devices.ask(capability, [text_of(t) for t in TARGETS])
    for capability in {r for _, said in devices.known.values() for r in re.findall(r"METE_SOFT_CC=([\d.]+)", said)}:
        devices.ask(capability, [text_of(t) for t in TARGETS])  # in one program, because many starts take long
    for capability in DEVICES:
        for target in TARGETS:
            code, said = devices.known[capability, text_of(target)]
            loads += not code
            refusals += bool(code)
            fault = devices.follow(capability, target, said) if code and not re.search("expected a name", said) else None
            if fault:
                wrong.append(f"{target} on {capability}: {said}: {fault}")
            if NO_SUCH.search(said):
                nobody.add(target)
    check(not wrong and refusals > 100 and loads > 100, f"devices load {loads} texts and refuse {refusals}, whose remedies help", *wrong[:40])
    wrong = [f"{t} on {c}" for t in nobody for c in DEVICES if devices.takes(c, text_of(t))]
    check(not wrong and {"sm_", "sm_abc", "sm_71", "sm_80a", "sm_75f"} <= nobody, f"{len(nobody)} targets that do not exist load on no device", *wrong)
    wrong = []
    for version in VERSIONS:
        code, said = devices.takes("12.0", text_of(version=version)), devices.known["12.0", text_of(version=version)][1]
        if not code and "two numbers, as in" in said:
            remedy = re.search(r"as in (\d+\.\d+)", said).group(1)
        elif not code and "is newer than" in said:
            remedy = re.search(r"newer than (\d+)\.x", said).group(1) + ".0"
        else:
            continue
        if not devices.takes("12.0", text_of(version=remedy)):
            wrong.append(f"{version}: {said}")
    check(not wrong, "versions that a refusal names are taken", *wrong)
    return nobody, {v for v in VERSIONS if not devices.takes("12.0", text_of(version=v))}


def assemble(tool, folder, arch, text):
    source = os.path.join(folder, "a.ptx")
    with open(source, "w", encoding="utf-8") as f:
        f.write(text)
    done = subprocess.run([tool, "-arch", arch, "-o", source + ".out", source], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
    return done.returncode, done.stdout


def try_ptxas(build, folder):
    tool, wrong, refused = os.path.join(build, "src/fronts/bin/ptxas"), [], 0
    for arch in ("sm_75", "sm_90", "sm_120"):
        for target in TARGETS:
            code, said = assemble(tool, folder, arch, text_of(target))
            remedy = re.search(r"assemble and link for (sm_\w+)", said)
            refused += bool(code)
            if "METE_SOFT_CC" in said or (remedy and assemble(tool, folder, remedy.group(1), text_of(target))[0]):
                wrong.append(f"{target} with -arch {arch}: {said}")
    check(not wrong and refused > 50, f"ptxas refuses {refused} texts, whose remedies help", *wrong[:40])


def try_judge(folder, targets, versions):
    judge = judge_test.real()
    if not judge:
        check(True, "NVIDIA's ptxas # SKIP it is not installed")
        return
    wrong = [t for t in sorted(targets) if assemble(judge, folder, "sm_121", text_of(t))[0] == 0]
    check(not wrong, "targets that do not exist here do not exist for NVIDIA's ptxas", *wrong)
    wrong = [v for v in sorted(versions) if assemble(judge, folder, "sm_121", text_of(version=v))[0] == 0]
    check(not wrong, "versions that are refused here are refused by NVIDIA's ptxas", *wrong)
    # Its own release ends at 9.0 and knows no chip between those that it was made for.
    wrong = [v for v in VERSIONS if v not in versions and float(v) <= 9.0 and "Unsupported .version" in assemble(judge, folder, "sm_121", text_of("sm_75", v))[1]]
    wrong += [t for t in TARGETS if t not in targets and re.match(r"sm_\d\d[af]?$", t) and "Unsupported .target" in assemble(judge, folder, "sm_121", text_of(t))[1]]
    check(not wrong, "and those that are taken exist for it", *wrong)


def main():
    build = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="mete-t-") as folder:
        targets, versions = try_devices(build)
        try_ptxas(build, folder)
        try_judge(folder, targets, versions)
    print(f"1..{count}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(load_all() if sys.argv[1:2] == ["--load"] else main())
