#!/usr/bin/env python3
"""The generator: expected outputs, and inputs that must be refused. TAP on stdout.

generator_test.py SOURCE_ROOT            runs the tests
generator_test.py SOURCE_ROOT --update   writes golden/expected anew, to be read before it is committed

A refused input begins with "# expect: LINE: TEXT" for every fault: the generator must exit with 1, write nothing, and say
exactly these, each behind the file's name and line.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = os.path.abspath(sys.argv[1])
HERE = os.path.join(ROOT, "tests", "api")
sys.path.insert(0, os.path.join(ROOT, "api"))
import apigen  # noqa: E402
count = failed = 0


def ok(good, name, more=""):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - {name}")
    for line in more.splitlines() if not good else []:
        print(f"# {line}")


def generate(*args):
    """The generator in a child that has it already: a hundred interpreters that start take longer than all their work."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        sys.stdout.flush()
        child = os.fork()
        if not child:
            status = 70
            try:
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                os.chdir(HERE)
                status = apigen.main(list(args))
            except SystemExit as e:
                status = e.code
            except BaseException:
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said = []
        for f in (out, err):
            f.seek(0)
            said.append(f.read().decode())
        return subprocess.CompletedProcess(args, status, *said)


def start(*args):
    """The program itself, as the build starts it."""
    return subprocess.run([sys.executable, "-B", os.path.join(ROOT, "api", "apigen.py"), *args], capture_output=True,
                          text=True, cwd=HERE)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def tiny(out):
    return generate("golden/tiny.toml", "--out", out, "--soft", "golden/tiny-soft.toml", "--null",
                    os.path.join(out, "tiny_null.c"), "--coverage", os.path.join(out, "tiny_coverage.md"))


def golden():
    expected = os.path.join(HERE, "golden", "expected")
    with tempfile.TemporaryDirectory() as out:
        r = tiny(out)
        ok(r.returncode == 0, "golden: the small spec is accepted", r.stderr)
        names = sorted(n.removesuffix(".expected") for n in os.listdir(expected))
        ok(sorted(os.listdir(out)) == names, "golden: the files that were expected", f"{sorted(os.listdir(out))} {names}")
        for name in names:
            path, wanted = os.path.join(out, name), os.path.join(expected, name + ".expected")
            same = os.path.exists(path) and read(path) == read(wanted)
            ok(same, f"golden: {name}", subprocess.run(["diff", "-u", wanted, path], capture_output=True, text=True).stdout)
        times = {n: os.stat(os.path.join(out, n)).st_mtime_ns for n in os.listdir(out)}
        tiny(out)
        ok(times == {n: os.stat(os.path.join(out, n)).st_mtime_ns for n in os.listdir(out)},
           "golden: a second run leaves unchanged files alone")


def refused():
    folder = os.path.join(HERE, "refused")
    for name in sorted(n for n in os.listdir(folder) if n.endswith(".toml")):
        path = f"refused/{name}"
        expected = re.findall(r"^# expect: (\d+): (.*)$", read(os.path.join(folder, name)), re.M)
        with tempfile.TemporaryDirectory() as out:
            soft = ["--soft", path] if name.startswith("soft-") else []
            r = generate("golden/tiny.toml" if soft else path, "--out", out, *soft)
            wanted = [f"{path}:{line}: {text}" for line, text in expected]
            ok(r.returncode == 1 and r.stderr.splitlines() == wanted and wanted and not os.listdir(out),
               f"refused: {name}", f"status {r.returncode}, files {os.listdir(out)}\nsaid:\n{r.stderr}expected:\n"
               + "\n".join(wanted))


def command_line():
    r = start("nowhere.toml", "--out", ".")
    ok(r.returncode == 1 and r.stderr == "nowhere.toml: No such file or directory\n", "a spec that is not there", r.stderr)
    with tempfile.TemporaryDirectory() as out:
        page = os.path.join(out, "page.md")
        generate("golden/tiny.toml", "--coverage", page)
        ok(generate("golden/tiny.toml", "--coverage", page, "--check").returncode == 0, "a coverage page that is current")
        with open(page, "a", encoding="utf-8") as f:
            f.write("more\n")
        r = generate("golden/tiny.toml", "--coverage", page, "--check")
        ok(r.returncode == 1 and "meson compile coverage-page" in r.stderr, "a coverage page that is not", r.stderr)


def speed():
    with tempfile.TemporaryDirectory() as out:
        begun = time.monotonic()
        r = start(os.path.join(ROOT, "api", "cuda.toml"), "--out", out, "--soft", os.path.join(ROOT, "api", "cuda-soft.toml"))
        took = time.monotonic() - begun
        ok(r.returncode == 0, "the whole driver API is generated", r.stderr)
        print(f"# in {took:.2f} s")


if "--update" in sys.argv:
    folder = os.path.join(HERE, "golden", "expected")
    for old in os.listdir(folder):
        os.unlink(os.path.join(folder, old))
    written = tiny("golden/expected")
    for new in os.listdir(folder):
        os.rename(os.path.join(folder, new), os.path.join(folder, new + ".expected"))
    sys.exit(written.stderr or 0)
golden()
refused()
command_line()
speed()
print(f"1..{count}")
sys.exit(1 if failed else 0)
