#!/usr/bin/env python3
"""
An NVML client in Python, as monitoring tools are: the library by its name, structures by ctypes.

client.py [LIBRARY] prints what it sees as one line of JSON for every line on its standard input:

  look    {"devices": [{"uuid", "index", "memory", "memory2", "processes", "samples", "utilisation"}],
          "count"}
  fork    the same, seen by a child made by fork
  close   closes every descriptor above 2, then looks
  wait N  looks N seconds later
"""
import ctypes
import json
import os
import sys
import time

SUCCESS, INVALID_ARGUMENT, NOT_FOUND, INSUFFICIENT_SIZE = 0, 2, 6, 7
uint, ulonglong = ctypes.c_uint, ctypes.c_ulonglong


class Memory(ctypes.Structure):
    _fields_ = [("total", ulonglong), ("free", ulonglong), ("used", ulonglong)]


class Memory2(ctypes.Structure):
    _fields_ = [("version", uint), ("total", ulonglong), ("reserved", ulonglong), ("free", ulonglong), ("used", ulonglong)]


class Utilisation(ctypes.Structure):
    _fields_ = [("gpu", uint), ("memory", uint)]


class ProcessV1(ctypes.Structure):
    _fields_ = [("pid", uint), ("used", ulonglong)]


class Process(ctypes.Structure):
    _fields_ = [("pid", uint), ("used", ulonglong), ("instance", uint), ("compute_instance", uint)]


class Detail(ctypes.Structure):
    _fields_ = [*Process._fields_, ("protected", ulonglong)]


class Details(ctypes.Structure):
    _fields_ = [("version", uint), ("mode", uint), ("count", uint), ("array", ctypes.POINTER(Detail))]


class Sample(ctypes.Structure):
    _fields_ = [("pid", uint), ("at", ulonglong), ("sm", uint), ("memory", uint), ("encoder", uint), ("decoder", uint)]


class Nvml:
    def __init__(self, name="libnvidia-ml.so.1"):
        self.library = ctypes.CDLL(name)

    def call(self, symbol, *args):
        return getattr(self.library, symbol)(*args)

    def must(self, symbol, *args):
        r = self.call(symbol, *args)
        if r != SUCCESS:
            raise RuntimeError(f"{symbol}: {r}")

    def lists(self, handle, symbol, kind):
        """A process list, asked for its size first, as the documentation wants it; it may grow in between."""
        for _ in range(20):
            count = uint(0)
            r = self.call(symbol, handle, ctypes.byref(count), None)
            if r == SUCCESS:
                return []
            if r != INSUFFICIENT_SIZE:
                raise RuntimeError(f"{symbol}: {r}")
            array = (kind * count.value)()
            r = self.call(symbol, handle, ctypes.byref(count), array)
            if r == SUCCESS:
                return sorted([p.pid, p.used] for p in array[:count.value])
            if r != INSUFFICIENT_SIZE:
                raise RuntimeError(f"{symbol}: {r}")
        raise RuntimeError(f"{symbol}: grows for ever")

    def details(self, handle):
        d = Details(version=ctypes.sizeof(Details) | 1 << 24, mode=0, count=512, array=(Detail * 512)())
        self.must("nvmlDeviceGetRunningProcessDetailList", handle, ctypes.byref(d))
        return sorted([d.array[i].pid, d.array[i].used] for i in range(d.count))

    def samples(self, handle):
        count, array = uint(512), (Sample * 512)()
        r = self.call("nvmlDeviceGetProcessUtilization", handle, array, ctypes.byref(count), ulonglong(0))
        if r == NOT_FOUND:
            return []
        if r != SUCCESS:
            raise RuntimeError(f"nvmlDeviceGetProcessUtilization: {r}")
        return sorted([s.pid, s.sm] for s in array[:count.value])

    def device(self, number):
        handle, text, index = ctypes.c_void_p(), ctypes.create_string_buffer(96), uint(99)
        utilisation = Utilisation()
        memory, memory2 = Memory(), Memory2(version=ctypes.sizeof(Memory2) | 2 << 24)
        self.must("nvmlDeviceGetHandleByIndex_v2", number, ctypes.byref(handle))
        self.must("nvmlDeviceGetUUID", handle, text, 96)
        self.must("nvmlDeviceGetIndex", handle, ctypes.byref(index))
        self.must("nvmlDeviceGetMemoryInfo", handle, ctypes.byref(memory))
        self.must("nvmlDeviceGetMemoryInfo_v2", handle, ctypes.byref(memory2))
        self.must("nvmlDeviceGetUtilizationRates", handle, ctypes.byref(utilisation))
        return {
            "uuid": text.value.decode(), "index": index.value,
            "memory": [memory.total, memory.free, memory.used],
            "memory2": [memory2.total, memory2.free, memory2.used + memory2.reserved],
            "processes": self.lists(handle, "nvmlDeviceGetComputeRunningProcesses_v3", Process),
            "processes1": self.lists(handle, "nvmlDeviceGetComputeRunningProcesses", ProcessV1),
            "graphics": self.lists(handle, "nvmlDeviceGetGraphicsRunningProcesses_v3", Process),
            "details": self.details(handle),
            "utilisation": utilisation.gpu, "samples": self.samples(handle),
        }

    def look(self):
        count = uint(0)
        self.must("nvmlDeviceGetCount_v2", ctypes.byref(count))
        return {"count": count.value, "devices": [self.device(i) for i in range(count.value)]}


def in_child(nvml):
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(r)
        try:
            text = json.dumps(nvml.look())
        except RuntimeError as e:
            text = json.dumps({"error": str(e)})
        os.write(w, text.encode())
        os._exit(0)
    os.close(w)
    with os.fdopen(r) as f:
        text = f.read()
    os.waitpid(pid, 0)
    return json.loads(text)


def main():
    nvml = Nvml(*sys.argv[1:])
    r = nvml.call("nvmlInit_v2")
    print(json.dumps({"init": r, "pid": os.getpid()}), flush=True)
    if r != SUCCESS:
        return
    for line in sys.stdin:
        words = line.split()
        try:
            if words[0] == "fork":
                seen = in_child(nvml)
            else:
                if words[0] == "close":
                    os.closerange(3, 65536)
                elif words[0] == "wait":
                    time.sleep(float(words[1]))
                seen = nvml.look()
        except RuntimeError as e:
            seen = {"error": str(e)}
        print(json.dumps(seen), flush=True)


if __name__ == "__main__":
    main()
