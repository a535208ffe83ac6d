#!/usr/bin/env python3
"""
Makes the relocatable bundle: make.py SOURCE_ROOT BUILD_ROOT VERSION

One tarball with mete, meted, the shim, the software device, the examples and the behaviour tests, which runs from any
folder on glibc 2.31 or newer with nothing installed. Everything is built once more, in BUILD_ROOT/bundle: linked by
packaging/oldlibc as for glibc 2.31, and with the libraries beyond libc (libuv, SQLite, jansson, zstd, lz4, ncurses, OpenSSL,
libseccomp, libyaml, zlib, and libmicrohttpd without its TLS) linked in,
from the static archives of this machine's development packages. So no library has to be found on the other machine, and none of
ours can meet another version of itself inside a user's program.

METE_BUNDLE_TRIAL: meson's options for a bundle that is only tried; its VERSION says so. METE_BUNDLE_OBJECTS: a build of the same
sources, whose objects such a one takes where the command that compiles them is the same (reuse).
"""
import gzip
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tarfile

source, build, version = sys.argv[1:4]
OLDEST = "2.31"
here = os.path.dirname(os.path.abspath(__file__))
work = os.path.join(build, "bundle")
libc = os.path.join(work, "libc")
packages = os.path.join(work, "pkgconfig")
name = f"mete-{version}-{platform.machine()}"
cc = os.environ.get("CC", "cc").split()
trial = os.environ.get("METE_BUNDLE_TRIAL", "").split()
tree = os.path.join(work, "trial" if trial else "build")  # neither has the other's compiler or options
objects = os.environ.get("METE_BUNDLE_OBJECTS", "") if trial else ""

# Names of pkg-config, and of the archive where it is not lib<name>.a.
LIBRARIES = {"libuv": ("libuv_a.a", "libuv.a"), "sqlite3": ("libsqlite3.a",), "jansson": ("libjansson.a",),
             "libzstd": ("libzstd.a",), "liblz4": ("liblz4.a",), "ncursesw": ("libncursesw.a",), "openssl": ("libssl.a",),
             "libseccomp": ("libseccomp.a",), "yaml-0.1": ("libyaml.a",), "zlib": ("libz.a",)}
# What an archive needs in addition.
NEEDS = {"ncursesw": ("libtinfo.a",), "openssl": ("libcrypto.a",)}


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode().strip()


def archive(names):
    for n in names:
        path = output(*cc, "-print-file-name=" + n)
        if os.path.isabs(path):
            return os.path.realpath(path)
    raise SystemExit(f"bundle: no {' or '.join(names)}; install the development package that holds it (packaging/packages)")


def http_archive():
    """
    libmicrohttpd without its constructor, which an older glibc would not run (meted calls it), and without GnuTLS, of which
    not all comes as archives: meted refuses HTTPS before any of it is asked for, so what stands in for it ends the program.
    """
    plain, stand_in = os.path.join(work, "libmicrohttpd.a"), os.path.join(work, "without_tls")
    removed = [f"--remove-section={kind}{name}" for name in (".init_array", ".fini_array") for kind in ("", ".rela")]
    subprocess.run(["objcopy", *removed, archive(("libmicrohttpd.a",)), plain], check=True)
    symbols = {line.split()[-1] for line in output("nm", "-u", plain).splitlines() if line.split()}
    wanted = sorted(s for s in symbols if s.startswith("gnutls_"))
    with open(stand_in + ".c", "w", encoding="utf-8") as f:
        f.write("int gnutls_global_init(void)\n{\n\treturn 0;\n}\n")
        for s in wanted:
            if s != "gnutls_global_init":
                f.write(f"void {s}(void)\n{{\n\t__builtin_trap();\n}}\n")
    subprocess.run([*cc, "-O2", "-fPIC", "-fvisibility=hidden", "-c", stand_in + ".c", "-o", stand_in + ".o"], check=True)
    subprocess.run(["ar", "r", plain, stand_in + ".o"], check=True)
    return plain


def describe_archives():
    """pkg-config files that name archives in place of shared libraries."""
    os.makedirs(packages, exist_ok=True)
    with open(os.path.join(packages, "libmicrohttpd.pc"), "w", encoding="utf-8") as f:
        f.write(f"Name: libmicrohttpd\nDescription: libmicrohttpd, as an archive\n"
                f"Version: {output('pkg-config', '--modversion', 'libmicrohttpd')}\nLibs: {http_archive()} -lpthread\n")
    for n, names in LIBRARIES.items():
        more = archive(NEEDS[n]) if n in NEEDS else ""
        with open(os.path.join(packages, n + ".pc"), "w", encoding="utf-8") as f:
            f.write(f"Name: {n}\nDescription: {n}, as an archive\nVersion: {output('pkg-config', '--modversion', n)}\n"
                    f"Cflags: {output('pkg-config', '--cflags', n)}\nLibs: {archive(names)} {more} -lm\n")


def commands_of(other):
    """What compiles the objects of another build, as it would be called here: from another folder, without the compiler."""
    up = os.path.relpath(source, tree)
    with open(os.path.join(other, "compile_commands.json"), encoding="utf-8") as f:
        for entry in json.load(f):
            words = shlex.split(entry["command"])
            while not words[0].startswith("-"):
                words.pop(0)
            yield " ".join(re.sub(r"^(-I)?\.\.(/|$)", rf"\1{up}\2", w) for w in words)


def link_anew():
    """What uses a library is linked again with it: Meson is not started after each of them to see whether it has to be (./check)."""
    rules = os.path.join(tree, "build.ninja")
    with open(rules, encoding="utf-8") as f:
        text = f.read()
    with open(rules, "w", encoding="utf-8") as f:
        f.write(re.sub(r"^ command = .* --internal symbolextractor .*$", " command = touch $out", text, flags=re.M))


def compile_all():
    describe_archives()
    link = [f"-L{libc}", "-static-libgcc", "-Wl,--gc-sections", "-Wl,--push-state,--no-as-needed", "-lpthread", "-ldl", "-lrt",
            "-Wl,--pop-state"]
    env = dict(os.environ, PKG_CONFIG_PATH=packages)
    env.pop("MESONINTROSPECT", None)
    if objects:
        env.update(CC=shlex.join([os.path.join(here, "reuse"), *cc]), METE_BUNDLE_OBJECTS=os.path.abspath(objects),
                   METE_BUNDLE_COMMANDS=os.path.join(work, "commands"))
        with open(env["METE_BUNDLE_COMMANDS"], "w", encoding="utf-8") as f:
            f.writelines(line + "\n" for line in commands_of(objects))
    meson = shutil.which("meson") or sys.exit("bundle: meson is not in the path")
    options = ["--prefix=/" + name, "--bindir=bin", "--libdir=lib", "--libexecdir=libexec", "--datadir=share", "--mandir=share/man",
               "-Doptimization=3", "-Ddebug=false", "-Disa=all", "-Dhttp_tls=false", "-Dlibmete=false", "-Dkubernetes=disabled", "-Dguard=disabled",
               "-Dllvm=disabled", "-Dc_link_args=[" + ", ".join(f"'{a}'" for a in link) + "]", *trial]
    if os.path.exists(os.path.join(tree, "build.ninja")):
        subprocess.run([meson, "setup", "--reconfigure", tree, source, *options], env=env, check=True)
    else:
        shutil.rmtree(tree, ignore_errors=True)
        subprocess.run([meson, "setup", tree, source, *options], env=env, check=True)
    wanted = output(sys.executable, "-B", os.path.join(source, "packaging/programs.py"), tree, "tests/behaviour/").split()
    if trial:
        link_anew()
    subprocess.run(["ninja", "-C", tree, *wanted], env=env, check=True)
    return meson


def collect(meson):
    stage = os.path.join(work, "stage")
    shutil.rmtree(stage, ignore_errors=True)
    subprocess.run([meson, "install", "-C", tree, "--no-rebuild", "--quiet", "--strip"], env=dict(os.environ, DESTDIR=stage),
                   check=True)
    top = os.path.join(stage, name)
    shutil.move(os.path.join(top, "libexec/mete/examples"), os.path.join(top, "examples"))
    tests = os.path.join(top, "tests")
    os.makedirs(os.path.join(tests, "behaviour"))
    folder = os.path.join(tree, "tests/behaviour")
    for f in sorted(os.listdir(folder)):
        if f.endswith("_test"):
            shutil.copy2(os.path.join(folder, f), os.path.join(tests, "behaviour", f))
            subprocess.run(["strip", os.path.join(tests, "behaviour", f)], check=True)
    shutil.copytree(os.path.join(source, "tests/behaviour/images"), os.path.join(tests, "behaviour/images"))
    shutil.copytree(os.path.join(source, "tests/gpu"), os.path.join(tests, "gpu"),
                    ignore=shutil.ignore_patterns("meson.build", "reports"))
    shutil.copy2(os.path.join(here, "README"), os.path.join(top, "README"))
    shutil.copy2(os.path.join(source, "LICENSE"), os.path.join(top, "LICENSE"))
    with open(os.path.join(top, "VERSION"), "w", encoding="utf-8") as f:
        commit = subprocess.run(["git", "-C", source, "rev-parse", "HEAD"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        f.write(f"mete {version} {platform.machine()}\ncommit {commit.stdout.decode().strip() or 'unknown'}\n")
        if trial:
            f.write(f"a trial, built with {' '.join(trial)}: not for use\n")
    return top


def pack(top):
    """The same tree gives the same tarball, byte by byte."""
    def plain(info):
        info.uid = info.gid = 0
        info.uname = info.gname = "root"
        info.mtime = 0
        return info

    target = os.path.join(build, name + ".tar.gz")
    with open(target + ".new", "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as zipped:
        with tarfile.open(fileobj=zipped, mode="w") as tar:
            tar.add(top, arcname=name, filter=plain)
    os.replace(target + ".new", target)
    print(f"{target}: {os.path.getsize(target) / 1e6:.1f} MB")


subprocess.run([sys.executable, "-B", os.path.join(source, "packaging/oldlibc/oldlibc.py"), libc, OLDEST], check=True)
pack(collect(compile_all()))
