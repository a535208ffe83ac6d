#!/usr/bin/env python3
"""
The share in what AMD's rocm-smi and amd-smi ask: their libraries are opened by path, and their calls looked up one by one, as these
tools do by Python's ctypes: smi_test.py BUILD. The libraries are a stand-in (amd_smi.c), the card is one for tests (amd_hip.c).
"""
import json
import os
import sys

from kit import AMD, BUILD, CASES, METE, MIB, Place, finish, ok, same, until

SMI = os.path.join(BUILD, "tests/hip/libamd_smi_for_tests.so")
FACE = os.path.join(BUILD, "src/shim/libmete-amd-smi.so")
GIB = 1 << 30
ASK = """
import ctypes, json, os, sys
lib, u64, dev = ctypes.CDLL(sys.argv[1]), ctypes.c_uint64, ctypes.c_void_p(1)
def told(name, *args):
    value = u64()
    return getattr(lib, name)(*args, ctypes.byref(value)), value.value
usage = (ctypes.c_uint32 * 2)()
count = ctypes.c_uint32()
lib.rsmi_num_monitor_devices(ctypes.byref(count))
lib.amdsmi_get_gpu_vram_usage(dev, usage)
def everything():
    return [told("rsmi_dev_memory_total_get", 0, 0), told("rsmi_dev_memory_usage_get", 0, 0), told("rsmi_dev_memory_total_get", 0, 1),
            told("rsmi_dev_memory_usage_get", 0, 1), told("amdsmi_get_gpu_memory_total", dev, 0), told("amdsmi_get_gpu_memory_usage", dev, 0),
            list(usage), count.value, told("rsmi_dev_memory_total_get", 7, 0)[0]]
said = everything()
if os.fork() == 0:
    os._exit(everything()[0] != said[0])
print(json.dumps([*said, os.waitstatus_to_exitcode(os.wait()[1])]))
"""


def ask(place, *words, **env):
    done = place.run(whole=[*words, sys.executable, "-c", ASK, SMI], env=env)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return [done.stdout, done.stderr]


place = Place("--libhip", AMD)
folder = os.path.join(place.meted.dir, "amd")
os.mkdir(folder)
os.symlink(AMD, os.path.join(folder, "libamdhip64.so.6"))
path = {"LD_LIBRARY_PATH": folder, "METE_HIP_DRIVER": ""}
whole = [[0, 16 * GIB], [0, 5 * GIB], [0, 3 * GIB], [0, GIB], [0, 16 * GIB], [0, 5 * GIB], [16384, 5120], 1, 2, 0]
same(ask(place), whole, "without a grant the tools see the whole card")
place.grant("seen", 64 * MIB, driver="hip")
under = [METE, "run", "--grant", "seen", "--"]
same(ask(place, *under, **path), [[0, 64 * MIB], [0, 0], [0, 3 * GIB], [0, GIB], [0, 64 * MIB], [0, 0], [64, 0], 1, 2, 0],
     "under a grant its share; the memory of other kinds, errors, and a child of fork() as well")
place.env.update(path)
holder = place.start(whole=[*under, CASES, "hold", str(24 * MIB)])
same(holder.stdout.readline(), "held\n", "a program of the grant holds 24 MiB")
said = ask(place, *under, **path)
same([said[1], said[5], said[6]], [[0, 24 * MIB], [0, 24 * MIB], [64, 24]], "which is what is in use")
holder.communicate("\n", timeout=60)
other = ask(place, *under, AMD_SMI_ADDRESS="0x400", **path)
same(other[:2], whole[:2], "a card that is none of the grant's is shown as it is")
away = ask(place, *under, "env", "METE_SOCKET=/nowhere/socket", **path)
same(away[:2], whole[:2], "without meted nothing is changed, and the tools work")
bare = place.run(whole=[sys.executable, "-c", ASK, SMI], env={"LD_PRELOAD": FACE})
same(json.loads(bare.stdout or "[]"), whole, "preloaded without a grant nothing is changed either")
# The linker knows for whom RTLD_NEXT and RTLD_DEFAULT are: by the address that dlsym() returns to.
program = ("import ctypes; p = ctypes.CDLL(None); p.dlsym.restype = ctypes.c_void_p; p.dlsym.argtypes = [ctypes.c_void_p, ctypes.c_char_p]; "
           "print(p.dlsym(None, b'getpid') == ctypes.cast(ctypes.CDLL('libc.so.6').getpid, ctypes.c_void_p).value, p.dlsym(None, b'no_such_name'))")
done = place.run(whole=[sys.executable, "-c", program], env={"LD_PRELOAD": FACE})
same((done.stdout, done.returncode), ("True None\n", 0), "other look-ups are the linker's", )
ok(until(lambda: place.share("seen")["held_bytes"] == 0, 30), "and nothing stays held")
place.close()

# A partition: its number is in the place of the function, or in bits 28 to 31.
parts = {"AMD_HIP_ADDRESS": "0000:03:00.0,0000:03:00.1"}
place = Place("--libhip", AMD, **parts)
answer = place.ask("grant_create", name="part", driver="hip", devices=[{"device": "1", "mem_bytes": 64 * MIB}])
ok(answer["ok"], "a grant of a card's second partition", answer)
under = [METE, "run", "--grant", "part", "--"]
for address, shown in (("0x300", 16 * GIB), ("0x301", 64 * MIB), ("0x10000300", 64 * MIB), ("0x20000300", 16 * GIB)):
    said = ask(place, *under, **path, **parts, AMD_SMI_ADDRESS=address)
    same(said[0], [0, shown], f"what the tools see of the partition at {address}")
place.close()
finish()
