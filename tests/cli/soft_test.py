"""mete soft run and mete soft devices: software devices of one's own, the checker, exit status, nothing left behind."""
import glob
import json
import os
import signal
import time
import unittest

import place
from place import CLIENT, GIB, MIB, wait_for

OUT_OF_BOUNDS = ['alloc', '1000', 'poke', '1000']
LAUNCH_TIMEOUT = 702
COMPILER = os.path.join(place.BUILD, 'src/compile/libmete-compile.so.0')


class Soft(place.MeteTest):
    def setUp(self):
        super().setUp()
        for name in ('METE_SOFT_DIR', 'METE_SOFT_MEMORY', 'METE_SOFT_DEVICES'):
            self.env.pop(name)

    def soft(self, *words, **keywords):
        return self.mete('soft', 'run', *words, **keywords)

    def left(self, pid=None):
        return glob.glob(f'/dev/shm/mete-soft-run-{os.getuid()}-{pid or "*"}-*') + \
            glob.glob(f'/tmp/mete-soft-run-{os.getuid()}-{pid or "*"}-*')


class Running(Soft):
    def test_devices_as_asked_for(self):
        done = self.soft('-D', '3', '-m', '1G,2G', CLIENT, 'count', 'device', '1', 'info')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertEqual(done.stdout.split('\n')[0], 'count 3')
        self.assertEqual(done.stdout.split()[-1], str(2 * GIB))

    def test_own_devices(self):
        """Another user of the machine's software devices does not hide what is asked for."""
        self.env['METE_SOFT_DIR'] = self.path('soft')
        os.makedirs(self.env['METE_SOFT_DIR'], exist_ok=True)
        other = self.start('soft', 'run', '-D', '1', CLIENT, 'count', 'mark', self.path('up'), 'hold', self.path('go'))
        wait_for(lambda: os.path.exists(self.path('up')), 'the other one runs')
        shared = self.soft('-D', '4', CLIENT, 'count')
        self.assertEqual(shared.stdout, 'count 1\n', 'METE_SOFT_DIR names devices to share')
        del self.env['METE_SOFT_DIR']
        self.assertEqual(self.soft('-D', '4', CLIENT, 'count').stdout, 'count 4\n')
        self.mark('go')
        self.assertEqual(other.wait(place.WAIT_S), 0)

    def test_nothing_stays(self):
        done = self.soft('sh', '-c', 'echo $METE_SOFT_DIR; ls $METE_SOFT_DIR')
        folder = done.stdout.split()[0]
        self.assertFalse(os.path.exists(folder), folder)
        killed = self.start('soft', 'run', 'sh', '-c', f'touch {self.path("up")}; exec sleep 60')
        wait_for(lambda: os.path.exists(self.path('up')), 'it runs')
        self.assertEqual(len(self.left(killed.pid)), 1)
        os.killpg(killed.pid, signal.SIGKILL)
        killed.wait()
        self.soft('true')
        self.assertEqual(self.left(killed.pid), [], 'the next one removes what a killed one left')

    def test_status(self):
        for code in (0, 1, 42, 125, 255):
            self.assertEqual(self.soft('sh', '-c', f'exit {code}').returncode, code)
        self.assertEqual(self.soft('sh', '-c', 'kill -TERM $$').returncode, -signal.SIGTERM)
        self.refused(127, ['soft', 'run', 'no-such-program'], 'no-such-program')
        self.refused(126, ['soft', 'run', self.program('closed', 'x', 0o644)], 'closed')

    def test_arguments_are_unchanged(self):
        odd = ['', ' ', 'a b', '*', '--check', '-v', '--']
        program = self.program('show', '#!/bin/sh\nprintf "%s\\0" "$@"\n')
        self.assertEqual(self.soft('--', program, *odd).stdout.split('\0')[:-1], odd)

    def test_environment(self):
        """What was there stays behind what mete adds; an outer mete run is left."""
        shown = self.soft('sh', '-c', 'echo $LD_LIBRARY_PATH', env={'LD_LIBRARY_PATH': '/somewhere'}).stdout.strip()
        self.assertRegex(shown, r'/softdev(:[^:]*/runtime)?:/somewhere$')
        for folder in shown.split(':')[:-1]:
            self.assertTrue(os.path.isdir(folder), folder)
        inner = self.mete('run', '-m', '1M', place.METE, 'soft', 'run', 'sh', '-c', 'echo "[$METE_SOCKET]$LD_PRELOAD"')
        self.assertEqual(inner.stdout[:2], '[]', inner.stderr)
        self.assertNotIn('/shim/', inner.stdout)

    @unittest.skipUnless(os.path.exists(COMPILER) and not place.SANITIZED, 'no compiler was built')
    def test_compiler_is_found(self):
        """A device in a build's folder finds the build's compiler by itself."""
        kept = self.path('kernels')
        for compiler, expected in (('none', False), ('', True)):
            done = self.soft('--compile', 'always', os.path.join(place.BUILD, 'examples/histogram'),
                             env={'METE_SOFT_COMPILER': compiler, 'METE_SOFT_COMPILE_CACHE': kept})
            self.assertEqual((done.returncode, done.stderr), (0, ''))
            self.assertEqual(bool(glob.glob(kept + '/*')), expected)

    def test_interrupt(self):
        """Ctrl-C ends a kernel without end, at once."""
        process = self.start('soft', 'run', CLIENT, 'info', 'mark', self.path('up'), 'spin')
        wait_for(lambda: os.path.exists(self.path('up')), 'it runs')
        time.sleep(0.2)
        begin = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        self.assertEqual(process.wait(place.WAIT_S), -signal.SIGINT)
        self.assertLess(time.monotonic() - begin, 10)
        self.assertEqual(self.left(process.pid), [])

    def test_killed_together(self):
        run = self.start('soft', 'run', '--', 'sh', '-c', 'echo $$; exec sleep 60')
        program = int(run.stdout.readline())
        run.kill()
        place.wait_for(lambda: not place.alive(program), 'the program ends with mete')


class Checking(Soft):
    def test_off(self):
        done = self.soft(CLIENT, *OUT_OF_BOUNDS)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, 'alloc 1000 0\npoke 1000 0\n', ''))

    def test_report(self):
        done = self.soft('--check', 'report', CLIENT, *OUT_OF_BOUNDS)
        self.assertEqual((done.returncode, done.stdout), (0, 'alloc 1000 0\npoke 1000 700\n'))
        self.assertTrue(all(line.startswith('mete: check: ') for line in done.stderr.splitlines()), done.stderr)
        self.assertIn('invalid write of 4 bytes', done.stderr)
        self.assertIn('0 bytes after the end of 1000 bytes', done.stderr)

    def test_error_exitcode(self):
        """As people know it from valgrind; also when the program that went wrong is a grandchild."""
        self.assertEqual(self.soft('-e', '99', CLIENT, *OUT_OF_BOUNDS).returncode, 99)
        script = self.program('tests', f'#!/bin/sh\n{CLIENT} {" ".join(OUT_OF_BOUNDS)}\nexit 0\n')
        self.assertEqual(self.soft('--error-exitcode=99', script).returncode, 99)
        self.assertEqual(self.soft('-e', '99', CLIENT, 'alloc', '1000', 'poke', '996').returncode, 0)
        self.assertEqual(self.soft('-e', '99', 'sh', '-c', 'exit 3').returncode, 3)
        self.assertEqual(self.soft('-e', '99', 'sh', '-c', 'kill -KILL $$').returncode, -signal.SIGKILL)
        leaky = ['--check', 'report,leaks', '-e', '99', CLIENT, 'alloc', '1000']
        self.assertEqual(self.soft(*leaky).returncode, 99)
        self.assertEqual(self.soft(*leaky, 'free').returncode, 0)
        self.assertEqual(glob.glob('/tmp/mete-soft-report-*'), [])

    def test_report_file(self):
        done = self.soft('--report', 'found', 'sh', '-c', f'cd /; {CLIENT} {" ".join(OUT_OF_BOUNDS)}', cwd=self.folder)
        with open(self.path('found')) as file:
            self.assertEqual(file.read(), done.stderr)
        done = self.soft('-r', 'found', '-e', '7', CLIENT, 'alloc', '5', 'free', cwd=self.folder)
        self.assertEqual(done.returncode, 0, 'what stood in the file before does not count')

    def test_timeout(self):
        done = self.soft('--timeout', '0.3', CLIENT, 'spin')
        self.assertEqual((done.returncode, done.stdout), (0, f'spin {LAUNCH_TIMEOUT}\n'))
        self.assertIn('CUDA_ERROR_LAUNCH_TIMEOUT', done.stderr)


class Profile(Soft):
    """What each kernel did, beside what the program itself says."""
    PROGRAM = [CLIENT, 'alloc', '1000', 'poke', '0', 'poke', '4', 'poke', '8']

    def kernels(self, *words):
        done = self.soft(*words, '--json', *self.PROGRAM)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stderr)['profile']['kernels']

    def test_table(self):
        plain, done = self.soft(*self.PROGRAM), self.soft('--profile', *self.PROGRAM)
        self.assertEqual((done.returncode, done.stdout), (0, plain.stdout), 'the program says what it said')
        head, row = done.stderr.splitlines()
        self.assertEqual(head.split()[:4], ['TIME', 'MS', 'LAUNCHES', 'MS/LAUNCH'])
        self.assertEqual((row.split()[0], row.split()[2], row.split()[-1]), ('100.0%', '3', 'poke'))
        self.assertEqual(plain.stderr, '')

    def test_counts(self):
        """One thread of a warp of 32: its instructions, lane by lane, and one piece of memory a launch."""
        kernel, = self.kernels()
        self.assertEqual((kernel['name'], kernel['launches']), ('poke', 3))
        self.assertEqual(kernel['warp_instructions'], kernel['lane_instructions'])
        self.assertAlmostEqual(kernel['lanes_active_pct'], 100 / 32)
        self.assertEqual(kernel['memory_bytes'], 3 * 32)
        self.assertGreater(kernel['time_ns'], 0)
        self.assertNotIn('forms', kernel)

    def test_forms(self):
        kernel, = self.kernels('--forms')
        forms = {f['form']: f['operations'] for f in kernel['forms']}
        self.assertEqual(forms['exit'], 3)
        self.assertEqual(forms['%st.b32'], 3)
        self.assertTrue(all(n % 3 == 0 for n in forms.values()), forms)
        counts = [f['operations'] for f in kernel['forms']]
        self.assertEqual(counts, sorted(counts, reverse=True))

    def test_processes_and_trace(self):
        """All processes of the program in one profile."""
        words = ' '.join(self.PROGRAM)
        done = self.soft('--trace', 'out.json', '--json', 'sh', '-c', f'cd /; {words} & {words}; wait', cwd=self.folder)
        kernel, = json.loads(done.stderr)['profile']['kernels']
        self.assertEqual(kernel['launches'], 6)
        with open(self.path('out.json'), encoding='utf-8') as file:
            events = json.load(file)['traceEvents']
        self.assertEqual([e['name'] for e in events], ['poke'] * 6)
        self.assertEqual(len({e['pid'] for e in events}), 2)
        self.assertEqual(min(e['ts'] for e in events), 0)
        self.assertAlmostEqual(sum(e['dur'] for e in events) * 1000, kernel['time_ns'], delta=10)
        self.assertEqual(sum(e['args']['warp_instructions'] for e in events), kernel['warp_instructions'])

    def test_nothing_launched(self):
        done = self.soft('--profile', 'sh', '-c', 'exit 3')
        self.assertEqual(done.returncode, 3)
        self.assertIn('no kernel was launched', done.stderr)
        self.assertEqual(json.loads(self.soft('--json', 'true').stderr), {'profile': {'time_ns': 0, 'kernels': []}})

    def test_bad_input(self):
        self.refused(125, ['soft', 'run', '--trace', '/nonexistent/file', 'true'], '--trace /nonexistent/file')
        done = self.soft(*self.PROGRAM, env={'METE_SOFT_PROFILE': '/nonexistent/file'})
        self.assertEqual(done.returncode, 0)
        self.assertIn('METE_SOFT_PROFILE=/nonexistent/file', done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual(glob.glob('/tmp/mete-soft-profile-*'), [])


class BadInput(Soft):
    def test_options(self):
        self.refused(125, ['soft', 'run'], 'the program is missing')
        self.refused(125, ['soft', 'run', '--quux', 'true'], '--quux', 'mete soft run --help')
        self.refused(125, ['soft', 'run', '-e', '0', 'true'], '--error-exitcode 0', '1 to 255')
        self.refused(125, ['soft', 'run', '-e', '256', 'true'], '--error-exitcode 256')
        self.refused(125, ['soft', 'run', '-e', '9', '-c', 'strict', 'true'], '--check strict')
        self.refused(2, ['soft'], 'mete soft run')
        self.refused(125, ['soft', 'run', '-r', '/nonexistent/file', 'true'], '--report /nonexistent/file')
        self.refused(2, ['soft', 'walk'], 'mete soft run')
        self.refused(2, ['soft', 'devices', 'one'], 'one word too many')

    def test_help(self):
        """The first word of several verbs lists them."""
        for words in (['soft', '--help'], ['soft', '-h'], ['help', 'soft']):
            done = self.mete(*words)
            self.assertEqual((done.returncode, done.stderr), (0, ''), words)
            self.assertIn('soft run', done.stdout)
            self.assertIn('soft devices', done.stdout)
            self.assertNotIn('doctor', done.stdout)

    def test_configuration(self):
        """The device itself says what is wrong, before the program starts."""
        for words, part in ((['-m', 'much'], 'METE_SOFT_MEMORY=much'), (['-D', '17'], 'METE_SOFT_DEVICES=17'),
                            (['-c', 'well'], 'METE_SOFT_CHECK=well'), (['-t', 'soon'], 'METE_SOFT_TIMEOUT=soon'),
                            (['--cc', '3'], 'METE_SOFT_CC=3'), (['--threads', '0'], 'METE_SOFT_THREADS=0'),
                            (['--duration', 'x=5'], 'METE_SOFT_DURATION=x=5'), (['--rate', 'fast'], 'METE_SOFT_RATE=fast'),
                            (['--copy-rate', '-1'], 'METE_SOFT_COPY_RATE=-1'), (['--slice', '0'], 'METE_SOFT_SLICE=0'),
                            (['--switch', '1h'], 'METE_SOFT_SWITCH=1h'), (['--time', 'no'], 'METE_SOFT_TIME=no'),
                            (['--sharing', 'alone'], 'METE_SOFT_SHARING=alone'),
                            (['--compile', 'maybe'], 'METE_SOFT_COMPILE=maybe')):
            done = self.soft(*words, 'touch', self.path('ran'))
            self.assertEqual(done.returncode, 125, words)
            self.assertIn(part, done.stderr)
            self.assertFalse(os.path.exists(self.path('ran')))

    def test_no_device(self):
        done = self.soft('-D', '0', 'sh', '-c', 'exit 4')
        self.assertEqual((done.returncode, done.stderr), (4, ''), 'no device is an answer, too')


class Devices(Soft):
    def test_list(self):
        self.env['METE_SOFT_DIR'] = self.path('soft')
        self.env['METE_SOFT_MEMORY'] = '1G,64M'
        rows = self.json('soft', 'devices')['devices']
        self.assertEqual([row['total_bytes'] for row in rows], [GIB, 64 * MIB])
        done = self.mete('soft', 'devices')
        self.assertEqual(len(done.stdout.splitlines()), 3)
        self.assertNotIn(rows[1]['uuid'], done.stdout)
        self.assertLessEqual(max(len(row) for row in done.stdout.splitlines()), 80)
        self.assertIn(rows[1]['uuid'], self.mete('soft', 'devices', '--wide').stdout)
        self.assertIn(rows[1]['uuid'], self.mete('soft', 'devices', env={'COLUMNS': '120'}).stdout)
        inside = self.soft('-D', '5', place.METE, 'soft', 'devices', '--json', env={'METE_SOFT_DIR': ''})
        self.assertEqual(len(json.loads(inside.stdout)['devices']), 5)

    def test_time(self):
        """What the device served, to the nanosecond, and for whom."""
        self.env['METE_SOFT_DIR'] = self.path('soft')
        run = self.start('soft', 'run', '-D', '1', '--slice', '3ms', '--switch', '0', '--duration', 'po*=30ms', CLIENT,
                         'alloc', '1000', 'poke', '0', 'mark', self.path('up'), 'hold', self.path('go'))
        wait_for(lambda: os.path.exists(self.path('up')), 'it has computed')
        time_ = self.json('soft', 'devices')['devices'][0]['time']
        self.assertEqual(time_['served_ns'], 30000000)
        self.assertEqual([p['served_ns'] for p in time_['processes']], [30000000])
        self.assertEqual(time_['served_ns'] + time_['switch_ns'] + time_['idle_ns'], time_['wall_ns'])
        self.assertEqual((time_['sharing'], time_['slice_ns'], time_['switch_cost_ns']), ('slices', 3000000, 0))
        self.assertRegex(self.mete('soft', 'devices').stdout.splitlines()[1], r'\d+%')
        self.mark('go')
        self.assertEqual(run.wait(place.WAIT_S), 0)


if __name__ == '__main__':
    place.main()
