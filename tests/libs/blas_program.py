"""
Each call of cuBLAS that is forwarded, with good arguments and then with each of them wrong in turn: blas_program.py SPEC

The calls, the order of their arguments and their types are those of the spec (api/cublas.toml). Each line that it prints is
`CALL ARGUMENT VALUE STATUS ERROR`: the call's status, and the error of the driver that came with the next wait for the device.
Then cuBLASLt, whose calls take descriptions.
"""

import ctypes
import re
import sys
import tomllib

P, I, L = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64
cu, blas, lt = (ctypes.CDLL(name) for name in ("libcuda.so.1", "libcublas.so.13", "libcublasLt.so.13"))
ROOM, BATCH = 1 << 16, 2
SCALARS = (ctypes.c_double * 64)()
# Values that are not the rule: steps of 1, a batch of two, and so on.
GOOD = {"incx": 1, "incy": 1, "kl": 1, "ku": 1, "batchCount": BATCH, "batchSize": BATCH, "group_count": BATCH, "computeType": 68, "algo": -1}
WRONG = {"size": (-1, 0, 1, 7, 40), "enum": (-1, 1, 2, 3, 7, 99), "step": (0, 1, 7)}  # a step below 0 leaves the memory
PLACED = {"Aarray", "Barray", "Carray", "xarray", "yarray", "TauArray", "Ainv"}  # arrays of addresses, where a call has batches


def good(status):
    if status:
        raise SystemExit(f"status {status}")


def device(words):
    at = ctypes.c_ulonglong()
    good(cu.cuMemAlloc_v2(ctypes.byref(at), ROOM))
    good(cu.cuMemcpyHtoD_v2(at, (ctypes.c_ulonglong * len(words))(*words), L(8 * len(words))))
    return at.value


class Call:
    """A call's arguments: (name, kind, C type), and what stands in them."""

    def __init__(self, symbol, block):
        self.symbol, self.args = symbol, []
        for text in block["args"]:
            declared, _, words = text.partition(" : ")
            name = re.search(r"(\w+)$", declared)[1]
            self.args.append((name, words.strip() or ("enum" if re.match(r"cu\w+_t |cudaDataType ", declared) else "size"), declared))

    def value(self, name, kind, declared):
        if name == "handle":
            return handle
        if kind in ("enum", "size"):
            default = 0 if kind == "enum" else 8 if name.startswith("ld") else 64 if name.startswith("stride") else 4
            return (L if "int64_t" in declared or "long long" in declared else I)(GOOD.get(name, default))
        if kind.startswith("device"):
            arrays = name in PLACED and ("Batched" in self.symbol or "Array" in name) and "Strided" not in self.symbol
            many = name in ("A", "B", "C", "x", "y") and re.search(r"(?<!Strided)Batched", self.symbol)
            return P(array if arrays or many else memory)
        if kind.startswith("in count"):
            number = GOOD["batchCount"] if name == "group_size" else 8 if name.startswith("ld") else 4
            if name.startswith("trans"):
                return (I * BATCH)(0, 0)
            if name.startswith(("alpha", "beta")):
                return SCALARS
            return ((L if self.symbol.endswith("_64") else I) * BATCH)(number, number)
        return SCALARS  # a scalar, or what is given out

    def say(self, what, values):
        status = getattr(blas, self.symbol)(*values)
        error = cu.cuCtxSynchronize()
        print(self.symbol, what, status, error, flush=True)
        if error in (700, 715):
            raise SystemExit("the context is lost")
        return status

    def run(self):
        values = [self.value(*a) for a in self.args]
        if self.say("- -", values) != 15:  # where there is no such call, it knows no handles either
            self.say("handle 0", [None, *values[1:]])
        for i, (name, kind, _) in enumerate(self.args[1:], 1):
            for wrong in self.wrong("step" if name.startswith("stride") else kind, values[i]):
                shown = "NULL" if wrong is None else list(wrong) if isinstance(wrong, ctypes.Array) else wrong.value
                self.say(f"{name} {str(shown).replace(' ', '')}", [*values[:i], wrong, *values[i + 1 :]])

    @staticmethod
    def wrong(kind, value):
        if kind.startswith("device"):
            return []
        if kind in WRONG:
            return [type(value)(w) for w in WRONG[kind]]
        if kind.startswith("in count") and value is not SCALARS:
            return [None, *(type(value)(value[0], w) for w in (-1, 1, 7))]
        return [None]


def forwarded(spec):
    return [Call(s, b) for s, b in spec["call"].items() if b.get("travel") == "plain" and b["args"] and b["args"][0] == "cublasHandle_t handle"]


def settings():
    """What a handle is set to: every setting with values that are none."""
    for call, values in {
        "cublasSetPointerMode_v2": (-1, 2, 0),
        "cublasSetAtomicsMode": (-1, 2, 0),
        "cublasSetMathMode": (-1, 32, 99, 0),
        "cublasSetSmCountTarget": (-1, 0),
    }.items():
        for value in values:
            print(call, "value", value, getattr(blas, call)(handle, I(value)), cu.cuCtxSynchronize())
    for at, size in ((memory + 8, 4096), (0, 4096), (memory, 4096), (0, 0)):
        print("cublasSetWorkspace_v2", at - memory if at else 0, size, blas.cublasSetWorkspace_v2(handle, P(at), L(size)), cu.cuCtxSynchronize())


# cuBLASLt: a product and a transformation of layouts; attributes by their numbers in cublasLt.h.
LAYOUT = {"type": 0, "order": 1, "rows": 2, "columns": 3, "ld": 4, "batches": 5, "plane": 7, "mode": 8}
WIDE = {"rows", "columns", "ld", "plane"}
PRODUCT = {"pointer mode": 2, "transa": 3, "transb": 4, "transc": 5, "epilogue": 7, "bias": 8, "aux": 11, "aux ld": 12, "compute": 0, "scale": 1}


class Layout:
    def __init__(self, **changed):
        self.at = P()
        good(lt.cublasLtMatrixLayoutCreate(ctypes.byref(self.at), I(0), L(4), L(4), L(8)))
        for name, value in changed.items():
            number = (L if name in WIDE else I)(value)
            good(lt.cublasLtMatrixLayoutSetAttribute(self.at, LAYOUT[name], ctypes.byref(number), L(ctypes.sizeof(number))))

    def __del__(self):
        lt.cublasLtMatrixLayoutDestroy(self.at)


def described(create, setter, numbers, more):
    made = P()
    good(create(ctypes.byref(made)))
    for name, value in more.items():
        number = (L if name in ("bias", "aux", "aux ld") else I)(value)
        good(setter(made, numbers[name], ctypes.byref(number), L(ctypes.sizeof(number))))
    return made


def product(what, layouts=None, **more):
    """D = A B + C; layouts: changes of them by their number; more: attributes, and what stands in place of arguments."""
    changed = [Layout(**(layouts or {}).get(i, {})) for i in range(4)]
    given = {k: more.pop(k) for k in ("handle", "alpha", "beta", "A", "B", "D") if k in more}
    desc = described(lambda at: lt.cublasLtMatmulDescCreate(at, I(68), I(0)), lt.cublasLtMatmulDescSetAttribute, PRODUCT, more)
    a, b, d = (P(given.get(k, memory)) for k in "ABD")
    status = lt.cublasLtMatmul(given.get("handle", handle), desc, given.get("alpha", SCALARS), a, changed[0].at, b, changed[1].at,
                               given.get("beta", SCALARS), d, changed[2].at, d, changed[3].at, None, None, L(0), None)
    print("cublasLtMatmul", what.replace(" ", "-"), "-", status, cu.cuCtxSynchronize(), flush=True)
    lt.cublasLtMatmulDescDestroy(desc)


def transform(what, layouts=None, **more):
    changed = [Layout(**(layouts or {}).get(i, {})) for i in range(3)]
    desc = described(lambda at: lt.cublasLtMatrixTransformDescCreate(at, I(more.get("scale", 0))), lt.cublasLtMatrixTransformDescSetAttribute,
                     {"transa": 2, "pointer mode": 1}, {k: v for k, v in more.items() if k in ("transa", "pointer mode")})
    status = lt.cublasLtMatrixTransform(more.get("handle", handle), desc, more.get("alpha", SCALARS), P(memory), changed[0].at, more.get("beta", SCALARS),
                                        P(memory), changed[1].at, P(memory), changed[2].at, None)
    print("cublasLtMatrixTransform", what.replace(" ", "-"), "-", status, cu.cuCtxSynchronize(), flush=True)
    lt.cublasLtMatrixTransformDescDestroy(desc)


def light():
    product("good")
    product("no handle", handle=None)
    for name, values in {"transa": (1, 2, 3, 9), "transb": (1, 3, 9), "transc": (1, 9), "epilogue": (0, 3, 2, 4, 128, 1024), "pointer mode": (5, 99),
                         "compute": (64, 70, 72, 9), "scale": (1, 2, 99)}.items():
        for value in values:
            product(f"{name} {value}", **{name: value})
    for which in range(4):
        for name, values in {"rows": (0, 3, 5, -1), "columns": (0, 3, 5), "ld": (-8, 0, 3), "batches": (-1, 0, 2), "type": (1, 2, 99), "order": (1, 2, 9),
                             "plane": (64,), "mode": (1, 2)}.items():
            for value in values:
                product(f"layout {which} {name} {value}", {which: {name: value}})
    for name in ("alpha", "beta", "A", "B", "D"):
        product(f"no {name}", **{name: None})
    product("bias that is given", **{"epilogue": 4, "bias": memory})
    for ld in (0, 3, 12, 128):
        product(f"aux {ld}", **{"epilogue": 130, "aux": memory, "aux ld": ld})
    transform("good")
    transform("no handle", handle=None)
    for name, values in {"transa": (1, 2, 3, 9), "scale": (1, 2, 4, 99), "pointer mode": (2, 9)}.items():
        for value in values:
            transform(f"{name} {value}", **{name: value})
    for which in range(3):
        for name, values in {"rows": (3, -1), "columns": (3,), "ld": (-8, 0), "batches": (2,), "type": (4, 99), "order": (1, 2, 3, 9)}.items():
            for value in values:
                transform(f"layout {which} {name} {value}", {which: {name: value}})
    for name in ("alpha", "beta"):
        transform(f"no {name}", **{name: None})


with open(sys.argv[1], "rb") as f:
    calls = forwarded(tomllib.load(f))
context, handle = P(), P()
good(cu.cuInit(0))
good(cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
good(cu.cuCtxSetCurrent(context))
memory = device([0] * (ROOM // 8))
array = device([memory] * 64)
good(blas.cublasCreate_v2(ctypes.byref(handle)))
for call in calls:
    call.run()
settings()
light()
good(blas.cublasDestroy_v2(handle))
print("END")
