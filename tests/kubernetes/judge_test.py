"""
mete-agent before kubelet's own client packages and the API server's own types: judge_test.py BUILD_ROOT

judge/main.go is compiled with them (make.sh FOLDER judge; METE_TEST_KUBERNETES names the folder): grpc-go as kubelet uses
it, the stubs of the device plugins, of plugin registration and of DRA, and the types of resource.k8s.io/v1.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "daemon"))
sys.path.insert(0, HERE)
import judge  # noqa: E402
from harness import GIB, finish, ok, same, until  # noqa: E402

if not judge.THERE:
    print("1..0 # SKIP METE_TEST_KUBERNETES names no folder with bin/judge (tests/kubernetes/make.sh FOLDER judge)")
    sys.exit(0)
from dra_node import DRIVER, Node, wait  # noqa: E402
from judge import Judge  # noqa: E402

SMALL = "mete.io/small"


def slices(n):
    wait(lambda: len(n.devices()) == 2, "both devices are published")
    types = Judge("types")
    for s in n.slices():
        same(types.ask("read", object=s), s, "the type ResourceSlice of v1 knows every field, and none is lost")
    ok("unknown field" in types.ask("read", object={**n.slices()[0], "colour": 1})["error"], "one that it does not know would be seen")
    types.end()
    n.names = [row["uuid"].lower() for row in n.ask("devices", known=True)["devices"]]


def plugins(n, kubelet):
    ids = [f"k8s-small-{i}" for i in range(4)]
    wait(lambda: kubelet.ask("devices", resource=SMALL) == dict.fromkeys(ids, "Healthy"), "the share is registered, and its ids are healthy")
    same(kubelet.ask("prefer", resource=SMALL, ids=ids[::-1]), {"container_responses": [{"deviceIDs": ids[:1]}]}, "the lowest id is preferred")
    same(kubelet.ask("allocate", resource=SMALL, ids=ids[:1]),
         {"container_responses": [{"annotations": {"cdi.k8s.io/mete_k8s-small-0": "mete.io/grant=k8s-small-0"}}]}, "Allocate")
    same(n.grants()["k8s-small-0"]["devices"][0]["quota_bytes"], 4 * GIB, "made the grant")
    same(kubelet.ask("start", resource=SMALL, ids=ids[:1]), {}, "PreStartContainer")
    same(kubelet.ask("allocate", resource=SMALL, ids=ids[1:3])["error"].split("desc = ")[0], "rpc error: code = InvalidArgument ", "two ids are refused")
    n.ask("grant_create", name="outside", driver="soft", devices=[{"device": "0", "mem_bytes": 12 * GIB}])
    wait(lambda: list(kubelet.ask("devices", resource=SMALL).values()).count("Healthy") == 1, "the list follows what is promised outside")
    n.ask("grant_delete", name="outside")
    n.ask("grant_delete", name="k8s-small-0")


def claims(n, driver):
    claim, other = n.claim("a", [("gpu", 0, {"memory": "4Gi", "cores": "25"})]), ("ns", "no-uid", "none")
    device = {"request_names": ["gpu"], "pool_name": "n1", "device_name": n.names[0], "cdi_device_ids": ["mete.io/grant=dra-" + claim[1]]}
    same(driver.ask("prepare", claims=[claim, other]),
         {"claims": {claim[1]: {"devices": [device]}, "no-uid": {"error": "claim ns/none is not there any more"}}},
         "NodePrepareResources: each claim has its answer")
    same(n.grants()["dra-" + claim[1]]["devices"][0]["quota_bytes"], 4 * GIB, "to the byte")
    for _ in range(100):  # on one connection
        last = driver.ask("prepare", claims=[claim])
    same(last, {"claims": {claim[1]: {"devices": [device]}}}, "a hundred times more, the same")
    same(driver.ask("unprepare", claims=[claim, other]), {"claims": {claim[1]: {}, "no-uid": {}}}, "NodeUnprepareResources")
    same(n.grants(), {}, "nothing is left")
    n.kill()
    answer = driver.ask("prepare", claims=[claim])
    ok("code = Unavailable" in answer.get("error", ""), "an agent that is killed is unavailable", answer)
    os.unlink(n.driver.registry)
    n.start()
    ok(until(lambda: driver.ask("prepare", claims=[claim]) == {"claims": {claim[1]: {"devices": [device]}}}, 60),
       "the next one is found by the same connection")
    driver.ask("unprepare", claims=[claim])


def by_field(n, kubelet):
    """From kubelet 1.29 the CDI device may stand in a field of its own."""
    n.options = ("--cdi", "field")
    n.kill()
    os.unlink(n.driver.registry)
    n.start()
    wanted = {"container_responses": [{"cdi_devices": [{"name": "mete.io/grant=k8s-small-1"}]}]}
    ok(until(lambda: kubelet.ask("allocate", resource=SMALL, ids=["k8s-small-1"]) == wanted, 60), "--cdi field: the field, and no annotation")
    n.ask("grant_delete", name="k8s-small-1")


def main():
    n = Node()
    kubelet = Judge("plugins", os.path.join(n.root, "device-plugins"))
    n.start()
    driver = Judge("dra", n.driver.registry)
    info = driver.read()
    same((info["type"], info["name"], "v1beta1.DRAPlugin" in info["supported_versions"]), ("DRAPlugin", DRIVER, True), "GetInfo")
    wait(lambda: "kubelet takes the driver" in n.said(), "NotifyRegistrationStatus")
    slices(n)
    plugins(n, kubelet)
    claims(n, driver)
    by_field(n, kubelet)
    driver.end()
    kubelet.end()
    n.close()
    finish()


main()
