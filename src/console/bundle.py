"""
Makes one script of the console's modules, which a browser asks for once: no module is waited for behind another.

Each module becomes a function that is called once, after those that it imports from, and gives back what it exports. Only the
forms of import and export that the modules use are known: an unknown one is refused, as is a circle. In the page's console
`mete` has what each module exports, by the module's name: `mete.feed.feed.node`.
"""
import re
import sys

SOME = re.compile(r'import \{ ([^}]+) \} from "\./(\w+)\.js";')
ALL = re.compile(r'import \* as (\w+) from "\./(\w+)\.js";')
EXPORT = re.compile(r'export (?:(?:async )?function|const) (\w+)')


def refuse(name, text):
    sys.exit(f'bundle.py: {name}.js: {text}')


def translate(name, source):
    """The body of the module's function, and the modules that it imports from."""
    body, exports, imports = [], [], []
    for line in source.split('\n'):
        some, every, export = SOME.fullmatch(line), ALL.fullmatch(line), EXPORT.match(line)
        if some:
            line = f'const {{ {some[1].replace(" as ", ": ")} }} = mete.{some[2]};'
        elif every:
            line = f'const {every[1]} = mete.{every[2]};'
        elif export:
            exports.append(export[1])
            line = line.removeprefix('export ')
        elif re.match(r'\s*(import|export)\b', line):
            refuse(name, f'this form is not known: {line.strip()}')
        if some or every:
            imports.append((some or every)[2])
        body.append(line)
    return '\n'.join(body).rstrip() + f'\nreturn {{ {", ".join(exports)} }};', imports


def order(modules):
    """Names, each behind those that it imports from."""
    done, begun = [], set()

    def visit(name, by):
        if name not in modules:
            refuse(by, f'there is no {name}.js')
        if name in done:
            return
        if name in begun:
            refuse(by, f'it imports {name}.js, which imports it')
        begun.add(name)
        for other in modules[name][1]:
            visit(other, name)
        done.append(name)

    for name in sorted(modules):
        visit(name, name)
    return done


def bundle(sources):
    """One script of {name: source}; the same input gives the same output."""
    modules = {name: translate(name, source) for name, source in sources.items()}
    parts = [f'mete.{name} = (() => {{\n{modules[name][0]}\n}})();\n' for name in order(modules)]
    return '"use strict";\nconst mete = {};\n\n' + '\n'.join(parts)
