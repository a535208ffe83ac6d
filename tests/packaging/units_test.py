#!/usr/bin/env python3
"""The units as they are installed: systemd finds nothing wrong with them and calls them well shut. units_test.py SOURCE BUILD"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

source, build = (os.path.abspath(p) for p in sys.argv[1:3])
# systemd-analyze's exposure, 10 is the worst. 0.8 of meted's is what its workers close themselves in with: namespaces, mounts.
MOST = {"meted.service": 4.4, "mete-serve.service": 3.0, "mete-agent.service": 3.0, "mete-guard.service": 3.0}
count = failed = 0


def check(good, text, *details):
    global count, failed
    count += 1
    failed += not good
    if not good:
        for d in details:
            print("#", str(d).replace("\n", "\n# "))
    print(f"{'' if good else 'not '}ok {count} - {text}", flush=True)


def analyze(*words):
    done = subprocess.run(["systemd-analyze", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=120)
    return done.returncode, done.stdout


if not shutil.which("systemd-analyze"):
    print("1..0 # SKIP no systemd-analyze here")
    sys.exit(0)
if not os.path.exists(os.path.join(build, "src/guard/mete-guard")):
    print("# no guard here, and so not its unit")
    del MOST["mete-guard.service"]
version = int(re.search(r"\d+", analyze("--version")[1]).group())
folder = tempfile.mkdtemp(prefix="mete-units-")
try:
    bindir = os.path.join(folder, "bin")
    os.mkdir(bindir)
    for name in ("src/daemon/meted", "src/cli/mete", "src/cli/mete-agent", "src/guard/mete-guard"):
        os.symlink(os.path.join(build, name), os.path.join(bindir, os.path.basename(name)))
    paths = []
    for name in [*MOST, "meted.socket"]:
        with open(os.path.join(source, "packaging/systemd", name + (".in" if name in MOST else "")), encoding="utf-8") as f:
            text = f.read().replace("@BINDIR@", bindir).replace("@SBINDIR@", bindir)
        # What manual pages this machine has is not the unit's fault.
        text = re.sub(r"^Documentation=.*\n", "", text, flags=re.M)
        # Nor what an older systemd does not know, and leaves out.
        if version < 254:
            text = re.sub(r"^DelegateSubgroup=.*\n", "", text, flags=re.M)
        paths.append(os.path.join(folder, name))
        with open(paths[-1], "w", encoding="utf-8") as f:
            f.write(text)
    status, said = analyze("verify", *paths)
    said = "\n".join(line for line in said.splitlines() if folder in line or "mete" in line and "man " not in line)
    check(status == 0 and not said, "systemd finds nothing wrong", status, said)
    for name, most in MOST.items():
        status, said = analyze("security", "--offline=yes", "--no-pager", os.path.join(folder, name))
        found = re.search(r"exposure level for \S+: ([\d.]+)", said)
        if not found:
            count += 1
            print(f"ok {count} - {name} # SKIP this systemd-analyze does not judge files")
            continue
        check(float(found.group(1)) <= most, f"{name} is shut: exposure {found.group(1)}, at most {most}", said)
finally:
    shutil.rmtree(folder)
print(f"1..{count}")
sys.exit(1 if failed else 0)
