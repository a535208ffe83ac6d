"""
Bad input to the libraries, in the program that bad_test.py runs in each way: bad_program.py [PART...]; or, where the devices are on
two servers: bad_program.py streams

Each line that it prints is `ok WHAT` or `bad WHAT WHY`. Two devices are there; each library has a handle on the first one.
"""

import ctypes
import math
import sys
import threading

N, ROUNDS = 24, 40
P, LL, I, F = ctypes.c_void_p, ctypes.c_longlong, ctypes.c_int, ctypes.c_float
cu = ctypes.CDLL("libcuda.so.1")


def check(good, what, why=""):
    print("ok" if good else "bad", what, "" if good else why, flush=True)


def good(status):
    if status:
        raise SystemExit(f"status {status}")


def ref(value):
    return ctypes.byref(value)


class Device:
    """A device's primary context and a stream of it."""

    def __init__(self, number):
        self.context, self.stream = P(), P()
        good(cu.cuDevicePrimaryCtxRetain(ref(self.context), number))
        self.enter()
        good(cu.cuStreamCreate(ref(self.stream), 0))

    def enter(self):
        good(cu.cuCtxSetCurrent(self.context))


class Memory:
    """Floats on the current device."""

    def __init__(self, numbers, kind=F):
        self.pointer, self.count, self.kind = ctypes.c_ulonglong(), len(numbers), kind
        good(cu.cuMemAlloc_v2(ref(self.pointer), 4 * max(1, self.count)))
        good(cu.cuMemcpyHtoD_v2(self.pointer, (kind * self.count)(*numbers), LL(4 * self.count)))

    def at(self):
        return P(self.pointer.value)

    def read(self):
        numbers = (self.kind * self.count)()
        good(cu.cuCtxSynchronize())
        good(cu.cuMemcpyDtoH_v2(numbers, self.pointer, LL(4 * self.count)))
        return list(numbers)

    def end(self):
        good(cu.cuMemFree_v2(self.pointer))


NUMBERS = [math.sin(i + 1) for i in range(N)]
ONE, NIL = F(1), F(0)
handle_type = P


class Library:
    """What the tests ask of a library: how a handle begins, ends and gets a stream, and one computation of N floats to N floats."""

    file = create = destroy = set_stream = None
    not_initialized = 1
    handle = P

    def __init__(self):
        self.library = ctypes.CDLL(self.file)
        self.made = self.new()

    def call(self, name, *given):
        return getattr(self.library, name)(*given)

    def new(self):
        made = self.handle()
        good(self.call(self.create, ref(made)))
        return made

    def compute(self, handle, x, y):
        raise NotImplementedError

    def wanted(self, x):
        raise NotImplementedError

    in_place = False  # the result takes the operand's place

    def compute_at(self, handle, x, y):
        """The same of addresses, which may be none."""
        return self.compute(handle, x, y)

    def zero(self):
        """(what, status, statuses that are right)"""
        return ()


class Cublas(Library):
    file, create, destroy, set_stream = "libcublas.so.13", "cublasCreate_v2", "cublasDestroy_v2", "cublasSetStream_v2"

    def compute(self, handle, x, y):
        return self.call("cublasSgemm_v2", handle, 0, 1, 4, 4, 6, ref(ONE), x.at(), 4, x.at(), 4, ref(NIL), y.at(), 4)

    def wanted(self, x):
        return [sum(x[k * 4 + i] * x[k * 4 + j] for k in range(6)) for j in range(4) for i in range(4)]

    def zero(self):
        m = Memory(NUMBERS)

        def gemm(m_, n, k, lda):
            return self.call("cublasSgemm_v2", self.made, 0, 0, m_, n, k, ref(ONE), m.at(), lda, m.at(), max(1, k), ref(NIL), m.at(), lda)

        return (
            ("no rows", gemm(0, 4, 4, 1), [0]),
            ("no columns", gemm(4, 0, 4, 4), [0]),
            ("rows below 0", gemm(-1, 4, 4, 1), [7]),
            ("a row's step that is too small", gemm(4, 4, 4, 2), [7]),
        )


class Cufft(Library):
    file, destroy, set_stream, not_initialized, handle = "libcufft.so.12", "cufftDestroy", "cufftSetStream", None, I

    def new(self):
        plan = I()
        good(self.call("cufftPlan1d", ref(plan), N // 2, 0x29, 1))
        return plan

    def compute(self, handle, x, y):
        return self.call("cufftExecC2C", handle, x.at(), y.at(), -1)

    def wanted(self, x):
        n = N // 2
        z = [complex(x[2 * i], x[2 * i + 1]) for i in range(n)]
        out = [sum(z[j] * complex(math.cos(2 * math.pi * j * k / n), -math.sin(2 * math.pi * j * k / n)) for j in range(n)) for k in range(n)]
        return [part for c in out for part in (c.real, c.imag)]

    def zero(self):
        plan = I()
        return (
            ("no points", self.call("cufftPlan1d", ref(plan), 0, 0x29, 1), [8]),
            ("points below 0", self.call("cufftPlan1d", ref(plan), -4, 0x29, 1), [8]),
            ("no transforms", self.call("cufftPlan1d", ref(plan), 8, 0x29, 0), [8, 4]),
            ("a type that there is not", self.call("cufftPlan1d", ref(plan), 8, 0x77, 1), [3, 4, 13]),
        )


class Curand(Library):
    file, destroy, set_stream, not_initialized = "libcurand.so.10", "curandDestroyGenerator", "curandSetStream", 101

    def new(self):
        made = P()
        good(self.call("curandCreateGenerator", ref(made), 161))  # Philox
        return made

    def compute(self, handle, x, y):
        return self.call("curandGenerateUniform", handle, y.at(), LL(y.count))

    wanted = None

    def zero(self):
        made = P()
        return (
            ("no numbers", self.call("curandGenerateUniform", self.made, None, LL(0)), [0]),
            ("a generator that there is not", self.call("curandCreateGenerator", ref(made), 999), [103]),
        )


class Cusparse(Library):
    file, create, destroy, set_stream = "libcusparse.so.12", "cusparseCreate", "cusparseDestroy", "cusparseSetStream"

    def matrix(self):
        if not hasattr(self, "csr"):
            self.parts = Memory(range(N + 1), I), Memory(range(N), I), Memory([2.0] * N)
            self.csr = P()
            good(self.call("cusparseCreateCsr", ref(self.csr), LL(N), LL(N), LL(N), *(p.at() for p in self.parts), 2, 2, 0, 0))
        return self.csr

    def compute(self, handle, x, y):
        xd, yd, csr = P(), P(), self.matrix()
        status = self.call("cusparseCreateDnVec", ref(xd), LL(N), x.at(), 0) or self.call("cusparseCreateDnVec", ref(yd), LL(N), y.at(), 0)
        if status:
            return status
        room = ctypes.c_size_t()
        status = self.call("cusparseSpMV_bufferSize", handle, 0, ref(ONE), csr, xd, ref(NIL), yd, 0, 0, ref(room)) or self.call(
            "cusparseSpMV", handle, 0, ref(ONE), csr, xd, ref(NIL), yd, 0, 0, None
        )
        good(self.call("cusparseDestroyDnVec", xd) or self.call("cusparseDestroyDnVec", yd))
        return status

    def wanted(self, x):
        return [2 * v for v in x]

    def zero(self):
        d, m = P(), Memory(NUMBERS)
        vector = P()
        good(self.call("cusparseCreateDnVec", ref(vector), LL(N), m.at(), 0))
        return (
            ("a vector below 0", self.call("cusparseCreateDnVec", ref(d), LL(-1), m.at(), 0), [3]),
            ("an empty matrix", self.call("cusparseCreateCsr", ref(d), LL(0), LL(0), LL(0), None, None, None, 2, 2, 0, 0), [0]),
            (
                "a type that there is not",
                self.call("cusparseSpMV", self.made, 0, ref(ONE), self.matrix(), vector, ref(NIL), vector, 77, 0, None),
                [3, 10],
            ),
        )


class Cusolver(Library):
    file, create, destroy, set_stream = "libcusolver.so.12", "cusolverDnCreate", "cusolverDnDestroy", "cusolverDnSetStream"

    def compute(self, handle, x, y):
        """The factor of a diagonal matrix, of y's own numbers: diag(x[i]^2) gives |x[i]|."""
        size = I()
        status = self.call("cusolverDnSpotrf_bufferSize", handle, 0, 4, y.at(), 4, ref(size))
        if status:
            return status
        work, info = Memory([0.0] * max(1, size.value)), Memory([7], I)
        square = [0.0] * N
        for i in range(4):
            square[i * 5] = x.read()[i] ** 2
        good(cu.cuMemcpyHtoD_v2(y.pointer, (F * N)(*square), LL(4 * N)))
        status = self.call("cusolverDnSpotrf", handle, 0, 4, y.at(), 4, work.at(), size.value, info.at())
        if not status:
            self.info = info.read()[0]
        work.end()
        info.end()
        return status

    in_place = True

    def new(self):
        self.work, self.told = Memory([0.0] * 4096), Memory([7], I)
        return super().new()

    def compute_at(self, handle, x, y):
        return self.call("cusolverDnSpotrf", handle, 0, 4, y.at(), 4, self.work.at(), 4096, self.told.at())

    def wanted(self, x):
        return [abs(x[i // 5]) if i % 5 == 0 else 0.0 for i in range(16)]

    def zero(self):
        m, size, info = Memory(NUMBERS), I(), Memory([7], I)
        return (
            ("no rows", self.call("cusolverDnSpotrf_bufferSize", self.made, 0, 0, m.at(), 1, ref(size)), [0]),
            ("rows below 0", self.call("cusolverDnSpotrf_bufferSize", self.made, 0, -1, m.at(), 1, ref(size)), [3]),
            ("a row's step that is too small", self.call("cusolverDnSpotrf", self.made, 0, 4, m.at(), 2, m.at(), 24, info.at()), [3]),
        )


class Cudnn(Library):
    file, create, destroy, set_stream, not_initialized = "libcudnn.so.9", "cudnnCreate", "cudnnDestroy", "cudnnSetStream", 1001

    def tensor(self, *sizes):
        d = P()
        good(self.call("cudnnCreateTensorDescriptor", ref(d)))
        return d, self.call("cudnnSetTensor4dDescriptor", d, 0, 0, *sizes)

    def compute(self, handle, x, y):
        (d, status), a = self.tensor(1, 2, 3, 4), P()
        good(status or self.call("cudnnCreateActivationDescriptor", ref(a)) or self.call("cudnnSetActivationDescriptor", a, 1, 1, ctypes.c_double(0)))
        status = self.call("cudnnActivationForward", handle, a, ref(ONE), d, x.at(), ref(NIL), d, y.at())
        good(self.call("cudnnDestroyTensorDescriptor", d) or self.call("cudnnDestroyActivationDescriptor", a))
        return status

    def wanted(self, x):
        return [max(v, 0) if v == v else v for v in x]

    def zero(self):
        return (
            ("a size of 0", self.tensor(1, 0, 3, 4)[1], [3, 2000, 2001, 2002, 2003]),
            ("a size below 0", self.tensor(1, -2, 3, 4)[1], [3, 2000, 2001, 2002, 2003]),
        )


def near(got, wanted):
    return all(abs(g - w) < 1e-4 for g, w in zip(got, wanted))


def result(library, handle, x, y):
    return library.compute(handle, x, y) or (0 if library.wanted is None or near(y.read(), library.wanted(x.read())) else "a wrong result")


def wrong_handles(name, library, x, y):
    nothing = ctypes.create_string_buffer(4096)
    words = ctypes.create_string_buffer(b"\xa5" * 4096, 4096)
    wrong = {"no handle": None, "zeros": P(ctypes.addressof(nothing)), "other bytes": P(ctypes.addressof(words))}
    if library.handle is I:
        wrong = {"no plan": I(0), "a plan that there is not": I(4711), "a plan below 0": I(-3)}
    for what, handle in wrong.items():
        statuses = library.compute(handle, x, y), library.call(library.set_stream, handle, None), library.call(library.destroy, handle)
        check(
            all(statuses) and (library.not_initialized is None or statuses[0] == library.not_initialized), f"{name}: {what} is not a handle", statuses
        )
    ended = library.new()
    good(library.call(library.destroy, ended))
    statuses = library.compute(ended, x, y), library.call(library.destroy, ended)
    check(all(statuses), f"{name}: a handle that has ended is none", statuses)
    check(result(library, library.made, x, y) == 0, f"{name}: a handle computes after that", "")


def other_device(name, library, x, y, devices):
    """Whatever the statuses are: nothing dies, and the handle computes with a stream of its own device after it."""
    statuses = [library.call(library.set_stream, library.made, devices[1].stream)]
    statuses.append(library.compute(library.made, x, y))
    devices[1].enter()
    good(cu.cuCtxSynchronize())
    devices[0].enter()
    computed = not any(statuses) and (library.wanted is None or near(y.read(), library.wanted(x.read())))
    check(any(statuses) or computed, f"{name}: a stream of another device is refused, or the result is right", statuses)
    good(cu.cuCtxSynchronize())
    good(library.call(library.set_stream, library.made, devices[0].stream))
    after = result(library, library.made, x, y)
    check(after == 0, f"{name}: computes on its own device after it", after)


def threads(name, library, x, devices):
    """Two threads, one handle: each result is right, whoever came first."""
    failed = []

    def work():
        devices[0].enter()
        y = Memory([9.0] * N)
        for _ in range(ROUNDS):
            r = result(library, library.made, x, y)
            if r:
                failed.append(r)
        y.end()

    both = [threading.Thread(target=work) for _ in range(2)]
    for t in both:
        t.start()
    for t in both:
        t.join()
    check(not failed, f"{name}: two threads use one handle, {2 * ROUNDS} results", failed[:3])


def nans(name, library, y):
    for what, number in ("NaN", math.nan), ("infinity", math.inf), ("minus infinity", -math.inf):
        x = Memory([number] * N)
        status = library.compute(library.made, x, y)
        got = y.read()
        said = status or not all(math.isfinite(v) for v in got) or getattr(library, "info", 0) > 0 or near(got, library.wanted(x.read()))
        check(said, f"{name}: {what} is computed with, or is said", (status, got[:4]))
        x.end()


class Address:
    """In the place of memory: an address that somebody might give."""

    count = N

    def __init__(self, value):
        self.value = value

    def at(self):
        return P(self.value)


def in_own_context(use):
    """use() in a context of the first device that ends with it: what it breaks is its own. Its result."""
    own = P()
    good(cu.cuCtxCreate_v2(ref(own), 0, 0))
    try:
        return use()
    finally:
        cu.cuCtxDestroy_v2(own)


def failed_with(library, make_x, make_y):
    """The statuses of a computation and of the wait for it. What is to be none is made last, and takes nobody's place."""
    handle, given = library.new(), [Memory(NUMBERS), Memory([9.0] * N)]
    for i, make in enumerate((make_x, make_y)):
        given[i] = make() if make else given[i]
    statuses = library.compute_at(handle, *given), cu.cuCtxSynchronize()
    library.call(library.destroy, handle)
    return statuses


def freed():
    """In the middle of a large allocation: others may keep the pages that they share with its ends."""
    m = Memory([0.0] * (1 << 21))
    m.end()
    return Address(m.pointer.value + (1 << 22))


def bad_addresses(name, library, x, y, devices):
    """Operands where there are none: a status, of the call or of the wait, and the context alone is lost."""
    here = ctypes.create_string_buffer(4096)
    devices[1].enter()
    elsewhere = Memory(NUMBERS)
    devices[0].enter()
    wrong = {
        "no address": lambda: Address(None),
        "an address of the program's": lambda: Address(ctypes.addressof(here)),
        "memory that was freed": freed,
        "memory of another device": lambda: Address(elsewhere.pointer.value),
        "an address of nobody": lambda: Address(0x7FFFFFFFFF00),
    }
    for what, make in wrong.items():
        statuses = in_own_context(lambda: failed_with(library, None, make))
        devices[0].enter()
        check(any(statuses), f"{name}: {what} is written to by nobody", statuses)
        check(bytes(here) == bytes(4096), f"{name}: {what}: the program's memory is as it was", "")
        if library.wanted and not library.in_place:
            statuses = in_own_context(lambda: failed_with(library, make, None))
            devices[0].enter()
            check(any(statuses), f"{name}: {what} is read by nobody", statuses)
        after = result(library, library.made, x, y)
        check(after == 0, f"{name}: {what}: another context computes after it", after)


def unaligned(name, library, x, y):
    """Floats at an odd address: a status, or the right result; nobody dies."""

    def use():
        m, handle, got = Memory([0.0] * (N + 1)), library.new(), Memory([9.0] * N)
        raw = (F * N)(*NUMBERS)
        good(cu.cuMemcpyHtoD_v2(ctypes.c_ulonglong(m.pointer.value + 1), raw, LL(4 * N)))
        statuses = library.compute_at(handle, Address(m.pointer.value + 1), Address(m.pointer.value + 1) if library.in_place else got), cu.cuCtxSynchronize()
        library.call(library.destroy, handle)
        return any(statuses) or library.wanted is None or library.in_place or near(got.read(), library.wanted(NUMBERS))

    check(in_own_context(use), f"{name}: floats at an odd address", "a wrong result")
    after = result(library, library.made, x, y)
    check(after == 0, f"{name}: computes after it", after)


LIBRARIES = {"cublas": Cublas, "cufft": Cufft, "curand": Curand, "cusparse": Cusparse, "cusolver": Cusolver, "cudnn": Cudnn}


FAILED = {"cublas": 13, "cufft": 6, "curand": 201, "cusparse": 6, "cusolver": 6, "cudnn": 5000}  # each library's status for a failed execution


def streams(devices):
    """A stream of another server's device is one of another device: no handle ends or stays with it."""
    for name, make in LIBRARIES.items():
        devices[0].enter()
        library = make()
        status = library.call(library.set_stream, library.made, devices[1].stream)
        check(status == FAILED[name], f"{name}: a stream of another server's device", status)
        good(library.call(library.set_stream, library.made, devices[0].stream))
        x, y = Memory(NUMBERS), Memory([9.0] * N)
        r = result(library, library.made, x, y)
        check(r == 0, f"{name}: computes after it", r)
        good(library.call(library.destroy, library.made))


def main():
    good(cu.cuInit(0))
    devices = [Device(0), Device(1)]
    if sys.argv[1:] == ["streams"]:
        streams(devices)
        print("END", flush=True)
        return
    for name in sys.argv[1:] or LIBRARIES:
        devices[0].enter()
        library = LIBRARIES[name]()
        x, y = Memory(NUMBERS), Memory([9.0] * N)
        r = result(library, library.made, x, y)
        check(r == 0, f"{name}: computes", r)
        wrong_handles(name, library, x, y)
        if library.wanted:
            nans(name, library, y)
        for what, status, right in library.zero():
            check(status in right, f"{name}: {what}", status)
        unaligned(name, library, x, y)
        bad_addresses(name, library, x, y, devices)
        threads(name, library, x, devices)
        other_device(name, library, x, y, devices)
        good(library.call(library.destroy, library.made))
    print("END", flush=True)


if __name__ == "__main__":
    main()
