"""
What cuSPARSE's descriptors can be made of: sparse_program.py [LIBRARY]

The statuses are those of NVIDIA's library, which answers without a device: with its path, the same lines judge it. Each line
that it prints is `ok WHAT` or `bad WHAT WHY`.
"""

import ctypes
import sys

I, L, P = ctypes.c_int, ctypes.c_int64, ctypes.c_void_p
NVIDIA = len(sys.argv) > 1
lib = ctypes.CDLL(sys.argv[1] if NVIDIA else "libcusparse.so.12")
room = P(1 << 20)  # an address; nothing is read there
U16, I32, I64 = 1, 2, 3
GOOD, UNINITIALISED, INVALID, UNSUPPORTED = 0, 1, 3, 10
MORE = GOOD if NVIDIA else UNSUPPORTED  # indices of 16 bits, which no routine here has
VALUES = {0, 1, 2, 3, 4, 5, 6, 10, 14, 15}
FULL = 2**31 - 1


def made(call, *given):
    at = P()
    status = getattr(lib, call)(ctypes.byref(at), *given)
    return at if not status else None, status


def expect(status, wanted, *what):
    what = " ".join(str(getattr(w, "value", w)) for w in what)
    print("ok" if status == wanted else "bad", what, "" if status == wanted else f"{status} instead of {wanted}")


def compressed(call):
    def case(wanted, rows=4, columns=5, nnz=6, at=(room,) * 3, offsets=I32, indices=I32, base=0, kind=0):
        given = (L(rows), L(columns), L(nnz), *at, I(offsets), I(indices), I(base), I(kind))
        expect(made(call, *given)[1], wanted, call, *given)

    case(GOOD)
    for at in ((None, room, room), (room, None, room), (room, room, None), (None,) * 3):
        case(GOOD, at=at)
        case(GOOD, nnz=0, at=at)
    for rows, columns in ((0, 0), (0, 5), (4, 0)):
        case(GOOD, rows, columns, 0)
        case(INVALID, rows, columns, 1)
    case(GOOD, nnz=20)
    for name in ("rows", "columns", "nnz"):
        case(INVALID, **{name: -1})
    case(INVALID, nnz=21)
    case(INVALID, FULL + 1)
    case(INVALID, columns=FULL + 1)
    case(GOOD, columns=FULL)
    case(INVALID, columns=FULL, base=1)
    case(GOOD, 1 << 20, 1 << 20, FULL)
    case(INVALID, 1 << 20, 1 << 20, FULL, base=1)
    case(GOOD, 1 << 20, 1 << 20, FULL + 1, offsets=I64, indices=I64)
    for offsets, indices in ((I64, I64), (I32, I64), (I64, I32), (U16, I32), (I32, U16), (0, I32), (I32, 4), (99, 99)):
        both = {offsets, indices}
        case(INVALID if both - {U16, I32, I64} else GOOD if both == {I64} else UNSUPPORTED, offsets=offsets, indices=indices)
    bases_and_kinds(case)


def bases_and_kinds(case):
    for base in (-1, 0, 1, 2):
        case(GOOD if base in (0, 1) else INVALID, base=base)
    for kind in (-1, *range(34), 99):
        case(GOOD if kind in VALUES else INVALID, kind=kind)


def coordinates(call):
    def case(wanted, rows=4, columns=5, nnz=6, index=I32, base=0, kind=0):
        given = (L(rows), L(columns), L(nnz), room, room, room, I(index), I(base), I(kind))
        expect(made(call, *given)[1], wanted, call, *given)

    case(INVALID, nnz=21)
    case(INVALID, columns=FULL + 1)
    case(INVALID, rows=FULL + 1)
    case(GOOD, 1 << 20, 1 << 20, FULL + 1)
    for index, wanted in ((0, INVALID), (U16, MORE), (I64, GOOD), (4, INVALID)):
        case(wanted, index=index)
    bases_and_kinds(case)


def vectors(dense, sparse):
    for size, kind, wanted in ((0, 0, GOOD), (-1, 0, INVALID), (4, 7, INVALID), (4, 15, GOOD), (4, 99, INVALID)):
        expect(made(dense, L(size), room, I(kind))[1], wanted, dense, size, kind)

    def case(wanted, size=9, nnz=4, index=I32, base=0, kind=0):
        given = (L(size), L(nnz), room, room, I(index), I(base), I(kind))
        expect(made(sparse, *given)[1], wanted, sparse, *given)

    case(GOOD, nnz=9)
    case(INVALID, nnz=10)
    case(INVALID, size=FULL + 1)
    for index, wanted in ((0, INVALID), (U16, MORE), (I64, GOOD), (4, INVALID)):
        case(wanted, index=index)
    bases_and_kinds(case)


def matrices(call):
    def case(wanted, rows=4, columns=5, ld=6, kind=0, order=1, base=0):
        given = (L(rows), L(columns), L(ld), room, I(kind), I(order))
        expect(made(call, *given)[1], wanted, call, *given)

    case(GOOD, 0, 5, 0)
    case(GOOD, 4, 0, 4)
    for order, least in ((1, 4), (2, 5)):
        case(GOOD, order=order, ld=least)
        case(INVALID, order=order, ld=least - 1)
    for order in (-1, 0, 3):
        case(INVALID, order=order)
    for kind in (-1, *range(34), 99):
        case(GOOD if kind in VALUES else INVALID, kind=kind)


def batches():
    csr = made("cusparseCreateCsr", L(4), L(5), L(6), room, room, room, I(I32), I(I32), I(0), I(0))[0]
    coo = made("cusparseCreateCoo", L(4), L(5), L(6), room, room, room, I(I32), I(0), I(0))[0]
    for count in (-1, 0, 1, 2):
        for offsets in (-1, 0, 4, 5):
            for values in (-1, 0, 5, 6):
                good = count > 0 and offsets in (0, 5) and values in (0, 6)
                expect(lib.cusparseCsrSetStridedBatch(csr, I(count), L(offsets), L(values)), GOOD if good else INVALID, "batch", count, offsets, values)
        for values in (-1, 0, 5, 6):
            good = count > 0 and values in (0, 6)
            expect(lib.cusparseCooSetStridedBatch(coo, I(count), L(values)), GOOD if good else INVALID, "batch of coordinates", count, values)
        for order, size in ((1, 30), (2, 24)):
            dense = made("cusparseCreateDnMat", L(4), L(5), L(6), room, I(0), I(order))[0]
            for apart in (-1, 0, 1, size - 1, size):
                good = count == 1 or (count > 1 and apart in (0, size))
                expect(lib.cusparseDnMatSetStridedBatch(dense, I(count), L(apart)), GOOD if good else INVALID, "dense batch", order, count, apart)
    expect(lib.cusparseCooSetStridedBatch(csr, I(2), L(6)), INVALID, "a batch of another format")
    expect(lib.cusparseCsrSetStridedBatch(coo, I(2), L(5), L(6)), INVALID, "a batch of another format")
    for call, descriptor, wanted in (("Csr", csr, GOOD), ("Coo", csr, INVALID), ("Csc", csr, INVALID), ("Csr", coo, INVALID), ("Coo", coo, GOOD)):
        expect(getattr(lib, f"cusparse{call}SetPointers")(descriptor, room, None, None), wanted, call, "pointers")


def older():
    """The older descriptor: what it is set to, and none at all."""
    for name, last in (("Type", 3), ("FillMode", 1), ("DiagType", 1), ("IndexBase", 1)):
        setter, getter = getattr(lib, f"cusparseSetMat{name}"), getattr(lib, f"cusparseGetMat{name}")
        d = made("cusparseCreateMatDescr")[0]
        for value in range(last + 1):
            expect(setter(d, I(value)), GOOD, name, value)
            expect(getter(d), value, name, value, "told")
        for value in (-1, last + 1):
            expect(setter(d, I(value)), INVALID, name, value)
            expect(getter(d), last, name, "stays")
        expect(setter(None, I(0)), UNINITIALISED, name, "of none set")
        expect(getter(None), -1, name, "of none")
        lib.cusparseDestroyMatDescr(d)


if not NVIDIA:
    ctypes.CDLL("libcuda.so.1").cuInit(0)
for prefix in ("cusparseCreate", "cusparseCreateConst"):
    compressed(prefix + "Csr")
    compressed(prefix + "Csc")
    coordinates(prefix + "Coo")
    vectors(prefix + "DnVec", prefix + "SpVec")
    matrices(prefix + "DnMat")
batches()
older()
print("END")
