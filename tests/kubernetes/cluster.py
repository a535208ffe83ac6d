"""
A Kubernetes cluster of one machine: etcd, kube-apiserver, kube-scheduler, and nodes with a containerd and a kubelet each.

up.sh runs this in namespaces of its own: cluster.py BIN WORK COMMAND... brings the cluster up and runs the command. A test
imports it and makes its own Cluster. There is no controller manager and no CNI plugin: pods are made by hand, have the
host's network and no service account.
"""
import contextlib
import http.client
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import time

PORT = 16443
TOKEN = 'admin'
PAUSE = 'localhost/pause:1'
NETWORK = '10.99.0'
PATIENCE = float(os.environ.get('METE_TEST_PATIENCE', '1'))

CONTAINERD = '''version = 2
root = "{work}/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs", "io.containerd.tracing.processor.v1.otlp"]
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "{work}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  enable_cdi = {cdi}
  cdi_spec_dirs = ["/run/cdi"]
  disable_apparmor = true
  restrict_oom_score_adj = true
  disable_hugetlb_controller = true
  tolerate_missing_hugetlb_controller = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    conf_dir = "{work}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "{snapshotter}"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        BinaryName = "{bin}/runc"
        SystemdCgroup = false
'''
# The pods' network is the host's: the plugin is never called, but a node without a network is not ready.
CNI = {'cniVersion': '0.4.0', 'name': 'none', 'plugins': [{'type': 'loopback'}]}


def until(what, condition, seconds=60):
    """Waits until the condition holds; its value."""
    end = time.monotonic() + seconds * PATIENCE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f'{what}: not within {seconds} s')
        time.sleep(0.05)


def alive(process):
    return process is not None and process.poll() is None


class Refused(Exception):
    def __init__(self, status, answer):
        super().__init__(f'{status}: {answer.get("message", answer)}')
        self.status, self.answer = status, answer


class Api:
    """The API server, as JSON."""

    def __init__(self):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self.context, self.connection = context, None

    def connect(self):
        return http.client.HTTPSConnection('127.0.0.1', PORT, context=self.context, timeout=60)

    def ask(self, method, path, body=None, kind='application/json'):
        headers = {'Authorization': 'Bearer ' + TOKEN, 'Content-Type': kind}
        for last in (False, True):
            self.connection = self.connection or self.connect()
            try:
                self.connection.request(method, path, json.dumps(body) if body is not None else None, headers)
                answer = self.connection.getresponse()
                data = answer.read()
                break
            except (http.client.HTTPException, ConnectionError):
                self.connection.close()
                self.connection = None
                if last:
                    raise
        is_json = 'json' in (answer.getheader('Content-Type') or '')
        answered = json.loads(data) if is_json else {'message': data.decode(errors='replace')}
        if answer.status >= 300:
            raise Refused(answer.status, answered)
        return answered

    def get(self, path):
        """None: there is none."""
        try:
            return self.ask('GET', path)
        except Refused as why:
            if why.status == 404:
                return None
            raise

    def ready(self):
        try:
            return self.ask('GET', '/readyz').get('message') == 'ok'
        except (OSError, http.client.HTTPException, Refused):
            return False


class Node:
    """A node in a mount namespace of its own: /run, /var/lib, /var/log and /dev/shm are its own."""

    def __init__(self, cluster, number, status_s):
        self.cluster, self.number, self.name = cluster, number, f'n{number}'
        self.work = os.path.join(cluster.work, self.name)
        self.status_s = status_s
        os.makedirs(os.path.join(self.work, 'cni'))
        with open(os.path.join(self.work, 'cni/10-none.conflist'), 'w') as file:
            json.dump(CNI, file)
        self.anchor = subprocess.Popen(['unshare', '-m', '--propagation', 'private', 'sh', '-ec', self.mounts(), 'sh'],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if self.anchor.stdout.readline() != b'ready\n':
            raise RuntimeError(f'{self.name}: no mounts')
        self.root = f'/proc/{self.anchor.pid}/root'
        self.containerd = self.kubelet = None
        self.cdi = True
        self.eviction = {}  # thresholds of pressure, which kubelet sees where it measures file systems, too

    def mounts(self):
        hosts, empty = os.path.join(self.cluster.work, 'hosts'), os.path.join(self.cluster.work, 'empty')
        lines = ['mount --make-rshared /']
        lines += [f'mount -t tmpfs -o mode={mode} none {folder}; mount --make-shared {folder}' for folder, mode in
                  (('/var/lib', '755'), ('/run', '755'), ('/var/log', '755'), ('/dev/shm', '1777'))]
        lines += [f'mount --bind {hosts} /etc/hosts', f'mount --bind {empty} /etc/resolv.conf', 'mkdir -p /run/cdi /var/lib/kubelet',
                  'echo ready', 'read end || exit 0']
        return '\n'.join(lines)

    def inside(self, *command):
        return ['nsenter', '-t', str(self.anchor.pid), '-m', '--', *command]

    def path(self, path):
        """A path of the node's, as it is seen from here."""
        return self.root + path

    def spawn(self, name, *command, env=None, **keywords):
        with open(os.path.join(self.work, name + '.log'), 'ab') as log:
            return subprocess.Popen(self.inside(*command), env=env or self.cluster.env, stdin=subprocess.DEVNULL,
                                    stdout=log, stderr=log, **keywords)

    def log(self, name):
        with open(os.path.join(self.work, name + '.log'), errors='replace') as file:
            return file.read()

    def ctr(self, *words):
        return subprocess.run(self.inside(os.path.join(self.cluster.bin, 'ctr'), '-a', '/run/containerd/containerd.sock', '-n',
                                          'k8s.io', *words), env=self.cluster.env, capture_output=True, text=True)

    def start_containerd(self):
        config = os.path.join(self.work, 'containerd.toml')
        with open(config, 'w') as file:
            file.write(CONTAINERD.format(work=self.work, bin=self.cluster.bin, snapshotter=self.cluster.snapshotter, cdi=str(self.cdi).lower()))
        self.containerd = self.spawn('containerd', os.path.join(self.cluster.bin, 'containerd'), '-c', config)
        until('containerd serves', lambda: self.ctr('version').returncode == 0)

    def import_image(self, archive):
        done = self.ctr('images', 'import', '--snapshotter', self.cluster.snapshotter, archive)
        if done.returncode:
            raise RuntimeError(f'{archive}: {done.stderr}')

    def start_kubelet(self):
        config = os.path.join(self.work, 'kubelet.json')
        settings = {
            'kind': 'KubeletConfiguration', 'apiVersion': 'kubelet.config.k8s.io/v1beta1', 'cgroupDriver': 'cgroupfs',
            'cgroupsPerQOS': False, 'enforceNodeAllocatable': [], 'maxOpenFiles': 20000, 'oomScoreAdj': 0,
            'address': '0.0.0.0', 'port': 10300 + self.number, 'healthzPort': 0, 'readOnlyPort': 0,
            'evictionHard': self.eviction, 'evictionPressureTransitionPeriod': '5s', 'imageGCHighThresholdPercent': 100, 'imageGCLowThresholdPercent': 99,
            'authentication': {'anonymous': {'enabled': True}, 'webhook': {'enabled': False}},
            'authorization': {'mode': 'AlwaysAllow'}, 'featureGates': {'LocalStorageCapacityIsolation': bool(self.eviction), 'EphemeralContainers': True},
            'maxPods': 250, 'eventRecordQPS': 0, 'kubeAPIQPS': 100, 'kubeAPIBurst': 200, 'failSwapOn': False,
            'nodeStatusUpdateFrequency': f'{self.status_s}s'}
        settings['staticPodPath'] = os.path.join(self.work, 'manifests')
        os.makedirs(settings['staticPodPath'], exist_ok=True)
        with open(config, 'w') as file:
            json.dump(settings, file)
        self.kubelet = self.spawn(
            'kubelet', os.path.join(self.cluster.bin, 'kubelet'), '--config', config, '--kubeconfig',
            self.cluster.kubeconfig, '--container-runtime=remote',
            '--container-runtime-endpoint=unix:///run/containerd/containerd.sock', '--hostname-override', self.name,
            '--node-ip', f'{NETWORK}.{self.number}', '--runtime-cgroups=/', '--kubelet-cgroups=/', '--volume-plugin-dir',
            os.path.join(self.work, 'plugins'), '--cert-dir', os.path.join(self.work, 'pki'), '-v=2')

    def start(self):
        self.start_containerd()
        for image in self.cluster.images:
            self.import_image(image)
        self.start_kubelet()

    def kill(self, what, number=signal.SIGKILL):
        """kubelet or containerd."""
        process = getattr(self, what)
        process.send_signal(number)
        process.wait()
        setattr(self, what, None)

    def status(self):
        return (self.cluster.api.get(f'/api/v1/nodes/{self.name}') or {}).get('status', {})

    def ready(self):
        return any(c['type'] == 'Ready' and c['status'] == 'True' for c in self.status().get('conditions', []))

    def allocatable(self, resource):
        return int(self.status().get('allocatable', {}).get(resource, 0))

    def pod_log(self, pod, container, namespace='default'):
        """What a container printed: (seconds since 1970, text) for each line."""
        folder = self.path('/var/log/pods')
        rows = []
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            if not name.startswith(f'{namespace}_{pod}_') or not os.path.isdir(os.path.join(folder, name, container)):
                continue
            for part in sorted(os.listdir(os.path.join(folder, name, container)), key=lambda n: int(n.split('.')[0])):
                with open(os.path.join(folder, name, container, part), errors='replace') as file:
                    rows += [line.rstrip('\n').split(' ', 3) for line in file]
        return [(stamp_seconds(row[0]), row[3] if len(row) > 3 else '') for row in rows]

    def end(self):
        for what in ('kubelet', 'containerd'):
            if alive(getattr(self, what)):
                self.kill(what)
        self.anchor.kill()
        self.anchor.wait()


def stamp_seconds(stamp):
    """2026-01-02T03:04:05.123456789Z"""
    day, _, fraction = stamp.rstrip('Z').partition('.')
    fraction = fraction.split('+')[0]
    return time.mktime(time.strptime(day.split('+')[0], '%Y-%m-%dT%H:%M:%S')) - time.timezone + float('0.' + (fraction or '0'))


class Cluster:
    def __init__(self, bin_folder, work, nodes=1, images=(), status_s=1, api_options=()):
        self.bin, self.work, self.images, self.api_options = bin_folder, work, list(images), list(api_options)
        self.env = {**os.environ, 'PATH': f'{bin_folder}:{os.environ["PATH"]}:/usr/sbin:/sbin', 'LC_ALL': 'C', 'TZ': 'UTC'}
        self.env.pop('METE_RUNTIME_DIR', None)
        os.environ['TZ'] = 'UTC'
        time.tzset()
        self.kubeconfig = os.path.join(work, 'kubeconfig')
        self.snapshotter = self.find_snapshotter()
        self.processes = {}
        self.api = Api()
        self.write_files(nodes)
        self.make_network(nodes)
        self.nodes = [Node(self, n + 1, status_s) for n in range(nodes)]

    def find_snapshotter(self):
        """overlayfs where the kernel and the folder allow it."""
        folder = os.path.join(self.work, 'try')
        for name in ('lower', 'upper', 'inner', 'merged'):
            os.makedirs(os.path.join(folder, name))
        words = f'lowerdir={folder}/lower,upperdir={folder}/upper,workdir={folder}/inner'
        done = subprocess.run(['mount', '-t', 'overlay', 'none', '-o', words, folder + '/merged'], capture_output=True)
        subprocess.run(['umount', folder + '/merged'], capture_output=True)
        return 'native' if done.returncode else 'overlayfs'

    def write(self, name, text):
        path = os.path.join(self.work, name)
        with open(path, 'w') as file:
            file.write(text if isinstance(text, str) else json.dumps(text))
        return path

    def write_files(self, nodes):
        self.write('hosts', '127.0.0.1 localhost\n' + ''.join(f'{NETWORK}.{n + 1} n{n + 1}\n' for n in range(nodes)))
        self.write('empty', '')
        self.write('tokens', f'{TOKEN},admin,admin,"system:masters"\n')
        self.write('kubeconfig', {
            'apiVersion': 'v1', 'kind': 'Config', 'current-context': 'c',
            'clusters': [{'name': 'c', 'cluster': {'server': f'https://127.0.0.1:{PORT}', 'insecure-skip-tls-verify': True}}],
            'users': [{'name': 'u', 'user': {'token': TOKEN}}],
            'contexts': [{'name': 'c', 'context': {'cluster': 'c', 'user': 'u'}}]})
        self.write('scheduler.json', {
            'apiVersion': 'kubescheduler.config.k8s.io/v1beta1', 'kind': 'KubeSchedulerConfiguration',
            'clientConnection': {'kubeconfig': self.kubeconfig, 'qps': 200, 'burst': 400},
            'leaderElection': {'leaderElect': False}})

    def make_network(self, nodes):
        commands = ['ip link set lo up', 'ip link add d0 type veth peer name d1', 'ip link set d0 up', 'ip link set d1 up']
        commands += [f'ip addr add {NETWORK}.{n + 1}/24 dev d0' for n in range(nodes)]
        for command in [*commands, 'ip route add default dev d0']:
            subprocess.run(command.split(), check=True)

    def spawn(self, name, *words):
        with open(os.path.join(self.work, name + '.log'), 'ab') as log:
            self.processes[name] = subprocess.Popen([os.path.join(self.bin, name), *words], env=self.env, stdout=log,
                                                    stderr=log, stdin=subprocess.DEVNULL)

    def start(self):
        key = os.path.join(self.work, 'key.pem')
        subprocess.run(['openssl', 'genrsa', '-out', key, '2048'], check=True, capture_output=True)
        self.spawn('etcd', '--data-dir', os.path.join(self.work, 'etcd'), '--unsafe-no-fsync', '--listen-client-urls',
                   'http://127.0.0.1:12379', '--advertise-client-urls', 'http://127.0.0.1:12379', '--listen-peer-urls',
                   'http://127.0.0.1:12380', '--log-level', 'error')
        self.start_api(key)
        self.start_scheduler()
        for node in self.nodes:
            node.start()
        for node in self.nodes:
            try:
                until(f'node {node.name} is ready', node.ready, 120)
            except TimeoutError:
                faults = [line for line in node.log('kubelet').splitlines() if line.startswith(('E', 'F'))]
                print('\n'.join(faults[-20:]), node.log('containerd')[-1000:], node.status(), sep='\n', file=sys.stderr)
                raise

    def start_api(self, key=None):
        key = key or os.path.join(self.work, 'key.pem')
        self.spawn('kube-apiserver', '--etcd-servers=http://127.0.0.1:12379', '--bind-address=127.0.0.1',
                   f'--secure-port={PORT}', '--cert-dir', os.path.join(self.work, 'pki'), '--token-auth-file',
                   os.path.join(self.work, 'tokens'), '--authorization-mode=RBAC', '--enable-aggregator-routing=true', '--feature-gates=EphemeralContainers=true', '--kubelet-preferred-address-types=InternalIP', '--service-account-key-file', key,
                   '--service-account-signing-key-file', key, '--service-account-issuer=https://cluster.test',
                   '--service-cluster-ip-range=10.98.0.0/16', '--disable-admission-plugins=ServiceAccount,TaintNodesByCondition', *self.api_options)
        until('the API server is ready', self.api.ready, 120)

    def start_scheduler(self):
        self.spawn('kube-scheduler', '--config', os.path.join(self.work, 'scheduler.json'), '--port=0', '--secure-port=0')

    def kubectl(self, *words, **keywords):
        return subprocess.run([os.path.join(self.bin, 'kubectl'), '--kubeconfig', self.kubeconfig, *words], env=self.env,
                              capture_output=True, text=True, **keywords)

    # Pods, in the namespace default.

    def pod(self, name, containers, **spec):
        """A pod, of the first node unless `spec` has another nodeSelector; `containers`: name to {command, resources}."""
        rows = [{'name': key, 'image': 'localhost/app:1', 'imagePullPolicy': 'Never', **value}
                for key, value in containers.items()]
        return {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': name},
                'spec': {'hostNetwork': True, 'automountServiceAccountToken': False, 'enableServiceLinks': False,
                         'terminationGracePeriodSeconds': 1, 'restartPolicy': 'Never', 'containers': rows,
                         'tolerations': [{'operator': 'Exists'}], 'nodeSelector': {'kubernetes.io/hostname': 'n1'}, **spec}}

    def create(self, pod):
        return self.api.ask('POST', '/api/v1/namespaces/default/pods', pod)

    def get(self, name):
        return self.api.get(f'/api/v1/namespaces/default/pods/{name}')

    def pods(self):
        return self.api.ask('GET', '/api/v1/namespaces/default/pods')['items']

    def phase(self, name):
        return ((self.get(name) or {}).get('status') or {}).get('phase')

    def wait_phase(self, name, *phases, seconds=60):
        return until(f'pod {name} is {" or ".join(phases)}', lambda: self.phase(name) in phases and self.phase(name), seconds)

    def delete(self, *names, wait=True):
        for name in names:
            with contextlib.suppress(Refused):
                self.api.ask('DELETE', f'/api/v1/namespaces/default/pods/{name}')
        if wait:
            until(f'{len(names)} pods are gone', lambda: not any(self.get(n) for n in names), 120)

    def events(self, name):
        """The messages of a pod's events."""
        answer = self.api.ask('GET', f'/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3D{name}')
        return [event['message'] for event in answer['items']]

    def end(self):
        for node in self.nodes:
            node.end()
        for process in self.processes.values():
            if alive(process):
                process.kill()
                process.wait()


def archive(work, name, root, command=('/bin/sleep', '100000')):
    """An image of a root file system as `docker save` writes it, made by hand: no program that makes images is needed."""
    import hashlib
    import tarfile
    folder = os.path.join(work, 'image-' + name)
    os.makedirs(folder)
    layer = os.path.join(folder, 'layer.tar')
    with tarfile.open(layer, 'w') as tar:
        tar.add(root, '.')
    with open(layer, 'rb') as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    config = json.dumps({'architecture': 'amd64', 'os': 'linux', 'config': {'Cmd': list(command), 'Env': ['PATH=/bin']},
                         'rootfs': {'type': 'layers', 'diff_ids': ['sha256:' + digest]}, 'history': []})
    named = hashlib.sha256(config.encode()).hexdigest() + '.json'
    for path, text in ((named, config), ('manifest.json', json.dumps(
            [{'Config': named, 'RepoTags': [f'localhost/{name}:1'], 'Layers': ['layer.tar']}]))):
        with open(os.path.join(folder, path), 'w') as file:
            file.write(text)
    path = os.path.join(work, name + '.tar')
    with tarfile.open(path, 'w') as tar:
        for entry in (named, 'manifest.json', 'layer.tar'):
            tar.add(os.path.join(folder, entry), entry)
    shutil.rmtree(folder)
    return path


def pause_image(work):
    """What holds a pod's namespaces: `sleep` of this machine."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'containers'))
    import rootfs
    root = rootfs.make(os.path.join(work, 'pause-root'), {}, tools=('sleep',))
    return archive(work, 'pause', root)


def main():
    bin_folder, work, command = sys.argv[1], sys.argv[2], sys.argv[3:]
    env = {**os.environ, 'METE_CLUSTER': work, 'METE_CLUSTER_BIN': bin_folder, 'KUBECONFIG': os.path.join(work, 'kubeconfig'),
           'PATH': bin_folder + ':' + os.environ['PATH']}
    if os.environ.get('METE_CLUSTER_BARE'):  # the command makes its own
        sys.exit(subprocess.run(command, env=env).returncode)
    cluster = Cluster(bin_folder, work, int(os.environ.get('METE_TEST_NODES', '1')), [pause_image(work)])
    try:
        cluster.start()
        status = subprocess.run(command, env=env).returncode
    finally:
        cluster.end()
    sys.exit(status)


if __name__ == '__main__':
    main()
