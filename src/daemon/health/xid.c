/* xid.c: the tables. */
#include "daemon/health/xid.h"

#include <stddef.h>

const struct xid *xid_find(uint32_t number)
{
	static const struct xid table[] = {
		{ 8, XID_PROGRAM, "a kernel ran for too long" },
		{ 13, XID_PROGRAM, "a kernel did what the engine cannot do" },
		{ 31, XID_PROGRAM, "a kernel touched memory that is not mapped" },
		{ 32, XID_DEVICE, "the driver's commands arrived damaged" },
		{ 38, XID_DEVICE, "the driver's firmware failed" },
		{ 43, XID_PROGRAM, "a program's work was stopped after its fault" },
		{ 45, XID_AFTER, "a program's work was cleared away after an earlier error" },
		{ 48, XID_DEVICE, "memory error that cannot be corrected" },
		{ 61, XID_DEVICE, "the device's microcontroller stopped" },
		{ 62, XID_DEVICE, "the device's microcontroller halted" },
		{ 63, XID_DEVICE, "a row of memory was remapped" },
		{ 64, XID_DEVICE, "a row of memory could not be remapped" },
		{ 68, XID_DEVICE, "the video decoder failed" },
		{ 69, XID_PROGRAM, "a kernel used an engine's class wrongly" },
		{ 74, XID_DEVICE, "a link between devices failed" },
		{ 79, XID_GONE, "the device has fallen off the bus" },
		{ 92, XID_DEVICE, "many memory errors were corrected" },
		{ 94, XID_DEVICE, "memory error that is contained to one program" },
		{ 95, XID_DEVICE, "memory error that may be anybody's" },
		{ 109, XID_DEVICE, "changing from one program to another took too long" },
		{ 119, XID_DEVICE, "the device's system processor does not answer" },
		{ 120, XID_DEVICE, "the device's system processor failed" },
		{ 140, XID_DEVICE, "memory error that was not recovered from" },
		{ 143, XID_DEVICE, "the device could not be initialised" },
		{ 154, XID_DEVICE, "the device says what it needs to recover" },
	};
	static const struct xid unknown = { 0, XID_DEVICE, "not in meted's table" };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].number == number)
			return &table[i];
	return &unknown;
}

const struct context_error *context_error_find(uint32_t error)
{
	static const struct context_error table[] = {
		{ 46, XID_GONE, 79, "CUDA_ERROR_DEVICE_UNAVAILABLE" },
		{ 214, XID_DEVICE, 48, "CUDA_ERROR_ECC_UNCORRECTABLE" },
		{ 220, XID_DEVICE, 74, "CUDA_ERROR_NVLINK_UNCORRECTABLE" },
		{ 700, XID_PROGRAM, 31, "CUDA_ERROR_ILLEGAL_ADDRESS" },
		{ 702, XID_PROGRAM, 8, "CUDA_ERROR_LAUNCH_TIMEOUT" },
		{ 710, XID_PROGRAM, 43, "CUDA_ERROR_ASSERT" },
		{ 714, XID_PROGRAM, 13, "CUDA_ERROR_HARDWARE_STACK_ERROR" },
		{ 715, XID_PROGRAM, 13, "CUDA_ERROR_ILLEGAL_INSTRUCTION" },
		{ 716, XID_PROGRAM, 13, "CUDA_ERROR_MISALIGNED_ADDRESS" },
		{ 717, XID_PROGRAM, 13, "CUDA_ERROR_INVALID_ADDRESS_SPACE" },
		{ 718, XID_PROGRAM, 13, "CUDA_ERROR_INVALID_PC" },
		{ 719, XID_PROGRAM, 13, "CUDA_ERROR_LAUNCH_FAILED" },
	};
	static const struct context_error unknown = { 0, XID_DEVICE, 0, "an error that meted has no name for" };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].error == error)
			return &table[i];
	return &unknown;
}
