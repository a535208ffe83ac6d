"""Certificates for tests, by openssl."""
import os
import subprocess


def make_ended(at):
    """A certificate whose time is over, and its key: ca.crt, ca.key."""
    with open(os.path.join(at, "ca.cnf"), "w") as file:
        file.write(f"[ca]\ndefault_ca = d\n[d]\ndatabase = {at}/index\nrand_serial = yes\ndefault_md = sha256\npolicy = p\nnew_certs_dir = {at}\n"
                   "[p]\ncommonName = supplied\n")
    open(os.path.join(at, "index"), "w").close()
    key, request, cert = (os.path.join(at, n) for n in ("ca.key", "request", "ca.crt"))
    for command in (["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=localhost", "-keyout", key, "-out", request],
                    ["ca", "-batch", "-config", os.path.join(at, "ca.cnf"), "-selfsign", "-keyfile", key, "-in", request, "-out", cert, "-notext",
                     "-startdate", "20200101000000Z", "-enddate", "20200102000000Z"]):
        subprocess.run(["openssl", *command], check=True, capture_output=True)
