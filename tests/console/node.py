"""What the console's tests stand on: a meted that serves HTTP on a loopback port, and one with 64 devices and 500 tenants."""
import http.client
import os
import random
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'daemon'))
from harness import *  # noqa: E402,F403

MANY_DEVICES = os.path.join(BUILD, 'tests/console/libmany_devices.so')
NAMES = ('train', 'infer', 'notebook', 'batch', 'eval', 'render', 'embed', 'rank', 'tune', 'speech')
GIB = 1 << 30


def without_http():
    with open(os.path.join(BUILD, 'build.ninja'), encoding='utf-8') as file:
        return 'http_none.c' in file.read()


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class Node(Meted):
    """A meted with a console. The port stays when it is started anew."""

    def __init__(self, *options, **keywords):
        self.port = free_port()
        super().__init__('--http', f'127.0.0.1:{self.port}', *options, **keywords)
        self.url = f'http://127.0.0.1:{self.port}/'

    def request(self, method, path, body=None, token=None, **headers):
        """status, headers, body as bytes"""
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=60)
        if token:
            headers['Authorization'] = f'Bearer {token}'
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, data, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, dict(answer.getheaders()), content

    def get(self, path, **headers):
        return json.loads(self.request('GET', path, **headers)[2])

    def token(self):
        c = self.control()
        answer = c.ask('token_new')
        c.close()
        return answer['token']

    def audit(self):
        c = self.control()
        answer = c.ask('audit')
        c.close()
        return answer['actions']


def loaded_node(tenants=500, running=96):
    """64 devices, so many grants on them, some with a process that holds memory. The same ones each time."""
    node = Node('--libcuda', MANY_DEVICES, env={'METE_SOFT_DEVICES': '0'})
    rnd = random.Random(11)
    control = node.control()
    # The drivers are asked by a process, which a busy machine may not let come to its end in time.
    devices = until(lambda: [d for d in control.ask('devices')['devices'] if d['driver'] == 'nvidia'], 60)
    for i in range(tenants):
        on = [devices[i % 64]] if i % 13 else [devices[i % 64], devices[(i + 1) % 64]]
        entries = [{'device': d['uuid'], 'mem_bytes': int(d['total_bytes'] * rnd.uniform(0.03, 0.1)) >> 20 << 20} for d in on]
        for e in entries:
            e['cores'] = rnd.choice([2, 4, 5, 8])
        made = make_grant(control, f'{rnd.choice(NAMES)}-{i}', entries)
        if i < running:
            hold(node, made['grant'], rnd)
    for name in [g['name'] for g in control.ask('grants')['grants']][3::97]:
        shares = control.grant(name)['devices']
        control.ask('grant_set', name=name, devices=[{'device': s['uuid'], 'frozen': True} for s in shares])
    control.close()
    return node


def make_grant(control, name, entries):
    """Asked again while the drivers do not answer in time."""
    answers = []

    def ask():
        answers.append(control.ask('grant_create', name=name, driver='nvidia', devices=entries))
        return answers[-1].get('code') != 'no-driver'

    until(ask, 60)
    if not answers[-1]['ok']:
        raise SystemExit(f'Bail out! {answers[-1]}')
    return answers[-1]


def hold(node, grant, rnd):
    client = node.client()
    if client.hello(grant['socket']) != OK:
        raise SystemExit('Bail out! a client is refused')
    for i, share in enumerate(grant['devices']):
        client.hold(i, int(share['quota_bytes'] // UNIT * rnd.choice([0.2, 0.6, 0.9, 1])))
