#!/usr/bin/env python3
"""Writes the corpus of kube_fuzz, corpus/ beside this file: which door (and options), and JSON."""
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
REVIEW, NODES, CLAIM, DOORS = range(4)
CLAIMS, ALL, MAKE, FULL = 1, 2, 4, 8


def review(limits=None, annotations=None, requests=None, **more):
    container = {"name": "main", "image": "x", "resources": {"limits": limits or {}, **({"requests": requests} if requests else {})}}
    pod = {"metadata": {"name": "p", "namespace": "n", **({"annotations": annotations} if annotations else {})},
           "spec": {"containers": [container, {"name": "side"}], "initContainers": [{"name": "first", "resources": {"limits": {"cpu": "1"}}}], **more}}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {"uid": "u-1", "operation": "CREATE", "kind": {"group": "", "version": "v1", "kind": "Pod"}, "namespace": "n", "object": pod}}


def node(name, shares, *cards, **spec):
    told = {"cards": [{"index": i, "uuid": f"GPU-{i}", "name": "NVIDIA A100", "total": 80 << 30, "left": 40 << 30, "time": 500000,
                       "tenants": 1, "state": "active", **card} for i, card in enumerate(cards)], "shares": shares}
    return {"metadata": {"name": name, "annotations": {"mete.io/devices": json.dumps(told)}}, "spec": spec}


def claim(*results, config=()):
    return {"metadata": {"namespace": "n", "name": "c", "uid": "1-2-3"}, "spec": {},
            "status": {"allocation": {"devices": {"results": list(results), "config": list(config)}}}}


def result(device="gpu-0", memory="4Gi", cores="25", **more):
    return {"driver": "gpu.mete.io", "pool": "node-1", "device": device, "request": "gpu",
            "consumedCapacity": {"memory": memory, "cores": cores}, **more}


def parameters(source, **words):
    return {"source": source, "requests": ["gpu"], "opaque": {"driver": "gpu.mete.io", "parameters": {
        "apiVersion": "gpu.mete.io/v1", "kind": "Share", **words}}}


shares = {"tiny": [{"card": -1, "bytes": 1 << 30, "time": 100000}], "pair": [{"card": 0, "ppm": 500000}, {"card": 1, "ppm": 500000, "overcommit": True}],
          "moves": [{"card": -1, "bytes": 4 << 30, "stays": 1 << 30}]}
pod = {"metadata": {"annotations": {"mete.io/use-model": "A100, H100", "mete.io/avoid-model": "T4"}},
       "spec": {"initContainers": [{"name": "i", "resources": {"limits": {"mete.io/moves": "1"}}}],
                "containers": [{"name": "a", "resources": {"limits": {"mete.io/tiny": "1", "cpu": "1"}}},
                               {"name": "b", "resources": {"limits": {"mete.io/pair": "1"}}}]}}
devices = [{"uuid": "GPU-0", "driver": "nvidia"}, {"uuid": "GPU-1", "driver": "soft"}]
inputs = {
    "hami": (REVIEW, 0, review({"nvidia.com/gpu": "1", "nvidia.com/gpumem": "512", "nvidia.com/gpucores": "5"}, requests={"nvidia.com/gpumem": "512"})),
    "hami_claims": (REVIEW, CLAIMS | ALL | MAKE, review({"nvidia.com/gpu": 1, "nvidia.com/gpumem-percentage": 20, "nvidia.com/priority": "1"})),
    "whole": (REVIEW, ALL, review({"nvidia.com/gpu": "1"}, schedulerName="other")),
    "own_claims": (REVIEW, CLAIMS | MAKE, review({"mete.io/tiny": "1"}, resourceClaims=[{"name": "theirs"}])),
    "no_room": (REVIEW, CLAIMS | ALL | MAKE | FULL, review({"tencent.com/vcuda-core": 20, "tencent.com/vcuda-memory": 4})),
    "kai": (REVIEW, ALL, review({}, {"gpu-fraction": "0.5", "gpu-fraction-num-devices": "1", "gpu-fraction-container-name": "side"})),
    "places": (REVIEW, 0, review({"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-memory": 100}, {"nvidia.com/use-gputype": "A100", "hami.io/gpu-scheduler-policy": "x"})),
    "two": (REVIEW, 0, review({"mete.io/tiny": "1", "mete.io/half": "1", "huawei.com/Ascend910B": 1})),
    "refused": (REVIEW, 0, review({"nvidia.com/gpu": "1", "nvidia.com/gpumem": "x" + "äöü" * 30})),
    "nodes": (NODES, 0, {"nodes": [node("one", shares, {}, {"name": "NVIDIA H100"}), node("two", shares, {"state": "draining"}, unschedulable=True),
                                   {"metadata": {"name": "three"}}], "pod": pod, "Pod": pod,
                                   "NodeNames": ["one", "two", "three", "four"]}),
    "nodes_large": (NODES, 0, {"nodes": [node("one", shares, {"total": 2**63 - 1, "left": 2**63 - 1, "time": -1, "tenants": 2**40})], "pod": pod, "Pod": pod,
                                     "Nodes": {"items": [{"metadata": {"name": "one"}}, {"metadata": {"name": "two"}}]}}),
    "claim": (CLAIM, 0, {"claim": claim(result()), "devices": devices}),
    "claim_twice": (CLAIM, 0, {"claim": claim(result(memory="9223372036854775296", cores="100"), result(memory="9223372036854775296", cores="100")), "devices": devices}),
    "claim_words": (CLAIM, 0, {"claim": claim(result("gpu-1", cores="0"), result("gpu-0", adminAccess=True), config=[
        parameters("FromClass", wall=True, **{"class": "high"}), parameters("FromClaim", coresLimit=50, tier="T2")]), "devices": devices}),
}
os.makedirs(os.path.join(HERE, "corpus"), exist_ok=True)
for name, (door, options, thing) in inputs.items():
    with open(os.path.join(HERE, "corpus", name), "wb") as f:
        f.write(bytes([door + options * DOORS]) + json.dumps(thing, ensure_ascii=False).encode())
