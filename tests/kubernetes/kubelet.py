"""
A stand-in for kubelet: what kubelet's device manager does with a plugin, over grpcio. It serves Registration on
kubelet.sock, calls GetDevicePluginOptions before it answers Register (as kubelet 1.32 does), then keeps ListAndWatch
open, and allocates. The messages are coded here by hand, from kubelet's api.proto, and not by the agent's tables.
"""
import concurrent.futures
import os
import subprocess
import sys
import threading
import time

SYSTEM = "/usr/bin/python3"  # Debian's python3-grpcio is for this one, whichever Python runs the tests

for folder in os.environ.get("METE_TEST_GRPC", "").split(":"):
    if folder:
        sys.path.append(folder)
try:
    import grpc
except ImportError:
    grpc = None
    if os.path.realpath(sys.executable) != os.path.realpath(SYSTEM) and os.path.exists(SYSTEM) and \
            not subprocess.run([SYSTEM, "-c", "import grpc"], stderr=subprocess.DEVNULL, check=False).returncode:
        os.execv(SYSTEM, [SYSTEM, "-B", *sys.argv])

PLUGIN = "/v1beta1.DevicePlugin/"


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    """A field of an encoded message: a text, bytes, or a number."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(data):
    """number -> values"""
    found, at = {}, 0

    def take():
        nonlocal at
        n = shift = 0
        while True:
            byte = data[at]
            at += 1
            n |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return n
    while at < len(data):
        tag = take()
        value = take()
        if tag & 7 == 2:
            value, at = data[at:at + value], at + value
        found.setdefault(tag >> 3, []).append(value)
    return found


def text(data, number):
    return fields(data).get(number, [b""])[0].decode()


class Plugin:
    """What kubelet knows of a registered plugin."""

    def __init__(self, path, resource, authority=None):
        self.path, self.resource = path, resource
        options = [("grpc.default_authority", authority)] if authority else []
        self.channel = grpc.insecure_channel("unix:" + path, options)
        self.last = self.decoded = None  # of the list: its bytes, and those that `known` was read from
        self.known = None
        self.lists = 0

    def call(self, method, request=b"", timeout=20):
        return self.channel.unary_unary(PLUGIN + method)(request, timeout=timeout)

    def watch(self):
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self):
        try:
            for answer in self.channel.unary_stream(PLUGIN + "ListAndWatch")(b""):
                self.last = answer
                self.lists += 1
        except (grpc.RpcError, ValueError):
            pass
        self.last = b""

    @property
    def devices(self):
        """Id to health; None before the first list. Read when it is asked for: lists of hundreds of plugins take time."""
        last = self.last
        if last is not None and last is not self.decoded:
            self.known = {text(d, 1): text(d, 2) for d in fields(last).get(1, [])}
            self.decoded = last
        return self.known

    def healthy(self):
        return sorted(i for i, health in (self.devices or {}).items() if health == "Healthy")

    def allocate(self, *ids):
        """The fields of the container's answer."""
        container = b"".join(field(1, i) for i in ids)
        answer = fields(self.call("Allocate", field(1, container)))[1]
        return fields(answer[0])

    def refused(self, *ids):
        """(status, line) of an Allocate that is to fail; None when it did not."""
        try:
            self.allocate(*ids)
        except grpc.RpcError as e:
            return e.code(), e.details()
        return None

    def close(self):
        self.channel.close()


class Caller:
    """Allocates from a process of its own: this one reads the lists of hundreds of plugins, for which real kubelets need no such time."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-B", os.path.abspath(__file__)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def meet(self, plugin):
        """Connects, before anything is measured."""
        self.ask(plugin.path)

    def allocate(self, plugin, name):
        """How many ms its answer took; None: it was refused."""
        took = self.ask(f"{plugin.path} {name}")
        return float(took) if took else None

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def serve_caller():
    channels = {}
    for line in sys.stdin:
        path, *names = line.split()
        if not names:
            channels[path] = grpc.insecure_channel("unix:" + path)
            channels[path].unary_unary(PLUGIN + "GetDevicePluginOptions")(b"", timeout=20)
            print(flush=True)
            continue
        began = time.monotonic()
        try:
            channels[path].unary_unary(PLUGIN + "Allocate")(field(1, field(1, names[0])), timeout=20)
            print((time.monotonic() - began) * 1000, flush=True)
        except grpc.RpcError:
            print(flush=True)


class Pods:
    """kubelet's pod-resources: `pods` is a list of (namespace, pod, {container: {resource: ids}})."""

    def __init__(self, path):
        self.path, self.pods, self.asked, self.broken = path, [], 0, None
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
        handler = grpc.unary_unary_rpc_method_handler(self.list)
        self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("v1.PodResourcesLister", {"List": handler}),))
        self.server.add_insecure_port("unix:" + path)
        self.server.start()

    def list(self, request, context):
        self.asked += 1
        if self.broken is not None:
            return self.broken
        answer = b""
        for space, name, containers in self.pods:
            rows = b""
            for container, devices in containers.items():
                # As kubelet does: a row for each id, with its topology.
                row = b"".join(field(2, field(1, resource) + field(2, i) + field(3, field(1, field(1, 0))))
                               for resource, ids in devices.items() for i in ids)
                rows += field(3, field(1, container) + row)
            answer += field(1, field(1, name) + field(2, space) + rows)
        return answer

    def end(self):
        self.server.stop(None).wait()


class Kubelet:
    def __init__(self, folder, authority=None):
        self.folder, self.authority = folder, authority
        self.plugins, self.registered, self.options = {}, [], {}
        self.refuse, self.refusals = None, 0
        self.begin()

    def begin(self):
        path = os.path.join(self.folder, "kubelet.sock")
        if os.path.exists(path):
            os.unlink(path)
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
        handler = grpc.unary_unary_rpc_method_handler(self.register)
        self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("v1beta1.Registration", {"Register": handler}),))
        self.server.add_insecure_port("unix:" + path)
        self.server.start()

    def register(self, request, context):
        if self.refuse:
            self.refusals += 1
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, self.refuse)
        version, endpoint, resource = (text(request, n) for n in (1, 2, 3))
        plugin = Plugin(os.path.join(self.folder, endpoint), resource, self.authority)
        self.options[resource] = fields(plugin.call("GetDevicePluginOptions"))
        self.registered.append((version, endpoint, resource))
        before = self.plugins.get(resource)
        self.plugins[resource] = plugin
        plugin.watch()
        if before:
            before.close()
        return b""

    def end(self):
        self.server.stop(None).wait()
        for plugin in self.plugins.values():
            plugin.close()
        self.plugins = {}


if __name__ == "__main__":
    serve_caller()
