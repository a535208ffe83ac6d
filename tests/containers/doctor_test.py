"""What `mete doctor` says of containers: CDI files against the machine, grants behind them, runtimes. Needs root for a view of /etc/cdi."""
import json
import os
import subprocess

import containers
import place

STATIC, DYNAMIC = containers.CDI


class Doctor(place.MeteTest):
    def tearDown(self):
        containers.empty_cdi()
        super().tearDown()

    def checks(self, name='containers'):
        said = json.loads(self.mete('doctor', '--json').stdout)
        return [check for check in said['checks'] if check['name'] == name]

    def only(self, status, *parts):
        """One line of containers, with a remedy where something is wrong."""
        checks = self.checks()
        self.assertEqual([check['status'] for check in checks], [status], checks)
        for part in parts:
            self.assertIn(part, checks[0]['detail'] + ' ' + (checks[0]['remedy'] or ''))
        self.assertTrue(checks[0]['remedy'] or status == 'ok')

    def generate(self, *words):
        done = self.mete('cdi', 'generate', *words)
        self.assertEqual((done.returncode, done.stderr), (0, ''))

    def change(self, path, change):
        with open(path) as file:
            spec = json.load(file)
        change(spec)
        with open(path, 'w') as file:
            json.dump(spec, file)

    def test_in_step(self):
        self.only('note', 'no CDI files', 'mete cdi generate')
        self.generate()
        self.only('ok', '2 CDI files')
        self.generate('--soft')
        self.only('ok', '2 CDI files')
        self.assertEqual(self.mete('cdi', 'create', '--mem', '64M').returncode, 0)
        self.only('ok', '3 CDI files')

    def test_not_in_step(self):
        path = f'{STATIC}/mete.io-device.json'
        for change, *parts in (
                (lambda s: s['devices'].pop(2), 'mete.io/device=1', path),
                (lambda s: s['devices'][0].update(name='7'), path),
                (lambda s: s['devices'][0]['containerEdits']['mounts'][0].update(hostPath='/no/such/shim'), '/no/such/shim', path),
                (lambda s: s['devices'][0]['containerEdits']['hooks'][0].update(path='/etc/passwd'), '/etc/passwd', 'cannot be run'),
                (lambda s: s['devices'][0]['containerEdits']['hooks'][0]['args'].__setitem__(4, '/elsewhere'), 'mete.io/device=0')):
            self.generate()
            self.change(path, change)
            self.only('warning', 'mete cdi generate', *parts)

    def test_named_shares(self):
        self.generate()
        self.change(f'{STATIC}/mete.io-share.json', lambda s: s['devices'][1]['containerEdits']['hooks'][0]['args'].__setitem__(8, '1%'))
        self.only('warning', 'mete.io/share=medium', 'mete cdi generate')

    def test_others(self):
        self.generate()
        for name, text, *parts in (
                ('broken.yaml', 'kind: [', 'broken.yaml: line'),
                ('nvidia.json', json.dumps({'cdiVersion': '0.5.0', 'kind': 'nvidia.com/gpu', 'devices': [
                    {'name': '0', 'containerEdits': {'mounts': [{'hostPath': '/no/libcuda.so.1', 'containerPath': '/lib/libcuda.so.1'}]}}]}),
                 '/no/libcuda.so.1', 'nvidia-ctk')):
            path = os.path.join(STATIC, name)
            with open(path, 'w') as file:
                file.write(text)
            self.only('warning', *parts)
            os.unlink(path)
        with open(f'{STATIC}/mete.io-share.json') as file, open(f'{STATIC}/other.json', 'w') as other:
            other.write(file.read())
        self.assertEqual([c['detail'] for c in self.checks() if 'mete.io/share=small is defined in' in c['detail']].__len__(), 1)

    def test_grants(self):
        self.assertEqual(self.mete('cdi', 'create', '--mem', '64M', '--name', 'one').returncode, 0)
        path = f'{DYNAMIC}/mete.io-grant-one.json'
        self.only('ok', '1 CDI files')
        with open(path) as file:
            text = file.read()
        self.assertEqual(self.mete('cdi', 'remove', 'one').returncode, 0)
        with open(path, 'w') as file:
            file.write(text)
        self.only('warning', path, 'leads to grant one', 'mete cdi remove')

    def test_devices(self):
        """A device that is out of service is no silent thing."""
        self.assertEqual(self.mete('cordon', '1', '--reason', 'a new fan').returncode, 0)
        found = [check for check in self.checks('device') if 'cordoned' in check['detail']]
        self.assertEqual(len(found), 1)
        self.assertIn('a new fan', found[0]['detail'])
        self.assertIn('mete uncordon', found[0]['remedy'])
        self.assertEqual(self.mete('uncordon', '1').returncode, 0)
        self.assertFalse([check for check in self.checks('device') if 'cordoned' in check['detail']])

    def said_of(self, program, said):
        """What the doctor says of a program of that name that says so of its version."""
        self.program(program, f'#!/bin/sh\necho "{said}"\n')
        path = self.folder + ':' + os.environ['PATH']
        said = json.loads(self.mete('doctor', '--json', env={'PATH': path}).stdout)
        return [(c['status'], c['remedy']) for c in said['checks'] if c['name'] == 'runtime' and program[:6] in c['detail'].lower()][0]

    def test_runtimes(self):
        self.assertEqual(self.said_of('podman', 'podman version 4.3.1')[0], 'ok')
        self.assertIn('4.1', self.said_of('podman', 'podman version 3.0.1')[1])
        self.assertIn('podman', self.said_of('dockerd', 'Docker version 20.10.24+dfsg1, build 297e128')[1])
        self.assertIn('"cdi": true', self.said_of('dockerd', 'Docker version 26.1.5+dfsg1, build a72d7cd')[1])
        self.assertEqual(self.said_of('dockerd', 'Docker version 28.2.2, build 45873be')[0], 'ok')
        self.assertIn('mete oci', self.said_of('containerd', 'containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20')[1])
        self.assertIn('enable_cdi', self.said_of('containerd', 'containerd github.com/containerd/containerd 1.7.24~ds1 1.7.24')[1])
        self.assertEqual(self.said_of('containerd', 'containerd github.com/containerd/containerd/v2 v2.1.3 c787fb9')[0], 'ok')


if __name__ == '__main__':
    containers.apart()
    for folder in ('/etc/docker', '/etc/containerd', '/etc/containers'):  # this machine's settings are not the tests'
        if os.path.isdir(folder):
            subprocess.run(['mount', '-t', 'tmpfs', 'none', folder], check=True)
    place.main()
