#!/usr/bin/env python3
"""
Every public function of jax.numpy, jax.lax, jax.nn and jax.scipy, on the device and on JAX's own processor backend:
jax_public.py [--gradients] [--types] [--say] [--trace] [PART...]

It finds the functions by itself, and for each the arguments: it tries tuples of arrays and of settings (jax_arguments.py) of
several types until JAX can say the shape of the result. What the processor's backend computes, the device must compute
as well, within the tolerance of the type; with --gradients also the gradients, with --types also types of 16 and 8 bits.
--trace only says for which functions there are arguments, and needs no device. A PART is a module's name, or the beginning
of one (jax.scipy). At the end stand the counts of functions: equal, not equal, refused on the device (with the exception's
first line), and without arguments found (named with --say). PASS: 95 of 100 functions that run on the processor are equal.
"""

import importlib
import inspect
import os
import sys
import time
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
warnings.simplefilter("ignore")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import jax_arguments as arguments  # noqa: E402

MODULES = [
    "jax.numpy",
    "jax.numpy.fft",
    "jax.numpy.linalg",
    "jax.lax",
    "jax.lax.linalg",
    "jax.nn",
    "jax.nn.initializers",
    "jax.scipy.special",
    "jax.scipy.linalg",
    "jax.scipy.fft",
    "jax.scipy.signal",
    "jax.scipy.ndimage",
    "jax.scipy.interpolate",
    "jax.scipy.integrate",
    "jax.scipy.cluster.vq",
    "jax.scipy.sparse.linalg",
    "jax.scipy.optimize",
    "jax.scipy.spatial.transform",
    "jax.scipy.stats",
]
GOAL = 0.95
# By type: how much of the largest value may differ. Sums of products are compared too, so it is not the last bit.
TOLERANCE = {"float16": 5e-3, "bfloat16": 4e-2, "float32": 2e-4, "complex64": 2e-4, "float64": 1e-9, "complex128": 1e-9}
MANY = 2  # tuples of arguments a function gets of the first type; of each other type one
NOT_NAMED = (
    "_for platform",
    "not implemented for platform",
    "only implemented on the CPU",
    "only supported on CPU",
    "only available on CPU",
    "only defined for CPU buffers",
    "translation rule for primitive",
)


def functions():
    """(name, function) of all modules; those of the modules within jax.scipy.stats too."""
    seen = set()
    names = list(MODULES)
    stats = importlib.import_module("jax.scipy.stats")
    names += [f"jax.scipy.stats.{n}" for n in sorted(dir(stats)) if inspect.ismodule(getattr(stats, n)) and not n.startswith("_")]
    for module in names:
        m = importlib.import_module(module)
        for name in sorted(getattr(m, "__all__", dir(m))):
            f = getattr(m, name, None)
            if name.startswith("_") or not callable(f) or inspect.isclass(f) or inspect.ismodule(f) or (id(f), name) in seen:
                continue
            seen.add((id(f), name))
            yield f"{module}.{name}", f


def is_array(a):
    return isinstance(a, np.ndarray)


def flat(call):
    """The arrays of the arguments (also those in lists), and a function of them alone."""
    arrays = [a for a in jax.tree.leaves(call.given, is_leaf=is_array) if is_array(a)]

    def of(*given):
        rest = iter(given)
        return call.function(*jax.tree.map(lambda a: next(rest) if is_array(a) else a, call.given, is_leaf=is_array))

    return of, arrays


class Case:
    """A function of arrays, and the arrays."""

    def __init__(self, label, of, arrays):
        self.label, self.of, self.arrays = label, of, arrays


def gradient_of(of):
    def total(*given):
        return sum((jnp.real(leaf).sum() for leaf in jax.tree.leaves(of(*given)) if jnp.issubdtype(leaf.dtype, jnp.inexact)), jnp.float32(0))

    return jax.grad(total)


def can_trace(of, arrays):
    try:
        leaves = jax.tree.leaves(jax.eval_shape(of, *arrays))
    except Exception:
        return False
    return bool(leaves) and all(0 < np.prod(leaf.shape, dtype=int) < 1 << 20 for leaf in leaves)


def cases_of(name, function, options):
    """The cases that JAX can trace."""
    found = []
    for kind in arguments.KINDS + (arguments.MORE_KINDS if "--types" in options else []):
        count = 0
        for call in arguments.calls(name, function, kind):
            of, arrays = flat(call)
            if not can_trace(of, arrays):
                continue
            found.append(Case(f"{kind} {call.label}", of, arrays))
            if "--gradients" in options and kind == "float32" and arrays and not count and can_trace(gradient_of(of), arrays):
                found.append(Case(f"gradient {call.label}", gradient_of(of), arrays))
            count += 1
            if count == (MANY if kind == "float32" else 1):
                break
    return found


def eager_cases(name, function, processor):
    """Of a function that needs the values themselves: the first arguments of each type with which the processor can call it."""
    found = []
    for kind in ("float32", "int32"):
        for call in arguments.calls(name, function, kind):
            of, arrays = flat(call)
            case = Case(f"{kind} {call.label}, not compiled", of, arrays)
            if eager(case, processor)[1] is None:
                found.append(case)
                break
    return found


def as_numbers(result):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(result) if hasattr(leaf, "dtype") or isinstance(leaf, (bool, int, float, complex))]


def eager(case, device):
    """(leaves, None) or (None, exception)."""
    try:
        with jax.default_device(device):
            return as_numbers(case.of(*(jax.device_put(a, device) for a in case.arrays))), None
    except Exception as e:
        return None, e


def compiled(cases, device):
    """Of each case (leaves, None) or (None, exception): all in one program, or each in its own where that fails."""

    def run(some):
        given = [[jax.device_put(a, device) for a in case.arrays] for case in some]
        with jax.default_device(device):
            results = jax.jit(lambda all_given: [case.of(*g) for case, g in zip(some, all_given)])(given)
        return [(as_numbers(r), None) for r in results]

    try:
        return run(cases)
    except Exception as e:
        if len(cases) == 1:
            return [(None, e)]
    return [compiled([case], device)[0] for case in cases]


def off(of_device, of_processor):
    """How far two results are apart, in units of what is allowed; more than 1 is too much."""
    worst = 0.0
    if len(of_device) != len(of_processor):
        return np.inf
    for d, p in zip(of_device, of_processor):
        if d.shape != p.shape or d.dtype != p.dtype:
            return np.inf
        allowed = TOLERANCE.get(str(p.dtype), 0)
        wide = np.complex128 if np.iscomplexobj(p) else np.float64
        if not allowed:
            worst = max(worst, 0 if np.array_equal(d, p) else np.inf)
            continue
        d, p = d.astype(wide), p.astype(wide)
        odd = ~np.isfinite(p)
        if not np.array_equal(odd, ~np.isfinite(d)) or not np.array_equal(p[odd], d[odd], equal_nan=True):
            return np.inf
        d, p = d[~odd], p[~odd]
        if p.size:
            worst = max(worst, float(np.abs(d - p).max() / max(1.0, np.abs(p).max()) / allowed))
    return worst


def first_line(e):
    return f"{type(e).__name__}: {(str(e).strip().splitlines() or [''])[0][:160]}"


def is_jaxs_own(e):
    return isinstance(e, NotImplementedError) or any(text in str(e) for text in NOT_NAMED)


class Tally:
    def __init__(self):
        self.equal, self.differ, self.refused, self.own, self.without, self.cases = [], [], [], [], [], 0

    def judge(self, name, cases, processor, device):
        wrong, refused, own = [], [], []
        judged = 0
        for case, p, d in zip(cases, processor, device):
            if p[1] is not None:
                continue
            judged += 1
            if d[1] is not None:
                (own if is_jaxs_own(d[1]) else refused).append(f"{case.label}: {first_line(d[1])}")
                continue
            gradient = case.label.startswith("gradient")
            far = off(arguments.settled(name, d[0], gradient), arguments.settled(name, p[0], gradient))
            if far > 1:
                wrong.append(f"{case.label}: {far:.3g} times the tolerance")
        self.cases += judged
        if not judged:
            self.without.append(name)
        elif wrong:
            self.differ.append((name, wrong))
        elif refused:
            self.refused.append((name, refused))
        elif own:
            self.own.append((name, own))
        else:
            self.equal.append(name)
        return wrong or refused or own


def look_at(name, function, tally, options, processor, device):
    cases = cases_of(name, function, options)
    if cases:
        return tally.judge(name, cases, compiled(cases, processor), compiled(cases, device))
    cases = eager_cases(name, function, processor)
    return tally.judge(name, cases, [eager(c, processor) for c in cases], [eager(c, device) for c in cases])


def wanted(parts):
    for name, function in functions():
        if name not in arguments.NO_FUNCTIONS and (not parts or any(f"{name}.".startswith(f"{part}.") for part in parts)):
            yield name, function


def trace(parts, options):
    """Only what has arguments that can be traced."""
    there = {name: cases_of(name, function, options) for name, function in wanted(parts)}
    without = [name for name, cases in there.items() if not cases]
    print(f"{len(there)} functions, {sum(map(len, there.values()))} cases; {len(without)} not traced:", *without)


def main():
    options = [a for a in sys.argv[1:] if a.startswith("--")]
    parts = [a for a in sys.argv[1:] if not a.startswith("--")]
    jax.config.update("jax_default_matmul_precision", "highest")
    if "--trace" in options:
        return trace(parts, options)
    device, processor = jax.devices("cuda")[0], jax.devices("cpu")[0]
    tally = Tally()
    begun = time.monotonic()
    for name, function in wanted(parts):
        for line in look_at(name, function, tally, options, processor, device):
            print(f"{name}: {line}", flush=True)
        if "--say" in options:
            print(f"# {time.monotonic() - begun:.0f} s: {name}", flush=True)
    if "--say" in options:
        print("without arguments:", *tally.without)
    ran = len(tally.equal) + len(tally.differ) + len(tally.refused) + len(tally.own)
    print(
        f"{ran + len(tally.without)} functions, {len(tally.without)} without arguments found; of {ran} that run on the processor, in "
        f"{tally.cases} cases: {len(tally.equal)} equal, {len(tally.differ)} not equal, {len(tally.refused)} refused, "
        f"{len(tally.own)} that JAX itself has not for this backend; {time.monotonic() - begun:.0f} s"
    )
    return print("PASS" if ran and len(tally.equal) >= GOAL * ran else "FAIL")


if __name__ == "__main__":
    main()
