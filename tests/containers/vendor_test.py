"""NVIDIA's CDI files merged into ours: every form of them, and broken and conflicting ones. Needs root for a view of /etc/cdi."""
import copy
import json
import os
import re

import bundle
import containers
import nvidia
import place
from containers import BUILD, LAYER, wait_for

SHIM = os.path.join(BUILD, 'src/shim')
SOFT = nvidia.folder(BUILD)
STATIC, DYNAMIC = '/etc/cdi', '/run/cdi'
INSIDE = '/usr/lib/mete/driver'
MAKE_ANEW = 'nvidia-ctk cdi generate'


class Vendor(place.MeteTest):
    """A meted that takes the software device for NVIDIA's driver, with two GPUs."""
    GPUS = 2

    def setUp(self):
        super().setUp()
        self.env['METE_SOFT_DEVICES'] = str(self.GPUS)
        self.serve_by('--libcuda', f'{SOFT}/libcuda.so.1', '--libnvml', f'{SOFT}/libnvidia-ml.so.1', '--config', '')
        # The drivers are asked side by side, and the first to answer is shown first.
        self.uuids = wait_for(lambda: [d['uuid'] for d in self.json('devices')['devices'] if d['driver'] == 'nvidia'], 'devices are there')
        self.assertEqual(len(self.uuids), self.GPUS)

    def tearDown(self):
        containers.empty_cdi()
        super().tearDown()

    def nvidia(self, content=None, name='nvidia.yaml', folder=STATIC):
        return nvidia.write(os.path.join(folder, name), content or nvidia.spec(SOFT, [('0', 0), ('1', 1)]))

    def generate(self):
        done = self.mete('cdi', 'generate')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        with open(f'{STATIC}/mete.io-device.json') as file:
            return json.load(file)

    def edits(self, spec, name):
        return next(d['containerEdits'] for d in spec['devices'] if d['name'] == name)

    def create(self, *words):
        """The edits of a one-off."""
        done = self.mete('cdi', 'create', '--mem', '64M', '--name', 'one', *words)
        self.assertEqual((done.returncode, done.stderr), (0, ''), words)
        with open(f'{DYNAMIC}/mete.io-grant-one.json') as file:
            spec = json.load(file)
        self.assertEqual(self.mete('cdi', 'remove', 'one').returncode, 0)
        return self.edits(spec, 'one')

    def assert_merged(self, edits, index):
        """All that is NVIDIA's, but for the two libraries in whose place the shim is."""
        vendor = nvidia.spec(SOFT, [(str(index), index)])
        common, own = vendor['containerEdits'], vendor['devices'][0]['containerEdits']
        self.assertEqual(edits['env'], common['env'] + LAYER)
        self.assertEqual(edits['deviceNodes'], common['deviceNodes'] + own['deviceNodes'])
        self.assertEqual(edits['hooks'][:-2], common['hooks'] + own['hooks'])
        self.assertEqual([h['hookName'] for h in edits['hooks'][-2:]], ['createRuntime', 'poststop'])
        at = {m['containerPath']: m for m in edits['mounts']}
        self.assertEqual(len(at), len(edits['mounts']), 'nothing is mounted twice at a place')
        for library in ('libcuda.so', 'libnvidia-ml.so'):
            self.assertEqual(at[f'{INSIDE}/{library}.1']['hostPath'], f'{SOFT}/{library}.1')
            self.assertEqual(at[f'{nvidia.LIB}/{library}.{nvidia.VERSION}']['hostPath'], f'{SHIM}/{library}.1')
        for mount in common['mounts'][2:]:
            self.assertEqual(at[mount['containerPath']], mount)
        self.assertIn('/usr/lib/mete/shim', at)
        self.assertNotIn('/usr/lib/mete/soft', at)

    def test_yaml_and_json(self):
        for name in ('nvidia.yaml', 'nvidia.yml', 'nvidia.json'):
            path = self.nvidia(name=name)
            spec = self.generate()
            self.assertEqual([d['name'] for d in spec['devices']], ['0', self.uuids[0], '1', self.uuids[1], 'all'])
            for index in range(2):
                self.assert_merged(self.edits(spec, str(index)), index)
                self.assertEqual(self.edits(spec, str(index))['deviceNodes'], self.edits(spec, self.uuids[index])['deviceNodes'])
            os.unlink(path)
            containers.empty_cdi()

    def test_names(self):
        """--device-name-strategy index, uuid, type-index, and several at once."""
        for names in ([(u, i) for i, u in enumerate(self.uuids)], [('gpu0', 0), ('gpu1', 1)],
                      [(n, i) for i, u in enumerate(self.uuids) for n in (str(i), u)]):
            self.nvidia(nvidia.spec(SOFT, names))
            self.assert_merged(self.create('--device', '1'), 1)

    def test_several(self):
        """What is common to them comes once."""
        self.nvidia()
        edits = self.create('--device', '0', '--mem', '32M', '--device', '1')
        paths = [node['path'] for node in edits['deviceNodes']]
        self.assertEqual(sorted(paths), sorted(set(paths)))
        self.assertLessEqual({'/dev/nvidia0', '/dev/nvidia1', *nvidia.NODES}, set(paths))
        self.assertEqual(len([h for h in edits['hooks'] if 'update-ldcache' in h['args']]), 1)

    def test_version(self):
        """The lowest that suffices for ours and NVIDIA's."""
        for version, wanted in (('0.3.0', '0.5.0'), ('0.5.0', '0.5.0'), ('0.6.0', '0.6.0'), ('0.7.0', '0.7.0'), ('1.0.0', '1.0.0')):
            self.nvidia(nvidia.spec(SOFT, [('0', 0), ('1', 1)], version))
            self.assertEqual(self.generate()['cdiVersion'], wanted)

    def test_rarer_fields(self):
        self.nvidia(nvidia.spec(SOFT, [('0', 0), ('1', 1)], '0.7.0', additionalGids=[44, 110], intelRdt={'closID': 'gpu'}))
        edits = self.create()
        self.assertEqual((edits['additionalGids'], edits['intelRdt']), ([44, 110], {'closID': 'gpu'}))
        with open(os.path.join(STATIC, 'nvidia.yaml')) as file:
            text = re.sub(r'(\n +)permissions: rw', r'\1permissions: rw\1fileMode: 0666', file.read())
        self.nvidia(text)
        modes = [node.get('fileMode') for node in self.create()['deviceNodes']]
        self.assertIn(0o666, modes, 'a mode as people write it')
        self.nvidia(text.replace('name: "0"', 'name: 0'))
        self.assertIn('/dev/nvidia0', [node['path'] for node in self.create()['deviceNodes']], 'a name without quotes')

    def test_libraries(self):
        """One path or several: everywhere the shim. Those of 32 bits have none, and do not go in."""
        narrow = self.program('libcuda.so.1', '\x7fELF\x01' + '\0' * 60)
        spec = nvidia.spec(SOFT, [('0', 0), ('1', 1)])
        spec['containerEdits']['mounts'] += [nvidia.mount(f'{SOFT}/libcuda.so.1', '/usr/lib64/libcuda.so.1'),
                                             nvidia.mount(narrow, '/usr/lib/i386-linux-gnu/libcuda.so.1')]
        self.nvidia(spec)
        at = {m['containerPath']: m['hostPath'] for m in self.create()['mounts']}
        self.assertEqual(at['/usr/lib64/libcuda.so.1'], f'{SHIM}/libcuda.so.1')
        self.assertNotIn('/usr/lib/i386-linux-gnu/libcuda.so.1', at)
        self.assertNotIn(narrow, at.values())

    def test_broken(self):
        """One line each: the file, what is wrong with it, what to do. Runtimes would only say that there is no such device."""
        good = nvidia.spec(SOFT, [('0', 0), ('1', 1)])

        def but(change):
            spec = copy.deepcopy(good)
            change(spec)
            return spec

        whole = json.dumps(good)
        for name, content, *parts in (
                ('nvidia.json', whole[:-30], 'line 1'),
                ('nvidia.yaml', 'cdiVersion: 0.5.0\nkind: [nvidia.com/gpu\n', 'line'),
                ('nvidia.yaml', '\n', 'empty'),
                ('nvidia.yaml', but(lambda s: s.pop('kind')), '"kind"'),
                ('nvidia.yaml', but(lambda s: s.update(kind='gpu')), 'VENDOR/CLASS'),
                ('nvidia.yaml', but(lambda s: s.update(cdiVersion='latest')), 'latest'),
                ('nvidia.yaml', but(lambda s: s.update(devices=[])), '"devices"'),
                ('nvidia.yaml', but(lambda s: s.update(mounts=[])), '"mounts"', 'no word of CDI'),
                ('nvidia.yaml', but(lambda s: s['containerEdits'].update(volumes=[])), '"volumes"'),
                ('nvidia.yaml', but(lambda s: s['containerEdits'].update(env='A=1')), '"env" is not a list'),
                ('nvidia.yaml', but(lambda s: s['containerEdits'].update(env=['A'])), 'entry 1 of "env"'),
                ('nvidia.yaml', but(lambda s: s['devices'][1].pop('containerEdits')), 'device 1', 'no "containerEdits"'),
                ('nvidia.yaml', but(lambda s: s['devices'][1].update(name='0')), 'device 0 stands there twice'),
                ('nvidia.yaml', but(lambda s: s['containerEdits']['mounts'][0].pop('hostPath')), 'entry 1 of "mounts"', '"hostPath"'),
                ('nvidia.yaml', but(lambda s: s['containerEdits']['hooks'][0].update(hookName='begin')), '"begin" is no hook'),
                ('nvidia.yaml', but(lambda s: s['containerEdits'].update(deviceNodes=['/dev/nvidia0'])), 'entry 1 of "deviceNodes"'),
                ('nvidia.yaml', nvidia.spec(SOFT, [('7', 7)]), 'does not name GPU 0', self.uuids[0]),
                ('nvidia.yaml', nvidia.spec(SOFT, [('all', 0)]), 'does not name GPU 0')):
            path = self.nvidia(content, name)
            for words in (['cdi', 'create', '--mem', '64M'], ['cdi', 'generate']):
                self.refused(1, words, path, MAKE_ANEW, *parts)
            os.unlink(path)
            self.assertEqual(os.listdir(STATIC) + os.listdir(DYNAMIC) + self.json('ps')['grants'], [], 'and nothing is begun')

    def test_missing(self):
        self.refused(1, ['cdi', 'create', '--mem', '64M'], self.uuids[0], MAKE_ANEW, '--wall')
        at = [m['containerPath'] for m in self.create('--wall')['mounts']]
        self.assertEqual(at, ['/usr/lib/mete/runtime', '/usr/lib/mete/fronts', '/usr/lib/mete/remote'], 'behind a wall nothing of NVIDIA is needed')
        self.assertNotIn('deviceNodes', self.create('--soft'))
        self.assertEqual([n.split('=')[0] for n in self.create('--soft')['env']], ['TRITON_PTXAS_PATH', 'TRITON_PTXAS_BLACKWELL_PATH'] +
                         [n.split('=')[0] for n in LAYER])
        self.assertNotIn('env', self.create('--wall'), 'a GPU\'s programs have NVIDIA\'s assembler')

    def test_conflicts(self):
        """Two files of a folder that name a GPU hide it; of two folders /run/cdi comes first."""
        first, second = self.nvidia(), self.nvidia(name='other.json')
        self.refused(1, ['cdi', 'create', '--mem', '64M'], 'nvidia.com/gpu=', first, second, 'remove one')
        said = self.mete('cdi', 'list')
        self.assertEqual(said.returncode, 1)
        self.assertIn(f'nvidia.com/gpu=0 is defined in {first} and in {second}', said.stderr)
        os.unlink(second)
        self.nvidia(nvidia.spec(SOFT, [('0', 0), ('1', 1)], env=['OF=run']), folder=DYNAMIC)
        self.assertEqual(self.create()['env'], ['OF=run'] + LAYER)
        self.assertEqual(self.mete('cdi', 'list').returncode, 0)

    def test_bundle(self):
        """`mete oci` makes the same edits, once, and takes exactly them out again."""
        self.nvidia(nvidia.spec(SOFT, [('0', 0), ('1', 1)], '0.7.0', additionalGids=[44]))
        folder = self.path('bundle')
        os.makedirs(folder)
        os.mkdir(self.path('root'))
        config = {'ociVersion': '1.0.2', 'root': {'path': self.path('root')}, 'process': {'user': {'uid': 0, 'gid': 0}, 'env': ['A=1']},
                  'linux': {'devices': [], 'resources': {'devices': [{'allow': False, 'access': 'rwm'}]}}}
        bundle.write(folder, config)
        for _ in range(2):
            done = self.mete('oci', folder, '--mem', '64M')
            self.assertEqual((done.returncode, done.stderr), (0, ''))
        made = bundle.read(folder)
        self.assertEqual(made['process']['env'], ['A=1', 'NVIDIA_VISIBLE_DEVICES=void'] + LAYER)
        self.assertEqual(made['process']['user']['additionalGids'], [44])
        self.assertEqual([d['path'] for d in made['linux']['devices']], [*nvidia.NODES, '/dev/nvidia0', '/dev/dri/renderD128'])
        self.assertEqual([d['access'] for d in made['linux']['resources']['devices']], ['rwm'] * 4 + ['rw', 'rwm'])
        self.assertEqual(made['linux']['devices'][0]['major'], 1)
        self.assertEqual(len(made['hooks']['createContainer']), 5)
        self.assertEqual(self.mete('oci', folder, '--remove').returncode, 0)
        left = bundle.read(folder)
        self.assertEqual((left['process']['env'], left['linux']['resources']), (['A=1'], config['linux']['resources']))
        self.assertFalse(left.get('mounts') or left['linux'].get('devices') or any(left.get('hooks', {}).values()))


class OneGpu(Vendor):
    GPUS = 1

    def test_all(self):
        """A file that has nothing but "all", as for machines whose one GPU has no number: that is the one."""
        self.nvidia(nvidia.spec(SOFT, [('all', 0)]))
        self.assertIn('/dev/nvidia0', [node['path'] for node in self.create()['deviceNodes']])


for inherited in [name for name in dir(Vendor) if name.startswith('test_')]:
    setattr(OneGpu, inherited, None)

if __name__ == '__main__':
    containers.apart()
    place.main()
