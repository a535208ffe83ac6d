"""CDI files: what is written, conflicts, broken ones, NVIDIA's merged. Needs neither root nor containers."""
import json
import os
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
import place  # noqa: E402
from containers import LAYER  # noqa: E402


def spec(version='0.5.0', kind='a/b', name='x', edits=None, devices=None):
    return json.dumps({'cdiVersion': version, 'kind': kind, 'devices': devices or [{'name': name, 'containerEdits': edits or {}}]})


class Specs(place.MeteTest):
    def setUp(self):
        super().setUp()
        self.dir = self.path('cdi')

    def shares(self, text):
        return self.program('shares.json', text if isinstance(text, str) else json.dumps({'shares': text}), 0o644)

    def generate(self, *words):
        done = self.mete('cdi', 'generate', '--dir', self.dir, *words)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return done.stdout

    def spec(self, name):
        with open(os.path.join(self.dir, name)) as file:
            return json.load(file)

    def test_generate(self):
        said = self.generate()
        self.assertIn('mete.io/device=all', said)
        share = self.spec('mete.io-share.json')
        self.assertEqual((share['cdiVersion'], share['kind']), ('0.5.0', 'mete.io/share'))
        self.assertEqual([device['name'] for device in share['devices']], ['small', 'medium', 'large'])
        for spec in (share, self.spec('mete.io-device.json')):
            self.assertLessEqual(set(spec), {'cdiVersion', 'kind', 'devices', 'containerEdits'})
            for device in spec['devices']:
                edits = device['containerEdits']
                self.assertEqual(set(edits), {'mounts', 'hooks', 'env'})
                self.assertEqual(edits['env'], [f'{name}=/usr/lib/mete/fronts/bin/ptxas' for name in
                                                ('TRITON_PTXAS_PATH', 'TRITON_PTXAS_BLACKWELL_PATH')] + LAYER)
                for mount in edits['mounts']:
                    self.assertTrue(os.path.isdir(mount['hostPath']))
                    self.assertIn('ro', mount['options'])
                self.assertEqual([hook['hookName'] for hook in edits['hooks']], ['createRuntime', 'poststop'])
                self.assertTrue(all(os.access(hook['path'], os.X_OK) for hook in edits['hooks']))
        self.assertEqual(sorted(os.listdir(self.dir)), ['mete.io-device.json', 'mete.io-share.json'])
        self.assertEqual(len(self.json('cdi', 'generate')['specs']), 2)
        listed = self.json('cdi', 'list', '--dir', self.dir)['cdi']['devices']
        small = next(row for row in listed if row['name'] == 'mete.io/share=small')
        self.assertIn('--mem 25% --cores 25', small['share'])

    def test_remove(self):
        self.generate()
        self.assertEqual(self.mete('cdi', 'remove', '--dir', self.dir, 'mete.io/share=small').returncode, 0)
        self.assertEqual(len(self.spec('mete.io-share.json')['devices']), 2)
        for name in ('medium', 'large'):
            self.assertEqual(self.mete('cdi', 'remove', '--dir', self.dir, f'mete.io/share={name}').returncode, 0)
        self.assertEqual(os.listdir(self.dir), ['mete.io-device.json'])
        self.refused(1, ['cdi', 'remove', '--dir', self.dir, 'nobody'], 'nobody', 'mete cdi list')

    def test_create(self):
        done = self.mete('cdi', 'create', '--dir', self.dir, '--mem', '64M', '--name', 'one')
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, 'mete.io/grant=one\n', ''))
        self.assertEqual(self.grant('one')['container']['spec'], os.path.join(self.dir, 'mete.io-grant-one.json'))
        self.refused(1, ['cdi', 'create', '--dir', self.dir, '--name', 'one'], 'one', 'another name')
        self.refused(1, ['cdi', 'create', '--dir', self.dir, '--mem', '5T'], '--mem 5T')
        self.assertEqual(self.mete('cdi', 'remove', '--dir', self.dir, 'one').returncode, 0)
        self.assertEqual((os.listdir(self.dir), self.json('ps')['grants']), ([], []))

    def test_expires(self):
        """A grant that no container ever takes ends."""
        for words, most in (([], 600), (['--expires', '2h'], 7200), (['--keep'], None), (['--expires', 'never'], None)):
            done = self.mete('cdi', 'create', '--dir', self.dir, '--mem', '1M', '--json', *words)
            left = json.loads(done.stdout)['grant']['expires_in_s']
            self.assertTrue(left is None if most is None else most - 60 < left <= most, (words, left))
        self.refused(1, ['cdi', 'create', '--dir', self.dir, '--expires', 'soon'], '--expires soon', '10m')

    def test_wrong_share(self):
        """What is wrong with a share is said with the file and the share."""
        path = self.shares([{'name': 'good', 'mem': '1G'}, {'name': 'bad', 'mem': '4Q'}])
        self.refused(1, ['cdi', 'generate', '--dir', self.dir, '--shares', path], path, 'share bad', '--mem 4Q')
        path = self.shares([{'name': 'far', 'device': '9', 'mem': '1G'}])
        self.refused(1, ['cdi', 'generate', '--dir', self.dir, '--shares', path], path, 'share far', '--device 9')
        path = self.shares([{'name': 'any', 'device': 'any', 'mem': '1G'}])
        self.refused(1, ['cdi', 'generate', '--dir', self.dir, '--shares', path], path, 'share any', 'name the device')

    def test_without_root(self):
        """A user without root has CDI files of their own, by a meted of their own."""
        home = self.path('home')
        os.mkdir(home)
        who = {}
        if not os.geteuid():
            os.chmod(self.path(''), 0o755)
            os.chown(home, 12345, 12345)
            who = {'user': 12345, 'group': 12345, 'extra_groups': []}
        env = {**self.env, 'HOME': home, 'METE_RUNTIME_DIR': os.path.join(home, 'run'), 'METE_SOFT_DIR': os.path.join(home, 'soft')}
        env.pop('XDG_CONFIG_HOME', None)

        def mete(*words):
            return subprocess.run([place.METE, *words], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, **who)
        if mete('version').returncode:
            self.skipTest('another user cannot reach the programs of this build')
        done = mete('cdi', 'create', '--mem', '64M', '--name', 'mine')
        self.assertEqual((done.returncode, done.stdout), (0, 'mete.io/grant=mine\n'), done.stderr)
        self.assertIn('--cdi-spec-dir', done.stderr)
        path = os.path.join(home, '.config/cdi/mete.io-grant-mine.json')
        self.assertTrue(os.path.exists(path))
        self.assertIn('mete.io/grant=mine', mete('cdi', 'list').stdout)
        self.assertEqual(mete('cdi', 'remove', 'mine').returncode, 0)
        self.assertFalse(os.path.exists(path), 'it goes with its grant')

    def test_folder_that_cannot_be_written(self):
        self.program('file', '')
        self.refused(1, ['cdi', 'create', '--dir', self.path('file'), '--mem', '64M'], 'cannot be written', '--dir')
        self.assertEqual(self.json('ps')['grants'], [], 'no grant without the file that leads to it')
        self.refused(1, ['cdi', 'generate', '--dir', '/proc/nowhere'], 'cannot be written', '--dir')

    def test_conflict(self):
        self.generate()
        other = os.path.join(self.dir, 'other.json')
        with open(other, 'w') as file:
            json.dump(self.spec('mete.io-share.json'), file)
        self.refused(1, ['cdi', 'generate', '--dir', self.dir], 'mete.io/share=small', other)
        done = self.mete('cdi', 'list', '--dir', self.dir)
        self.assertEqual(done.returncode, 1)
        self.assertIn('runtimes find neither', done.stderr)

    def test_broken_files(self):
        self.generate()
        for name, text, why in (('a.json', '{"cdiVersion": ', 'line 1'), ('b.yaml', 'kind: [', 'line'),
                                ('c.yaml', '', 'empty'), ('d.json', '{"kind": "nobody"}', 'VENDOR/CLASS'),
                                ('e.yaml', 'kind: a/b\nkind: a/b\n', 'twice'), ('f.yaml', 'a: &x 1\nb: *x\n', 'alias'),
                                ('g.json', '{"cdiVersion": "0.5.0", "kind": "a/b", "devices": [{}]}', 'name'),
                                ('h.json', spec(kind='a b/c'), 'letter'), ('i.json', spec(kind='0a/b'), 'letter'),
                                ('j.json', spec(name='x y'), "device's name"), ('k.json', spec(name='x-'), "device's name"),
                                ('l.json', spec(edits={'future': []}), 'no word of CDI'),
                                ('m.json', spec(version='9.8.7', edits={'future': []}), 'younger mete'),
                                ('n.json', spec(version='new'), 'no version')):
            path = os.path.join(self.dir, name)
            with open(path, 'w') as file:
                file.write(text)
            done = self.mete('cdi', 'list', '--dir', self.dir)
            self.assertEqual(done.returncode, 1, name)
            self.assert_line(done.stderr, path, why)
            os.unlink(path)

    def test_files_that_are_none(self):
        """Nobody waits for what a pipe will say; what else lies there is named, and why."""
        self.generate()
        self.program('large.json', '', 0o644)
        os.truncate(self.path('large.json'), 3 << 30)
        for name, make, why in (('pipe.json', os.mkfifo, 'no plain file'), ('folder.yaml', os.mkdir, 'no plain file'),
                                ('lost.json', lambda path: os.symlink('/nowhere/x', path), 'No such file'),
                                ('loop.json', lambda path: os.symlink(path, path), 'symbolic links'),
                                ('large.json', lambda path: os.symlink(self.path('large.json'), path), '64 MiB')):
            path = os.path.join(self.dir, name)
            make(path)
            done = self.mete('cdi', 'list', '--dir', self.dir)
            self.assertEqual(done.returncode, 1, name)
            self.assert_line(done.stderr, path, why)
            self.generate()
            (os.rmdir if name.startswith('folder') else os.unlink)(path)
        pipe = self.path('shares.pipe')
        os.mkfifo(pipe)
        self.refused(1, ['cdi', 'generate', '--dir', self.dir, '--shares', pipe], pipe, 'no plain file')

    def test_many_devices(self):
        """Of somebody's machine with tens of thousands; that it ends is the test."""
        os.mkdir(self.dir)
        with open(os.path.join(self.dir, 'many.json'), 'w') as file:
            file.write(spec(devices=[{'name': f'd{i}', 'containerEdits': {'env': ['A=B']}} for i in range(40000)]))
        self.generate()
        self.assertEqual(self.mete('cdi', 'list', '--dir', self.dir).returncode, 0)

    def test_no_shares(self):
        """A file without devices is one that runtimes reject: there is none, then."""
        self.generate('--shares', self.shares([{'name': 'a', 'mem': '64M'}]))
        said = self.generate('--shares', self.shares([]))
        self.assertIn('removed', said)
        self.assertEqual(os.listdir(self.dir), ['mete.io-device.json'])
        self.generate('--shares', self.shares([]))

    def test_link_in_the_way(self):
        """What is written goes to a file of its own, never through a link that lies there."""
        os.mkdir(self.dir)
        for name in ('mete.io-share.json', 'mete.io-share.json.new'):
            os.symlink(self.path('elsewhere'), os.path.join(self.dir, name))
        self.generate()
        self.assertFalse(os.path.lexists(self.path('elsewhere')))
        self.assertFalse(os.path.islink(os.path.join(self.dir, 'mete.io-share.json')))

    def test_shares_file(self):
        for text, *parts in (('{', 'line 1'), ('{"offers": []}', '"shares"'),
                             ([{'name': 'a', 'mme': '4G'}], 'share a', 'did you mean "mem"'),
                             ([{'name': 'a b'}], 'share 1', '"name"'), ([{'name': 'a'}, {'name': 'a'}], 'twice'),
                             ([{'name': 'a', 'mem': []}, {'name': 'b', 'wall': 3}], 'true or false'),
                             ([{'name': 'a', 'mem': '9T'}], '--mem 9T'), ([{'name': 'a', 'device': 7}], '--device 7')):
            self.refused(1, ['cdi', 'generate', '--dir', self.dir, '--shares', self.shares(text)], *parts)
        self.refused(1, ['cdi', 'generate', '--dir', self.dir, '--shares', '/nowhere'], '/nowhere')

    def test_hook_is_not_for_people(self):
        for text in ('', '{}', '[]', '{"id": "x", "bundle": "relative"}', '{"id": "x", "pid": 1, "bundle": "/nowhere"}'):
            done = self.mete('cdi', 'hook', '--share', 'x', 'create', input=text)
            self.assertEqual(done.returncode, 1)
            self.assert_line(done.stderr)
        self.refused(1, ['cdi', 'hook', 'create'], '--share or --grant', input='{}')

    def test_hook_without_meted(self):
        """What helps a container is a meted that serves, not `mete run`."""
        self.program('config.json', json.dumps({'ociVersion': '1.0.2', 'root': {'path': '/'}, 'process': {'args': ['/bin/sh'], 'cwd': '/'}}))
        state = json.dumps({'ociVersion': '1.0.2', 'id': 'x', 'status': 'created', 'pid': os.getpid(), 'bundle': self.folder})
        done = self.mete('cdi', 'hook', '--grant', 'x', '--soft', 'create', input=state)
        self.assertEqual(done.returncode, 1)
        self.assert_line(done.stderr, 'no meted serves in', 'start meted for this user')
        self.assertNotIn('mete run', done.stderr)

    def test_hook_while_meted_restarts(self):
        """A killed meted leaves its socket's file: the next one is waited for, and the container begins all the same."""
        self.program('config.json', json.dumps({'ociVersion': '1.0.2', 'root': {'path': '/'}, 'process': {'args': ['/bin/sh'], 'cwd': '/'}}))
        state = json.dumps({'ociVersion': '1.0.2', 'id': 'x', 'status': 'created', 'pid': os.getpid(), 'bundle': self.folder})
        os.makedirs(self.runtime, mode=0o700, exist_ok=True)
        path = os.path.join(self.runtime, 'control.sock')
        with socket.socket(socket.AF_UNIX) as killed:
            killed.bind(path)
        hook = self.start('cdi', 'hook', '--grant', 'x', '--soft', 'create', stdin=subprocess.PIPE)
        hook.stdin.write(state)
        hook.stdin.close()
        with self.assertRaises(subprocess.TimeoutExpired):
            hook.wait(0.5)
        with socket.socket(socket.AF_UNIX) as next_one:
            next_one.bind(path + '.new')
            next_one.listen()
            os.rename(path + '.new', path)
            next_one.settimeout(20)
            peer, _ = next_one.accept()
            self.assertIn('"hello"', peer.makefile().readline())
            peer.close()


if __name__ == '__main__':
    place.main()
