"""
A stand-in for Kubernetes' API server: collections of objects over HTTP, with what a client must get right: versions of
objects, 409 for a stale one, lists in pages, watches with bookmarks, 410 when a version is too old, a token, and a
server that is away. It knows nothing of the objects but their metadata; where the judge is (judge.py), what a client
writes must be of the API's own type, with no field that it has not.
"""
import copy
import http.server
import json
import socket
import threading
import time
import urllib.parse
import uuid

import judge


def merged(old, patch):
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    result = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


class Away(Exception):
    pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True


class ApiServer:
    def __init__(self, versions=("v1", "v1beta2", "v1beta1"), token=None, selectors=True, drop=(), ssl_context=None):
        self.versions, self.token, self.selectors, self.drop = list(versions), token, selectors, drop
        self.lock = threading.Condition()
        self.objects = {}  # path of the collection and the name -> object
        self.history = []  # (version, type, path of the collection, object)
        self.version, self.oldest = 100, 0
        self.requests = []  # (time, method, path, agent)
        self.fail = {}  # (method, part of a path) -> (status, how often)
        self.page = None
        self.context = ssl_context
        self.connections, self.server = set(), None
        self.port = 0
        self.up()

    @property
    def url(self):
        return f"{'https' if self.context else 'http'}://127.0.0.1:{self.port}"

    def up(self):
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self):
                super().setup()
                outer.connections.add(self.connection)

            def finish(self):
                outer.connections.discard(self.connection)
                try:
                    super().finish()
                except OSError:
                    pass

            def log_message(self, *args):
                pass

            def handle(self):
                try:
                    super().handle()
                except (OSError, ValueError):
                    pass

            def do_GET(self):
                outer.serve(self)

            do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

        self.server = Server(("127.0.0.1", self.port), Handler)
        if self.context:
            self.server.socket = self.context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def down(self):
        """Nobody listens, and who was connected is not any more."""
        if not self.server:
            return
        self.server.shutdown()
        self.server.server_close()
        for c in list(self.connections):
            try:
                c.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.server = None
        with self.lock:
            self.lock.notify_all()

    # What a test does to the objects.

    def change(self, kind, collection, name, obj):
        with self.lock:
            return self._change(kind, collection, name, obj)

    def _change(self, kind, collection, name, obj):
        self.version += 1
        if obj is not None:
            obj = copy.deepcopy(obj)
            obj["metadata"]["resourceVersion"] = str(self.version)
        if kind == "DELETED":
            obj = copy.deepcopy(self.objects.pop((collection, name)))
            obj["metadata"]["resourceVersion"] = str(self.version)
        else:
            self.objects[collection, name] = obj
        self.history.append((self.version, kind, collection, obj))
        self.lock.notify_all()
        return obj

    def put(self, collection, obj):
        """As somebody else: makes it, or replaces it whatever its version."""
        name = obj["metadata"]["name"]
        obj["metadata"].setdefault("uid", str(uuid.uuid4()))
        known = (collection, name) in self.objects
        return self.change("MODIFIED" if known else "ADDED", collection, name, obj)

    def delete(self, collection, name):
        return self.change("DELETED", collection, name, None)

    def all(self, collection):
        with self.lock:
            return [copy.deepcopy(o) for (c, _), o in sorted(self.objects.items()) if c == collection]

    def compact(self):
        """Versions before now are too old for a watch; those that run are cut."""
        with self.lock:
            self.version += 1
            self.oldest = self.version
            self.history = []
            self.lock.notify_all()

    def asked(self, method="", part=""):
        return [r for r in list(self.requests) if r[1].startswith(method) and part in r[2]]

    # What a client is answered.

    def collection(self, path):
        """("resourceslices", "name" or None); a namespace belongs to the collection."""
        words = path.strip("/").split("/")
        words = words[2:] if words[0] == "api" else words[3:]
        if words[0] == "namespaces":
            return "/".join(words[1:3]), words[3] if len(words) > 3 else None
        return words[0], words[1] if len(words) > 1 else None

    def status(self, h, code, message=""):
        self.answer(h, code, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": message})

    def answer(self, h, code, body):
        data = json.dumps(body).encode()
        h.send_response(code)
        h.send_header("Content-Type", "application/json")
        h.send_header("Content-Length", str(len(data)))
        h.end_headers()
        h.wfile.write(data)

    def serve(self, h):
        url = urllib.parse.urlsplit(h.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        size = int(h.headers.get("Content-Length") or 0)
        body = json.loads(h.rfile.read(size)) if size else None
        self.requests.append((time.monotonic(), h.command, h.path, h.headers.get("Content-Type")))
        if self.token and h.headers.get("Authorization") != "Bearer " + self.token:
            return self.status(h, 401, "Unauthorized")
        for (method, part), rest in list(self.fail.items()):
            if method == h.command and part in h.path and rest[1] > 0:
                self.fail[method, part] = (rest[0], rest[1] - 1)
                return self.status(h, rest[0], "as the test wants it")
        if url.path == "/apis/resource.k8s.io":
            if not self.versions:
                return self.status(h, 404, "the server could not find the requested resource")
            return self.answer(h, 200, {"kind": "APIGroup", "versions": [{"version": v} for v in self.versions]})
        if url.path.startswith("/apis/resource.k8s.io/") and url.path.split("/")[3] not in self.versions:
            return self.status(h, 404, "the server could not find the requested resource")
        if url.path.count("/") < 3:  # discovery
            return self.status(h, 404, "the server could not find the requested resource")
        collection, name = self.collection(url.path)
        if h.command == "GET" and name is None:
            if "fieldSelector" in query and not self.selectors:
                return self.status(h, 400, "field label not supported: spec.nodeName")
            return self.watch(h, collection, query) if query.get("watch") else self.list(h, collection, query)
        fault = judge.fault(body) if h.command in ("POST", "PUT") else None
        if fault:
            return self.status(h, 400, "strict decoding error: " + fault)
        with self.lock:
            code, obj = self.one(h.command, collection, name, body)
        return self.answer(h, code, obj) if code < 300 else self.status(h, code, obj)

    def kept(self, body):
        """An older server drops fields that it does not know."""
        for spec in body.get("spec", {}).get("devices", []):
            for field in self.drop:
                spec.pop(field, None)
                spec.get("basic", {}).pop(field, None)
        return body

    def named(self, collection, query):
        """The keys of a list's objects: of one namespace, or of all, with the label that is asked for."""
        label = query.get("labelSelector", "").partition("=")
        keys = [key for key in self.objects if key[0] == collection]
        if not keys and "/" not in collection:
            keys = [key for key in self.objects if key[0].endswith("/" + collection)]
        return sorted(k for k in keys if not label[0] or self.objects[k]["metadata"].get("labels", {}).get(label[0]) == label[2])

    def one(self, method, collection, name, body):
        if method == "POST":
            name = body["metadata"]["name"]
            if (collection, name) in self.objects:
                return 409, f'{collection} "{name}" already exists'
            body["metadata"]["uid"] = str(uuid.uuid4())
            if "/" in collection:
                body["metadata"]["namespace"] = collection.split("/")[0]
            return 201, self._change("ADDED", collection, name, self.kept(body))
        old = self.objects.get((collection, name))
        if old is None:
            return 404, f'{collection} "{name}" not found'
        if method == "GET":
            return 200, old
        if method == "DELETE":
            wanted = ((body or {}).get("preconditions") or {}).get("resourceVersion")
            if wanted and wanted != old["metadata"]["resourceVersion"]:
                return 409, f'{collection} "{name}": the precondition does not hold'
            return 200, self._change("DELETED", collection, name, None)
        version = body["metadata"].get("resourceVersion")
        if version and version != old["metadata"]["resourceVersion"]:
            return 409, f'{collection} "{name}": the object has been modified'
        if method == "PATCH":
            body = merged(old, body)
            if body == old:  # what changes nothing is not written
                return 200, old
        body["metadata"]["uid"] = old["metadata"]["uid"]
        return 200, self._change("MODIFIED", collection, name, self.kept(body))

    def list(self, h, collection, query):
        with self.lock:
            keys = self.named(collection, query)
            limit = self.page or int(query.get("limit", 10000))
            first = int(query.get("continue", 0))
            items = [self.objects[key] for key in keys[first:first + limit]]
            meta = {"resourceVersion": str(self.version)}
            if first + limit < len(keys):
                meta["continue"] = str(first + limit)
            body = json.loads(json.dumps({"kind": "List", "metadata": meta, "items": items}))
        self.answer(h, 200, body)

    def watch(self, h, collection, query):
        at = int(query["resourceVersion"])
        server = self.server
        if at < self.oldest:
            return self.status(h, 410, "too old resource version")
        end = time.monotonic() + int(query.get("timeoutSeconds", 60))
        h.send_response(200)
        h.send_header("Content-Type", "application/json")
        h.send_header("Transfer-Encoding", "chunked")
        h.end_headers()

        def say(kind, obj):
            data = json.dumps({"type": kind, "object": obj}).encode() + b"\n"
            # In two parts, as a network may do.
            for part in (data[:len(data) // 2], data[len(data) // 2:]):
                h.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
                h.wfile.flush()

        while time.monotonic() < end and self.server is server:
            with self.lock:
                if at >= self.oldest and self.version == at:
                    self.lock.wait(0.2)
                gone, now = at < self.oldest, self.version
                events = [e for e in self.history if e[0] > at and e[2] == collection]
            if gone:
                say("ERROR", {"kind": "Status", "code": 410, "message": "too old resource version"})
                break
            for version, kind, _, obj in events:
                say(kind, obj)
                at = version
            if now > at and query.get("allowWatchBookmarks"):
                at = now
                say("BOOKMARK", {"kind": "Status", "metadata": {"resourceVersion": str(at)}})
        h.wfile.write(b"0\r\n\r\n")
        h.close_connection = True
        return None
