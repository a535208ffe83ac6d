"""mete run: exit status, signals, terminal, quoting, environment: as if mete were not there."""
import glob
import os
import pty
import select
import signal
import subprocess
import sys
import tomllib

import place
from place import CLIENT, GIB, METE, MIB, OUT_OF_MEMORY, wait_for

SMALL = ['run', '-m', '1M']
# mete's CUDA runtime library and the fronts, which programs get where the driver is the software device.
SHAPES = [name for name in ('musa', 'maca') if os.path.exists(os.path.join(place.BUILD, f'src/shim/libmete-{name}.so'))]  # a build of some targets has some
OPENCL = os.path.exists(os.path.join(place.BUILD, 'src/shim/libmete-opencl.so'))  # built with OpenCL's headers
RUNTIMES = ['libcudart.so.13', 'libcudart.so.12', 'libcudart.so.11.0', 'libnvJitLink.so.13', 'libnvJitLink.so.12',
            'libnvrtc.so.13', 'libnvrtc.so.12', 'libcudnn.so.9',
            'libcublas.so.13', 'libcublasLt.so.13', 'libcublas.so.12', 'libcublasLt.so.12',
            'libcurand.so.10', 'libcufft.so.12', 'libcufft.so.11', 'libcusolver.so.12', 'libcusolver.so.11',
            'libcusparse.so.12', 'libnccl.so.2']
if place.SANITIZED:  # such a build has the libraries that its tests need
    RUNTIMES = [r for r in RUNTIMES if glob.glob(f'{place.BUILD}/src/*/**/{r}', recursive=True)]


class ExitStatus(place.MeteTest):
    def test_codes(self):
        for code in (0, 1, 2, 42, 124, 125, 126, 127, 255):
            done = self.mete(*SMALL, 'sh', '-c', f'exit {code}')
            self.assertEqual((done.returncode, done.stderr), (code, ''))

    def test_signals(self):
        signals = [signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGUSR1]
        # A sanitizer's runtime takes SIGSEGV for itself.
        signals += [] if place.SANITIZED else [signal.SIGSEGV]
        for sig in signals:
            done = self.mete(*SMALL, 'sh', '-c', f'kill -{int(sig)} $$')
            self.assertEqual(done.returncode, -sig)
        done = subprocess.run(['sh', '-c', f'{METE} run -m 1M sh -c "kill -TERM \\$\\$"; exit $?'], env=self.env)
        self.assertEqual(done.returncode, 128 + signal.SIGTERM)

    def test_client_killed(self):
        self.assertEqual(self.mete(*SMALL, CLIENT, 'alloc', '4096', 'die').returncode, -signal.SIGKILL)


class Words(place.MeteTest):
    def shown(self, *words):
        done = self.mete(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split('\0')[:-1]

    def test_arguments_are_unchanged(self):
        odd = ['', ' ', 'a b', '*', '$HOME', '"', "'", '\\', 'a\nb', '--mem', '-v', '--', '-', 'ä€']
        program = self.program('show', '#!/bin/sh\nprintf "%s\\0" "$@"\n')
        self.assertEqual(self.shown(*SMALL, '--', program, *odd), odd)
        self.assertEqual(self.shown(*SMALL, program, *odd), odd)
        self.assertEqual(self.shown('run', '--mem=1M', '-d0', program, '--', 'x'), ['--', 'x'])

    def test_program_that_looks_like_an_option(self):
        self.program('-odd', '#!/bin/sh\nprintf "%s\\0" "$0"\n')
        done = self.mete(*SMALL, '--', '-odd', env={'PATH': f'{self.folder}:{os.environ["PATH"]}'})
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_argv0(self):
        self.assertEqual(self.mete(*SMALL, 'bash', '-c', 'echo $0').stdout, 'bash\n')

    def test_script_without_first_line(self):
        self.assertEqual(self.mete(*SMALL, self.program('bare', 'echo bare; exit 4\n')).returncode, 4)


class Transparency(place.MeteTest):
    def test_streams(self):
        done = self.mete(*SMALL, 'sh', '-c', 'cat; echo error >&2', input='through\n')
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, 'through\n', 'error\n'))

    def test_large_input(self):
        text = 'x' * (4 * MIB)
        self.assertEqual(self.mete(*SMALL, 'cat', input=text).stdout, text)

    def test_descriptors(self):
        read, write = os.pipe()
        self.addCleanup(os.close, read)
        listing = 'import os; print(sorted(int(f) for f in os.listdir("/proc/self/fd")))'
        done = self.mete(*SMALL, sys.executable, '-c', listing, pass_fds=[write])
        plain = subprocess.run([sys.executable, '-c', listing], pass_fds=[write], stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, env=self.env)
        os.close(write)
        self.assertEqual(done.stdout, plain.stdout)

    # What the fronts add to PATH and the rest is looked at in tests/fronts, what layers need in their own tests.
    def test_state(self):
        caught = '' if place.SANITIZED else '|Cgt'
        show = (f'grep -E "^(Sig(Blk|Ign{caught})|Umask|NoNewPrivs)" /proc/self/status; umask; pwd; ulimit -n;'
                'ulimit -c;'
                'env | grep -vE "^(METE_|LD_|TRITON_PTXAS_|PYTHONPATH=|JAX_SKIP_|OPENCL_LAYERS=|ZE_ENABLE_ALT_DRIVERS=|XDG_DATA_DIRS=|_=|SHLVL=)" | sed "s#[^:=]*/fronts/[a-z]*:##g" | sort')

        def prepare():
            os.umask(0o137)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            signal.signal(signal.SIGUSR2, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])
        done = self.mete(*SMALL, 'sh', '-c', show, preexec_fn=prepare, cwd='/usr')
        plain = subprocess.run(['sh', '-c', show], preexec_fn=prepare, cwd='/usr', stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, env=self.env)
        self.assertEqual(done.stdout, plain.stdout)

    def test_environment(self):
        done = self.mete(*SMALL, 'env', env={'LD_LIBRARY_PATH': '/a:/b', 'LD_PRELOAD': ''})
        shown = dict(line.split('=', 1) for line in done.stdout.splitlines() if '=' in line)
        first, *runtime = shown['LD_PRELOAD'].split(':')
        self.assertEqual(os.path.basename(first), 'libmete-preload.so')
        shim = os.path.dirname(first)
        self.assertEqual([os.path.basename(r) for r in runtime], RUNTIMES)
        self.assertEqual(shown['LD_LIBRARY_PATH'], ':'.join([shim, os.path.dirname(runtime[0]), f'{shim}/hip', *[f'{shim}/{name}' for name in SHAPES], *([f'{shim}/opencl'] if OPENCL else []), f'{shim}/levelzero', '/a', '/b']))
        self.assertTrue(os.path.samefile(os.path.join(shim, 'libcuda.so.1'), os.path.join(shim, 'libcuda.so')))
        self.assertTrue(shown['METE_SOCKET'].startswith(self.runtime))
        self.assertTrue(os.path.isabs(shown['METE_DRIVER']))

    def test_nested(self):
        done = self.mete('run', '-m', '2M', METE, *SMALL, 'sh', '-c', 'echo "$LD_PRELOAD"; echo "$LD_LIBRARY_PATH"')
        self.assertEqual(done.returncode, 0, done.stderr)
        preload, library_path = done.stdout.splitlines()
        self.assertEqual(len(preload.split(':')), 1 + len(RUNTIMES))
        self.assertEqual(len(library_path.split(':')), 4 + len(SHAPES) + OPENCL)  # CUDA's, its runtime's, HIP's and those of its shape, OpenCL's, Level Zero's
        done = self.mete('run', '-m', '2M', METE, *SMALL, CLIENT, 'info')
        self.assertEqual(done.stdout, f'info {MIB} {MIB}\n', done.stderr)

    def test_runtime_before_rpath(self):
        """A program that names a folder with another runtime in it still gets mete's; `mete soft run` does the same."""
        if place.SANITIZED:
            self.skipTest("a sanitizer's runtime would have to be in the program")
        source, other, program = self.path('program.c'), self.path('toolkit'), self.path('program')
        os.mkdir(other)
        with open(source, 'w') as file:
            file.write('int cudaRuntimeGetVersion(int *v) { *v = -1; return 0; }\n')
        subprocess.run(['cc', '-shared', '-fPIC', '-Wl,-soname,libcudart.so.13', '-o', f'{other}/libcudart.so.13', source],
                       check=True)
        with open(source, 'w') as file:
            file.write('#include <stdio.h>\nint cudaRuntimeGetVersion(int *v);\n'
                       'int main(void) { int v = 0; cudaRuntimeGetVersion(&v); printf("%d\\n", v); return 0; }\n')
        subprocess.run(['cc', '-o', program, source, f'{other}/libcudart.so.13',
                        f'-Wl,--disable-new-dtags,-rpath,{other}'], check=True)
        self.assertEqual(subprocess.run([program], capture_output=True, text=True).stdout, '-1\n')
        self.assertEqual(self.mete('run', '--soft', '-m', '1M', program).stdout, '13000\n')
        self.assertEqual(self.mete('soft', 'run', program).stdout, '13000\n')

    def test_cublas_by_its_path(self):
        """A package may open NVIDIA's cuBLAS by its path (faiss does), which then depends on mete's cuBLASLt."""
        if place.SANITIZED:
            self.skipTest('such a build has the libraries that its tests need')
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../api/library-newer.toml'), 'rb') as file:
            names = tomllib.load(file)['internal']['cublasLt']
        source, library = self.path('standin.c'), self.path('libcublas.so.12')
        with open(source, 'w') as file:
            file.write(''.join(f'int {name}(void);\n' for name in names) + 'int (*const calls[])(void) = {' + ', '.join(names) + '};\n'
                       'int cublasCreate_v2(void **handle) { (void)handle; return calls[0] ? -1 : -2; }\n')
        subprocess.run(['cc', '-shared', '-fPIC', '-Wl,-soname,libcublas.so.12,-z,now', '-o', library, source,
                        f'{place.BUILD}/src/libs/blas/libcublasLt.so.12'], check=True)
        program = ('import ctypes, sys\n'
                   'own = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)\n'
                   'print(own.cublasCreate_v2(None), ctypes.CDLL("libcublas.so.12").cublasCreate_v2(None))\n')
        for words in (['run', '--soft', '-m', '64M'], ['run', '--soft', '--wall', '-m', '64M'], ['soft', 'run']):
            done = self.mete(*words, sys.executable, '-c', program, library)
            self.assertEqual((done.stdout, done.returncode), ('-1 7\n', 0), (words, done.stderr))

    def test_strict_shim(self):
        """--strict goes on in the shim, which refuses calls of a newer driver; without it, an outer one is forgotten."""
        self.assertEqual(self.mete('run', '--strict', '-m', '1M', 'sh', '-c', 'echo "<$METE_STRICT>"').stdout, '<1>\n')
        self.env['METE_STRICT'] = '1'
        self.assertEqual(self.mete('run', '-m', '1M', 'sh', '-c', 'echo "<$METE_STRICT>"').stdout, '<>\n')

    def test_closed_stderr(self):
        done = subprocess.run(['sh', '-c', f'{METE} run -v -m 1M sh -c "exit 7" 2>&-'], env=self.env)
        self.assertEqual(done.returncode, 7)


class Signals(place.MeteTest):
    def catching(self, *signals):
        """A program that says which signals it gets, until the marker `end` is there."""
        traps = ' '.join(f"trap 'echo {name}' {name};" for name in signals)
        return ['bash', '-c', f'{traps} touch {self.path("ready")};'
                f' while ! [ -e {self.path("end")} ]; do sleep 0.02; done']

    def test_passed_on(self):
        process = self.start(*SMALL, *self.catching('TERM', 'INT', 'HUP', 'QUIT', 'USR1'))
        wait_for(lambda: os.path.exists(self.path('ready')), 'the program runs')
        expected = []
        for name in ('TERM', 'INT', 'HUP', 'QUIT', 'USR1'):
            process.send_signal(getattr(signal, 'SIG' + name))
            expected.append(process.stdout.readline())
            self.assertEqual(expected[-1], name + '\n')
        self.mark('end')
        out, error = process.communicate(timeout=place.WAIT_S)
        self.assertEqual((process.returncode, out, error), (0, '', ''))

    def test_ends_by_the_same_signal(self):
        process = self.start(*SMALL, 'sleep', '60')
        wait_for(lambda: children(process.pid), 'the program runs')
        process.terminate()
        self.assertEqual(process.wait(place.WAIT_S), -signal.SIGTERM)

    def test_nohup(self):
        process = self.start(*SMALL, *self.catching('TERM'),
                             preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        wait_for(lambda: os.path.exists(self.path('ready')), 'the program runs')
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.stdout.readline(), 'TERM\n')
        self.mark('end')
        self.assertEqual(process.wait(place.WAIT_S), 0)


def children(pid):
    with open(f'/proc/{pid}/task/{pid}/children') as file:
        return [int(word) for word in file.read().split()]


def state(pid):
    with open(f'/proc/{pid}/stat') as file:
        return file.read().rsplit(')', 1)[1].split()[0]


class Terminal(place.MeteTest):
    """mete and its program on a terminal of their own, as a shell would start them."""

    def spawn(self, *words):
        pid, terminal = pty.fork()
        if not pid:
            os.execve(METE, [METE, *words], self.env)
        self.addCleanup(os.close, terminal)
        self.addCleanup(self.end, pid)
        self.ended = False
        return pid, terminal

    def end(self, pid):
        if not self.ended:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def wait(self, pid):
        _, status = os.waitpid(pid, 0)
        self.ended = True
        return status

    def read_until(self, terminal, text):
        seen = ''
        while text not in seen:
            if not select.select([terminal], [], [], place.WAIT_S)[0]:
                self.fail(f'nothing more on the terminal, without {text!r}: {seen!r}')
            try:
                seen += os.read(terminal, 4096).decode()
            except OSError:
                self.fail(f'the terminal ended: {seen!r}')
        return seen

    def test_is_a_terminal(self):
        pid, terminal = self.spawn(*SMALL, 'sh', '-c', 'test -t 0 && test -t 1 && test -t 2 && stty size && read x'
                                                       ' && echo "got $x" && read y')
        self.read_until(terminal, '\n')
        os.write(terminal, b'typed\n')
        self.read_until(terminal, 'got typed')
        os.write(terminal, b'\n')
        self.assertEqual(self.wait(pid), 0)

    def test_interrupt_comes_once(self):
        count = "n=0; trap 'n=$((n+1))' INT; echo ready; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.05; done; echo n=$n"
        pid, terminal = self.spawn(*SMALL, 'bash', '-c', count)
        self.read_until(terminal, 'ready')
        os.write(terminal, b'\x03')
        self.read_until(terminal, 'n=1')
        self.wait(pid)

    def test_interrupt_ends_both(self):
        pid, terminal = self.spawn(*SMALL, 'sh', '-c', 'echo ready; exec sleep 60')
        self.read_until(terminal, 'ready')
        os.write(terminal, b'\x03')
        status = self.wait(pid)
        self.assertTrue(os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGINT, status)

    def test_stop_and_continue(self):
        pid, terminal = self.spawn(*SMALL, 'sh', '-c', 'echo ready; sleep 0.3; read x; echo "went on with $x"')
        self.read_until(terminal, 'ready')
        child = children(pid)[0]
        # A session leader's own group is orphaned, and ^Z does nothing there; stop the program as a shell's job is.
        os.kill(child, signal.SIGSTOP)
        wait_for(lambda: state(pid) == 'T', 'mete stops with its program')
        os.kill(pid, signal.SIGCONT)
        wait_for(lambda: state(child) != 'T', 'the program continues with mete')
        os.write(terminal, b'input\n')
        self.read_until(terminal, 'went on with input')
        self.assertEqual(self.wait(pid), 0)

    def test_the_program_alone_is_stopped_and_continued(self):
        count = ('import os, signal, time\nn = 0\ndef on(*_):\n    global n\n    n += 1\n    os.write(1, b"n=%d " % n)\n'
                 'signal.signal(signal.SIGCONT, on)\nprint("ready", flush=True)\nwhile n < 3: time.sleep(0.05)\n'
                 'time.sleep(0.5)')
        pid, terminal = self.spawn(*SMALL, 'python3', '-c', count)
        self.read_until(terminal, 'ready')
        child = children(pid)[0]
        for n in range(3):
            os.kill(child, signal.SIGSTOP)
            wait_for(lambda: state(pid) == 'T', 'mete stops with its program')
            self.assertEqual(state(child), 'T')
            os.kill(child, signal.SIGCONT)
            wait_for(lambda: state(pid) != 'T', 'mete continues with its program')
            self.read_until(terminal, f'n={n + 1}')
        self.assertEqual(self.wait(pid), 0)

    def test_job_control_of_a_shell(self):
        pid, terminal = pty.fork()
        if not pid:
            os.execve('/bin/bash', ['bash', '--norc', '-i'], {**self.env, 'PS1': '$ '})
        self.addCleanup(os.close, terminal)
        self.ended = False
        self.addCleanup(self.end, pid)
        # Not by a shell that uses vfork(): ^Z between that and exec leaves it waiting, with or without mete.
        os.write(terminal, f'{METE} run -m 1M bash -c "echo be\\gun; sleep 1; echo do\\ne"\n'.encode())
        self.read_until(terminal, 'begun')
        os.write(terminal, b'\x1a')
        self.read_until(terminal, 'Stopped')
        os.write(terminal, b'bg; sleep 0.2; kill -TSTP %1; sleep 0.5; jobs\n')
        self.read_until(terminal, 'Stopped')
        os.write(terminal, b'fg\n')
        self.read_until(terminal, 'done')
        os.write(terminal, b'exit\n')
        self.wait(pid)


NO_SOCKETS = """import ctypes, os, platform, struct, sys
call = {'x86_64': 41, 'aarch64': 198}[platform.machine()]
code = struct.pack('HBBIHBBIHBBIHBBI', 0x20, 0, 0, 0, 0x15, 0, 1, call, 0x06, 0, 0, 0x50001, 0x06, 0, 0, 0x7fff0000)
room = ctypes.create_string_buffer(code)
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
assert not libc.prctl(22, 2, struct.pack('HxxxxxxP', 4, ctypes.addressof(room)), 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


class NoConnection(place.MeteTest):
    """A process that cannot connect: the line says what it lacks, and what helps."""

    def refused(self, *words):
        done = self.mete('run', *words)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr

    def test_no_more_open_files(self):
        for way in ((), ('--wall',)):
            line = self.refused(*way, '-m', '64M', 'sh', '-c', f'ulimit -n 4; exec {CLIENT} info')
            self.assertIn('ulimit -n', line)
            self.assertNotIn('not meted', line)

    def test_no_sockets(self):
        for way in ((), ('--wall',)):
            line = self.refused(*way, '-m', '64M', 'python3', '-c', NO_SOCKETS, CLIENT, 'info')
            self.assertIn('sandbox of this process (seccomp)', line)
            self.assertNotIn('another user', line)


class Shares(place.MeteTest):
    def test_quota_is_exact(self):
        done = self.mete('run', '-m', '64M', CLIENT, 'info', 'alloc', str(64 * MIB), 'alloc', '1', 'free', 'alloc', '1')
        self.assertEqual(done.stdout.splitlines(),
                         [f'info {64 * MIB} {64 * MIB}', f'alloc {64 * MIB} 0', f'alloc 1 {OUT_OF_MEMORY}', 'free 0',
                          'alloc 1 0'])
        self.assertEqual(done.returncode, 0)

    def test_percent_and_default(self):
        self.assertEqual(self.mete('run', '-m', '25%', CLIENT, 'info').stdout, f'info {GIB // 4} {GIB // 4}\n')
        self.assertEqual(self.mete('run', CLIENT, 'info').stdout, f'info {GIB} {GIB}\n')

    def test_several_devices(self):
        words = ['count', 'device', '0', 'info', 'device', '1', 'info']
        both = [f'info {64 * MIB} {64 * MIB}', f'info {32 * MIB} {32 * MIB}']
        for options in (['-m', '64M', '-d', '0', '-m', '32M', '-d', '1'], ['-d', '0:64M,1:32M'],
                        ['-d', '0:64M', '-d', '1:32M'], ['-d', '0', '-d', '1', '-m', '64M', '-m', '32M']):
            done = self.mete('run', *options, CLIENT, *words)
            self.assertEqual(done.stdout.splitlines(), ['count 2', *both], (options, done.stderr))
        for options in (['-m', '64M', '-d', '0,1'], ['-m', '64M', '-d', 'all']):
            done = self.mete('run', *options, CLIENT, *words)
            self.assertEqual(done.stdout.splitlines(), ['count 2', both[0], both[0]], (options, done.stderr))
        done = self.mete('run', '-m', '64M', '-d', '1', CLIENT, 'count', 'info')
        self.assertEqual(done.stdout.splitlines(), ['count 1', both[0]])

    def test_uuid(self):
        devices = self.json('devices')['devices']
        uuid = devices[1]['uuid']
        for word in (uuid, uuid.upper(), uuid[4:]):
            done = self.mete('run', '-v', '-m', '64M', '-d', word, 'true')
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn('device 1 (', done.stderr)

    def test_visible_devices(self):
        for value in ('1', '1,0', '1,7,0', self.json('devices')['devices'][1]['uuid']):
            done = self.mete('run', '-v', '-m', '64M', CLIENT, 'count', 'info', env={'CUDA_VISIBLE_DEVICES': value})
            self.assertEqual(done.stdout.splitlines(), ['count 1', f'info {64 * MIB} {64 * MIB}'], (value, done.stderr))
            self.assertIn('device 1 (', done.stderr)

    def test_verbose(self):
        done = self.mete('run', '-v', '-m', '64M', '-n', 'talks', CLIENT, 'alloc', str(3 * MIB), 'alloc', str(64 * MIB))
        self.assertEqual(done.returncode, 0)
        for part in (r'mete: grant talks from meted \(process \d+, started for this command\)',
                     r'mete: driver /.*libcuda\.so\.1\S* \(the software device\)',
                     r'mete: device 0 \(.*\): 64 MiB of 1 GiB',
                     r'mete: device 0: peak 3 MiB of 64 MiB, allocations refused: 1'):
            self.assertRegex(done.stderr, part)
        self.assertNotIn('used no GPU', done.stderr)
        self.assertEqual([line for line in done.stderr.splitlines() if not line.startswith('mete: ')], [])

    def test_a_client_that_only_asks_has_used_the_gpu(self):
        self.assertNotIn('used no GPU', self.mete('run', '-v', '-m', '64M', CLIENT, 'count').stderr)

    def test_two_at_once(self):
        runs = [self.start('run', '-m', '256M', '-n', f'run-{i}', CLIENT, 'alloc', str(256 * MIB), 'alloc', '1', 'mark',
                           self.path(f'at-{i}'), 'hold', self.path('go')) for i in range(3)]
        wait_for(lambda: all(os.path.exists(self.path(f'at-{i}')) for i in range(3)), 'three runs hold their shares')
        grants = {grant['name']: grant for grant in self.json('ps')['grants']}
        self.assertEqual({name: grant['devices'][0]['held_bytes'] for name, grant in grants.items()},
                         {f'run-{i}': 256 * MIB for i in range(3)})
        self.refused(125, ['run', '-m', '257M', 'true'], '256 MiB')
        self.mark('go')
        for run in runs:
            out, error = run.communicate(timeout=place.WAIT_S)
            self.assertEqual((run.returncode, out, error),
                             (0, f'alloc {256 * MIB} 0\nalloc 1 {OUT_OF_MEMORY}\n', ''))

    def test_started_together(self):
        """Many at the same moment start one daemon, and none of them fails."""
        runs = [self.start('run', '-m', '1M', CLIENT, 'alloc', str(MIB), 'alloc', '1') for _ in range(12)]
        for run in runs:
            out, error = run.communicate(timeout=place.WAIT_S * 2)
            self.assertEqual((run.returncode, out, error), (0, f'alloc {MIB} 0\nalloc 1 {OUT_OF_MEMORY}\n', ''))

    def test_log_lines_come_through(self):
        """A line written to METE_LOG is shown, once, without control characters."""
        line = 'printf "mete: look \\033[31m here\\n" >>"$METE_LOG"'
        done = self.mete(*SMALL, 'sh', '-c', f'{line}; {line}; printf "no end" >>"$METE_LOG"; exit 5')
        self.assertEqual(done.returncode, 5)
        self.assertEqual(done.stderr, 'mete: look ?[31m here\nmete: no end\n')

    def test_log_lines_come_soon(self):
        process = self.start(*SMALL, 'sh', '-c', f'echo soon >>"$METE_LOG"; '
                                                 f'while ! [ -e {self.path("end")} ]; do sleep 0.02; done')
        self.assertEqual(process.stderr.readline(), 'mete: soon\n')
        self.mark('end')
        self.assertEqual(process.wait(place.WAIT_S), 0)


if __name__ == '__main__':
    place.main()
