"""
What kube-controller-manager and kube-proxy do for what the chart installs, where a cluster of cluster.py has neither.

DaemonSets and Deployments become pods, and pods of an older template are replaced; a Service gets its Endpoints, and
the address of the API server's own Service leads to it; a namespace has the API server's certificate, and one that is
deleted loses what is in it. Pods get their service account's token, as the admission plugin gives it. Every pod has the
host's network, for there is no other.
"""
import contextlib
import copy
import hashlib
import http.client
import json
import os
import socket
import subprocess
import threading

from cluster import PORT, Refused

SERVICE = '10.98.0.1'  # of the API server: the first address of --service-cluster-ip-range
TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount'
HASH = 'pod-template-hash'


def forward():
    """Connections to the API server's Service go to the API server."""
    subprocess.run(['ip', 'addr', 'add', SERVICE + '/32', 'dev', 'lo'], check=True)
    listener = socket.create_server((SERVICE, 443))

    def copy_all(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        for s in (source, target):
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)

    def serve():
        while True:
            near, _ = listener.accept()
            try:
                far = socket.create_connection(('127.0.0.1', PORT))
            except OSError:
                near.close()
                continue
            for pair in ((near, far), (far, near)):
                threading.Thread(target=copy_all, args=pair, daemon=True).start()
    threading.Thread(target=serve, daemon=True).start()


def account_volume(spec):
    """The token of the pod's service account, where it wants one."""
    if spec.get('automountServiceAccountToken') is False:
        return
    spec.setdefault('volumes', []).append({'name': 'kube-api-access', 'projected': {'sources': [
        {'serviceAccountToken': {'path': 'token', 'expirationSeconds': 3607}},
        {'configMap': {'name': 'kube-root-ca.crt', 'items': [{'key': 'ca.crt', 'path': 'ca.crt'}]}},
        {'downwardAPI': {'items': [{'path': 'namespace', 'fieldRef': {'fieldPath': 'metadata.namespace'}}]}}]}})
    for container in spec['containers']:
        container.setdefault('volumeMounts', []).append({'name': 'kube-api-access', 'mountPath': TOKEN, 'readOnly': True})


def pod_of(owner, name, mark, node=None):
    template = copy.deepcopy(owner['spec']['template'])
    spec = {**template['spec'], 'hostNetwork': True}
    account_volume(spec)
    if node:
        spec['nodeName'] = node
    meta = template['metadata']
    return {'apiVersion': 'v1', 'kind': 'Pod', 'spec': spec, 'metadata': {
        **{k: meta[k] for k in ('annotations',) if meta.get(k)}, 'name': name, 'labels': {**meta.get('labels', {}), HASH: mark},
        'ownerReferences': [{'apiVersion': owner.get('apiVersion', 'apps/v1'), 'kind': owner.get('kind', 'DaemonSet'), 'controller': True,
                             'name': owner['metadata']['name'], 'uid': owner['metadata']['uid']}]}}


def is_ready(pod):
    return any(c['type'] == 'Ready' and c['status'] == 'True' for c in pod.get('status', {}).get('conditions', []))


class Controllers:
    """They run in a thread of their own until end()."""

    # What may lie in a namespace that is deleted.
    KINDS = [f'/apis/apps/v1/namespaces/{{}}/{kind}' for kind in ('daemonsets', 'deployments')] + [
        f'/apis/rbac.authorization.k8s.io/v1/namespaces/{{}}/{kind}' for kind in ('rolebindings', 'roles')] + [
        f'/api/v1/namespaces/{{}}/{kind}' for kind in ('services', 'endpoints', 'secrets', 'configmaps', 'serviceaccounts', 'pods', 'events')]

    def __init__(self, cluster):
        self.api = type(cluster.api)()  # a connection of its own
        with open(os.path.join(cluster.work, 'pki', 'apiserver.crt')) as file:
            self.certificate = file.read()
        self.stop, self.faults = threading.Event(), []
        forward()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def end(self):
        self.stop.set()
        self.thread.join()

    def run(self):
        while not self.stop.wait(0.1):
            self.attempt(self.turn)

    def attempt(self, step, *arguments):
        """Who is refused (somebody else was first) tries again at the next turn, and holds nobody else up."""
        try:
            step(*arguments)
        except (Refused, OSError, http.client.HTTPException, ValueError, KeyError) as why:
            self.faults.append(f'{step.__name__}: {why!r}')

    def list(self, path):
        return self.api.ask('GET', path)['items']

    def turn(self):
        pods = self.list('/api/v1/pods')
        for space in self.list('/api/v1/namespaces'):
            self.attempt(self.tend_namespace, space)
        nodes = [n['metadata']['name'] for n in self.list('/api/v1/nodes')]
        owners = {}
        for owner in self.list('/apis/apps/v1/daemonsets'):
            owner.update(kind='DaemonSet', apiVersion='apps/v1')
            owners[owner['metadata']['uid']] = (owner, {f'{owner["metadata"]["name"]}-{n}': n for n in nodes})
        for owner in self.list('/apis/apps/v1/deployments'):
            owner.update(kind='Deployment', apiVersion='apps/v1')
            owners[owner['metadata']['uid']] = (owner, {f'{owner["metadata"]["name"]}-{i}': None for i in range(owner['spec']['replicas'])})
        for owner, names in owners.values():
            self.attempt(self.tend, owner, names, pods)
        for pod in pods:
            uid = (pod['metadata'].get('ownerReferences') or [{}])[0].get('uid')
            if uid and uid not in owners and pod['metadata']['ownerReferences'][0]['kind'] in ('DaemonSet', 'Deployment'):
                self.attempt(self.delete_pod, pod)
        for service in self.list('/api/v1/services'):
            if service['spec'].get('selector'):
                self.attempt(self.tend_service, service, pods)

    def delete_pod(self, pod):
        if 'deletionTimestamp' not in pod['metadata']:
            self.api.ask('DELETE', f'/api/v1/namespaces/{pod["metadata"]["namespace"]}/pods/{pod["metadata"]["name"]}')

    def tend(self, owner, names, pods):
        """Pods that are missing are made, those of another template go first."""
        space = owner['metadata']['namespace']
        mark = hashlib.sha256(json.dumps(owner['spec']['template'], sort_keys=True).encode()).hexdigest()[:10]
        mine = {p['metadata']['name']: p for p in pods
                if p['metadata']['namespace'] == space and owner['metadata']['uid'] in [o['uid'] for o in p['metadata'].get('ownerReferences', [])]}
        for name, node in names.items():
            pod = mine.get(name)
            if not pod:
                self.api.ask('POST', f'/api/v1/namespaces/{space}/pods', pod_of(owner, name, mark, node))
            elif pod['metadata']['labels'].get(HASH) != mark or pod.get('status', {}).get('phase') in ('Failed', 'Succeeded'):
                self.delete_pod(pod)
        for name in set(mine) - set(names):
            self.delete_pod(mine[name])

    def tend_service(self, service, pods):
        meta, selector = service['metadata'], service['spec']['selector'].items()
        chosen = [p for p in pods if p['metadata']['namespace'] == meta['namespace'] and selector <= p['metadata'].get('labels', {}).items() and
                  is_ready(p) and 'deletionTimestamp' not in p['metadata']]
        ports = [{'name': port.get('name', ''), 'protocol': 'TCP',
                  'port': next((q['containerPort'] for p in chosen for c in p['spec']['containers'] for q in c.get('ports', [])
                                if q.get('name') == port['targetPort']), 0)} for port in service['spec']['ports']]
        subsets = [{'addresses': [{'ip': p['status']['podIP']} for p in chosen], 'ports': ports}] if chosen else []
        path = f'/api/v1/namespaces/{meta["namespace"]}/endpoints'
        old = self.api.get(f'{path}/{meta["name"]}')
        body = {'apiVersion': 'v1', 'kind': 'Endpoints', 'metadata': {'name': meta['name']}, 'subsets': subsets}
        if not old:
            self.api.ask('POST', path, body)
        elif (old.get('subsets') or []) != subsets:
            self.api.ask('PUT', f'{path}/{meta["name"]}', body)

    def tend_namespace(self, space):
        name = space['metadata']['name']
        if 'deletionTimestamp' not in space['metadata']:
            path = f'/api/v1/namespaces/{name}/configmaps'
            if not self.api.get(path + '/kube-root-ca.crt'):
                self.api.ask('POST', path, {'metadata': {'name': 'kube-root-ca.crt'}, 'data': {'ca.crt': self.certificate}})
            return
        for kind in self.KINDS:
            with contextlib.suppress(Refused):
                for item in self.list(kind.format(name)):
                    if 'deletionTimestamp' not in item['metadata']:
                        self.api.ask('DELETE', kind.format(name) + '/' + item['metadata']['name'])
        if not self.list(f'/api/v1/namespaces/{name}/pods'):
            self.api.ask('PUT', f'/api/v1/namespaces/{name}/finalize', {**space, 'spec': {'finalizers': []}})
