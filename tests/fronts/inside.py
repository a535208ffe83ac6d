"""What a program does with the fronts, under mete: inside.py CASE. It prints JSON."""
import ctypes
import json
import os
import sys

C = ctypes
DOUBLE = """.version 8.0
.target sm_75
.address_size 64
.visible .entry twice(.param .u64 p)
{
	.reg .u64 %rd<2>;
	.reg .f32 %f<2>;
	ld.param.u64 %rd1, [p];
	ld.global.f32 %f1, [%rd1];
	add.f32 %f1, %f1, %f1;
	st.global.f32 [%rd1], %f1;
	ret;
}
"""
CALLER = """.version 8.0
.target sm_75
.address_size 64
.extern .func (.param .f32 r) more(.param .f32 x);
.visible .entry twice(.param .u64 p)
{
	.reg .u64 %rd<2>;
	.reg .f32 %f<2>;
	.param .f32 a;
	.param .f32 b;
	ld.param.u64 %rd1, [p];
	ld.global.f32 %f1, [%rd1];
	st.param.f32 [a], %f1;
	call (b), more, (a);
	ld.param.f32 %f1, [b];
	st.global.f32 [%rd1], %f1;
	ret;
}
"""
CALLEE = """.version 8.0
.target sm_75
.address_size 64
.visible .func (.param .f32 r) more(.param .f32 x)
{
	.reg .f32 %f<2>;
	ld.param.f32 %f1, [x];
	add.f32 %f1, %f1, %f1;
	st.param.f32 [r], %f1;
	ret;
}
"""


def good(code):
    if code:
        raise SystemExit(f"a driver's call answered {code}")


def run_image(image):
    """Loads the image, runs its kernel on 21 and gives what came out."""
    cuda = C.CDLL("libcuda.so.1")
    context, module, kernel, memory, value = C.c_void_p(), C.c_void_p(), C.c_void_p(), C.c_uint64(), C.c_float(21)
    good(cuda.cuInit(0))
    good(cuda.cuDevicePrimaryCtxRetain(C.byref(context), 0))
    good(cuda.cuCtxSetCurrent(context))
    good(cuda.cuModuleLoadData(C.byref(module), image))
    good(cuda.cuModuleGetFunction(C.byref(kernel), module, b"twice"))
    good(cuda.cuMemAlloc_v2(C.byref(memory), C.c_size_t(4)))
    good(cuda.cuMemcpyHtoD_v2(memory, C.byref(value), C.c_size_t(4)))
    arguments = (C.c_void_p * 1)(C.addressof(memory))
    good(cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, arguments, None))
    good(cuda.cuMemcpyDtoH_v2(C.byref(value), memory, C.c_size_t(4)))
    return value.value


def nvrtc(*options, name="libnvrtc.so.13"):
    lib = C.CDLL(name)
    program, bytes_, text = C.c_void_p(), C.c_size_t(), b""
    if lib.nvrtcCreateProgram(C.byref(program), b"", b"a.cu", 0, None, None):
        lib.nvrtcGetErrorString.restype = C.c_char_p
        return {"error": lib.nvrtcGetErrorString(11).decode()}
    listed = (C.c_char_p * len(options))(*(o.encode() for o in options))
    result = lib.nvrtcCompileProgram(program, len(options), listed)
    size = lib.nvrtcGetCUBINSize(program, C.byref(bytes_))
    if bytes_.value:
        buffer = C.create_string_buffer(bytes_.value)
        lib.nvrtcGetCUBIN(program, buffer)
        text = buffer.raw
    ptx = C.c_size_t()
    lib.nvrtcGetPTXSize(program, C.byref(ptx))
    answer = {"result": [result, size], "cubin": text[:40].decode("latin1"), "bytes": bytes_.value, "ptx": ptx.value,
              "value": run_image(text) if text else None}
    lib.nvrtcDestroyProgram(C.byref(program))
    return answer


def text_of(lib, link, call):
    bytes_ = C.c_size_t()
    getattr(lib, call + "Size")(link, C.byref(bytes_))
    buffer = C.create_string_buffer(bytes_.value + 1)
    getattr(lib, call)(link, buffer)
    return buffer.value.decode(errors="replace")


def nvjitlink(inputs, *options, name="libnvJitLink.so.13", prefix="nvJitLink", suffix=""):
    """inputs: (type, bytes)."""
    lib = C.CDLL(name)

    def call(name, *arguments):
        return getattr(lib, prefix + name + suffix)(*arguments)

    link, bytes_, major, minor = C.c_void_p(), C.c_size_t(), C.c_uint(), C.c_uint()
    listed = (C.c_char_p * len(options))(*(o.encode() for o in options))
    answer = {"version": lib.nvJitLinkVersion(C.byref(major), C.byref(minor)),
              "create": call("Create", C.byref(link), len(options), listed)}
    if answer["create"]:
        return answer
    answer["add"] = [call("AddData", link, kind, data, C.c_size_t(len(data)), b"input") for kind, data in inputs]
    answer["complete"] = call("Complete", link)
    answer["log"] = text_of(lib, link, "nvJitLinkGetErrorLog")
    if not answer["complete"]:
        call("GetLinkedCubinSize", link, C.byref(bytes_))
        buffer = C.create_string_buffer(bytes_.value)
        call("GetLinkedCubin", link, buffer)
        answer["named"] = b"mete linked 0" in buffer.raw
        answer["value"] = run_image(buffer.raw)
    call("Destroy", C.byref(link))
    return answer


def archive(*members):
    """An archive of fat binaries, as ar writes it."""
    out = b"!<arch>\n"
    for m in members:
        out += b"%-16s%-12s%-6s%-6s%-8s%-10d`\n" % (b"a.o/", b"0", b"0", b"0", b"644", len(m)) + m + b"\n" * (len(m) & 1)
    return out


def fat(kind, payload, arch=75, more=b""):
    """A fat binary of one entry, and what more there is of another one."""
    payload += b"\0" * (8 - len(payload) % 8)
    entry = bytearray(64)
    entry[0:2] = kind.to_bytes(2, "little")
    entry[4:8] = (64).to_bytes(4, "little")
    entry[8:16] = len(payload).to_bytes(8, "little")
    entry[28:32] = arch.to_bytes(4, "little")
    body = bytes(entry) + payload + more[16:]
    return (0xBA55ED50).to_bytes(4, "little") + (1).to_bytes(2, "little") + (16).to_bytes(2, "little") + \
        len(body).to_bytes(8, "little") + body


def driver_link():
    """The driver's own linker, of a text and an archive that holds the other one and some machine code."""
    cuda = C.CDLL("libcuda.so.1")
    context, link, image, size = C.c_void_p(), C.c_void_p(), C.c_void_p(), C.c_size_t()
    good(cuda.cuInit(0))
    good(cuda.cuDevicePrimaryCtxRetain(C.byref(context), 0))
    good(cuda.cuCtxSetCurrent(context))
    good(cuda.cuLinkCreate_v2(0, None, None, C.byref(link)))
    library = archive(fat(2, ELF), CLOSED, fat(1, B))
    answer = {"add": [cuda.cuLinkAddData_v2(link, kind, data, C.c_size_t(len(data)), b"input", 0, None, None)
                      for kind, data in ((1, A), (4, library), (4, archive(fat(2, ELF))), (4, library[:-9]))]}
    good(cuda.cuLinkComplete(link, C.byref(image), C.byref(size)))
    answer["value"] = run_image(C.string_at(image, size.value))
    return answer


def machine_code():
    """What the driver answers to images of machine code that a library holds, and of the program's own."""
    cuda, library = C.CDLL("libcuda.so.1"), C.CDLL(os.environ["METE_NVRTC"])
    context, module = C.c_void_p(), C.c_void_p()
    good(cuda.cuInit(0))
    good(cuda.cuDevicePrimaryCtxRetain(C.byref(context), 0))
    good(cuda.cuCtxSetCurrent(context))
    images = (C.c_char * (2 * 144)).in_dll(library, "machine_code")
    return [cuda.cuModuleLoadData(C.byref(module), C.byref(images, at)) for at in (0, 144, 0)]


PTX, LTO, FAT, LIBRARY = 2, 3, 4, 6
A, B = CALLER.encode(), CALLEE.encode()
ELF = b"\x7fELF\2\1" + b"\0" * 12 + (190).to_bytes(2, "little") + b"\0" * 100
# As libcudadevrt.a is: machine code for each device, and PTX for the newest one, which is none of ours.
CLOSED = fat(2, ELF, more=fat(1, B.replace(b"sm_75", b"sm_121"), arch=121))
def cudnn():
    """A handle, made and used as frameworks do, and a call that would compute."""
    lib = C.CDLL(os.environ["FRONT_CUDNN"])
    lib.cudnnGetVersion.restype = C.c_size_t
    lib.cudnnGetErrorString.restype = C.c_char_p
    handle, stream, value = C.c_void_p(), C.c_void_p(), C.c_int()
    reason = C.create_string_buffer(200)
    answer = {"version": lib.cudnnGetVersion(), "create": lib.cudnnCreate(C.byref(handle)), "null": lib.cudnnCreate(None),
              "made": bool(handle)}
    if answer["create"]:
        answer["error"] = lib.cudnnGetErrorString(answer["create"]).decode()
        return answer
    answer["stream"] = [lib.cudnnSetStream(handle, C.c_void_p(0x1230)), lib.cudnnGetStream(handle, C.byref(stream)),
                        stream.value]
    answer["property"] = [lib.cudnnGetProperty(1, C.byref(value)), value.value]
    answer["compute"] = [lib.cudnnAddTensor(handle), lib.cudnnActivationForward(handle)]
    lib.cudnnGetLastErrorString(reason, C.c_size_t(len(reason)))
    answer["reason"] = reason.value.decode()
    answer["word"] = lib.cudnnGetErrorString(3000).decode()
    answer["destroy"] = lib.cudnnDestroy(handle)
    return answer


CASES = {
    "cudnn": cudnn,
    "sm": lambda: [nvrtc("-arch=sm_90"), nvrtc("--gpu-architecture", "sm_90a", "-std=c++17"), nvrtc("-arch", "sm_75"),
                   nvrtc("-arch=sm_90", name="libnvrtc.so.12")],
    "compute": lambda: nvrtc("-arch=compute_90"),
    "none": lambda: nvrtc("-std=c++17"),
    "machine code": machine_code,
    "link": lambda: nvjitlink([(PTX, A), (PTX, B)], "-arch=sm_90"),
    "versioned": lambda: nvjitlink([(PTX, A), (PTX, B)], "-arch=sm_90", prefix="__nvJitLink", suffix="_13_0"),
    "twelve": lambda: nvjitlink([(PTX, A), (PTX, B)], "-arch=sm_90", name="libnvJitLink.so.12", prefix="__nvJitLink",
                                suffix="_12_9"),
    "containers": lambda: nvjitlink([(FAT, fat(1, A)), (LIBRARY, archive(fat(2, ELF), CLOSED, fat(1, B)))], "-arch=sm_90"),
    "driver": driver_link,
    "unresolved": lambda: nvjitlink([(PTX, A)], "-arch=sm_90"),
    "bad": lambda: nvjitlink([(PTX, DOUBLE.replace("add.f32", "add.f33").encode())], "-arch=sm_90"),
    "code": lambda: nvjitlink([(1, ELF)], "-arch=sm_90"),
    "damaged": lambda: nvjitlink([(LIBRARY, archive(fat(1, B))[:-9])], "-arch=sm_90"),
    "arch": lambda: nvjitlink([(PTX, A)]),
    "lto": lambda: nvjitlink([(LTO, b"\xed\x43\x4e\x7f" + b"\0" * 40), (PTX, B)], "-arch=sm_90", "-lto"),
    "lto in a fat binary": lambda: nvjitlink([(FAT, fat(8, b"\xed\x43\x4e\x7f" + b"\0" * 40)), (PTX, B)], "-arch=sm_90", "-lto"),
}

if __name__ == "__main__":
    print(json.dumps(CASES[sys.argv[1]]()))
