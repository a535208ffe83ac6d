"""Bad input: each gives one clear line that names the thing and the remedy, and a documented exit code."""
import os
import shutil
import socket
import subprocess
import sys
import threading

import place
from place import METE, STATIC


class CommandLine(place.MeteTest):
    def test_no_verb(self):
        self.refused(2, [], 'mete help')

    def test_unknown_verb(self):
        self.refused(2, ['rnu'], 'rnu', 'did you mean `mete run`')
        self.refused(2, ['frobnicate'], 'frobnicate', 'mete help')
        self.refused(2, ['--frobnicate'], '--frobnicate')

    def test_unknown_option(self):
        self.refused(125, ['run', '--men', '1G', '--', 'true'], '--men', 'did you mean --mem?')
        self.refused(125, ['run', '--quux', '--', 'true'], '--quux', 'mete run --help')
        self.refused(125, ['run', '-Z', '--', 'true'], '-Z')
        self.refused(2, ['ps', '--jsno'], '--jsno', 'did you mean --json?')
        self.refused(2, ['set', 'x', '--memory', '1G'], '--memory', 'did you mean --mem?')

    def test_option_values(self):
        self.refused(125, ['run', '--mem'], '--mem', 'needs a value')
        self.refused(2, ['ps', '--json=yes'], '--json', 'takes no value')
        self.refused(125, ['run', '--name', 'a', '--name', 'b', 'true'], '--name', 'twice')

    def test_tier(self):
        self.refused(125, ['run', '--tier', 'T9', 'true'], '--tier T9', 'T2', 'T3')
        self.refused(125, ['run', '--tier=', 'true'], '--tier', 'T2', 'T3')
        self.refused(125, ['run', 'true'], 'METE_TIER=T9', 'T2', 'T3', env={'METE_TIER': 'T9'})

    def test_operands(self):
        self.refused(125, ['run'], 'program is missing')
        self.refused(125, ['run', '--mem', '1G', '--'], 'program is missing')
        self.refused(2, ['show'], 'NAME')
        self.refused(2, ['ps', 'extra'], 'extra')
        self.refused(2, ['help', 'frobnicate'], 'frobnicate')

    def test_names(self):
        for name in ('', 'a/b', '../x', '.x', '-x', 'a b', 'a\nb', 'x' * 64, 'ä'):
            self.refused(125, ['run', f'--name={name}', 'true'], 'name')
        self.refused(2, ['show', 'a/b'], 'a/b')
        self.refused(2, ['delete', '..'], '..')
        self.refused(125, ['run', '--name=größe', 'true'], 'ASCII letters')
        self.refused(2, ['key', 'new', 'größe', '--keys', self.path('keys')], 'ASCII letters')


class Sizes(place.MeteTest):
    def test_refused_before_anything_starts(self):
        for text, part in (('0', 'at least one byte'), ('-1G', 'negative'), ('', 'no size'), ('abc', 'not a size'),
                           ('8X', 'unknown unit'), ('99999999999999999999', '64 bits'), ('3T', 'no device has'),
                           ('101%', 'at most 100%'), ('0%', 'at least one byte'), ('1e9', 'unknown unit')):
            self.refused(125, ['run', f'--mem={text}', '--', 'true'], '--mem', text, part)
            self.refused(2, ['set', 'x', f'--mem={text}'], '--mem', text, part)
            self.refused(2, ['create', 'x', f'--mem={text}'], '--mem', text, part)
        self.assertFalse(os.path.exists(self.runtime))

    def test_over_the_device(self):
        self.refused(125, ['run', '--mem', '2G', '--', 'true'], '--mem 2G', 'device 0', '1 GiB')

    def test_over_what_is_left(self):
        self.assertEqual(self.mete('create', 'most', '--mem', '768M').returncode, 0)
        self.refused(125, ['run', '--mem', '512M', '--', 'true'], '256 MiB')
        self.assertEqual(self.mete('run', '--mem', '512M', '--overcommit', '--', 'true').returncode, 0)
        self.assertEqual(self.mete('delete', 'most').returncode, 0)


class Devices(place.MeteTest):
    def test_unknown_device_lists_them(self):
        for word in ('7', 'GPU-ffff', 'nonsense', '-1', '99999999999999999999'):
            self.refused(125, ['run', f'--device={word}', 'true'], word, 'there are: ', '0 (', '1 (')
        self.refused(125, ['run', '--device=', 'true'], 'no device named')
        # The beginning that all of them share names none.
        self.refused(125, ['run', '--device=GPU-', 'true'], 'GPU-', 'there are: ', '0 (')

    def test_malformed_sizes_have_a_remedy(self):
        for word in ('-1', '-5G', 'x', '', '8Q', '0', '101%', '99999999999999999999', '4T', 'x' * 90):
            self.refused(125, ['run', f'--mem={word}', 'true'], '--mem', '; ')

    def test_a_name_that_is_no_card_is_said(self):
        done = self.mete('run', '--mem', '64M', '--', 'true', env={'METE_OPENCL_CARD': 'junk'})
        self.assertEqual(done.returncode, 0)
        self.assertIn('METE_OPENCL_CARD=junk', done.stderr)
        self.assertIn('METE_OPENCL_CARD=junk', self.mete('doctor', env={'METE_OPENCL_CARD': 'junk'}).stdout)

    def test_pairing(self):
        self.refused(125, ['run', '-d', '0', '-d', '0', 'true'], 'named twice')
        self.refused(125, ['run', '-d', '0,0', 'true'], 'named twice')
        self.refused(125, ['run', '-m', '1M', '-m', '2M', 'true'], '2M', '--device')
        self.refused(125, ['run', '-m', '1M', '-m', '2M', '-d', '0', 'true'], '2 times for 1 devices')
        self.refused(125, ['run', '-m', '1M', '-d', '0:2M', 'true'], '1M', 'one form')
        self.refused(125, ['run', '-d', '0:', 'true'], 'no size')
        self.refused(125, ['run', '-d', ','.join(str(i) for i in range(17)), 'true'], 'more than 16')

    def test_visible_devices_hide_all(self):
        for value in ('', '-1', '9', 'GPU-ffff'):
            self.refused(125, ['run', 'true'], f'CUDA_VISIBLE_DEVICES={value}', 'unset',
                         env={'CUDA_VISIBLE_DEVICES': value})

    def test_visible_devices_hide_the_grant(self):
        done = self.mete('run', '-m', '1M', '-d', '1', 'true', env={'CUDA_VISIBLE_DEVICES': '0'})
        self.assertEqual(done.returncode, 0)
        self.assert_line(done.stderr, 'CUDA_VISIBLE_DEVICES=0', 'device 1')


class Programs(place.MeteTest):
    def test_not_found(self):
        self.refused(127, ['run', '--', 'no-such-program'], 'no-such-program', 'PATH')
        self.refused(127, ['run', '--', '/no/such/program'], '/no/such/program')
        self.refused(127, ['run', '--', ''], 'empty')
        self.refused(127, ['run', 'x' * 5000], 'no such program')
        self.program('here', '#!/bin/sh\n')
        self.refused(127, ['run', 'here'], './here', cwd=self.folder)
        # Judged before any daemon is started.
        self.assertFalse(os.path.exists(self.runtime))

    def test_not_executable(self):
        self.refused(126, ['run', self.program('plain', 'text', 0o644)], 'plain', 'chmod +x')
        self.refused(126, ['run', self.folder], self.folder, 'a folder')
        self.program('in-path', 'text', 0o644)
        self.refused(126, ['run', 'in-path'], 'in-path', 'chmod +x', env={'PATH': self.folder})

    def test_no_interpreter(self):
        self.refused(127, ['run', self.program('script', '#!/no/such/shell\n')], 'script', 'interpreter')

    def test_damaged(self):
        self.refused(126, ['run', self.program('damaged', '\x7fELF damaged')], 'damaged')
        self.refused(126, ['run', self.program('binary', 'bi\0nary')], 'binary')

    def test_static(self):
        if not os.path.exists(STATIC):
            self.skipTest('no static libc on this machine')
        done = self.mete('run', '-m', '1M', '--', STATIC)
        self.assertEqual((done.returncode, done.stdout), (3, 'it ran\n'))
        self.assert_line(done.stderr, STATIC, 'statically linked', 'link it dynamically')
        script = self.program('script', f'#!{STATIC}\n')
        self.assert_line(self.mete('run', '-m', '1M', script).stderr, 'statically linked')
        os.symlink(STATIC, self.path('tool'))
        script = self.program('through-env', '#!/usr/bin/env tool\n')
        done = self.mete('run', '-m', '1M', script, env={'PATH': f'{self.folder}:{os.environ["PATH"]}'})
        self.assert_line(done.stderr, 'statically linked')

    def test_strict(self):
        """A program that the shim cannot reach is not started, and a script can see it; no meted is started for it."""
        if not os.path.exists(STATIC):
            self.skipTest('no static libc on this machine')
        script = self.program('script', f'#!{STATIC}\n')
        for words in ((STATIC,), (script,), ('--wall', STATIC)):
            self.refused(126, ['run', '--strict', '-m', '1M', *words], STATIC, 'statically linked', '--strict')
        self.refused(126, ['run', '--strict', '--remote', '127.0.0.1:1', '--plain', STATIC], 'statically linked')
        self.assertFalse(os.path.exists(self.runtime))
        done = self.mete('run', '--strict', '-m', '64M', '--', place.CLIENT, 'info')
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, 'info 67108864 67108864\n', ''))

    def test_other_libc(self):
        with open('/bin/true', 'rb') as file:
            image = file.read()
        loader = b'/lib64/ld-linux-x86-64.so.2\0'
        if loader not in image:
            self.skipTest('not an x86-64 machine')
        # The real loader under a name that stands for another C library.
        os.symlink('/lib64/ld-linux-x86-64.so.2', self.path('ld-musl'))
        other = self.path('ld-musl').encode() + b'\0'
        with open(self.path('musl'), 'wb') as file:
            file.write(image.replace(loader, other + b'\0' * (len(loader) - len(other)), 1))
        os.chmod(self.path('musl'), 0o755)
        done = self.mete('run', '-m', '1M', self.path('musl'))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_line(done.stderr, 'ld-musl', 'build for glibc')

    def test_vendor_runtime_linked_statically(self):
        if place.SANITIZED:
            self.skipTest("the vendor's runtime does not start beside a sanitizer's")
        nvcc = shutil.which('nvcc', path=f'{os.environ["PATH"]}:/usr/local/cuda/bin')
        if not nvcc:
            self.skipTest('no nvcc on this machine')
        self.program('vendor.cu', 'int main() { void *p; return cudaMalloc(&p, 4) != cudaSuccess; }\n', 0o644)
        built = subprocess.run([nvcc, '-cudart', 'static', '-o', self.path('vendor'), self.path('vendor.cu')],
                               capture_output=True, text=True)
        if built.returncode:
            self.skipTest(f'nvcc does not work here: {built.stderr.splitlines()[-1:]}')
        vendor = self.path('vendor')
        done = self.mete('run', '--soft', '-m', '64M', 'sh', '-c', f'{vendor} || {vendor}')
        self.assertEqual(done.returncode, 1)
        self.assert_line(done.stderr, 'runtime', 'nvcc -cudart shared', 'real driver')

    def test_no_gpu(self):
        self.assertEqual(self.mete('run', '-m', '1M', 'true').stderr, '')
        done = self.mete('run', '-v', '-m', '1M', 'true')
        self.assertEqual(done.returncode, 0)
        self.assertIn('mete: the program used no GPU\n', done.stderr)


class Surroundings(place.MeteTest):
    SETTINGS = None  # some of them take the folder away in which the settings would lie

    def test_runtime_directory(self):
        run = ['run', '-m', '1M', 'true']
        self.refused(125, run, 'relative', 'absolute', env={'METE_RUNTIME_DIR': 'relative'})
        self.refused(125, run, 'too long', 'METE_RUNTIME_DIR', env={'METE_RUNTIME_DIR': '/tmp/' + 'x' * 200})
        self.refused(125, run, 'METE_RUNTIME_DIR', env={'METE_RUNTIME_DIR': '/no/such/folder/run'})
        self.program('file', '')
        self.refused(125, run, 'not a folder', env={'METE_RUNTIME_DIR': self.path('file')})
        os.mkdir(self.path('open'))
        os.chmod(self.path('open'), 0o777)
        self.refused(125, run, 'others may write', 'chmod 700', env={'METE_RUNTIME_DIR': self.path('open')})

    def test_foreign_folder(self):
        if os.geteuid():
            self.skipTest('needs root, to make a folder of another user')
        os.mkdir(self.path('theirs'), 0o700)
        os.chown(self.path('theirs'), 65534, 65534)
        self.refused(125, ['run', 'true'], 'belongs to user 65534', env={'METE_RUNTIME_DIR': self.path('theirs')})

    def listen(self, answer):
        """Somebody else at the place of meted's socket."""
        os.mkdir(self.runtime, 0o700)
        server = socket.socket(socket.AF_UNIX)
        server.bind(os.path.join(self.runtime, 'control.sock'))
        server.listen()
        self.addCleanup(server.close)

        def serve():
            try:
                while True:
                    peer, _ = server.accept()
                    peer.recv(4096)
                    peer.sendall(answer)
                    peer.close()
            except OSError:
                pass
        threading.Thread(target=serve, daemon=True).start()

    def test_socket_that_is_not_meted(self):
        self.listen(b'220 mail.example.org ESMTP\n')
        self.refused(125, ['run', 'true'], 'control.sock', "does not speak meted's protocol")
        self.refused(1, ['ps'], 'control.sock', "does not speak meted's protocol")

    def test_socket_that_hangs_up(self):
        self.listen(b'')
        self.refused(125, ['run', 'true'], 'meted went away')

    def test_other_protocol(self):
        self.listen(b'{"ok":true,"version":"9.9","protocol":9,"pid":1}\n')
        self.refused(125, ['run', 'true'], '9.9', 'another protocol')

    def test_socket_of_another_user(self):
        if os.geteuid():
            self.skipTest('needs root, to listen as another user')
        os.mkdir(self.runtime, 0o700)
        os.chmod(self.folder, 0o755)
        os.chown(self.runtime, 65534, 65534)
        listener = subprocess.Popen(
            [sys.executable, '-c', 'import os, socket, sys, time\n'
             'os.setgroups([]); os.setgid(65534); os.setuid(65534)\n'
             's = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); print("ready", flush=True)\n'
             'time.sleep(60)', os.path.join(self.runtime, 'control.sock')],
            stdout=subprocess.PIPE, start_new_session=True)
        self.started.append(listener)
        listener.stdout.readline()
        self.refused(125, ['run', 'true'], 'control.sock', 'belongs to user 65534')

    def test_no_permission(self):
        """A system's meted that this user may not ask: no other one is started beside it."""
        script = ('mount -t tmpfs tmpfs /run && mkdir /run/mete && chmod 755 /run/mete && '
                  '"$0" -c "import socket; socket.socket(socket.AF_UNIX).bind(\'/run/mete/control.sock\')" && '
                  'chmod 600 /run/mete/control.sock && shift && exec setpriv --reuid 65534 --clear-groups "$@"')
        if os.geteuid() or subprocess.run(['unshare', '--mount', 'true'], capture_output=True).returncode:
            self.skipTest('needs the right to mount')
        os.chmod(self.folder, 0o755)
        env = {k: v for k, v in self.env.items() if k != 'METE_RUNTIME_DIR'}
        for status, words in ((125, ['run', 'true']), (1, ['ps']), (1, ['create', 'x', '--mem', '1M'])):
            done = subprocess.run(['unshare', '--mount', 'sh', '-c', script, sys.executable, '-', METE, *words],
                                  capture_output=True, text=True, env=env, timeout=60)
            self.assertEqual((done.returncode, done.stdout), (status, ''), done.stderr)
            self.assert_line(done.stderr, '/run/mete/control.sock: Permission denied', 'METE_RUNTIME_DIR')

    def test_file_at_the_socket(self):
        os.mkdir(self.runtime, 0o700)
        with open(os.path.join(self.runtime, 'control.sock'), 'w'):
            pass
        self.refused(125, ['run', 'true'], 'control.sock')
        self.assertTrue(os.path.exists(os.path.join(self.runtime, 'control.sock')))

    def test_no_meted(self):
        alone = self.path('bin')
        os.mkdir(alone)
        shutil.copy(METE, alone)
        env = {'METE_LIBDIR': self.libdir(), 'PATH': '/nowhere'}
        self.refused(125, ['run', '/bin/true'], 'meted', 'PATH', mete=os.path.join(alone, 'mete'), env=env)

    def test_no_shim(self):
        alone = self.path('bin')
        os.mkdir(alone)
        shutil.copy(METE, alone)
        self.refused(125, ['run', 'true'], alone, 'METE_LIBDIR', mete=os.path.join(alone, 'mete'))
        self.refused(125, ['run', 'true'], self.folder, 'shim/libcuda.so.1', env={'METE_LIBDIR': self.folder})

    def libdir(self, name='lib'):
        """A folder as an installed mete has it."""
        os.mkdir(self.path(name))
        for part, built in (('shim', 'shim'), ('soft', 'softdev')):
            shutil.copytree(os.path.join(place.BUILD, 'src', built), os.path.join(self.path(name), part),
                            ignore=lambda folder, names: [n for n in names if '.so' not in n or n.endswith('.p')])
        return self.path(name)

    def test_blank_in_the_path(self):
        """The linker's lists know no way to write a blank: the shim is reached by another name, and limits."""
        env = {'METE_LIBDIR': self.libdir('my lib')}
        done = self.mete('run', '-m', '64M', place.CLIENT, 'info', env=env)
        self.assertEqual((done.stdout, done.stderr), ('info 67108864 67108864\n', ''))
        done = self.mete('doctor', env=env)
        self.assertEqual(done.returncode, 0, done.stdout)
        # Where the other name would have a blank as well, there is none.
        env['METE_RUNTIME_DIR'] = self.path('my run')
        self.refused(125, ['run', '-m', '1M', 'true'], 'my lib', 'blank', 'METE_LIBDIR', env=env)
        self.end_meted_in(env['METE_RUNTIME_DIR'])

    def test_driver_that_is_not_there(self):
        self.refused(125, ['run', '-m', '1M', 'true'], 'METE_DRIVER=/no/such/libcuda.so.1', 'unset',
                     env={'METE_DRIVER': '/no/such/libcuda.so.1'})

    def test_full_disk(self):
        if os.geteuid() or subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', self.folder],
                                          capture_output=True).returncode:
            self.skipTest('needs the right to mount a small file system')
        try:
            os.mkdir(self.runtime, 0o700)
            with open(self.path('filler'), 'wb', buffering=0) as file:
                try:
                    while file.write(b'x' * 4096) == 4096:
                        pass
                except OSError:
                    pass
            self.refused(125, ['run', '-m', '1M', 'true'], self.runtime, 'space')
            os.unlink(self.path('filler'))
        finally:
            pid = self.daemon_pid()
            if pid:
                os.kill(pid, 9)
                place.wait_for(lambda: not place.alive(pid), 'meted is gone')
            subprocess.run(['umount', '-l', self.folder], check=True)

    def test_unknown_grant(self):
        self.refused(125, ['run', '--grant', 'nobody', 'true'], 'nobody')
        for verb in ('show', 'delete'):
            self.refused(1, [verb, 'nobody'], 'nobody')
        self.refused(1, ['set', 'nobody', '--mem', '1M'], 'nobody')
        self.assertEqual(self.mete('create', 'somebody', '--mem', '1M').returncode, 0)
        for verb in ('show', 'delete'):
            self.refused(1, [verb, 'nobody'], 'nobody')
        self.refused(125, ['run', '--grant', 'nobody', 'true'], 'nobody')
        self.refused(1, ['create', 'somebody', '--mem', '1M'], 'somebody')
        self.refused(125, ['run', '--name', 'somebody', '--mem', '1M', 'true'], 'somebody')
        self.refused(125, ['run', '--grant', 'somebody', '--mem', '1M', 'true'], '--mem', 'mete set')
        self.assertEqual(self.mete('delete', 'somebody').returncode, 0)

    def test_closed_output(self):
        """Its remedy is another one than a full disk's; and no file or socket of mete's takes its number."""
        for verb in ('help', 'version', 'ps', 'devices', 'doctor'):
            done = subprocess.run(['sh', '-c', f'exec "{METE}" {verb} >&-'], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.env, timeout=60)
            self.assertEqual(done.returncode, 1, verb)
            self.assert_line(done.stderr, 'standard output is closed', '/dev/null')
        self.assertEqual(subprocess.run(['sh', '-c', f'exec "{METE}" devices 2>&- <&-'], stdout=subprocess.DEVNULL,
                                        env=self.env, timeout=60).returncode, 0)
        # A program that is run has it closed as well.
        done = subprocess.run(['sh', '-c', f'exec "{METE}" run -m 1M -- sh -c "echo x" >&-'], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.env, timeout=60)
        self.assertNotEqual(done.returncode, 0)

    def test_full_output(self):
        if not os.path.exists('/dev/full'):
            self.skipTest('no /dev/full')
        with open('/dev/full', 'w') as full:
            done = subprocess.run([METE, 'help'], stdout=full, stderr=subprocess.PIPE, text=True, env=self.env)
        self.assertEqual(done.returncode, 1)
        self.assert_line(done.stderr, 'output')


if __name__ == '__main__':
    place.main()
