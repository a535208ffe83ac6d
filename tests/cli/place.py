"""What every test of mete stands on: a runtime directory and software devices of its own, and nothing left behind."""
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else '.'
METE = os.path.join(BUILD, 'src/cli/mete')
METED = os.path.join(BUILD, 'src/daemon/meted')
CLIENT = os.path.join(BUILD, 'tests/cli/mete_client')
STATIC = os.path.join(BUILD, 'tests/cli/mete_static')
MIB = 1 << 20
GIB = 1 << 30
OUT_OF_MEMORY = 2
WAIT_S = 30
SANITIZED = bool(os.environ.get('METE_TEST_SANITIZED'))  # the shim brings a sanitizer's runtime into programs
SILENT_S = 0 if os.environ.get('METE_TEST_LONG') else 600 if SANITIZED else 200


def hangs(number, frame):
    raise AssertionError(f'nothing for {SILENT_S} s: the test hangs')


def awake():
    """The test goes on: what waits for ever without a word of it is ended, and fails where it waits."""
    signal.alarm(SILENT_S)


signal.signal(signal.SIGALRM, hangs)


def wait_for(condition, what, seconds=WAIT_S):
    """Waits until the condition holds; its value."""
    awake()
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f'{what}: not within {seconds} s')
        time.sleep(0.02)


def alive(pid):
    """True while the process lives; a zombie has ended."""
    try:
        with open(f'/proc/{pid}/stat') as stat:
            return stat.read().rsplit(')', 1)[1].split()[0] not in 'ZX'
    except (FileNotFoundError, ProcessLookupError):  # also when it ends between opening and reading
        return False


class MeteTest(unittest.TestCase):
    """A place for one test: two software devices of 1 GiB. SETTINGS: of a meted that a program of the test starts, or None. It
    starts no children that look for other drivers, each of which costs as much as a program."""

    SETTINGS = 'driver:\n  soft_only: true\n'

    def setUp(self):
        awake()
        self.folder = tempfile.mkdtemp(prefix='mt-', dir='/tmp')
        self.runtime = os.path.join(self.folder, 'run')
        self.env = {name: value for name, value in os.environ.items()
                    if not name.startswith('METE_')
                    and name not in ('CUDA_VISIBLE_DEVICES', 'LD_PRELOAD', 'LD_LIBRARY_PATH')}
        self.env.update(METE_RUNTIME_DIR=self.runtime, METE_SOFT_DIR=os.path.join(self.folder, 'soft'),
                        METE_SOFT_MEMORY='1G', METE_SOFT_DEVICES='2', LC_ALL='C',
                        OCL_ICD_VENDORS='/nonexistent')  # the machine's own OpenCL devices: tests/opencl
        os.mkdir(self.env['METE_SOFT_DIR'])
        if self.SETTINGS:
            self.env['METE_CONFIG'] = self.program('meted.yaml', self.SETTINGS, 0o644)
        self.started = []

    def tearDown(self):
        for process in self.started:
            try:
                os.killpg(process.pid, signal.SIGKILL)  # with what a killed mete left running
            except ProcessLookupError:
                pass
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    stream.close()
        self.end_meted_in(self.runtime)
        wait_for(self.remove_folder, 'what was killed writes no more')

    def remove_folder(self):
        try:
            shutil.rmtree(self.folder)
        except OSError as e:
            if e.errno not in (errno.ENOTEMPTY, errno.ENOENT):
                raise
        return not os.path.exists(self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def program(self, name, text, mode=0o755):
        path = self.path(name)
        with open(path, 'w') as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def mark(self, name):
        with open(self.path(name), 'w'):
            pass

    def mete(self, *words, env=None, **keywords):
        """Runs mete to its end."""
        awake()
        keywords.setdefault('stdin', subprocess.DEVNULL)
        if 'input' in keywords:
            del keywords['stdin']
        return subprocess.run([keywords.pop('mete', METE), *words], env={**self.env, **(env or {})}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, **keywords)

    def start(self, *words, env=None, **keywords):
        """Starts mete; it is ended with the test."""
        keywords.setdefault('stdin', subprocess.DEVNULL)
        process = subprocess.Popen([METE, *words], env={**self.env, **(env or {})}, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, **keywords)
        self.started.append(process)
        return process

    def serve_by(self, *options, **keywords):
        """Starts a meted and waits until it serves: a `mete` that comes earlier would start one of its own."""
        os.makedirs(self.runtime, mode=0o700, exist_ok=True)
        ready, tell = os.pipe()
        process = subprocess.Popen([METED, '--runtime-dir', self.runtime, '--ready-fd', str(tell), *options], env=self.env,
                                   pass_fds=[tell], start_new_session=True, **keywords)
        self.started.append(process)
        os.close(tell)
        with os.fdopen(ready, 'rb') as file:
            self.assertTrue(file.read(1), 'meted serves')
        return process

    def json(self, *words):
        done = self.mete(*words, '--json')
        self.assertEqual((done.returncode, done.stderr), (0, ''), words)
        return json.loads(done.stdout)

    def grant(self, name):
        return self.json('show', name)['grant']

    def end_meted_in(self, runtime):
        pid = self.daemon_pid(runtime)
        if pid:
            os.kill(pid, signal.SIGTERM)
            wait_for(lambda: not alive(pid), 'meted ends on SIGTERM')

    def kill_meted(self):
        """Its end is waited for: one that dies still has its lock and its socket."""
        pid = self.daemon_pid()
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not alive(pid), 'meted is dead')

    def daemon_pid(self, runtime=None):
        """The meted of this place, found by its command line; None: there is none."""
        for entry in os.listdir('/proc'):
            if not entry.isdigit():
                continue
            try:
                with open(f'/proc/{entry}/cmdline', 'rb') as file:
                    words = file.read().split(b'\0')
            except OSError:
                continue
            ours = os.path.basename(words[0]) == b'meted' and (runtime or self.runtime).encode() in words
            if ours and alive(int(entry)):
                return int(entry)
        return None

    def assert_line(self, text, *parts):
        """One line from mete, that holds all the parts."""
        lines = text.splitlines()
        self.assertEqual(len(lines), 1, text)
        self.assertTrue(lines[0].startswith('mete: '), text)
        for part in parts:
            self.assertIn(part, lines[0])

    def refused(self, status, words, *parts, env=None, **keywords):
        """mete refuses with this status and one line that holds the parts."""
        done = self.mete(*words, env=env, **keywords)
        self.assertEqual(done.returncode, status, (words, done.stderr))
        self.assertEqual(done.stdout, '', words)
        self.assert_line(done.stderr, *parts)


def main(beside=()):
    """Runs the tests. `beside`: those that mostly wait for a time of meted's, several with blanks between; each text is of a
    process that runs them one after the other, beside all else, and what it says follows at the end."""
    # Under nohup and in the background of a shell they are ignored, in all that is started here as well.
    for number, usual in ((signal.SIGHUP, signal.SIG_DFL), (signal.SIGQUIT, signal.SIG_DFL),
                          (signal.SIGINT, signal.default_int_handler)):
        signal.signal(number, usual)
    apart = []
    for some in () if sys.argv[2:] else beside:
        said = tempfile.TemporaryFile()
        apart.append((said, subprocess.Popen([sys.executable, '-B', sys.argv[0], BUILD, *some.split()], stdout=said, stderr=said)))
    names = sys.argv[2:] or [name for name in all_tests() if name not in ' '.join(beside).split()]
    done = unittest.main(argv=[sys.argv[0], *names], verbosity=2, exit=False)
    signal.alarm(0)  # those beside have their own
    good = done.result.wasSuccessful()
    for said, process in apart:
        good &= not process.wait()
        said.seek(0)
        print(said.read().decode(errors='replace'), file=sys.stderr, flush=True)
    sys.exit(not good)


def all_tests():
    """'Class.test_name' of the test that runs."""
    found = []

    def look(suite):
        for one in suite:
            found.append('.'.join(one.id().split('.')[-2:])) if isinstance(one, unittest.TestCase) else look(one)
    look(unittest.defaultTestLoader.loadTestsFromModule(sys.modules['__main__']))
    return found
