"""mete trace: its files keep the format's rules and hold what clients did, however the recording ends."""
import os
import re
import signal
import subprocess
import time
import unittest

import place
import trace_format
from place import wait_for
from terminal import Terminal

TURN_CLIENT = os.path.join(place.BUILD, 'tests/daemon/turn_client')
WIRE_CLIENT = os.path.join(place.BUILD, 'tests/daemon/wire_client')


class Trace(place.MeteTest):
    def setUp(self):
        super().setUp()
        self.clients = []

    def tearDown(self):
        for client in self.clients:
            client.kill()
            client.wait()
            client.stdin.close()
            client.stdout.close()
        super().tearDown()

    def attach(self, grant, *words):
        """A client without a driver under a grant, which obeys words."""
        self.assertEqual(self.mete('create', grant, '-m', '1M', *words).returncode, 0)
        client = subprocess.Popen([WIRE_CLIENT], env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.clients.append(client)
        self.assertEqual(self.tell(client, 'hello', self.grant(grant)['socket'])[0], '0')
        return client

    @staticmethod
    def tell(client, *words):
        client.stdin.write(' '.join(str(word) for word in words) + '\n')
        client.stdin.flush()
        return client.stdout.readline().split()

    def tracing(self, client, words, **keywords):
        """A mete trace that has begun, after the one before has ended."""
        wait_for(lambda: self.tell(client, 'tracing') == ['0'], 'nobody records')
        process = self.start('trace', *words, cwd=self.folder, **keywords)
        wait_for(lambda: self.tell(client, 'tracing') == ['1'], 'it records')
        return process

    def check(self, name):
        with open(self.path(name), encoding='ascii') as file:
            return trace_format.check(file.read())

    def finish(self, process, *parts):
        out, error = process.communicate(timeout=place.WAIT_S)
        self.assertEqual(process.returncode, 0, error)
        for part in parts:
            self.assertIn(part, out)
        return out, error

    def stop(self, process, *parts):
        """Ends a recording when all has happened that it is to hold."""
        process.send_signal(signal.SIGINT)
        return self.finish(process, *parts)

    def test_launches(self):
        train, infer = self.attach('train'), self.attach('infer', '-d', '1')
        process = self.tracing(infer, ['--for', '60s', '-o', 'all.json'])
        for _ in range(10):
            self.tell(train, 'record', 100, 0, 0, 11, 1, 10, 0, 'saxpy(float*, "x")')
            self.tell(infer, 'record', 10, 0, 0, 21, 2, 20, 500, 'attention')
            self.tell(infer, 'record', 5, 0, 1, 22, 2, 0, 0, 'copy to device')
            time.sleep(0.02)
        out, error = self.stop(process, ' s, 1150 launches', 'longest launch: attention of infer, 0.020 ms',
                               'longest wait: attention of infer, 0.500 ms', 'Perfetto')
        self.assertEqual(error, 'mete: recording for 60 s; an interrupt ends it\n')
        self.assertRegex(out, r'^all\.json: \d+\.\d s, ')
        self.assertRegex(out, r'train +1000 ')
        self.assertRegex(out, r'infer +150 ')
        events, names = self.check('all.json')
        self.assertEqual(os.listdir(self.folder).count('all.json.new'), 0)
        calls = [e for e in events if e.get('cat') == 'call']
        runs = [e for e in events if e.get('cat') == 'run']
        self.assertEqual((len(calls), len(runs)), (1150, 1150))
        self.assertEqual({(e['pid'], e['tid'], e['name']) for e in calls},
                         {(train.pid, 11, 'saxpy(float*, "x")'), (infer.pid, 21, 'attention'), (infer.pid, 22, 'copy to device')})
        for event in calls:
            self.assertEqual(event['dur'], 500 if event['name'] == 'attention' else 0)
        for event in runs:
            self.assertEqual(event['dur'], {'attention': 20, 'copy to device': 0}.get(event['name'], 10))
        waits = [e for e in events if e.get('cat') == 'wait']
        self.assertEqual({e['name'] for e in waits}, {'infer'})
        self.assertEqual({names['thread_name', e['pid'], e['tid']] for e in waits}, {'infer: waiting'})
        self.assertEqual({names['process_name', e['pid'], 0] for e in waits}, {'device 1: mete software device'})
        self.assertEqual(names['process_name', train.pid, 0], 'train: wire_client')
        self.assertEqual(names['thread_name', infer.pid, 22], 'thread 22: calls')
        self.assertEqual(len([e for e in events if e['ph'] == 's']), 1150)

    def test_turns(self):
        """Two tenants that share an engine: who had a turn when, and when the engine was busy with it."""
        for name in ('left', 'right'):
            self.assertEqual(self.mete('create', name, '-m', '1M', '--cores', '50').returncode, 0)
            worker = subprocess.Popen([TURN_CLIENT, self.grant(name)['socket'], '0', '1000', '0', '60'], env=self.env,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.clients.append(worker)
            worker.stdout.readline()
        time.sleep(0.3)
        out, _ = self.finish(self.start('trace', '--for', '1s', '-o', 't.json', cwd=self.folder), 'left', 'right')
        self.assertGreaterEqual(float(re.match(r't\.json: (\d+\.\d) s', out)[1]), 1)
        events, names = self.check('t.json')
        tracks = {}
        for event in events:
            if event['ph'] == 'X' and event['cat'] in ('turn', 'busy'):
                tracks.setdefault(names['thread_name', event['pid'], event['tid']], []).append(event)
        self.assertEqual(set(tracks), {'left: turns', 'left: busy', 'right: turns', 'right: busy'})
        for name, slices in tracks.items():
            self.assertGreater(len(slices), 5, name)
            share = sum(event['dur'] for event in slices) / 1000000
            self.assertTrue(0.15 < share < 0.85, (name, share))
        for event in tracks['left: turns'] + tracks['right: turns']:
            self.assertIn(event['args']['ended'], ('over', 'taken', 'idle', 'with the trace'))
        self.assertEqual({e['name'] for e in events if e['ph'] == 'C'}, {'lag of left', 'lag of right'})

    @unittest.skipIf(place.SANITIZED, 'programs get the sanitizer of the shim')
    def test_program(self):
        """A program with kernels and copies, as the shim notes them."""
        loop = f'while :; do {os.path.join(place.BUILD, "examples/matmul")}; done'
        self.start('run', '--soft', '-n', 'job', '-m', '100M', '--cores', '60', '--', 'sh', '-c', loop)
        wait_for(lambda: self.json('ps')['grants'] and self.grant('job')['processes'], 'it runs')
        for length in ('1500ms', '4s', '10s'):  # on a busy machine one program takes that long
            self.finish(self.start('trace', 'job', '--for', length, '-o', 't.json', cwd=self.folder), 'job', 'longest launch')
            events, names = self.check('t.json')
            calls = [e for e in events if e.get('cat') == 'call']
            lost = {'matmul', 'cuMemcpyHtoD_v2', 'cuMemcpyDtoH_v2'} - {e['name'] for e in calls}
            if not lost:
                break
        self.assertEqual(lost, set(), calls[:5])
        self.assertTrue(all(e['args']['bytes'] > 0 for e in calls if 'cuMemcpy' in e['name']))
        self.assertIn('job: matmul', names.values())
        self.assertTrue({'job: turns', 'job: busy', 'job: copy busy'} <= set(names.values()), names)

    def test_interrupt(self):
        client = self.attach('train')
        for number, signals in ((signal.SIGINT, 1), (signal.SIGTERM, 1), (signal.SIGINT, 2)):
            process = self.tracing(client, ['--for', '60s'])
            self.tell(client, 'record', 50, 0, 0, 11, 1, 10, 20, 'k')
            time.sleep(0.1)
            for _ in range(signals):
                process.send_signal(number)
            out, _ = self.finish(process, ' 50 launches')
            self.assertLess(float(re.match(r'mete-trace\.json: (\d+\.\d) s', out)[1]), 30)
            self.check('mete-trace.json')
        wait_for(lambda: self.tell(client, 'tracing') == ['0'], 'it records no more')

    def test_choice(self):
        train, infer = self.attach('train'), self.attach('infer', '-d', '1')
        process = self.tracing(infer, ['infer', '--for', '60000ms', '-o', 'infer.json'])
        self.assertEqual(self.tell(train, 'tracing'), ['0'], 'who was not named is left alone')
        self.tell(infer, 'record', 10, 0, 0, 11, 1, 10, 0, 'k')
        self.stop(process, '10 launches')
        process = self.tracing(train, ['--device', '1', '--for', '60.5', '-o', 'one.json'])
        self.tell(train, 'record', 10, 0, 0, 11, 1, 10, 0, 'left out')
        self.tell(infer, 'record', 10, 0, 0, 11, 1, 10, 0, 'k')
        self.stop(process)
        events, _ = self.check('one.json')
        self.assertEqual({e['name'] for e in events if e['ph'] == 'X' and e['cat'] == 'call'}, {'k'})
        process = self.tracing(train, ['--for', '60s', '-o', '-'])
        self.tell(train, 'record', 10, 0, 0, 11, 1, 10, 0, 'k')
        out, _ = self.stop(process)
        events, _ = trace_format.check(out)
        self.assertEqual(len([e for e in events if e.get('cat') == 'call']), 10)

    def test_losses_are_named(self):
        client = self.attach('train')
        process = self.tracing(client, ['--for', '60s'])
        self.tell(client, 'record', 9000, 0, 0, 11, 1, 1, 0, 'flood')
        out, error = self.stop(process)
        self.assertRegex(error, r'mete: [0-9]+ launches were overwritten')
        events, _ = self.check('mete-trace.json')
        self.assertEqual(len([e for e in events if 'records lost' in e['name']]), 1)

    def test_meted_dies(self):
        client = self.attach('train')
        process = self.tracing(client, ['--for', '60s'])
        self.tell(client, 'record', 50, 0, 0, 11, 1, 10, 20, 'k')
        time.sleep(0.2)
        os.kill(self.daemon_pid(), signal.SIGKILL)
        out, error = process.communicate(timeout=place.WAIT_S)
        self.assertEqual(process.returncode, 1)
        self.assertIn('50 launches', out)
        self.assertIn('meted went away', error)
        self.check('mete-trace.json')

    def test_progress(self):
        client = self.attach('train')
        terminal = Terminal([place.METE, 'trace', '--for', '60s', '-o', self.path('t.json')], self.env)
        wait_for(lambda: self.tell(client, 'tracing') == ['1'], 'it records')
        self.tell(client, 'record', 50, 0, 0, 11, 1, 10, 20, 'k')
        terminal.shows('recording:', 'of 60 s', '50 launches', '^C ends it')
        terminal.press('\x03')
        self.assertEqual(terminal.wait(), 0)
        self.assertNotIn('recording:', terminal.screen.text())
        terminal.close()
        self.check('t.json')

    def test_bad_words(self):
        for length in ('0', '-1s', 'x', '10h', '61m', '', 'nan'):
            self.refused(2, ['trace', '--for', length], '--for', '10s')
        self.refused(2, ['trace', '../x'], '../x')
        self.refused(1, ['trace', '-o', self.path('no/such/folder')], 'no/such/folder', '--output')
        self.refused(1, ['trace', '--for', '1s'], 'no meted', cwd=self.folder)
        self.assertEqual(self.mete('create', 'train', '-m', '1M').returncode, 0)
        self.refused(1, ['trace', 'nobody'], 'nobody', 'mete ps', cwd=self.folder)
        done = self.mete('trace', '--for', '100ms', '-d', '7', cwd=self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn('--device 7', done.stderr)
        self.assertEqual([n for n in os.listdir(self.folder) if 'json' in n], [], 'nothing is left of what failed')


if __name__ == '__main__':
    place.main()
