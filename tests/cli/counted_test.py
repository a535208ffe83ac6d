"""
Time that was used is counted once: what metrics, history and console say of tenants is what the software device has
served them by its own clock, while meted is killed and upgraded; and no counter falls or jumps.

Tenants of three kinds: one that always has work, one that answers requests, and one whose programs come and go. 20 s;
METE_TEST_LONG=1: five minutes; METE_COUNTED_SECONDS: as many.
"""
import http.client
import json
import os
import re
import signal
import socket
import struct
import sys
import time
import unittest

import place
from place import BUILD, wait_for

SECONDS = float(os.environ.get('METE_COUNTED_SECONDS', 300 if os.environ.get('METE_TEST_LONG') else 20))
KILLS, UPGRADES = (8, 4) if SECONDS >= 60 else (3, 1)
LOAD = os.path.join(BUILD, 'bench/share_load')
OWN = ('mete_process_cpu_seconds_total',)  # the process's, which begins with it
USED = 'mete_device_compute_used_seconds_total'
LAUNCH_S = 30e-6
TENANT = 'mete_tenant_compute_used_seconds_total'


class Local(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__('localhost', timeout=30)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect(self.path)


class Counted(place.MeteTest):
    def setUp(self):
        super().setUp()
        lengths = ','.join(f'spin_{us}us={us}us' for us in (200, 1000, 5000, 20000))
        self.env.update(METE_SOFT_DURATION=lengths, METE_SOFT_THREADS='1', METE_SOFT_DEVICES='1')
        self.times = self.path('times')
        with open(self.times, 'wb') as f:
            f.write(struct.pack('<QQ', 1, 1 << 62))
        self.count = 0

    def load(self, name, *options):
        self.count += 1
        report = self.path(f'report{self.count}')
        process = self.start('run', '--soft', '--name', name, *options[0], '--', LOAD, report, self.times, *options[1:])
        wait_for(lambda: os.path.exists(report + '.0') and self.ready(report + '.0'), f'{name} runs')
        return process

    @staticmethod
    def ready(path):
        with open(path, 'rb') as f:
            head = f.read(24)
        return len(head) == 24 and struct.unpack('<QQQ', head)[2]

    def get(self, path):
        c = Local(os.path.join(self.runtime, 'http.sock'))
        c.request('GET', path)
        answer = json.loads(c.getresponse().read())
        c.close()
        return answer

    def device_clock(self):
        """Seconds that the device has served, and with what it spent on changing hands."""
        d = self.json('soft', 'devices')['devices'][0]['time']
        return d['served_ns'] / 1e9, d['switch_ns'] / 1e9, {p['pid']: p['served_ns'] / 1e9 for p in d['processes']}

    def programs(self):
        return [p['pid'] for name in ('train', 'infer', 'batch') for p in self.grant(name)['processes']]

    @staticmethod
    def waited(pids):
        """Seconds that threads of these processes were ready to run and did not."""
        total = 0
        for pid in pids:
            for thread in os.listdir(f'/proc/{pid}/task'):
                with open(f'/proc/{pid}/task/{thread}/schedstat', encoding='ascii') as f:
                    total += int(f.read().split()[1])
        return total / 1e9

    def counters(self):
        done = self.mete('metrics')
        self.assertEqual(done.returncode, 0, done.stderr)
        found = re.findall(r'^((?:mete)_\w+_total(?:\{[^}]*\})?) (\S+)$', done.stdout, re.M)
        return {name: float(value) for name, value in found if name.split('{')[0] not in OWN}

    def look(self):
        # What is read is of a moment between these two, however late the machine is.
        asked, asked_at = time.monotonic(), time.time()
        now, at = self.counters(), time.monotonic()
        for name, value in now.items():
            before, before_at = self.last.get(name, (value, asked))  # one that is not there for a moment has not fallen
            self.assertGreaterEqual(value, before - 1e-6, f'{name} fell')
            if 'compute_used_seconds' in name:
                self.assertLess(value - before, (at - before_at) * 1.15 + 0.3, f'{name} jumped within {at - before_at:.2f} s')
        self.last.update({name: (value, asked) for name, value in now.items()})
        if any(k.startswith(USED) for k in now):  # a meted that has just begun does not know the devices yet
            self.samples.append((time.time(), self.of(now, USED), self.of(now, TENANT, 'train'), asked_at))
        return now

    @staticmethod
    def of(counters, name, label=''):
        return sum(v for k, v in counters.items() if k.startswith(name) and label in k)

    def counter_at(self, when, which, asked=False):
        """A counter at a time, between two looks: at least so much, and at most when the looks count from where they were asked for."""
        side = 3 if asked else 0
        for before, after in zip(self.samples, self.samples[1:]):
            if before[side] <= when <= after[side]:
                return before[which] + (after[which] - before[which]) * (when - before[side]) / (after[side] - before[side])
        raise AssertionError(f'nobody looked at {when}')

    def kill_meted(self):
        super().kill_meted()
        self.assertEqual(self.mete('ps').returncode, 0)

    def upgrade(self):
        done = self.mete('upgrade')
        self.assertEqual(done.returncode, 0, done.stderr)

    def close_to(self, got, true, what, more=0):
        print(f'# {what}: {got:.3f} s, by the device\'s clock {true:.3f} s', file=sys.stderr)
        self.assertLess(abs(got - true), max(0.01 * true, 0.05) + more, what)

    def history_seconds(self, until, **of):
        """All that the history has up to a time; once it has begun no step is unknown."""
        key, value = list(of.items())[0]
        h = self.get(f'/api/v1/history?{key}={value}&series=got&span=600')
        steps = [(h['from'] + i * h['step_s'], v) for i, v in enumerate(h['series']['got'])]
        steps = [(t, v) for t, v in steps if t < until]
        while steps and steps[0][1] is None:
            steps.pop(0)
        self.assertEqual([t for t, v in steps if v is None], [], 'a step is unknown')
        return sum(v * h['step_s'] for t, v in steps)

    def test_counted(self):
        self.mete('create', 'keep', '--soft', '--mem', '16M')
        wait_for(lambda: time.time() % 10 > 9, 'a step of 10 s ends: what is before it is a mean of nothing')
        train = self.load('train', ('--mem', '64M', '--cores', '50'), 'mode=async', 'kernel=5ms', 'window=4')
        infer = self.load('infer', ('--mem', '64M', '--cores', '30'), 'mode=request', 'kernel=200us', 'every=30', 'nodes=10')
        self.load('batch', ('--mem', '64M', '--policy', 'fair'), 'mode=sync', 'kernel=20ms', 'burst=700,300')
        time.sleep(1.2)
        self.last, self.samples, self.late = {}, [], 0
        programs = self.programs()
        first, (served, switched, _), waited = self.look(), self.device_clock(), self.waited([*programs, self.daemon_pid()])
        began = time.monotonic()
        events = [('kill', (i + 0.5) / KILLS) for i in range(KILLS)] + [('upgrade', (i + 0.7) / UPGRADES) for i in range(UPGRADES)]
        events = sorted((part * SECONDS, what) for what, part in events)
        short, loads, waits = 0, [], []
        while time.monotonic() - began < SECONDS:
            waits.append((time.monotonic(), self.waited(programs)))
            if events and time.monotonic() - began > events[0][0]:
                (self.kill_meted if events.pop(0)[1] == 'kill' else self.upgrade)()
                node = self.get('/api/v1/node')
                # Programs that the machine keeps waiting with work in flight are charged for that.
                late = self.waited(programs) - next((w for t, w in reversed(waits) if t < time.monotonic() - 1.5), waits[0][1])
                got = [(t['name'], s['got_1s']) for t in node['tenants'] for s in t['shares'] if s.get('got_1s') is not None]
                print(f'# had of the last second: {got}, the machine late by {late:.3f} s', file=sys.stderr)
                self.assertLess(sum(part for _, part in got), 1.2 + late, node)
            if time.monotonic() - began > short * 2.5:  # programs that come and go, under one grant
                short += 1
                loads.append(self.start('run', '--soft', '--grant', 'keep', '--', LOAD, self.path(f's{short}'), self.times,
                                        'mode=sync', 'kernel=5ms'))
                if len(loads) > 1:
                    os.killpg(loads.pop(0).pid, signal.SIGKILL)
            self.look()
            before = time.monotonic()
            time.sleep(0.2)
            self.late += time.monotonic() - before - 0.2
        last, (served2, switched2, processes) = self.look(), self.device_clock()
        busy = served2 - served + switched2 - switched
        device = self.of(last, USED) - self.of(first, USED)
        tenants = self.of(last, TENANT) - self.of(first, TENANT)
        # A process that the machine does not let run while it has work in flight is charged for what it waits.
        self.late += max(0, self.waited([*self.programs(), self.daemon_pid()]) - waited)
        print(f'# the machine was late by {self.late:.3f} s', file=sys.stderr)
        self.close_to(device, busy, 'metrics, the device', self.late)
        self.close_to(tenants, device, 'its tenants together')
        time.sleep(1.5)  # until the last second of the history is over
        uuid = self.json('devices')['devices'][0]['uuid']
        until = int(self.samples[-1][3])
        for which, of in enumerate(({'device': uuid}, {'tenant': 'train'}), 1):
            # A second of the history ends somewhere in the second that it is named after.
            got, least, most = self.history_seconds(until, **of), self.counter_at(until - 1, which), self.counter_at(until, which, True)
            self.close_to(got, min(max(got, least), most), f'history, {of}')
        node = self.get('/api/v1/node')
        self.close_to(node['devices'][0]['used_seconds'] - self.of(first, USED),
                      self.device_clock()[0] - served + self.device_clock()[1] - switched, 'console, the device', self.late)
        for name, process in (('train', train), ('infer', infer)):
            grant, node, (_, switched, served) = self.grant(name), self.get('/api/v1/node'), self.device_clock()
            got = next(t for t in node['tenants'] if t['name'] == name)['shares'][0]['used_seconds']
            self.close_to(got, grant['devices'][0]['charged_ms'] / 1e3, f'console and charge, {name}')
            if name == 'train':  # of many short pieces of work the changes of hands, which are charged, are a good part
                self.close_to(got, sum(served[p['pid']] for p in grant['processes']), f'console, {name}', switched + self.late)
            self.assertIsNone(process.poll())

    def test_changes_between_own(self):
        """A tenant's processes that all have work take its turns one after the other, each several of them where no other tenant has
        one between: each change costs the device time, for which the tenant is charged."""
        # In each 8 ms a turn of 4 ms: with a change in each turn they are two parts in a hundred of what is served.
        self.load('many', ('--mem', '64M', '--cores', '50'), 'mode=async', 'kernel=1ms', 'window=16', 'processes=4')
        wait_for(lambda: len(self.grant('many')['processes']) == 4, 'all four have joined')
        time.sleep(1)
        served, switched, before = self.device_clock()
        time.sleep(4)
        served2, switched2, after = self.device_clock()
        served, switched = served2 - served, switched2 - switched
        each = [after[p['pid']] - before[p['pid']] for p in self.grant('many')['processes']]
        print(f'# served {served:.3f} s, changes {switched:.4f} s, each {each}', file=sys.stderr)
        self.assertLess(switched, 0.011 * served)
        self.assertGreater(min(each), 0.4 * served / 4, 'each has its part')

    def test_undeclared(self):
        """Programs of the examples, whose kernels take as long as the processors take. A queue counts as busy from its first kernel
        until its marker, so that more is charged than the device served: some time for each launch, as the software device serves
        nothing while its thread goes from one kernel to the next, and what the program's threads were ready to run and did not."""
        for name in ('METE_SOFT_DURATION', 'METE_SOFT_THREADS'):
            del self.env[name]
        for name, words in (('small', ('saxpy', '65536')), ('large', ('saxpy',)), ('reduce', ('reduce',))):
            program = self.start('run', '--soft', '--name', name, '--mem', '64M', '--cores', '30', '--',
                                 os.path.join(BUILD, 'examples', words[0]), *words[1:], '--seconds', '1', '--hold', '60')
            lines = iter(program.stdout.readline, '')
            launches = next(int(found[1]) for found in (re.search(r'(\d+) rounds', line) for line in lines) if found)
            charged = []

            def settled(name=name, charged=charged):
                charged.append(self.grant(name)['devices'][0]['charged_ms'] / 1e3)
                return charged[-2:-1] == charged[-1:]

            wait_for(settled, 'its last kernels are charged')
            pid = self.grant(name)['processes'][0]['pid']
            late, served = self.waited([pid]), self.device_clock()[2][pid]
            print(f'# {name}: {charged[-1]:.3f} s, by the device\'s clock {served:.3f} s, {launches} launches, late by {late:.3f} s',
                  file=sys.stderr)
            self.assertGreater(charged[-1], 0.95 * served - 0.02, name)
            self.assertLess(charged[-1], 1.01 * served + launches * LAUNCH_S + late + 0.02, name)
            os.killpg(program.pid, signal.SIGKILL)
            program.wait()


if __name__ == '__main__':
    place.main()
