#!/usr/bin/env python3
"""Writes from vulkan.toml what mete's Vulkan layer is made of: vulkangen.py SPEC CALLS ENTRIES.

CALLS declares the tables of the next layer's functions and ours; ENTRIES holds the generated bodies and the list by name.

It guesses nothing: a call without a level, with an unknown word, or one that takes memory or submits work without saying
so, stops the build with its name.
"""

import sys
import tomllib

LEVELS = ("global", "instance", "device")
KEYS = {"level", "names", "charge", "gate", "treat", "args"}
CHARGES = ("none", "allocation", "release")
TAKES_MEMORY = ("vkAllocate", "vkFreeMemory", "vkCreateSwapchain", "vkCreateSharedSwapchains", "vkDestroySwapchain")
SUBMITS = ("vkQueueSubmit", "vkQueueBindSparse", "vkQueuePresent")


def stop(name, what):
    sys.exit(f"vulkan.toml: {name}: {what}")


def check(name, call, bodies):
    for key in call.keys() - KEYS:
        stop(name, f"unknown key '{key}'")
    if call.get("level") not in LEVELS:
        stop(name, f"level is one of {', '.join(LEVELS)}")
    charge, gate, treat = call.get("charge", "none"), call.get("gate", ""), call.get("treat", "")
    if charge not in CHARGES and not charge.startswith("not: "):
        stop(name, f"charge '{charge}'")
    if charge == "none" and name.startswith(TAKES_MEMORY):
        stop(name, "a call that takes or gives back memory says how it is charged")
    if name.startswith(SUBMITS) and gate != "compute" and not gate.startswith("not: "):
        stop(name, "a call that submits work says whose turn it waits for, or why for none")
    if treat != "custom" and treat not in bodies:
        stop(name, f"treat '{treat}' is no body")
    if treat != "custom" and not call.get("args"):
        stop(name, "a generated body needs args")


def names_of(calls, level, more):
    return [name for name, call in calls.items() if call["level"] == level] + more


def table(kind, required, optional, calls):
    lines = [f"#define VULKAN_{kind.upper()}_CALLS(NEEDED, ALSO) \\"]
    for name in required:
        also = calls.get(name, {}).get("names", [])
        lines.append(f'	ALSO({name}, "{also[0]}") \\' if also else f"	NEEDED({name}) \\")
    for name in optional:
        lines.append(f'	ALSO({name}, "{name}KHR") \\')
    return "\n".join(lines) + "\n	/* end */\n"


def parameter(text):
    return text.rsplit(" ", 1)[1].lstrip("*")


def generated(name, call, body):
    arguments = ", ".join(parameter(a) for a in call["args"])
    code = body["code"].strip("\n")
    code = code.replace("$REAL", f"device_of({parameter(call['args'][0])})->next.{name}").replace("$ARGS", arguments)
    return (f"static VKAPI_ATTR VkResult VKAPI_CALL layer_{name}({', '.join(call['args'])})\n{{\n{code}\n}}\n")


def write(path, spec, lines):
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([f"/* Generated from {spec.rsplit('/', 1)[-1]} by vulkangen.py. */", "#pragma once\n"] + lines) + "\n")


def main(spec, calls_path, entries_path):
    with open(spec, "rb") as file:
        data = tomllib.load(file)
    calls, bodies, needed = data["call"], data.get("body", {}), data["next"]
    for name, call in calls.items():
        check(name, call, bodies)
    out = [table("instance", names_of(calls, "instance", needed["instance"]), needed["optional"]["instance"], calls),
           table("device", names_of(calls, "device", needed["device"]), [], calls)]
    out += [f"extern __typeof__(*(PFN_{name})0) layer_{name};" for name, call in calls.items() if call["treat"] == "custom"]
    write(calls_path, spec, out)
    out = [f'#include "{include}"' for include in sorted({b["include"] for b in bodies.values() if "include" in b})] + [""]
    out += [generated(name, call, bodies[call["treat"]]) for name, call in calls.items() if call["treat"] != "custom"]
    out.append("static const struct entry entries[] = {")
    for name, call in calls.items():
        for known in [name] + call.get("names", []):
            out.append(f'	{{ "{known}", (PFN_vkVoidFunction)layer_{name}, LEVEL_{call["level"].upper()} }},')
    write(entries_path, spec, out + ["};"])


if __name__ == "__main__":
    main(*sys.argv[1:])
