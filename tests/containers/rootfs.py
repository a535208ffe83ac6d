"""Root file systems for tests, put together from this machine's files: no network, no image."""
import os
import re
import shutil
import subprocess

# What mete's libraries need of the C library besides libc.so.6, as every distribution's image has it.
OF_METE = ('libm.so.6', 'libdl.so.2', 'libpthread.so.0')


def libraries(program):
    """What the loader would load for it, by absolute path; not the driver, which is not the image's."""
    said = subprocess.run(['ldd', program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return [path for path in re.findall(r'(/\S+) \(0x', said) if 'libcuda.so' not in path]


def put(root, source, target=None):
    path = root + (target or source)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if not os.path.lexists(path):
        shutil.copy(os.path.realpath(source), path)


def put_program(root, source, target):
    put(root, source, target)
    for library in libraries(source):
        put(root, library)


def libdir():
    """Where this machine's C library lies."""
    return os.path.dirname(next(path for path in libraries(shutil.which('sh')) if 'libc.so' in path))


def put_libraries(root, names):
    """Libraries that come with the C library."""
    for name in names:
        put(root, os.path.join(libdir(), name))


def make(root, programs, tools=('sh', 'cat', 'sleep', 'id', 'env', 'true')):
    """A root with glibc, a shell, the tools, and the programs (name to path on this machine) in /bin."""
    for folder in ('etc', 'proc', 'sys', 'dev', 'tmp', 'run', 'usr/lib', 'root'):
        os.makedirs(os.path.join(root, folder), exist_ok=True)
    os.chmod(os.path.join(root, 'tmp'), 0o1777)
    with open(os.path.join(root, 'etc/passwd'), 'w') as file:
        file.write('root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/tmp:/bin/sh\n')
    wanted = dict(programs)
    wanted.update((tool, shutil.which(tool)) for tool in tools)
    for name, program in wanted.items():
        put_program(root, program, f'/bin/{name}')
    put_libraries(root, (*OF_METE, 'librt.so.1'))
    return root


def make_bare(root, program, target, names):
    """A root with one program and its libraries; of those that come with the C library the named ones alone."""
    put_program(root, program, target)
    put_libraries(root, names)
    for folder, _, files in os.walk(root):
        for name in set(files) & set(OF_METE) - set(names):
            os.unlink(os.path.join(folder, name))
    return root


STORE = '/nix/store/cglibc/lib'
STORE_PRELOAD = '/etc/ldnix.preload'


def put_in_store(root, program, target):
    """
    A program as Nix makes them: it names a loader in the store, which looks for libraries beside itself, and reads a preload file
    of another name. Made of this machine's by putting other texts of the same length into them. None where those are not there.
    """
    loader = '/lib64/ld-linux-x86-64.so.2'
    changed = {loader: '/nix/store/c/ld-linux.so.2', '/lib/x86_64-linux-gnu/': STORE + '/', '/etc/ld.so.preload': STORE_PRELOAD}

    def write(source, path, *texts):
        with open(source, 'rb') as file:
            data = file.read()
        for text in texts:
            if text.encode() not in data:
                return None
            data = data.replace(text.encode(), changed[text].encode().ljust(len(text), b'\0'))
        os.makedirs(os.path.dirname(root + path), exist_ok=True)
        with open(root + path, 'wb') as file:
            file.write(data)
        os.chmod(root + path, 0o755)
        return path

    for library in {os.path.join(libdir(), name) for name in OF_METE} | {path for path in libraries(program) if path != loader}:
        put(root, library, f'{STORE}/{os.path.basename(library)}')
    os.makedirs(root + '/nix/store/c', exist_ok=True)
    os.symlink('../cglibc/lib/ld-linux-x86-64.so.2', root + changed[loader])
    return (write(loader, STORE + '/ld-linux-x86-64.so.2', '/lib/x86_64-linux-gnu/', '/etc/ld.so.preload') and
            write(program, target, loader))


def make_static(root):
    """A root with one statically linked program, busybox; None where that is not installed."""
    busybox = shutil.which('busybox')
    if not busybox or libraries(busybox):
        return None
    for folder in ('bin', 'etc', 'proc', 'sys', 'dev', 'tmp', 'run'):
        os.makedirs(os.path.join(root, folder), exist_ok=True)
    put(root, busybox, '/bin/sh')
    return root
