"""What the tests of the relay stand on: a folder, keys and certificates, the processes of one relayed way."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else '.'
RELAY = os.path.join(BUILD, 'src/remote/relay/mete-relay')
WORKER = os.path.join(BUILD, 'tests/remote/relay/echo_worker')
CLIENT = os.path.join(BUILD, 'tests/remote/relay/echo_client')
PATIENCE = int(os.environ.get('METE_TEST_PATIENCE', '1'))
WAIT_S = 20  # times PATIENCE
SILENT_S = 600 if PATIENCE > 1 else 200
CERT_MISSING = '' if shutil.which('openssl') else 'there is no openssl command to make certificates with'


def wait_for(condition, what, seconds=WAIT_S):
    end = time.monotonic() + seconds * PATIENCE
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f'{what}: not within {seconds} s')
        time.sleep(0.02)
    return value


def hangs(number, frame):
    raise AssertionError(f'nothing for {SILENT_S} s: the test hangs')


signal.signal(signal.SIGALRM, hangs)  # each Relay sets the alarm anew


class Late:
    """How late a process of this machine is for its turns meanwhile: `sum`, in seconds."""

    def __enter__(self):
        self.sum, self.ended = 0, False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        return self

    def run(self):
        while not self.ended:
            began = time.monotonic()
            time.sleep(0.02)
            self.sum += time.monotonic() - began - 0.02

    def __exit__(self, *_):
        self.ended = True
        self.thread.join()


def children(pid):
    try:
        with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as f:
            return {int(p) for p in f.read().split()}
    except OSError:
        return set()


def alive(pid):
    try:
        with open(f'/proc/{pid}/stat', encoding='ascii') as f:
            return f.read().rsplit(')', 1)[1].split()[0] not in 'ZX'
    except OSError:
        return False


class Certificates:
    """Two authorities; a server, clients; some that have expired, some that are not valid yet."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder)
        for name in ('ca', 'other'):
            self.openssl('req', '-x509', *self.new_key(name), '-out', f'{name}.pem', '-subj', f'/CN={name}',
                         '-days', '30')
        host = 'subjectAltName=DNS:localhost,IP:127.0.0.1,IP:10.77.0.2'
        self.leaf('server', '/CN=server', 'ca', host)
        self.leaf('alice', '/CN=alice', 'ca', 'extendedKeyUsage=clientAuth')
        self.leaf('nameless', '/O=nobody', 'ca', 'extendedKeyUsage=clientAuth')
        self.leaf('stranger', '/CN=alice', 'other', 'extendedKeyUsage=clientAuth')
        self.sign('alice', 'alice-old', 'ca', 'extendedKeyUsage=clientAuth', -1)
        self.sign('server', 'server-old', 'ca', host, -1)
        self.sign_for_later('alice', 'alice-early', 'extendedKeyUsage=clientAuth')
        self.sign_for_later('server', 'server-early', host)
        self.leaf('usage', '/CN=alice', 'ca', 'extendedKeyUsage=serverAuth')

    def openssl(self, *args):
        subprocess.run(['openssl', *args], cwd=self.folder, check=True, timeout=60, stdout=subprocess.DEVNULL,
                       stderr=subprocess.PIPE)

    @staticmethod
    def new_key(name):
        return ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', f'{name}.key']

    def leaf(self, name, subject, authority, extension):
        self.openssl('req', *self.new_key(name), '-out', f'{name}.csr', '-subj', subject)
        self.sign(name, name, authority, extension, 30)

    def sign(self, request, name, authority, extension, days):
        with open(os.path.join(self.folder, 'extension'), 'w', encoding='ascii') as f:
            f.write(extension + '\n')
        self.openssl('x509', '-req', '-in', f'{request}.csr', '-CA', f'{authority}.pem', '-CAkey', f'{authority}.key',
                     '-CAcreateserial', '-out', f'{name}.pem', '-days', str(days), '-extfile', 'extension')

    def sign_for_later(self, request, name, extension):
        """Valid from a day in 2090 on; `openssl x509` can only begin today."""
        folder = os.path.join(self.folder, 'register')
        os.makedirs(folder, exist_ok=True)
        config = {'register/index.txt': '', 'register/serial': '01\n', 'extension': extension + '\n',
                  'register/config': '[ca]\ndefault_ca=it\n[it]\ndatabase=register/index.txt\nserial=register/serial\n'
                                     'new_certs_dir=register\ndefault_md=sha256\nunique_subject=no\npolicy=any\n'
                                     '[any]\ncommonName=supplied\n'}
        for path, text in config.items():
            with open(os.path.join(self.folder, path), 'w', encoding='ascii') as f:
                f.write(text)
        self.openssl('ca', '-batch', '-config', 'register/config', '-cert', 'ca.pem', '-keyfile', 'ca.key', '-notext',
                     '-startdate', '20900101000000Z', '-enddate', '20910101000000Z', '-extfile', 'extension',
                     '-in', f'{request}.csr', '-out', f'{name}.pem')

    def auth(self, key, chain=None, authority='ca'):
        path = self.folder + '/'
        return ['--cert', f'{path}{chain or key}.pem', '--cert-key', f'{path}{key}.key',
                '--ca', f'{path}{authority}.pem']


class Place:
    relay, worker, client = RELAY, WORKER, CLIENT
    sanitized = bool(os.environ.get('METE_TEST_SANITIZED'))

    def __init__(self, nobody=False):
        self.folder = tempfile.mkdtemp(prefix='mete-relay-')
        self.made = None
        self.count = 0
        # Started by root, the server's sessions are nobody's; what shares memory with them must be so too.
        self.who = {'user': 65534, 'group': 65534, 'extra_groups': []} if nobody and os.geteuid() == 0 else {}
        if self.who:
            os.chmod(self.folder, 0o777)

    def has_ucx(self):
        p = subprocess.run([RELAY, 'probe', '127.0.0.1:1', '--ucx', '--plain'], stderr=subprocess.PIPE, timeout=60,
                           check=False)
        return b'without UCX' not in p.stderr

    def path(self, name):
        return os.path.join(self.folder, name)

    def key(self, name, kind='first'):
        path = self.path(f'{name}-{kind}.key')
        if not os.path.exists(path):
            fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
            os.write(fd, f'mete-key 1 {name} {os.urandom(32).hex()}\n'.encode())
            if self.who:
                os.chown(path, self.who['user'], self.who['group'])
            os.close(fd)
        return path

    def certificates(self):
        self.made = self.made or Certificates(self.path('certificates'))
        return self.made

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class Relay:
    """Worker, server's relay, client's relay. port: somebody else's server is used. inside: a prefix for commands."""

    def __init__(self, place, serve=(), connect=(), walls=('{}',), port=None, host='127.0.0.1', listen='127.0.0.1:0',
                 serve_inside=(), connect_inside=(), env=None):
        signal.alarm(SILENT_S)
        place.count += 1
        self.place = place
        self.env = {**os.environ, **(env or {})}
        self.log = place.path(f'{place.count}.log')
        self.worker = self.server = self.client = None
        self.socket = place.path(f'{place.count}.sock')
        self.connect_inside = list(connect_inside)
        wall = place.path(f'{place.count}.wall')
        try:
            if port is None:
                self.worker = self.run([place.worker, wall], 'ready')
                args = [a for w in walls for a in ('--wall', w.format(wall))]
                self.server = self.run([*serve_inside, place.relay, 'serve', '--listen', listen, *args, *serve],
                                       'serving on')
                port = int(self.server.first.rsplit(':', 1)[1])
            self.port = port
            self.client = self.run([*connect_inside, place.relay, 'connect', f'{host}:{port}', '--socket', self.socket,
                                    *connect], 'run on')
        except BaseException:
            self.close()
            raise

    def run(self, command, word):
        with open(self.log, 'ab') as log:
            p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=self.env, **self.place.who)
        p.first = p.stdout.readline()
        if word not in p.first:
            p.kill()
            p.communicate()
            raise AssertionError(f'{command}: {p.first!r}, {self.server_log()}')
        return p

    def start(self, scene, number=None, env=None):
        command = [self.place.client, self.socket, scene] + ([str(number)] if number is not None else [])
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **(env or {})},
                                **self.place.who)

    def play(self, scene, number=None, env=None):
        p = self.start(scene, number, env)
        try:
            out = p.communicate(timeout=120)[0]
        except subprocess.TimeoutExpired:
            p.kill()
            raise
        return p.returncode, out

    def server_log(self):
        with open(self.log, encoding='utf-8') as f:
            return f.read()

    def session_pids(self):
        return {p for p in children(self.server.pid) if alive(p)}

    def sessions(self):
        return len(self.session_pids())

    def host_pids(self):
        return {p for c in children(self.client.pid) for p in children(c) if alive(p)}

    def workers(self):
        return len([p for p in children(self.worker.pid) if alive(p)])

    def server_fds(self):
        return len(os.listdir(f'/proc/{self.server.pid}/fd'))

    def kill_server(self):
        for p in (*self.session_pids(), self.server.pid):
            os.kill(p, signal.SIGKILL)

    def close(self):
        for p in (self.client, self.server, self.worker):
            if not p:
                continue
            p.terminate()
            try:
                p.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                p.kill()
                p.communicate()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
