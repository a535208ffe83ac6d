"""
A device plugin that does nothing but what the API asks: plain_plugin.py FOLDER IDS. The resource example.com/plain has so
many ids, all of them well; SIGUSR1 takes them away. It registers with each new kubelet. What kubelet does with its pods it
does without mete.
"""
import concurrent.futures
import os
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from kubelet import field, fields, grpc  # noqa: E402

RESOURCE, SERVICE = "example.com/plain", "v1beta1.DevicePlugin"


class Plain:
    def __init__(self, folder, count):
        self.folder, self.count, self.changed = folder, count, threading.Condition()
        self.path = os.path.join(folder, "plain.sock")
        self.server = None

    def list(self, request, context):
        told = None
        while context.is_active():
            with self.changed:
                if told == self.count:
                    self.changed.wait(1)
                    continue
                told = self.count
            yield b"".join(field(1, field(1, f"plain-{i}") + field(2, "Healthy")) for i in range(told))

    def allocate(self, request, context):
        return b"".join(field(1, b"") for _ in fields(request).get(1, []))

    def serve(self):
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
        one = grpc.unary_unary_rpc_method_handler
        handlers = {"GetDevicePluginOptions": one(lambda request, context: b""), "Allocate": one(self.allocate), "PreStartContainer": one(lambda r, c: b""),
                    "ListAndWatch": grpc.unary_stream_rpc_method_handler(self.list)}
        self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
        self.server.add_insecure_port("unix:" + self.path)
        self.server.start()

    def register(self):
        with grpc.insecure_channel("unix:" + os.path.join(self.folder, "kubelet.sock")) as channel:
            request = field(1, "v1beta1") + field(2, "plain.sock") + field(3, RESOURCE)
            channel.unary_unary("/v1beta1.Registration/Register")(request, timeout=5)

    def take_away(self, *_):
        # A signal's handler runs in the main thread, which holds no lock: it sleeps.
        with self.changed:
            self.count = 0
            self.changed.notify_all()


def main():
    plain = Plain(sys.argv[1], int(sys.argv[2]))
    signal.signal(signal.SIGUSR1, plain.take_away)
    known = None
    while True:
        try:
            now = os.stat(os.path.join(plain.folder, "kubelet.sock")).st_ino
            if now != known or not os.path.exists(plain.path):
                plain.serve()
                plain.register()
                known = now
        except (OSError, grpc.RpcError):
            known = None
        time.sleep(0.05)


main()
