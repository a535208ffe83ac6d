#!/usr/bin/env python3
"""
Makes the image of mete's programs for a cluster from Debian packages: build.py OUT.tar [--tag NAME:TAG] DEB...

The image is what the packages hold and nothing else: no shell of a base image, no package manager, no registry. It is an
OCI layout in a tar, which `ctr images import`, `podman load` and `skopeo copy oci-archive:` take. The same packages make
the same bytes: names in order, owner root, times SOURCE_DATE_EPOCH (else 0). Give mete's packages (mete-agent, mete,
meted, libmete-shim, ...) and those that they depend on; --download FOLDER fetches the latter with apt-get, as this
machine's sources have them.
"""
import argparse
import hashlib
import io
import json
import os
import posixpath
import subprocess
import sys
import tarfile

EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
DROP = ("usr/share/doc/", "usr/share/man/", "usr/share/info/", "usr/share/locale/", "usr/share/lintian/", "usr/share/bash-completion/")
MERGED = ("bin", "sbin", "lib", "lib64", "lib32", "libx32")


def fields(deb):
    out = subprocess.run(["dpkg-deb", "-f", deb, "Package", "Version", "Architecture", "Depends"], stdout=subprocess.PIPE, text=True, check=True)
    return dict(line.split(": ", 1) for line in out.stdout.splitlines() if ": " in line)


def download(debs, folder):
    """What they depend on and is not among them, with all that follows."""
    own = {fields(d)["Package"] for d in debs}
    wanted = set()
    for deb in debs:
        for group in fields(deb).get("Depends", "").split(","):
            name = group.split("|")[0].strip().split(" ")[0].split(":")[0]
            if name and name not in own:
                wanted.add(name)
    text = subprocess.run(["apt-cache", "depends", "--recurse", "--no-recommends", "--no-suggests", "--no-conflicts", "--no-breaks",
                           "--no-replaces", "--no-enhances", *sorted(wanted)], stdout=subprocess.PIPE, text=True, check=True).stdout
    names = sorted({line for line in text.splitlines() if line and line[0] not in " <|"} - own)
    os.makedirs(folder, exist_ok=True)
    subprocess.run(["apt-get", "-q", "download", *names], cwd=folder, stdout=subprocess.DEVNULL, check=True)
    return [os.path.join(folder, n) for n in sorted(os.listdir(folder)) if n.endswith(".deb")]


def merged(name):
    """Debian's /lib is /usr/lib."""
    first = name.split("/")[0]
    return "usr/" + name if first in MERGED else name


def read(debs):
    """Path to (member, bytes); a later package's file wins over an earlier one's folder only where both are alike."""
    entries = {}
    for deb in debs:
        data = subprocess.run(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            for member in tar:
                name = merged(posixpath.normpath(member.name).lstrip("/"))
                if name in (".", "") or (name + "/").startswith(DROP) or (name in MERGED and member.isdir()):
                    continue
                if member.islnk():
                    member.linkname = merged(posixpath.normpath(member.linkname).lstrip("/"))
                content = tar.extractfile(member).read() if member.isfile() else b""
                before = entries.get(name)
                if before and not (before[0].isdir() and member.isdir()) and (before[0].type, before[1]) != (member.type, content):
                    sys.exit(f"build.py: {os.path.basename(deb)}: /{name} is in another package too")
                entries[name] = (member, content)
    return entries


def plain(name, kind, mode=0o755, link=""):
    member = tarfile.TarInfo(name)
    member.type, member.mode, member.linkname, member.mtime = kind, mode, link, EPOCH
    return member


def layer(entries):
    """The tar of all files: hard links behind what they name."""
    for folder in MERGED[:4]:
        entries.setdefault(folder, (plain(folder, tarfile.SYMTYPE, 0o777, "usr/" + folder), b""))
    for folder in ("tmp", "run", "etc", "var"):
        entries.setdefault(folder, (plain(folder, tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755), b""))
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name in sorted(entries, key=lambda n: (entries[n][0].islnk(), n)):
            member, content = entries[name]
            member.name, member.mtime, member.uid, member.gid, member.uname, member.gname = name, EPOCH, 0, 0, "", ""
            member.pax_headers = {}
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


def write(path, tag, data, debs):
    about = [fields(d) for d in debs]
    architecture = {"amd64": "amd64", "arm64": "arm64"}.get(next((a["Architecture"] for a in about if a["Architecture"] != "all"), "amd64"), "amd64")
    packages = ",".join(f'{a["Package"]}={a["Version"]}' for a in about)
    blobs = {}

    def blob(content):
        digest = "sha256:" + hashlib.sha256(content).hexdigest()
        blobs["blobs/sha256/" + digest[7:]] = content
        return {"digest": digest, "size": len(content)}

    def document(value):
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    config = {"architecture": architecture, "os": "linux", "config": {"Env": ["PATH=/usr/sbin:/usr/bin"], "Labels": {"mete.io/packages": packages}},
              "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(data).hexdigest()]}, "history": [{"created_by": "build.py"}]}
    manifest = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "config": {"mediaType": "application/vnd.oci.image.config.v1+json", **blob(document(config))},
                "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar", **blob(data)}]}
    reference = blob(document(manifest))
    index = {"schemaVersion": 2, "manifests": [{"mediaType": manifest["mediaType"], **reference,
                                               "annotations": {"org.opencontainers.image.ref.name": tag.rsplit(":", 1)[-1],
                                                               "io.containerd.image.name": tag}}]}
    blobs["index.json"] = document(index)
    blobs["oci-layout"] = document({"imageLayoutVersion": "1.0.0"})
    with tarfile.open(path + ".new", "w", format=tarfile.GNU_FORMAT) as tar:
        for name in sorted(blobs):
            member = plain(name, tarfile.REGTYPE, 0o644)
            member.size = len(blobs[name])
            tar.addfile(member, io.BytesIO(blobs[name]))
    os.rename(path + ".new", path)
    return reference["digest"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0].strip())
    parser.add_argument("out")
    parser.add_argument("debs", nargs="+")
    parser.add_argument("--tag", default="localhost/mete:0.1.0")
    parser.add_argument("--download", metavar="FOLDER")
    o = parser.parse_args()
    debs = sorted(o.debs, key=os.path.basename)
    if o.download:
        debs = download(debs, o.download) + debs
    print(write(o.out, o.tag, layer(read(debs)), debs))


if __name__ == "__main__":
    main()
