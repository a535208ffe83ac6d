"""mete run --guard, mete cdi create --guard: where the kernel cannot limit a program, nothing is started, and a line says why."""
import json
import os
import signal
import subprocess

import place
from place import BUILD, METED, wait_for

SOFT = os.path.join(BUILD, 'src/softdev')


class Guarded(place.MeteTest):
    def refused(self, words, *texts, status=125):
        done = self.mete(*words)
        self.assertEqual((done.returncode, done.stdout), (status, ''), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for text in texts:
            self.assertIn(text, done.stderr)

    def test_nothing_starts_on_the_software_device(self):
        self.refused(['run', '--guard', '--soft', '-m', '8M', 'touch', self.path('started')], '--guard', 'software device')
        self.assertFalse(os.path.exists(self.path('started')))
        wait_for(lambda: not json.loads(self.mete('ps', '--json').stdout)['grants'], 'the grant is gone')

    def test_words_that_contradict(self):
        self.refused(['run', '--guard', '--wall', '-m', '8M', 'true'], '--wall with --guard')
        self.refused(['run', '--guard', '--remote', 'localhost', 'true'], '--guard')

    def test_doctor_says_what_is_missing(self):
        checks = json.loads(self.mete('doctor', '--json').stdout)['checks']
        guard = [check for check in checks if check['name'] == 'guard']
        self.assertEqual(len(guard), 1)
        self.assertTrue(guard[0]['detail'].startswith(('none. bpf: ', 'bpf: ', 'notify: ', 'dmem: ')), guard[0])

    def test_containers_are_told_in_their_hook(self):
        self.assertEqual(self.mete('cdi', 'create', '--soft', '--mem', '8M', '--guard', '--name', 'boxed', '--dir', self.path('cdi')).returncode, 0)
        texts = ''
        for name in os.listdir(self.path('cdi')):
            with open(os.path.join(self.path('cdi'), name)) as file:
                texts += file.read()
        create = [hook for device in json.loads(texts)['devices'] for hook in device['containerEdits']['hooks'] if 'create' in hook['args']]
        self.assertTrue(create)
        for hook in create:
            self.assertIn('--guard', hook['args'])
        self.assertEqual(self.mete('cdi', 'remove', 'boxed', '--dir', self.path('cdi')).returncode, 0)


class Node(place.MeteTest):
    """guard.grants of meted.yaml. The software device stands for NVIDIA's driver; no kernel module is there."""

    def serve(self, rule):
        self.config = self.path('meted.yaml')
        self.write_rule(rule)
        self.meted = self.serve_by('--libcuda', f'{SOFT}/libcuda.so.1', '--libnvml', f'{SOFT}/libnvidia-ml.so.1',
                                   '--config', self.config, '--foreground', stderr=subprocess.DEVNULL)
        wait_for(lambda: 'nvidia' in self.mete('devices').stdout, 'meted serves')

    def write_rule(self, rule):
        with open(self.config, 'w', encoding='ascii') as file:
            file.write(f'guard:\n  grants: "{rule}"\n')
        os.chmod(self.config, 0o600)

    def run_one(self, *words):
        return self.mete('run', '-m', '8M', *words, 'touch', self.path('started'))

    def test_required_starts_nothing_that_it_cannot_hold(self):
        self.serve('required')
        done = self.run_one()
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn('guard.grants: required', done.stderr)
        self.assertIn("NVIDIA's kernel module is not loaded", done.stderr)
        self.assertFalse(os.path.exists(self.path('started')))
        wait_for(lambda: not json.loads(self.mete('ps', '--json').stdout)['grants'], 'the grant is gone')
        # What has no driver of NVIDIA's in its process is not the guard's.
        self.assertEqual(self.run_one('--soft').returncode, 0)

    def test_preferred_goes_on_with_the_shim_alone_and_says_so(self):
        self.serve('preferred')
        done = self.run_one()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('the shim alone limits it (guard.grants: preferred)', done.stderr)
        self.assertTrue(os.path.exists(self.path('started')))
        # Who asks for it by name gets it or nothing.
        os.remove(self.path('started'))
        self.assertEqual(self.run_one('--guard').returncode, 125)
        self.assertFalse(os.path.exists(self.path('started')))

    def test_the_rule_changes_while_meted_runs_and_is_told(self):
        self.serve('asked')
        self.assertEqual(self.run_one().returncode, 0)
        doctor = json.loads(self.mete('doctor', '--json').stdout)['checks']
        self.assertNotIn('guard.grants', [c for c in doctor if c['name'] == 'guard'][0]['detail'])
        self.write_rule('required')
        self.meted.send_signal(signal.SIGHUP)
        wait_for(lambda: self.run_one().returncode == 125, 'the rule holds')
        doctor = json.loads(self.mete('doctor', '--json').stdout)['checks']
        self.assertIn('this node requires it of every grant', [c for c in doctor if c['name'] == 'guard'][0]['detail'])

    def test_required_keeps_out_who_is_started_by_hand(self):
        """In a grant of the user's own, with the library preloaded and the grant's socket named: without mete run."""
        self.serve('asked')
        env = dict(line.split('=', 1) for line in self.mete('run', '-m', '8M', 'env').stdout.splitlines() if '=' in line)
        self.assertEqual(self.mete('create', 'byhand', '--mem', '8M').returncode, 0)
        env.update(METE_SOCKET=self.grant('byhand')['socket'], METE_LOG=self.path('log'))

        def by_hand(**more):
            return subprocess.run([place.CLIENT, 'alloc', '4096'], env={**env, **more}, text=True, capture_output=True, check=False)

        self.assertEqual(by_hand().stdout, 'alloc 4096 0\n')
        self.write_rule('required')
        self.meted.send_signal(signal.SIGHUP)
        wait_for(lambda: by_hand().returncode, 'the rule holds')
        for more in ({}, {'METE_OPEN': '1'}):
            done = by_hand(**more)
            self.assertEqual((done.returncode, done.stdout.count('alloc')), (9, 0), done)
            with open(env['METE_LOG'], encoding='utf-8') as file:
                said = file.read()
            os.remove(env['METE_LOG'])
            self.assertIn('guard.grants: required', said)
            self.assertIn('start it by `mete run`', said)
        events = [e['text'] for e in self.grant('byhand')['events']]
        self.assertTrue([t for t in events if 'was refused: it is not held by the guard' in t], events)
        # What is behind a wall has its driver in a worker of meted's.
        done = self.mete('run', '--wall', '-m', '512M', place.CLIENT, 'alloc', '4096')
        self.assertEqual((done.returncode, done.stdout), (0, 'alloc 4096 0\n'), done.stderr)

    def test_other_words_are_refused(self):
        with open(self.path('bad.yaml'), 'w', encoding='ascii') as file:
            file.write('guard:\n  grants: "on"\n')
        os.chmod(self.path('bad.yaml'), 0o600)
        done = subprocess.run([METED, '--config', self.path('bad.yaml'), '--check-config'], env=self.env, capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('asked, preferred, required', done.stderr + done.stdout)


if __name__ == '__main__':
    place.main()
