#!/usr/bin/env python3
"""Writes the corpus of hook_fuzz, corpus/ beside this file: files, each with its place and its length."""
import json
import os
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
STATE, CONFIG, PRELOAD, PROGRAM, LOADER, LIBC, INTERPRETER, LINK, JSON, YAML = range(10)


def file(where, text):
    data = text if isinstance(text, bytes) else text.encode() if isinstance(text, str) else json.dumps(text).encode()
    return struct.pack("<BH", where, len(data)) + data


state = file(STATE, {"ociVersion": "1.0.2", "id": "4f6c0a", "pid": 7, "bundle": "/run/b", "annotations": {
    "io.kubernetes.cri.sandbox-name": "pod", "io.kubernetes.cri.sandbox-namespace": "n", "io.kubernetes.cri.container-name": "c"}})


def config(*args, path="/usr/bin:/bin"):
    return file(CONFIG, {"root": {"path": "rootfs"}, "process": {"args": list(args), "env": ["A=b", "PATH=" + path], "cwd": "/"}})


libc = file(LIBC, "GLIBC_2.36")
inputs = {
    "shell": state + config("/bin/sh", "-c", "true") + libc + file(INTERPRETER, "/lib64/ld.so") + file(LOADER, b"\0/etc/ld.so.preload\0more"),
    "script": state + config("program", path="/bin:/lib64") + libc + file(PROGRAM, "#!/usr/bin/env sh\n") + file(INTERPRETER, "/lib64/ld.so"),
    "preload": config("/bin/sh") + libc + file(PRELOAD, "/lib/one.so:/lib/two.so # not this\n/usr/lib/mete/shim/libcuda.so.1 /x.so\n"),
    "init": config("/sbin/init", "--", "program") + file(PROGRAM, "#! program -x") + file(LINK, "sbin\0bin"),
    "links": config("/a/b/sh") + file(LINK, "a\0/../../../bin") + file(LINK, "b\0a") + file(LINK, "loop\0loop") + libc,
    "other_loader": state + config("sh") + file(INTERPRETER, "/lib64/ld.so") + file(LOADER, b"/etc/other.preload\0") + libc,
    "json": file(JSON, {"cdiVersion": "0.6.0", "kind": "mete.io/share", "devices": [{"name": "small", "containerEdits": {
        "env": ["A=b"], "deviceNodes": [{"path": "/dev/nvidia0", "fileMode": 438}], "hooks": [{"hookName": "createRuntime", "path": "/usr/bin/mete",
        "args": ["mete", "cdi", "hook", "create"], "timeout": 30}], "mounts": [{"hostPath": "/a", "containerPath": "/b", "options": ["ro"]}]}}]}),
    "yaml": file(YAML, "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: 0\n  containerEdits:\n    deviceNodes:\n    - path: /dev/nvidia0\n"
                       "      permissions: rw\n      fileMode: 0o666\ncontainerEdits:\n  env: [A=b, 'C=d']\n"),
    "alias": file(YAML, "a: &x [1, 2]\nb: *x\n") + file(JSON, "[" * 200),
}
os.makedirs(os.path.join(HERE, "corpus"), exist_ok=True)
for name, data in inputs.items():
    with open(os.path.join(HERE, "corpus", name), "wb") as f:
        f.write(data)
