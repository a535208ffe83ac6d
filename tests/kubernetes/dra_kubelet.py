"""
What kubelet does with a DRA driver, over grpcio: it finds the socket in plugins_registry, asks GetInfo, tells
NotifyRegistrationStatus, then prepares and gives back claims and follows the devices' health. The messages are coded
here by hand, from kubelet's protos.
"""
import os
import threading

from kubelet import field, fields, grpc, text

REGISTRATION = "/pluginregistration.Registration/"


class Driver:
    def __init__(self, root, name="gpu.mete.io"):
        self.registry = os.path.join(root, "plugins_registry", name + "-reg.sock")
        self.channel = None
        self.health, self.streams = None, 0
        self.version = "v1"

    def register(self, good=True, error=""):
        """The fields of PluginInfo."""
        channel = grpc.insecure_channel("unix:" + self.registry)
        info = fields(channel.unary_unary(REGISTRATION + "GetInfo")(b"", timeout=20, wait_for_ready=True))
        request = (field(1, 1) if good else b"") + field(2, error)
        channel.unary_unary(REGISTRATION + "NotifyRegistrationStatus")(request, timeout=20)
        channel.close()
        info = {n: [v.decode() for v in values] for n, values in info.items()}
        self.connect(info[3][0])
        return info

    def connect(self, endpoint):
        self.close()
        self.channel = grpc.insecure_channel("unix:" + endpoint)

    def call(self, method, request, timeout=30):
        service = f"/k8s.io.kubelet.pkg.apis.dra.{self.version}.DRAPlugin/"
        return self.channel.unary_unary(service + method)(request, timeout=timeout)

    def claims(self, method, claims):
        """uid -> fields of its entry. `claims`: (namespace, uid, name)"""
        request = b"".join(field(1, field(1, n) + field(2, u) + field(3, name)) for n, u, name in claims)
        entries = [fields(e) for e in fields(self.call(method, request)).get(1, [])]
        return {e[1][0].decode(): fields(e[2][0]) for e in entries}

    def prepare(self, *claims):
        """uid -> [(requests, pool, device, CDI ids)], or a text: the error."""
        answer = {}
        for uid, entry in self.claims("NodePrepareResources", claims).items():
            devices = [fields(d) for d in entry.get(1, [])]
            answer[uid] = entry[2][0].decode() if 2 in entry else [
                ([r.decode() for r in d.get(1, [])], d[2][0].decode(), d[3][0].decode(), [i.decode() for i in d.get(4, [])])
                for d in devices]
        return answer

    def unprepare(self, *claims):
        """uid -> "", or the error."""
        return {u: e.get(1, [b""])[0].decode() for u, e in self.claims("NodeUnprepareResources", claims).items()}

    def watch(self, service="v1"):
        def follow():
            try:
                for answer in self.channel.unary_stream(f"/{service}.DRAResourceHealth/NodeWatchResources")(b""):
                    health = {}
                    for row in map(fields, fields(answer).get(1, [])):
                        health[text(row[1][0], 2)] = (row.get(2, [0])[0], row.get(5, [b""])[0].decode(), row[3][0], row[4][0])
                    self.health = health
                    self.streams += 1
            except (grpc.RpcError, ValueError):
                pass
        threading.Thread(target=follow, daemon=True).start()

    def close(self):
        if self.channel:
            self.channel.close()
        self.channel = None
