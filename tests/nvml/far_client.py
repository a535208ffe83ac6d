#!/usr/bin/env python3
"""
far_client.py QUOTA CASE: NVML and the driver in one process, whose device is a worker's. Prints what is wrong, then "done".

  order     NVML before cuInit, which it does not do for the program; memory as cuMemGetInfo has it; the processes
  hidden    CUDA_VISIBLE_DEVICES hides all devices from the driver, and none from NVML
  fork      a parent that has called NVML alone: its child may use the driver; a parent that has called cuInit: it may not
  own       what each variant of the list of processes says that this one uses, beside another process of the tenant
  logs      the driver's log, which PyTorch registers with
  lost      waits for a line after "ready": the worker is gone then
"""
import ctypes
import os
import signal
import sys

quota, case = int(sys.argv[1]), sys.argv[2]
SUCCESS, UNINITIALIZED, GPU_IS_LOST, NO_DEVICE, NOT_INITIALIZED = 0, 1, 15, 100, 3


class Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class Process(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong), ("a", ctypes.c_uint), ("b", ctypes.c_uint)]


class ProcessV1(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong)]


class ProcessDetail(ctypes.Structure):
    _fields_ = [*Process._fields_, ("protected", ctypes.c_ulonglong)]


class DetailList(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint), ("mode", ctypes.c_uint), ("count", ctypes.c_uint), ("at", ctypes.POINTER(ProcessDetail))]


nvml, cuda = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.CDLL("libcuda.so.1")


def same(got, wanted, what):
    if got != wanted:
        print(f"{what}: got {got}, expected {wanted}", flush=True)


def device(expect=SUCCESS):
    handle = ctypes.c_void_p()
    same(nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle)), expect, "the device")
    return handle


def memory(handle, expect=SUCCESS):
    m = Memory()
    same(nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(m)), expect, "nvmlDeviceGetMemoryInfo")
    return m.total, m.free


def driver_memory():
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    same(cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)), 0, "cuMemGetInfo")
    return total.value, free.value


def processes(handle):
    count, infos = ctypes.c_uint(8), (Process * 8)()
    same(nvml.nvmlDeviceGetComputeRunningProcesses_v3(handle, ctypes.byref(count), infos), SUCCESS, "the processes")
    return [infos[i].pid for i in range(count.value)]


def own_use(handle):
    """What this process uses according to each variant; one figure where all agree."""
    used = set()
    for name, kind in (("", ProcessV1), ("_v2", Process), ("_v3", Process)):
        count, infos = ctypes.c_uint(8), (kind * 8)()
        list_ = getattr(nvml, "nvmlDeviceGetComputeRunningProcesses" + name)
        same(list_(handle, ctypes.byref(count), infos), SUCCESS, "the processes" + name)
        used.add(*(i.used for i in infos[:count.value] if i.pid == os.getpid()))
    infos = (ProcessDetail * 8)()
    details = DetailList(ctypes.sizeof(DetailList) | 1 << 24, 0, 8, infos)
    same(nvml.nvmlDeviceGetRunningProcessDetailList(handle, ctypes.byref(details)), SUCCESS, "the list of details")
    used.add(*(i.used for i in infos[:details.count] if i.pid == os.getpid()))
    return used.pop() if len(used) == 1 else used


def context():
    c = ctypes.c_void_p()
    same(cuda.cuInit(0), 0, "cuInit")
    same(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(c), 0), 0, "a context")
    same(cuda.cuCtxSetCurrent(c), 0, "cuCtxSetCurrent")


def child(body):
    pid = os.fork()
    if not pid:
        body()
        sys.stdout.flush()
        os._exit(0)
    same(os.waitpid(pid, 0)[1], 0, "the child's status")


def order():
    count, at = ctypes.c_int(), ctypes.c_uint64()
    same(nvml.nvmlInit_v2(), SUCCESS, "nvmlInit")
    handle = device()
    total, free = memory(handle)
    same(total, quota, "the total")
    same(cuda.cuDeviceGetCount(ctypes.byref(count)), NOT_INITIALIZED, "the driver, which nobody has initialised")
    same(processes(handle), [], "processes without a context")
    context()
    same(processes(handle), [os.getpid()], "processes with one")
    same(memory(handle), driver_memory(), "memory, as the driver has it")
    same(cuda.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(10 << 20)), 0, "cuMemAlloc")
    same(memory(handle), driver_memory(), "memory with 10 MiB")
    same(free - memory(handle)[1] >= 10 << 20, True, "10 MiB are taken")
    same(nvml.nvmlShutdown(), SUCCESS, "nvmlShutdown")
    same(nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(Memory())), UNINITIALIZED, "after the end")
    same(cuda.cuMemFree_v2(at), 0, "the driver goes on")


def hidden():
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    same(nvml.nvmlInit_v2(), SUCCESS, "nvmlInit")
    same(cuda.cuInit(0), NO_DEVICE, "cuInit")
    same(memory(device())[0], quota, "the total")


def fork():
    same(nvml.nvmlInit_v2(), SUCCESS, "nvmlInit")
    device()
    child(lambda: (context(), same(memory(device()), driver_memory(), "the child's memory")))
    same(memory(device())[0], quota, "the parent's total")
    context()
    child(lambda: (same(cuda.cuInit(0), NOT_INITIALIZED, "cuInit in a child of a parent that uses the driver"),
                   same(memory(device())[0], quota, "NVML there")))


def takes(handle, size):
    """Takes memory. Value: what this process uses then."""
    at = ctypes.c_uint64()
    context()
    same(cuda.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(1 << 20)), 0, "cuMemAlloc")  # on this machine, none is in no list
    before = own_use(handle)
    same(cuda.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(size)), 0, "cuMemAlloc")
    same(own_use(handle) - before, size, "the memory that was taken")
    return own_use(handle)


def own():
    heard, said = os.pipe()
    pid = os.fork()
    same(nvml.nvmlInit_v2(), SUCCESS, "nvmlInit")
    if not pid:
        takes(device(), 20 << 20)
        os.write(said, b"y")
        signal.pause()
    os.close(said)
    os.read(heard, 1)
    handle = device()
    mine = takes(handle, 10 << 20)
    total, free = memory(handle)
    same(mine < 30 << 20, True, "the other's memory is not this one's")
    same(total - free >= mine + (20 << 20), True, "the tenant's memory is both")
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def logs():
    """The driver's log, which PyTorch registers with: there is one, without a line."""
    called = []
    register = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t)(lambda *a: called.append(a))
    handle, at, size, text = ctypes.c_void_p(), ctypes.c_uint(9), ctypes.c_size_t(16), ctypes.create_string_buffer(b"x" * 15)
    context()
    same(cuda.cuLogsRegisterCallback(register, None, ctypes.byref(handle)), 0, "cuLogsRegisterCallback")
    same(cuda.cuLogsCurrent(ctypes.byref(at), 0), 0, "cuLogsCurrent")
    same(cuda.cuLogsDumpToMemory(ctypes.byref(at), text, ctypes.byref(size), 0), 0, "cuLogsDumpToMemory")
    same((text.value, size.value), (b"", 0), "what was logged")
    same(cuda.cuMemFree_v2(ctypes.c_uint64(12345)) != 0, True, "an error")
    same(cuda.cuLogsUnregisterCallback(handle), 0, "cuLogsUnregisterCallback")
    same(cuda.cuLogsUnregisterCallback(handle), 1, "and once more")
    same(called, [], "what was called")


def lost():
    same(nvml.nvmlInit_v2(), SUCCESS, "nvmlInit")
    handle = device()
    memory(handle)
    print("ready", flush=True)
    sys.stdin.readline()
    memory(handle, GPU_IS_LOST)


{"order": order, "hidden": hidden, "fork": fork, "own": own, "logs": logs, "lost": lost}[case]()
print("done", flush=True)
