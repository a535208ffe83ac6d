"""
Kubernetes' Container Runtime Interface, as kubelet speaks it (k8s.io/cri-api, runtime/v1/api.proto): the few calls that begin and
end a pod's container. Messages are put together by the numbers of their fields.
"""
import json

import grpc

SERVICE = '/runtime.v1.RuntimeService/'
HOST_NETWORK = 2


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def message(*fields):
    """Of pairs: a field's number and its value, which is a text, a message or a number."""
    out = b''
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


def words(number, texts):
    return [(number, text) for text in texts]


def entries(number, texts):
    """A map of texts."""
    return [(number, message((1, name), (2, value))) for name, value in texts.items()]


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
        if byte < 128:
            return value, at


def read(data):
    """The fields of a message: number to value, the last of each; those of other kinds than numbers and bytes are not expected."""
    fields, at = {}, 0
    while at < len(data):
        key, at = read_varint(data, at)
        value, at = read_varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        fields[key >> 3] = value
    return fields


class Runtime:
    """A runtime that serves at a socket."""

    def __init__(self, socket):
        self.channel = grpc.insecure_channel(f'unix://{socket}')

    def close(self):
        self.channel.close()

    def ask(self, call, *fields):
        return read(self.channel.unary_unary(SERVICE + call)(message(*fields), timeout=120))

    def version(self):
        told = self.ask('Version')
        return told[2].decode(), told[3].decode()

    def pod(self, name):
        """A pod in the host's network. Value: its id, and its description for those who come into it."""
        security = message((1, message((1, HOST_NETWORK))))  # NamespaceOption.network, in LinuxSandboxSecurityContext
        linux = message((2, security))
        config = message((1, message((1, name), (2, 'uid-' + name), (3, 'default'))), (8, linux))
        return self.ask('RunPodSandbox', (1, config))[1].decode(), config

    def remove_pod(self, pod):
        self.ask('StopPodSandbox', (1, pod))
        self.ask('RemovePodSandbox', (1, pod))

    def create(self, pod, name, image, program, devices=(), annotations=None):
        """A container that does not run yet. Value: its id."""
        config = message((1, message((1, name))), (2, message((1, image))), *words(3, program),
                         *entries(10, annotations or {}), *((17, message((1, device))) for device in devices))
        return self.ask('CreateContainer', (1, pod[0]), (2, config), (3, pod[1]))[1].decode()

    def start(self, container):
        self.ask('StartContainer', (1, container))

    def stop(self, container):
        self.ask('StopContainer', (1, container), (2, 0))

    def remove(self, container):
        self.ask('RemoveContainer', (1, container))

    def pid(self, container):
        """Of the container's first process, on this machine."""
        told = self.ask('ContainerStatus', (1, container), (2, 1))
        return json.loads(read(told[2])[2])['pid']

    def execute(self, container, *program):
        """Value: the exit status, what it printed, and its complaints."""
        told = self.ask('ExecSync', (1, container), *words(2, program), (3, 60))
        return told.get(3, 0), told.get(1, b'').decode(), told.get(2, b'').decode()
