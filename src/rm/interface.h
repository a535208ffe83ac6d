/*
 * interface.h: what mete knows of the resource manager's interface, in declarations of our own.
 *
 * Source of every fact: NVIDIA's published open kernel modules (github.com/NVIDIA/open-gpu-kernel-modules), by file;
 * read in the branches 515 to 595. "since" names the branch in which a layout changed. The list of sizes agrees with
 * what gVisor's nvproxy (pkg/abi/nvgpu) writes down for the same branches. Nothing here has met hardware yet.
 *
 *   kernel-open/common/inc/nv-chardev-numbers.h   the device nodes' major number, the control node's minor
 *   kernel-open/common/inc/nv-ioctl-numbers.h     magic, NV_ESC_CHECK_VERSION_STR, NV_ESC_IOCTL_XFER_CMD
 *   src/nvidia/arch/nvalloc/unix/include/nv_escape.h   NV_ESC_RM_FREE, _CONTROL, _ALLOC
 *   src/common/sdk/nvidia/inc/nvos.h              NVOS00, NVOS21, NVOS54, NVOS64
 *   src/common/sdk/nvidia/inc/ctrl/ctrla06c.h     controls of a channel group
 *   src/common/sdk/nvidia/inc/ctrl/ctrla06f/ctrla06fgpfifo.h   parameters of GPFIFO_SCHEDULE and BIND
 *   src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080fifo.h, ctrl2080gpu.h   FIFO_DISABLE_CHANNELS, GPU_GET_GID_INFO
 *   src/common/sdk/nvidia/inc/class/cl2080.h      numbers of engines
 *   src/common/sdk/nvidia/inc/nvstatuscodes.h     status words
 */
#pragma once

#include <stdint.h>
#include <sys/ioctl.h>

#define RM_MAJOR 195u
#define RM_CONTROL_MINOR 255u

enum rm_escape {
	RM_ESC_FREE = 0x29,
	RM_ESC_CONTROL = 0x2a,
	RM_ESC_ALLOC = 0x2b,
	RM_ESC_VERSION = 210,  /* the library's version string, compared with the kernel's */
	RM_ESC_TRANSFER = 211, /* the call proper is described by struct rm_transfer */
};

#define RM_MAGIC 'F'
#define RM_REQUEST(nr, size) _IOC(_IOC_READ | _IOC_WRITE, RM_MAGIC, nr, size)

struct rm_transfer {
	uint32_t nr, size;
	uint64_t argument;
};

struct rm_version {
	uint32_t command, reply;
	char text[64]; /* "535.104.05" */
};

/* The branches whose layouts are known. */
#define RM_BRANCH_FIRST 515u
#define RM_BRANCH_LAST 599u

/*
 * NV_ESC_RM_ALLOC. All layouts begin alike; where the status stands depends on the size and on the branch:
 * 32 bytes: at 24, since 535 at 28 (behind the size of the parameters);
 * 40 bytes, with access rights, until 534: at 32, since 530 at 36 (behind the flags);
 * 48 bytes, with access rights, since 535: at 40.
 */
struct rm_alloc {
	uint32_t client, parent, object, class;
	uint64_t parameters;
	uint32_t rest[6];
};

/* Value: which of rest[] is the status; -1: not a layout that we know. */
static inline int rm_alloc_status(unsigned int branch, uint32_t size)
{
	if (branch < RM_BRANCH_FIRST || branch > RM_BRANCH_LAST)
		return -1;
	if (size == 32)
		return branch < 535 ? 0 : 1;
	if (size == 40 && branch < 535)
		return branch < 530 ? 2 : 3;
	return size == 48 && branch >= 535 ? 4 : -1;
}

struct rm_free { /* 16 bytes in all branches */
	uint32_t client, parent, object, status;
};

struct rm_control { /* 32 bytes in all branches */
	uint32_t client, object, command, flags;
	uint64_t parameters;
	uint32_t parameters_size, status;
};

enum rm_class {
	RM_CLASS_DEVICE = 0x80,
	RM_CLASS_SUBDEVICE = 0x2080,
	RM_CLASS_GROUP = 0xa06c, /* KEPLER_CHANNEL_GROUP_A, in use up to Blackwell */
};

/* Every architecture's GPFIFO channel class ends in 6f: 0xa06f Kepler ... 0xc56f Ampere ... 0xca6f Blackwell. */
static inline int rm_class_is_channel(uint32_t class)
{
	return (class & 0xff) == 0x6f && class <= 0xffff;
}

enum rm_command {
	RM_GROUP_SCHEDULE = 0xa06c0101,
	RM_GROUP_BIND = 0xa06c0102,
	RM_GROUP_SET_SLICE = 0xa06c0103,
	RM_GROUP_GET_SLICE = 0xa06c0104,
	RM_GROUP_PREEMPT = 0xa06c0105,
	RM_SUBDEVICE_DISABLE = 0x2080110b,
	RM_SUBDEVICE_GID = 0x2080014a,
};

enum rm_engine {
	RM_ENGINE_GRAPHICS_FIRST = 1, /* GR0: graphics and compute */
	RM_ENGINE_GRAPHICS_LAST = 8,
	RM_ENGINE_COPY_FIRST = 9,
	RM_ENGINE_COPY_LAST = 18,
};

/*
 * The engine in the parameters of a group's allocation: the fourth word (NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS:
 * error contexts, address space, engine).
 */
#define RM_GROUP_ENGINE_AT 12u

struct rm_slice {
	uint64_t us;
};

/* GPFIFO_SCHEDULE takes two bytes, three in later branches; how many, the program's own calls show. */
struct rm_schedule {
	uint8_t enable, skip_submit, skip_enable, unused;
};

struct rm_preempt {
	uint8_t wait, manual_timeout, unused[2];
	uint32_t timeout_us;
};

#define RM_DISABLE_MOST 64u

struct rm_disable {
	uint8_t disable, unused[3];
	uint32_t count;
	uint8_t only_scheduling, rewind, unused2[6];
	uint64_t event; /* the kernel's own; a user's call with it set is refused */
	uint32_t client[RM_DISABLE_MOST];
	uint32_t channel[RM_DISABLE_MOST];
};

#define RM_GID_BINARY 2u

struct rm_gid {
	uint32_t index, flags, length;
	uint8_t data[256];
};

_Static_assert(sizeof(struct rm_free) == 16 && sizeof(struct rm_control) == 32, "sizes of the escapes");
_Static_assert(sizeof(struct rm_alloc) == 48 && sizeof(struct rm_version) == 72, "sizes of the escapes");
_Static_assert(sizeof(struct rm_slice) == 8 && sizeof(struct rm_preempt) == 8, "sizes of a group's controls");
_Static_assert(sizeof(struct rm_disable) == 536 && sizeof(struct rm_gid) == 268, "sizes of a subdevice's controls");

enum rm_status {
	RM_OK = 0,
	RM_INSUFFICIENT_PERMISSIONS = 0x1b,
	RM_INVALID_ARGUMENT = 0x1f,
	RM_NOT_SUPPORTED = 0x56,
};
