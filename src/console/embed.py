#!/usr/bin/env python3
"""
Makes the console's files a part of meted: embed.py OUTPUT.c FILE...

Each file becomes two C arrays, as it is and compressed, for a browser takes the latter; index.html gets a line for each module, so that a browser asks
for all of them at once. The same input gives the same output. A file of a kind that is not known is refused.
"""
import gzip
import hashlib
import os
import sys

TYPES = {'.html': 'text/html; charset=utf-8', '.css': 'text/css; charset=utf-8', '.js': 'text/javascript; charset=utf-8',
         '.svg': 'image/svg+xml'}
# Vendored files, by the names that the page asks for.
NAMES = {'uPlot.iife.js': 'uplot.js', 'uPlot.min.css': 'uplot.css'}
CLASSIC = {'first.js', 'uplot.js'}  # scripts that are no modules
MARK = b'<!-- modules -->'


def read(path):
    name = NAMES.get(os.path.basename(path), os.path.basename(path))
    kind = os.path.splitext(name)[1]
    if kind not in TYPES:
        sys.exit(f'embed.py: {path}: of what kind is {kind or "it"}? One of {" ".join(TYPES)} is known')
    with open(path, 'rb') as file:
        return name, TYPES[kind], file.read()


def link_modules(index, names):
    if index.count(MARK) != 1:
        sys.exit(f'embed.py: index.html must have {MARK.decode()} once')
    modules = [n for n in names if n.endswith('.js') and n not in CLASSIC]
    return index.replace(MARK, '\n'.join(f'<link rel="modulepreload" href="console/{n}">' for n in modules).encode())


def array(name, data):
    rows = [','.join(map(str, data[i:i + 64])) for i in range(0, len(data), 64)]
    return f'static const unsigned char {name}[] = {{\n' + ',\n'.join(rows) + ',\n};\n'


def main(output, paths):
    files = sorted(map(read, paths))
    names = [name for name, _, _ in files]
    if len(set(names)) != len(names):
        sys.exit('embed.py: two files have one name')
    arrays, table = [], []
    for number, (name, kind, data) in enumerate(files):
        if name == 'index.html':
            data = link_modules(data, names)
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
