"""
Power, temperature and utilisation of devices: what NVML says reaches the metrics, the node's JSON and the names of NVIDIA's
exporter; what it does not support is not there, and never 0.
"""
import re

from http_client import Local, get
from harness import *

NVML = os.path.join(BUILD, "tests/daemon/libsensors_nvml.so")
SENSORS = ("power_w", "temperature_c", "utilisation")


def metrics(m, **compat):
    c = m.control()
    text = c.ask("metrics", **compat)["text"]
    c.close()
    return {(name, device): float(value) for name, device, value in re.findall(
        r'^(\w+){(?:device|gpu)="(\d)"[^}]*} (\S+)$', text, re.M)}


def node(m):
    return [tuple(d[s] for s in SENSORS) for d in json.loads(get(Local(m.dir), "/api/v1/node")[1])["devices"]]


def write(path, *lines):
    with open(path + ".new", "w", encoding="ascii") as f:
        f.write("".join(line + "\n" for line in lines))
    os.rename(path + ".new", path)


def test_nvidia(folder):
    values = os.path.join(folder, "sensors")
    write(values, "251500 61 37", "- - -")
    m = Meted("--libcuda", NVML, "--libnvml", NVML, env={"METE_SOFT_DEVICES": "0", "METE_TEST_SENSORS": values})
    until(lambda: len(node(m)) == 2 and node(m)[0][2] is not None, 20)
    same(node(m), [(251.5, 61.0, 0.37), (None, None, None)], "as NVML says; what it does not support is null")
    got = metrics(m)
    same([got.get((f"mete_device_{n}", "0")) for n in ("power_watts", "temperature_celsius", "utilisation_ratio")],
         [251.5, 61.0, 0.37], "in base units")
    same([n for n, device in got if device == "1" and re.search("power|temperature|utilisation", n)], [],
         "and no line for what is not supported")
    got = metrics(m, compat="dcgm")
    same((got.get(("DCGM_FI_DEV_POWER_USAGE", "0")), got.get(("DCGM_FI_DEV_GPU_TEMP", "0"))), (251.5, 61.0), "under the other names")
    ok(("DCGM_FI_DEV_POWER_USAGE", "1") not in got, "where it has one")
    write(values, "- 70 250", "90000 - 0")
    c = m.control()
    made = c.ask("grant_create", name="one", driver="nvidia", devices=[{"device": "0", "mem_bytes": GIB}])
    ok(made["ok"], "a tenant", made)
    ok(until(lambda: node(m) == [(None, 70.0, 1.0), (90.0, None, 0.0)], 20),
       "the child that listens while there are tenants tells of them; nonsense is bounded, 0 is 0", node(m))
    c.close()
    m.close()


def test_slow(folder):
    """Whoever asks for a device does not wait for what it says of itself."""
    values = os.path.join(folder, "sensors")
    write(values, "1000 50 25", "1000 50 75")
    m = Meted("--libcuda", NVML, "--libnvml", NVML, env={"METE_SOFT_DEVICES": "0", "METE_TEST_SENSORS": values, "METE_TEST_SLOW": "4"})
    c = m.control()
    began = time.monotonic()
    made = c.ask("grant_create", name="one", driver="nvidia", devices=[{"device": "0", "mem_bytes": GIB}])
    took = time.monotonic() - began
    ok(made["ok"] and took < 3, "a grant is made meanwhile", made, took)
    ok(until(lambda: [d[2] for d in node(m)] == [0.25, 0.75], 40), "what they say comes later", node(m))
    same([d["utilisation"] for d in c.ask("devices", known=True)["devices"]], [0.25, 0.75], "`mete devices` has it too")
    c.close()
    m.close()


def test_system():
    """The system's meted sees root's software devices alone: it has no figures of users' ones, not 0."""
    if os.getuid():
        skip("a system's meted", "it is root's")
        return
    m = Meted("--system", "--soft-only")
    until(lambda: len(node(m)) == 2, 20)
    d = m.control().ask("devices")["devices"][0]
    same((d["per_user"], d["utilisation"], d["used_bytes"]), (True, None, None), "nothing is said of each user's own devices")
    same(node(m), [(None, None, None)] * 2, "nor to the console")
    m.close()


def test_soft():
    m = Meted("--soft-only")
    until(lambda: len(node(m)) == 2 and node(m)[1][2] is not None, 20)
    same(node(m), [(None, None, 0.0)] * 2, "the software device knows its utilisation, and claims nothing else")
    m.close()


def test_own_in_path():
    """Our own libraries, where the linker looks for a vendor's: they are no driver, and their devices are not there twice."""
    for library, what in (("src/softdev", "the software device"), ("src/shim", "the shim"), ("src/remote/client", "the remote client")):
        m = Meted(env={"LD_LIBRARY_PATH": os.path.join(BUILD, library)})
        until(lambda: m.control().ask("devices", refresh=True)["devices"], 20)
        answer = m.control().ask("devices")
        vendor = next(d for d in answer["drivers"] if d["kind"] != "soft")
        if not vendor["usable"]:
            ok(f"{library}/libcuda.so.1 is {what} of mete, not a vendor's driver" in vendor["status"], f"{what}: refused by name", vendor)
        ok(not [d for d in answer["devices"] if d["driver"] != "soft" and "software" in d["name"]], f"{what}: no device of it is a vendor's",
           answer["devices"])
        m.close()


folder = tempfile.mkdtemp(prefix="mete-t-", dir="/tmp")
try:
    test_nvidia(folder)
    test_soft()
    test_slow(folder)
    test_system()
    test_own_in_path()
finally:
    shutil.rmtree(folder, ignore_errors=True)
finish()
