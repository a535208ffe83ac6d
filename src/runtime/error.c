/*
 * error.c: the runtime's errors: from the driver's, by name, as text, and what cudaGetLastError() keeps of them.
 *
 * Since 10.1 both APIs number their errors alike; a driver's number that the runtime does not have is an unknown error.
 * Names come from the spec. The texts are what cudaGetErrorString() is documented to give for the errors that programs
 * meet; others are described by their name.
 */
#include "runtime/rt.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct rt_error_name texts[] = {
	{ cudaSuccess, "no error" },
	{ cudaErrorInvalidValue, "invalid argument" },
	{ cudaErrorMemoryAllocation, "out of memory" },
	{ cudaErrorInitializationError, "initialization error" },
	{ cudaErrorCudartUnloading, "driver shutting down" },
	{ cudaErrorProfilerDisabled, "profiler disabled while using external profiling tool" },
	{ cudaErrorInvalidConfiguration, "invalid configuration argument" },
	{ cudaErrorInvalidPitchValue, "invalid pitch argument" },
	{ cudaErrorInvalidSymbol, "invalid device symbol" },
	{ cudaErrorInvalidHostPointer, "invalid host pointer" },
	{ cudaErrorInvalidDevicePointer, "invalid device pointer" },
	{ cudaErrorInvalidTexture, "invalid texture reference" },
	{ cudaErrorInvalidTextureBinding, "texture is not bound to a pointer" },
	{ cudaErrorInvalidChannelDescriptor, "invalid channel descriptor" },
	{ cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy" },
	{ cudaErrorInvalidFilterSetting, "linear filtering not supported for non-float type" },
	{ cudaErrorInvalidNormSetting, "read as normalized float not supported for 32-bit non float type" },
	{ cudaErrorStubLibrary, "CUDA driver is a stub library" },
	{ cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version" },
	{ cudaErrorCallRequiresNewerDriver, "API call is not supported in the installed CUDA driver" },
	{ cudaErrorInvalidSurface, "invalid surface reference" },
	{ cudaErrorDuplicateVariableName, "duplicate global variable looked up by string name" },
	{ cudaErrorDuplicateTextureName, "duplicate texture looked up by string name" },
	{ cudaErrorDuplicateSurfaceName, "duplicate surface looked up by string name" },
	{ cudaErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable" },
	{ cudaErrorIncompatibleDriverContext, "incompatible driver context" },
	{ cudaErrorMissingConfiguration, "__global__ function call is not configured" },
	{ cudaErrorLaunchMaxDepthExceeded, "launch would exceed maximum depth of nested launches" },
	{ cudaErrorInvalidDeviceFunction, "invalid device function" },
	{ cudaErrorNoDevice, "no CUDA-capable device is detected" },
	{ cudaErrorInvalidDevice, "invalid device ordinal" },
	{ cudaErrorDeviceNotLicensed, "device doesn't have valid Grid license" },
	{ cudaErrorStartupFailure, "startup failure in cuda runtime" },
	{ cudaErrorInvalidKernelImage, "device kernel image is invalid" },
	{ cudaErrorDeviceUninitialized, "invalid device context" },
	{ cudaErrorMapBufferObjectFailed, "mapping of buffer object failed" },
	{ cudaErrorUnmapBufferObjectFailed, "unmapping of buffer object failed" },
	{ cudaErrorArrayIsMapped, "array is mapped" },
	{ cudaErrorAlreadyMapped, "resource already mapped" },
	{ cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device" },
	{ cudaErrorAlreadyAcquired, "resource already acquired" },
	{ cudaErrorNotMapped, "resource not mapped" },
	{ cudaErrorNotMappedAsArray, "resource not mapped as array" },
	{ cudaErrorNotMappedAsPointer, "resource not mapped as pointer" },
	{ cudaErrorECCUncorrectable, "uncorrectable ECC error encountered" },
	{ cudaErrorUnsupportedLimit, "limit is not supported on this architecture" },
	{ cudaErrorDeviceAlreadyInUse, "exclusive-thread device already in use by a different thread" },
	{ cudaErrorPeerAccessUnsupported, "peer access is not supported between these two devices" },
	{ cudaErrorInvalidPtx, "a PTX JIT compilation failed" },
	{ cudaErrorInvalidGraphicsContext, "invalid OpenGL or DirectX context" },
	{ cudaErrorNvlinkUncorrectable, "uncorrectable NVLink error detected during the execution" },
	{ cudaErrorJitCompilerNotFound, "PTX JIT compiler library not found" },
	{ cudaErrorUnsupportedPtxVersion, "the provided PTX was compiled with an unsupported toolchain." },
	{ cudaErrorJitCompilationDisabled, "PTX JIT compilation was disabled" },
	{ cudaErrorInvalidSource, "device kernel image is invalid" },
	{ cudaErrorFileNotFound, "file not found" },
	{ cudaErrorSharedObjectSymbolNotFound, "shared object symbol not found" },
	{ cudaErrorSharedObjectInitFailed, "shared object initialization failed" },
	{ cudaErrorOperatingSystem, "OS call failed or operation not supported on this OS" },
	{ cudaErrorInvalidResourceHandle, "invalid resource handle" },
	{ cudaErrorIllegalState, "the operation cannot be performed in the present state" },
	{ cudaErrorSymbolNotFound, "named symbol not found" },
	{ cudaErrorNotReady, "device not ready" },
	{ cudaErrorIllegalAddress, "an illegal memory access was encountered" },
	{ cudaErrorLaunchOutOfResources, "too many resources requested for launch" },
	{ cudaErrorLaunchTimeout, "the launch timed out and was terminated" },
	{ cudaErrorLaunchIncompatibleTexturing, "launch uses incompatible texturing mode" },
	{ cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled" },
	{ cudaErrorPeerAccessNotEnabled, "peer access has not been enabled" },
	{ cudaErrorSetOnActiveProcess, "cannot set while device is active in this process" },
	{ cudaErrorContextIsDestroyed, "context is destroyed" },
	{ cudaErrorAssert, "device-side assert triggered" },
	{ cudaErrorTooManyPeers, "peer mapping resources exhausted" },
	{ cudaErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped" },
	{ cudaErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region" },
	{ cudaErrorHardwareStackError, "hardware stack error" },
	{ cudaErrorIllegalInstruction, "an illegal instruction was encountered" },
	{ cudaErrorMisalignedAddress, "misaligned address" },
	{ cudaErrorInvalidAddressSpace, "operation not supported on global/shared address space" },
	{ cudaErrorInvalidPc, "invalid program counter" },
	{ cudaErrorLaunchFailure, "unspecified launch failure" },
	{ cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch" },
	{ cudaErrorNotPermitted, "operation not permitted" },
	{ cudaErrorNotSupported, "operation not supported" },
	{ cudaErrorSystemNotReady, "system not yet initialized" },
	{ cudaErrorSystemDriverMismatch, "system has unsupported display driver / cuda driver combination" },
	{ cudaErrorCompatNotSupportedOnDevice, "forward compatibility was attempted on non supported HW" },
	{ cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing" },
	{ cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture" },
	{ cudaErrorStreamCaptureMerge, "operation would result in a merge of separate capture sequences" },
	{ cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began" },
	{ cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work" },
	{ cudaErrorStreamCaptureIsolation, "dependency created on uncaptured work in another stream" },
	{ cudaErrorStreamCaptureImplicit,
	  "operation would make the legacy stream depend on a capturing blocking stream" },
	{ cudaErrorCapturedEvent, "operation not permitted on an event last recorded in a capturing stream" },
	{ cudaErrorStreamCaptureWrongThread,
	  "attempt to terminate a thread-local capture sequence from another thread" },
	{ cudaErrorTimeout, "wait operation timed out" },
	{ cudaErrorGraphExecUpdateFailure,
	  "the graph update was not performed because it included changes which violated "
	  "constraints specific to instantiated graph update" },
	{ cudaErrorExternalDevice, "an async error has occured in external entity outside of CUDA" },
#if CUDART_MAJOR >= 12
	{ cudaErrorInvalidClusterSize, "a kernel launch error has occurred due to cluster misconfiguration" },
#endif
	{ cudaErrorUnknown, "unknown error" },
	{ 0, NULL },
};

static const char *find(const struct rt_error_name *table, int code)
{
	for (; table->name; table++)
		if (table->code == code)
			return table->name;
	return NULL;
}

const char *cudaGetErrorName(cudaError_t error)
{
	const char *name = find(rt_error_names, (int)error);

	return name ? name : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
	const char *text = find(texts, (int)error);

	return text ? text : cudaGetErrorName(error);
}

cudaError_t rt_error(CUresult r)
{
	if (__builtin_expect(r == CUDA_SUCCESS, 1))
		return cudaSuccess;
	return find(rt_error_names, (int)r) ? (cudaError_t)r : cudaErrorUnknown;
}

/* After these a context is lost: every later call on it fails, and so does cudaGetLastError() until cudaDeviceReset().
 */
static bool is_sticky(cudaError_t e)
{
	switch ((int)e) {
	case cudaErrorIllegalAddress:
	case cudaErrorLaunchTimeout:
	case cudaErrorAssert:
	case cudaErrorHardwareStackError:
	case cudaErrorIllegalInstruction:
	case cudaErrorMisalignedAddress:
	case cudaErrorInvalidAddressSpace:
	case cudaErrorInvalidPc:
	case cudaErrorLaunchFailure:
	case cudaErrorECCUncorrectable:
		return true;
	default:
		return false;
	}
}

cudaError_t rt_done(cudaError_t e)
{
	if (__builtin_expect(e != cudaSuccess, 0)) {
		rt_thread.last = e;
		if (is_sticky(e))
			rt_thread.sticky = e;
	}
	return e;
}

void rt_log(const char *format, ...)
{
	const char *path = secure_getenv("METE_LOG");
	int saved = errno, fd = STDERR_FILENO, opened = -1;
	char line[1024] = "mete: ";
	size_t n = strlen(line);
	va_list ap;

	va_start(ap, format);
	vsnprintf(line + n, sizeof(line) - n - 1, format, ap);
	va_end(ap);
	n = strlen(line);
	line[n++] = '\n';
	if (path && path[0] && strcmp(path, "stderr"))
		opened = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (opened >= 0)
		fd = opened;
	if (write(fd, line, n) < 0)
		errno = saved; /* nowhere to say it */
	if (opened >= 0)
		close(opened);
	errno = saved;
}

cudaError_t rt_unsupported(const char *call)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static const char *told[512]; /* names are literals: one address each */
	bool first = true;
	size_t i;

	pthread_mutex_lock(&mutex);
	for (i = 0; i < sizeof(told) / sizeof(*told) && told[i]; i++)
		if (told[i] == call)
			first = false;
	if (first && i < sizeof(told) / sizeof(*told))
		told[i] = call;
	pthread_mutex_unlock(&mutex);
	if (first)
		rt_log("%s: mete's runtime library (libcudart %d) does not have this call; it answers "
		       "cudaErrorNotSupported",
		       call, CUDART_MAJOR);
	return rt_done(cudaErrorNotSupported);
}
