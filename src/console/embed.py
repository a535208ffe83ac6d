#!/usr/bin/env python3
"""
Makes the console's files a part of meted: embed.py OUTPUT.c FILE...

Each file becomes two C arrays, as it is and compressed, for a browser takes the latter; the modules become one script, console.js (bundle.py). The same
input gives the same output. A file of a kind that is not known is refused.
"""
import gzip
import hashlib
import os
import sys

from bundle import bundle

TYPES = {'.html': 'text/html; charset=utf-8', '.css': 'text/css; charset=utf-8', '.js': 'text/javascript; charset=utf-8',
         '.svg': 'image/svg+xml'}
# Vendored files, by the names that the page asks for.
NAMES = {'uPlot.iife.js': 'uplot.js', 'uPlot.min.css': 'uplot.css'}
CLASSIC = {'first.js', 'uplot.js'}  # scripts that are no modules
BUNDLE = 'console.js'


def read(path):
    name = NAMES.get(os.path.basename(path), os.path.basename(path))
    kind = os.path.splitext(name)[1]
    if kind not in TYPES:
        sys.exit(f'embed.py: {path}: of what kind is {kind or "it"}? One of {" ".join(TYPES)} is known')
    with open(path, 'rb') as file:
        return name, TYPES[kind], file.read()


def join_modules(files):
    """The files with one script in the place of the modules."""
    modules = {name: data.decode() for name, _, data in files if name.endswith('.js') and name not in CLASSIC}
    script = bundle({os.path.splitext(name)[0]: source for name, source in modules.items()})
    return [f for f in files if f[0] not in modules] + [(BUNDLE, TYPES['.js'], script.encode())]


def array(name, data):
    rows = [','.join(map(str, data[i:i + 64])) for i in range(0, len(data), 64)]
    return f'static const unsigned char {name}[] = {{\n' + ',\n'.join(rows) + ',\n};\n'


def main(output, paths):
    files = sorted(join_modules(list(map(read, paths))))
    names = [name for name, _, _ in files]
    if len(set(names)) != len(names):
        sys.exit('embed.py: two files have one name')
    arrays, table = [], []
    for number, (name, kind, data) in enumerate(files):
        packed = gzip.compress(data, 9, mtime=0)
        arrays += [array(f'plain_{number}', data), array(f'gzip_{number}', packed)]
        table.append(f'\t{{ "{name}", "{kind}", "{hashlib.sha256(data).hexdigest()[:16]}", plain_{number}, gzip_{number}, '
                     f'sizeof(plain_{number}), sizeof(gzip_{number}) }},\n')
    with open(output, 'w', encoding='utf-8') as file:
        file.write('/* The console\'s files, gzipped; made by src/console/embed.py. */\n#include "daemon/http/console_files.h"\n\n'
                   + '\n'.join(arrays)
                   + '\nconst struct console_file console_files[] = {\n' + ''.join(table) + '};\n\n'
                   + f'const unsigned int console_file_count = {len(files)};\n')


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2:])
