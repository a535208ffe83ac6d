#!/usr/bin/env python3
"""exports_test.py BUILD SPEC: both libraries export the spec's names and nothing else, and are called what they must be."""
import re
import subprocess
import sys
import tomllib

from place import Report


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def main():
    build, spec = sys.argv[1:3]
    report = Report()
    with open(spec, "rb") as f:
        data = tomllib.load(f)
    names = {*data["call"], *data["untyped"]["calls"]}
    report.ok(len(names) > 400, f"the spec knows {len(names)} calls")
    for part in ("softdev", "shim", "remote/client"):
        path = f"{build}/src/{part}/libnvidia-ml.so.1"
        exported = {line.split()[-1].split("@")[0] for line in run("nm", "-D", "--defined-only", path).splitlines()}
        report.same(sorted(names - exported), [], f"{part}: nothing is missing")
        report.same(sorted(exported - names), [], f"{part}: nothing else is exported")
        dynamic = run("readelf", "-dW", path)
        report.ok("Library soname: [libnvidia-ml.so.1]" in dynamic, f"{part}: its name")
        if part != "softdev":
            needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic))
            libc = {"libc.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
            report.same(sorted(needed - libc), [], f"{part}: needs nothing but the C library")
            versions = {tuple(int(n) for n in v.split(".")) for v in re.findall(r"@GLIBC_([\d.]+)", run("nm", "-D", path))}
            report.ok(versions and max(versions) <= (2, 17), f"{part}: no symbol younger than glibc 2.17 ({max(versions)})")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
