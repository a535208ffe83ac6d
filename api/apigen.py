#!/usr/bin/env python3
"""apigen.py: writes everything repetitive about an API from its spec.

apigen.py SPEC --out DIR [--soft LIST] [--routines LIST] [--forward FILE] [--null FILE] [--coverage FILE] [--check]
apigen.py SPEC --out DIR --shape TABLE

Into DIR go the files that outputs() names, each beginning with the API's name. A file whose text has not changed is left
alone, so that what depends on it is not built again. A faulty spec writes nothing; every fault is one line that begins with
file and line, and the status is 1. README.md in this folder says how to add an API, a call, a field.
"""

import argparse
import os
import sys

from gen import blas, coverage, forward, library, null, procs, remote, remote_client, remote_worker, shape, shim, soft, table, twins, types
from gen.spec import Spec, SpecError


def outputs(spec, soft_list, routines, way):
    """File name -> text."""
    n = spec.name
    if spec.library:
        return {**library.outputs(spec, soft_list), **(twins.outputs(way) if way else {})}
    if spec.forward:
        return {**(blas.outputs(spec, routines) if routines else {}), f"{n}_types.h": types.types_header(spec), f"{n}_table.h": table.table_header(spec),
                f"{n}_names.c": table.names_source(spec), f"{n}_forward.h": forward.forward_header(spec), **forward.sources(spec, routines)}
    files = {
        f"{n}_table.h": table.table_header(spec),
        f"{n}_names.c": table.names_source(spec),
        f"{n}_shim.h": shim.shim_header(spec),
        f"{n}_shim_entry.S": shim.entry_source(spec),
        f"{n}_shim_table.c": shim.shim_source(spec),
    }
    if not spec.types:
        files[f"{n}_types.h"] = types.types_header(spec)
        files[f"{n}_client.h"] = types.client_header(spec)
    if spec.nodes:
        files[f"{n}.map"] = shim.map_source(spec)
    if spec.stream:
        files[f"{n}_gates.h"] = shim.gates_header(spec)
    if spec.version:
        files[f"{n}_procs.h"] = procs.procs_header(spec)
        files[f"{n}_procs.c"] = procs.procs_source(spec)
    if spec.client:
        files[f"{n}_remote.h"] = remote.remote_header(spec)
        files[f"{n}_remote_exports.c"] = remote.exports_source(spec)
        files[f"{n}_remote_client.c"] = remote_client.client_source(spec)
        files[f"{n}_remote_dispatch.c"] = remote_worker.dispatch_source(spec)
    if soft_list is not None:
        files[f"{n}_soft.h"] = soft.soft_header(spec, soft_list)
        files[f"{n}_soft_exports.c"] = soft.soft_source(spec, soft_list)
    return files


def write_if_changed(path, text):
    try:
        with open(path, encoding="utf-8") as f:
            if f.read() == text:
                return
    except OSError:
        pass
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def shown(path):
    """A path as a person would type it."""
    relative = os.path.relpath(path)
    return path if relative.startswith("../..") else relative


def main(argv):
    p = argparse.ArgumentParser(description="generate an API's tables, exports and headers from its spec")
    p.add_argument("spec")
    p.add_argument("--out", help="folder for the generated files")
    p.add_argument("--soft", help="TOML file whose list `implemented` names the software device's calls")
    p.add_argument("--routines", help="TOML file that names the calls of a library on the software device")
    p.add_argument("--forward", help="with --soft: TOML file that says how a library's calls travel to a worker")
    p.add_argument("--null", help="file for the skeleton of a driver")
    p.add_argument("--shape", help="TOML file with a vendor's names for the calls: its files alone are written")
    p.add_argument("--coverage", help="file for the coverage page")
    p.add_argument("--page", help="with --routines or --soft: the page whose tables of calls are to be current")
    p.add_argument("--check", action="store_true", help="with --coverage or --page: compare instead of writing")
    a = p.parse_args(argv)
    try:
        spec = Spec(a.spec, shown(a.spec))
        listed = soft.read_implemented(spec, a.soft, shown(a.soft)) if a.soft else None
        routines = blas.Routines(spec, a.routines, shown(a.routines)) if a.routines else None
        way = twins.Way(spec, listed, a.forward, shown(a.forward)) if a.forward else None
        files = {}
        if a.shape:
            files.update({os.path.join(a.out, name): text for name, text in shape.outputs(spec, a.shape, shown(a.shape)).items()})
        elif a.out:
            files.update({os.path.join(a.out, name): text for name, text in outputs(spec, listed, routines, way).items()})
        if a.null:
            files[a.null] = null.null_source(spec)
        if a.page:
            text = blas.page(spec, routines, a.page) if routines else library.page(spec, listed, a.page)
            if a.check:
                return coverage.compare(text, a.page, shown(a.page), "libraries-page")
            files[a.page] = text
        if a.coverage:
            page = coverage.page(spec, listed)
            if a.check:
                return coverage.compare(page, a.coverage, shown(a.coverage))
            files[a.coverage] = page
    except SpecError as e:
        print(e, file=sys.stderr)
        return 1
    for path, text in files.items():
        write_if_changed(path, text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
