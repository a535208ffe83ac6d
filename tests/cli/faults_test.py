"""Devices that are taken out, that report errors, that are lost; and tenants whose programs fault."""
import contextlib
import json
import os
import signal
import unittest

from place import CLIENT, SANITIZED, MeteTest, alive, main, wait_for

DEVICE_UNAVAILABLE, NOT_PERMITTED, MISALIGNED = 46, 800, 716


class FaultsTest(MeteTest):
    def device(self, index=0):
        return self.json('devices')['devices'][index]

    def events(self, kind=None):
        return [e for e in self.json('events')['events'] if not kind or e['kind'] == kind]

    def events_with(self, kind, *parts):
        return [e for e in self.events(kind) if all(p in (e['tenant'] or '') + '|' + e['text'] for p in parts)]

    def wait_event(self, kind, *parts):
        return wait_for(lambda: self.events_with(kind, *parts), f'an event {kind} with {parts}')[-1]

    def client(self, name, *words, device='0', options=()):
        """A program under a grant of its own that says "ready" and waits for the file `name`-go, then does its words."""
        process = self.start('run', '--soft', '--name', name, '--device', device, '--mem', '64M', *options, '--', CLIENT, 'device', '0',
                             'alloc', '4096', 'mark', self.path(name + '-ready'), 'hold', self.path(name + '-go'), *words)
        wait_for(lambda: os.path.exists(self.path(name + '-ready')) or process.poll() is not None, f'{name} runs')
        self.assertIsNone(process.poll(), name)
        return process

    def go(self, process, name):
        self.mark(name + '-go')
        out, err = process.communicate(timeout=60)
        return out

    def pid_of(self, name):
        return wait_for(lambda: self.grant(name)['processes'], f'{name} is attached')[0]['pid']

    def watching(self):
        """The child that hears of errors is there and has begun to listen: an error of the device comes through."""
        def heard():
            self.mete('soft', 'fault', '1', '--xid', '92')
            return any('Xid 92' in e['text'] for e in self.events('fault'))
        wait_for(heard, 'errors of the device are heard')

    def run_fault(self, grant):
        return self.mete('run', '--grant', grant, '--', CLIENT, 'device', '0', 'alloc', '4096', 'poke', '99999999999')


class Cordon(FaultsTest):
    def test_cordon(self):
        running = self.client('before', 'alloc', '4096')
        done = self.mete('cordon', '0', '--soft', '--reason', 'a fan is broken')
        self.assertEqual((done.returncode, done.stdout), (0, f'device 0: cordoned: a fan is broken (by uid {os.geteuid()})\n'))
        self.assertEqual((self.device()['state'], self.device()['reason']), ('cordoned', 'a fan is broken'))
        for words in (('run', '--mem', '64M', '--', 'true'), ('create', 'x', '--mem', '64M')):
            self.refused(125 if words[0] == 'run' else 1, words, 'device 0', 'a fan is broken', 'mete uncordon soft:0')
        self.assertEqual(self.mete('run', '--device', '1', '--mem', '64M', '--', 'true').returncode, 0)
        self.assertIn('alloc 4096 0', self.go(running, 'before'))
        self.wait_event('device', f'cordoned by uid {os.geteuid()}: a fan is broken')
        self.kill_meted()
        self.assertEqual(self.device()['reason'], 'a fan is broken')
        self.assertEqual(self.mete('uncordon', '0').stdout, 'device 0: active\n')
        self.assertEqual(self.mete('run', '--mem', '64M', '--', 'true').returncode, 0)
        self.wait_event('device', 'in service again')

    def test_bad(self):
        self.refused(1, ('cordon', '7'), '7', 'no such device', 'mete devices')
        self.refused(2, ('drain', '0', '--grace', 'soon'), '--grace soon', '5m')
        self.refused(2, ('drain', '0', '--grace', '8d'), '--grace 8d')
        self.refused(1, ('release', 'nobody'), 'nobody')
        self.refused(1, ('soft', 'fault', '9'), '9', 'no such software device')
        self.refused(2, ('soft', 'fault', 'x'), 'x', 'index')
        self.refused(2, ('soft', 'fault', '0', '--lost', '--back'), 'exclude')
        self.refused(1, ('soft', 'fault', '0', '--pid', '1'), 'process 1', 'no context')

    def test_drain(self):
        self.mete('create', 'idle', '--soft', '--mem', '64M')
        running = self.client('busy')
        drain = self.start('drain', '0', '--grace', '1h')
        wait_for(lambda: self.device()['state'] == 'draining', 'it is draining')
        drain.send_signal(signal.SIGINT)
        out, err = drain.communicate(timeout=30)
        self.assertEqual(drain.returncode, 1)
        self.assertIn('waiting for busy (1 process)', out)
        self.assert_line(err, 'stays cordoned', 'mete uncordon soft:0')
        self.assertEqual(self.device()['state'], 'cordoned')
        done = self.mete('drain', '0', '--grace', '0')
        self.assertEqual(done.returncode, 1)
        self.assert_line(done.stderr, 'stays cordoned', 'busy (1 process)', '--end')
        # One that has programs may start more, one that has none may not.
        drain = self.start('drain', '0', '--grace', '1h', '--json')
        wait_for(lambda: self.device()['state'] == 'draining', 'it is draining')
        done = self.mete('run', '--grant', 'idle', '--', CLIENT, 'device', '0')
        self.assertIn(f'cuInit failed: {NOT_PERMITTED}', done.stdout)
        self.assert_line(done.stderr, 'idle', 'out of service', 'mete uncordon')
        self.go(running, 'busy')
        out, err = drain.communicate(timeout=30)
        self.assertEqual((drain.returncode, err), (0, ''))
        self.assertEqual((json.loads(out)['device']['state'], json.loads(out)['device']['drained']), ('cordoned', True))
        self.kill_meted()
        done = self.mete('run', '--grant', 'idle', '--', CLIENT, 'device', '0')
        self.assertIn(f'cuInit failed: {NOT_PERMITTED}', done.stdout)
        self.mete('uncordon', '0')
        self.assertEqual(self.mete('run', '--grant', 'idle', '--', CLIENT, 'device', '0').returncode, 0)

    def test_end(self):
        ends, stays = self.client('ends'), self.client('stays', device='1')
        done = self.mete('drain', '0', '--grace', '0s', '--end')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertIn('drained', done.stdout)
        wait_for(lambda: ends.poll() is not None, 'it is ended')
        self.wait_event('device', 'drained')
        self.assertIsNone(stays.poll())


class Quarantine(FaultsTest):
    def counted_software(self):
        """Faults on software devices quarantine too."""
        here = os.path.dirname(os.path.abspath(__file__))
        self.env['METE_CONFIG'] = os.path.join(here, '..', 'daemon', 'quarantine.yaml')

    def test_software(self):
        """Tests provoke faults, and a software device's endanger nobody: they are counted, and no program is refused."""
        self.mete('create', 'tests', '--soft', '--mem', '64M')
        for n in range(6):
            self.assertIn(f'poke 99999999999 {MISALIGNED}', self.run_fault('tests').stdout)
        wait_for(lambda: self.grant('tests')['faults'] == 6, 'all of them are counted')
        self.assertFalse(self.grant('tests')['quarantined'])
        self.wait_event('fault', 'tests', 'CUDA_ERROR_MISALIGNED_ADDRESS')

    def test_quarantine(self):
        self.counted_software()
        self.mete('create', 'wild', '--soft', '--mem', '64M')
        self.mete('create', 'tame', '--soft', '--mem', '64M')
        running = self.start('run', '--grant', 'wild', '--', CLIENT, 'device', '0', 'mark', self.path('in'), 'hold', self.path('go'),
                             'alloc', '4096', 'poke', '0')
        wait_for(lambda: os.path.exists(self.path('in')), 'it runs')
        for n in range(3):
            self.assertIn(f'poke 99999999999 {MISALIGNED}', self.run_fault('wild').stdout)
        wait_for(lambda: self.grant('wild')['quarantined'], 'three faults are too many')
        self.assertEqual((self.grant('wild')['faults'], self.grant('wild')['state']), (3, 'quarantined'))
        self.assertLessEqual(self.grant('wild')['quarantined_for_s'], 300)
        done = self.run_fault('wild')
        self.assertIn(f'cuInit failed: {NOT_PERMITTED}', done.stdout)
        self.assert_line(done.stderr, 'wild', 'quarantined', 'mete show wild', 'mete events', 'mete release wild')
        self.assertEqual(self.mete('run', '--grant', 'wild', '--', CLIENT, 'device', '0', env={'METE_OPEN': '1'}).returncode, 9)
        # Others are not touched, nor what runs.
        self.assertIn('poke 0 0', self.mete('run', '--grant', 'tame', '--', CLIENT, 'device', '0', 'alloc', '4096', 'poke', '0').stdout)
        self.assertFalse(self.grant('tame')['quarantined'])
        self.mark('go')
        self.assertIn('poke 0 0', running.communicate(timeout=60)[0])
        self.wait_event('action', 'wild', 'quarantined')
        # A restart does not end it.
        self.kill_meted()
        self.assertEqual((self.grant('wild')['quarantined'], self.grant('wild')['faults']), (True, 3))
        self.assertEqual(self.mete('release', 'wild').stdout, 'wild: idle\n')
        self.assertIn('poke 0 0', self.mete('run', '--grant', 'wild', '--', CLIENT, 'device', '0', 'alloc', '4096', 'poke', '0').stdout)
        self.wait_event('action', 'wild', 'released')

    @unittest.skipIf(SANITIZED, 'workers are sandboxed')
    def test_wall(self):
        done = self.mete('create', 'walled', '--soft', '--wall', '--mem', '64M')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f'poke 99999999999 {MISALIGNED}', self.run_fault('walled').stdout)
        wait_for(lambda: self.grant('walled')['faults'] == 1, 'the worker\'s fault is the walled tenant\'s')


class Attribution(FaultsTest):
    def test_kernels(self):
        """A kernel's fault: the program reports the error, the device its number; they are one fault."""
        other = self.client('other')
        self.watching()
        # A process that has ended is known for 5 s: a machine that keeps the log's reader waiting for longer gets another.
        for name in ('wrong', 'wrong-2', 'wrong-3'):
            wrong = self.client(name, 'poke', '99999999999')
            parts = ('fault', name, 'CUDA_ERROR_MISALIGNED_ADDRESS', 'Xid 13', f'pid {self.pid_of(name)}')
            self.go(wrong, name)
            with contextlib.suppress(AssertionError):
                wait_for(lambda: self.events_with(*parts), 'one fault', 10)
                break
        self.assertEqual(self.wait_event(*parts)['count'], 1)
        self.assertEqual(self.grant('other')['faults'], 0)
        # An upgrade loses no count, and leaves no child behind that nobody waits for.
        before, meted = self.device()['faults'], self.daemon_pid()
        done = self.mete('upgrade')
        self.assertEqual((done.returncode, self.daemon_pid()), (0, meted), done.stderr)
        self.assertEqual(self.device()['faults'], before)
        with open(f'/proc/{meted}/task/{meted}/children') as file:
            children = [int(pid) for pid in file.read().split()]
        wait_for(lambda: all(alive(pid) for pid in children if os.path.exists(f'/proc/{pid}')), 'no child is a zombie')
        self.assertGreaterEqual(self.device()['faults'], 1)
        self.go(other, 'other')

    def test_of_a_process(self):
        """The process never learns of it; the kernel's log says whose it was."""
        for name in ('left', 'right'):
            setattr(self, name, self.client(name))
        self.watching()
        self.assertEqual(self.mete('soft', 'fault', '0', '--xid', '31', '--pid', str(self.pid_of('right'))).returncode, 0)
        self.wait_event('fault', 'right', 'Xid 31', f"pid {self.pid_of('right')}")
        self.assertEqual((self.grant('left')['faults'], self.grant('right')['faults']), (0, 1))

    def test_of_nobody(self):
        self.client('bystander')
        self.watching()
        self.mete('soft', 'fault', '0', '--xid', '31')
        event = self.wait_event('fault', 'Xid 31', 'not known whose')
        self.assertIsNone(event['tenant'])
        self.mete('soft', 'fault', '0', '--xid', '48')
        self.wait_event('fault', 'Xid 48', 'of the device itself')
        self.assertEqual(self.grant('bystander')['faults'], 0)
        self.assertGreaterEqual(self.device()['faults'], 2)


class Lost(FaultsTest):
    def test_lost(self):
        mine = self.client('mine', 'spin')
        other = self.client('other', 'poke', '0', device='1')
        self.mete('create', 'later', '--soft', '--mem', '64M')
        self.watching()
        self.mark('mine-go')
        self.assertEqual(self.mete('soft', 'fault', '0', '--lost').returncode, 0)
        out, err = mine.communicate(timeout=60)
        self.assertIn(f'spin {DEVICE_UNAVAILABLE}', out)
        wait_for(lambda: self.device()['state'] == 'lost', 'it is lost')
        self.assertEqual([d['state'] for d in self.json('devices')['devices']], ['lost', 'active'])
        self.assertEqual(self.grant('later')['state'], 'lost')
        self.refused(125, ('run', '--soft', '--mem', '64M', '--', 'true'), 'device 0', 'lost')
        self.refused(1, ('uncordon', '0'), 'still lost')
        done = self.mete('run', '--grant', 'later', '--', CLIENT, 'device', '0')
        self.assertIn(f'failed: {DEVICE_UNAVAILABLE}', done.stdout)
        self.assertIn('poke 0 0', self.go(other, 'other'))
        # It keeps over a restart, and comes back by itself.
        self.kill_meted()
        self.assertEqual(self.device()['state'], 'lost')
        self.mete('soft', 'fault', '0', '--back')
        self.assertEqual(wait_for(lambda: self.wait_event('device', 'back'), 'it is back')['text'], 'back: active')
        self.assertEqual(self.device()['state'], 'active')
        self.assertIn('poke 0 0', self.mete('run', '--grant', 'later', '--', CLIENT, 'device', '0', 'alloc', '4096', 'poke', '0').stdout)

    def test_by_hand(self):
        self.mete('create', 'some', '--soft', '--mem', '64M')
        self.mete('cordon', '0', '--soft')
        self.mete('soft', 'fault', '0', '--lost')
        wait_for(lambda: self.device()['state'] == 'lost', 'the driver says that it is lost')
        self.mete('soft', 'fault', '0', '--back')
        done = self.mete('uncordon', '0')
        self.assertEqual((done.returncode, done.stdout), (0, 'device 0: active\n'), done.stderr)


if __name__ == '__main__':
    main()
