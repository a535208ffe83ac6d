#!/usr/bin/env python3
"""
The packages, installed in a fresh root under its own systemd, and docs/operating.md followed to the letter: every command
of its blocks, in their order. operating_test.py SOURCE BUILD
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import fresh_root

source, build = (os.path.abspath(p) for p in sys.argv[1:3])
count = failed = 0


def check(good, text, *details):
    global count, failed
    count += 1
    failed += not good
    if not good:
        for d in details:
            print("#", str(d).rstrip().replace("\n", "\n# "))
    print(f"{'' if good else 'not '}ok {count} - {text}", flush=True)
    return good


def text():
    with open(os.path.join(source, "docs/operating.md"), encoding="utf-8") as f:
        return f.read()


def commands():
    """The commands of the blocks that say sh, with the heading above them."""
    heading, inside = "", False
    for line in text().splitlines():
        if line.startswith("```"):
            inside = line == "```sh"
        elif inside and line.strip():
            yield heading, line
        elif line.startswith("#"):
            heading = line.lstrip("# ")


def contents(packages):
    """What must be in which package."""
    names = {os.path.basename(p).split("_")[0]: p for p in packages}
    for name, files in {"mete": ["./usr/bin/mete", "./usr/share/man/man1/mete-run.1.gz", "/lib/systemd/system/mete-serve.service",
                                 "./usr/share/doc/mete/README.md", "./usr/share/doc/mete/docs/operating.md"],
                        "meted": ["./usr/bin/meted", "./etc/mete/meted.yaml", "/lib/systemd/system/meted.service",
                                  "/lib/systemd/system/meted.socket", "./usr/lib/sysusers.d/meted.conf",
                                  "./usr/share/man/man5/meted.yaml.5.gz", "./usr/share/man/man8/meted.8.gz",
                                  "./usr/share/mete/prometheus/mete.rules.yml", "./usr/share/mete/prometheus/mete.adapter.yml",
                                  "./usr/share/mete/grafana/mete.json"],
                        "mete-agent": ["./usr/bin/mete-agent", "/lib/systemd/system/mete-agent.service",
                                       "./usr/share/man/man8/mete-agent.8.gz"],
                        "mete-guard": ["./usr/sbin/mete-guard-notify", "/lib/systemd/system/mete-guard.service",
                                       "./usr/share/man/man8/mete-guard.8.gz"],
                        "mete-kubernetes": ["./usr/bin/mete-webhook", "./usr/bin/mete-extender", "./usr/bin/kubectl-mete",
                                            "./usr/share/man/man8/mete-webhook.8.gz"],
                        "libmete0": ["/libmete.so.0"], "libmete-dev": ["./usr/include/mete/cuda/cuda.h", "./usr/include/mete/control.h", "/mete.pc"],
                        "libmete-shim-dbgsym": [], "libmete-shim": []}.items():
        if check(name in names, f"there is a package {name}", *packages) and files:
            listed = fresh_root.output("dpkg-deb", "-c", names[name]).stdout
            missing = [f for f in files if f"{f}\n" not in listed and f"{f} -> " not in listed]
            check(not missing, f"{name} has its files", *missing)


def under_systemd(root):
    """What the units promise, beside what the text says."""
    main = root.run("systemctl show -p MainPID --value meted.service").stdout.strip()
    caps = root.run(f"grep -E 'CapEff|NoNewPrivs|Seccomp:' /proc/{main}/status").stdout
    check("NoNewPrivs:\t1" in caps and "Seccomp:\t2" in caps and "CapEff:\t000001ffffffffff" not in caps, "meted is in its sandbox", caps)
    r = root.run("mete run --wall --mem 64M -- /usr/libexec/mete/examples/saxpy")
    check(r.returncode == 0 and "PASS" in r.stdout, "a walled program runs under the system's meted", r.stdout)
    root.run("useradd -m visitor")
    r = root.run("runuser -u visitor -- mete run --mem 64M -- /usr/libexec/mete/examples/saxpy")
    check(r.returncode == 0 and "PASS" in r.stdout, "another user's program runs under it", r.stdout)
    # As a container runtime without root runs a hook: in a user namespace in which root has no name.
    r = root.run("runuser -u visitor -- unshare -Ur mete ps")
    check(r.returncode == 0, "the system's meted is known as such in a user namespace", r.stdout)
    root.run(f"kill -KILL {main}")
    r = root.run("mete ps")
    check(r.returncode == 0, "killed, it is back for the next who asks", r.stdout)


def broken_release(root):
    """A release that dies when it takes over: the one before goes on as the service's main process, watched and reloadable."""
    good, bad = "/usr/lib/meted.good", "/usr/lib/meted.bad"
    script = f"#!/bin/sh\ncase \"$*\" in *--check-upgrade*) exec {good} \"$@\";; esac\nkill -KILL $$\n"
    root.run(f"mete create kept --mem 1G; cp -a /usr/bin/meted {good}; printf %s '{script}' > {bad}; chmod 755 {bad}; mv {bad} /usr/bin/meted")
    before = root.run("systemctl show -p MainPID --value meted").stdout
    r = root.run("mete upgrade")
    check(r.returncode != 0 and "ended before it served" in r.stdout, "a release that dies: the upgrade says so", r.stdout)
    after = root.run("systemctl show -p MainPID --value meted").stdout.strip()
    check(after != before.strip() and f"process {after} " in root.run("mete version").stdout, "who goes on is the main process", after, root.run("mete version").stdout)
    r = root.run("mete show kept && systemctl is-active meted && systemctl kill --kill-who=main -s HUP meted && mete ps")
    check(r.returncode == 0, "it serves, and systemd takes it for the service", r.stdout)
    root.run(f"mv {good} /usr/bin/meted")
    r = root.run("mete upgrade && mete delete kept && systemctl show -p MainPID,NRestarts,ActiveState meted")
    check(f"MainPID={after}\nNRestarts=0\nActiveState=active" in r.stdout, "a good one takes over from it", r.stdout)
    said = root.run("journalctl -u meted --no-pager").stdout
    check("reception only permitted" not in said, "no word to systemd comes from a process that it does not take for the main one", said)


def mistyped(root):
    """A fault in the settings: who starts meted is told, nobody gets another meted in its place, and what is mended starts at once."""
    good = root.run("cat /etc/mete/meted.yaml").stdout
    root.run("mete create before --mem 1G; sed -i s/soft_only/soft_onl/ /etc/mete/meted.yaml")
    r = root.run("systemctl reload meted")
    check(r.returncode != 0 and root.run("mete show before").returncode == 0, "a reload with a typo is refused, and meted goes on", r.stdout)
    root.run("systemctl restart meted")
    for command in ("mete ps", "mete create after --mem 1G", "mete run --mem 64M -- /usr/libexec/mete/examples/saxpy"):
        for _ in range(100):
            r = root.run(command)
            if "did not start" in r.stdout:
                break
            time.sleep(0.1)
        check(r.returncode != 0 and "unknown key driver.soft_onl;" in r.stdout and "systemctl restart meted" in r.stdout,
              f"no other meted is started by {command}, which says what is wrong", r.stdout)
    for _ in range(20):
        root.run("mete ps")
    r = root.run("mete doctor")
    check("failed   daemon: meted did not start: /etc/mete/meted.yaml:" in r.stdout, "mete doctor names the typo", r.stdout)
    r = root.run("journalctl -u meted -n 5000 --no-pager | grep -c 'unknown key driver.soft_onl'")
    check(0 < int(r.stdout) <= 3, "it was not tried over and over, whoever asks", r.stdout)
    check("Result=exit-code" in root.run("systemctl show -p Result meted").stdout, "it is not systemd's start limit that holds it back")
    r = root.run("sed -i s/soft_onl:/soft_only:/ /etc/mete/meted.yaml && systemctl restart meted && mete show before && mete delete before")
    check(r.returncode == 0, "mended, it starts at once, with what it had", r.stdout, root.run("systemctl status meted meted.socket").stdout)
    check(root.run("cat /etc/mete/meted.yaml").stdout == good, "the settings are as they were")


def renew(root, packages, seconds):
    """The same packages as a later version, in the place of the first ones; and a tenant that computes meanwhile."""
    root.run("rm /root/packages/*")
    with tempfile.TemporaryDirectory() as folder:
        for package in packages:
            tree = os.path.join(folder, "tree")
            subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
            settings = os.path.join(tree, "etc/mete/meted.yaml")
            if os.path.exists(settings):  # dpkg asks about a file that both sides have changed
                with open(settings, "a", encoding="utf-8") as f:
                    f.write("# Of the later version.\n")
            control = os.path.join(tree, "DEBIAN/control")
            with open(control, encoding="utf-8") as f:
                text = f.read()
            version = re.search(r"^Version: (.*)$", text, re.M).group(1)
            with open(control, "w", encoding="utf-8") as f:
                f.write(text.replace(f"Version: {version}\n", f"Version: {version}+next\n").replace(f"(= {version})", f"(= {version}+next)"))
            later = os.path.join(folder, os.path.basename(package).replace(version, version + "+next"))
            subprocess.run(["dpkg-deb", "-b", "--root-owner-group", "-Znone", tree, later], check=True, stdout=subprocess.DEVNULL)
            root.put(later, "/root/packages")
            shutil.rmtree(tree)
    # Kernels of declared length: the processors have the packages to put in place meanwhile.
    root.run("systemd-run --unit=tenant --property=StandardOutput=file:/root/tenant.log --property=StandardError=file:/root/tenant.log "
             "--setenv=METE_SOFT_DURATION=matmul=200ms "
             f"mete run --grant team-a -- /usr/libexec/mete/examples/matmul --seconds {seconds}")
    for _ in range(200):
        if "matmul" in root.run("mete ps").stdout:
            return
        time.sleep(0.1)
    check(False, "a tenant computes", root.run("cat /root/tenant.log; mete ps").stdout)


def renewed(root, seconds):
    check(root.run("systemctl is-active tenant").stdout.strip() == "active", "the tenant has computed through the upgrade",
          root.run("cat /root/tenant.log").stdout)
    end = time.monotonic() + seconds + 60
    while root.run("systemctl is-active tenant").stdout.strip() == "active" and time.monotonic() < end:
        time.sleep(0.1)
    log = root.run("cat /root/tenant.log").stdout
    check("PASS" in log and "FAIL" not in log, "and comes to its end without an error", log)
    check("+next" in root.run("dpkg-query -W meted").stdout, "the later version is installed")
    check("\n  soft_only: true" in root.run("cat /etc/mete/meted.yaml").stdout, "the settings are the operator's")


def follow(root, packages):
    where = None
    longest = seconds = 0  # of the commands so far is to install the packages, as the upgrade does
    for heading, line in commands():
        if heading != where:
            if where == "Settings":
                broken_release(root)
                under_systemd(root)
                mistyped(root)
            if where == "Upgrade":
                renewed(root, seconds)
            if heading == "Upgrade":
                seconds = max(15, round(4 * longest))
                renew(root, packages, seconds)
            where = heading
        begun = time.monotonic()
        r = root.run(f"set -o pipefail; {line}", cwd="/root/packages")
        longest = max(longest, time.monotonic() - begun)
        if not check(r.returncode == 0, f"{heading}: {line}", f"status {r.returncode}", r.stdout):
            print("# " + root.run("journalctl -u meted -n 15 --no-pager").stdout.replace("\n", "\n# "))


def skip(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


if not shutil.which("dh") or not shutil.which("dpkg-buildpackage"):
    skip("debhelper or dpkg-dev is not installed")
scratch = tempfile.mkdtemp(prefix="mete-packages-")
root = None
try:
    # How well they are packed is of no interest here, and xz takes half a minute for it.
    made = subprocess.run([sys.executable, "-B", os.path.join(source, "packaging/debian/make.py"), source, build, scratch],
                          env={**os.environ, "DPKG_DEB_COMPRESSOR_TYPE": "none"}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    packages = sorted(glob.glob(os.path.join(scratch, "*.deb")))
    if check(made.returncode == 0, "the packages are made", made.stdout[-3000:]):
        contents(packages)
        # What it installs: to unpack what the others depend on, LLVM among it, takes longer than all that follows.
        installed = [p for p in packages if f"./{os.path.basename(p).split('_')[0]}_*.deb" in text()]
        check(len(installed) >= 3, "the text installs some of them", *installed)
        try:
            fresh_root.possible()
            root = fresh_root.Root(fresh_root.make(os.path.join(build, "fresh-root"), installed))
        except fresh_root.Impossible as why:
            count += 1
            print(f"ok {count} - docs/operating.md # SKIP no fresh root: {why}")
        if root:
            for package in installed:
                root.put(package, "/root/packages")
            follow(root, installed)
            left = root.run("find / -xdev -name '*mete*' -not -path '/proc/*' -not -path '/root/*' -not -path '/var/log/*' "
                            "-not -path '/var/lib/*' -not -path '/sys/*' -not -path '/home/*' -not -path '/tmp/*'").stdout.split()
            left = [p for p in left if not re.search(r"/(parameters?|diameter)", p) and not p.startswith("/etc/")]
            check(not left, "nothing is left of it", *left)
finally:
    if root:
        root.close()
    shutil.rmtree(scratch, ignore_errors=True)
print(f"1..{count}")
sys.exit(1 if failed else 0)
