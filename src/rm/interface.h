/*
 * interface.h: what mete knows of the resource manager's interface, in declarations of our own.
 *
 * Source of every fact: NVIDIA's published open kernel modules (github.com/NVIDIA/open-gpu-kernel-modules), by file;
 * read in the branches 515 to 595, and in 615.71. "since" names the branch in which a layout changed. The list of
 * sizes agrees with what gVisor's nvproxy (pkg/abi/nvgpu) writes down for the same branches, and for branch 580 with
 * what libcuda was seen to call on an H200.
 *
 *   kernel-open/common/inc/nv-chardev-numbers.h   the device nodes' major number, the control node's minor
 *   kernel-open/common/inc/nv-ioctl-numbers.h     magic, NV_ESC_CHECK_VERSION_STR, NV_ESC_IOCTL_XFER_CMD
 *   src/nvidia/arch/nvalloc/unix/include/nv_escape.h   the calls of the resource manager, NV_ESC_RM_...
 *   src/nvidia/arch/nvalloc/unix/src/escape.c     which device takes which call, and that sizes must be exact
 *   src/common/sdk/nvidia/inc/nvos.h              NVOS00, NVOS02, NVOS21, NVOS32, NVOS54, NVOS55, NVOS64, and
 *                                                 NV_MEMORY_ALLOCATION_PARAMS
 *   src/nvidia/src/kernel/rmapi/resource_list.h   the classes, with their parameters and who may make them
 *   src/common/sdk/nvidia/inc/ctrl/ctrl0000/ctrl0000unix.h   objects that are exported to and imported from descriptors
 *   src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080fb.h   FB_GET_INFO_V2
 *   src/common/sdk/nvidia/inc/ctrl/ctrla06c.h     controls of a channel group
 *   src/common/sdk/nvidia/inc/ctrl/ctrla06f/ctrla06fgpfifo.h   parameters of GPFIFO_SCHEDULE and BIND
 *   src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080fifo.h, ctrl2080gpu.h   FIFO_DISABLE_CHANNELS, GPU_GET_GID_INFO
 *   src/common/sdk/nvidia/inc/ctrl/ctrl0080/ctrl0080fifo.h   FIFO_SET_CHANNEL_PROPERTIES, FIFO_STOP_RUNLIST and
 *                                                 START_RUNLIST
 *   src/common/sdk/nvidia/inc/class/cl2080.h      numbers of engines
 *   src/common/sdk/nvidia/inc/nvstatuscodes.h     status words
 */
#pragma once

#include <stdint.h>
#ifndef __bpf__
#include <sys/ioctl.h>
#endif

#define RM_MAJOR 195u
#define RM_CONTROL_MINOR 255u

enum rm_escape {
	RM_ESC_ALLOC_MEMORY = 0x27,
	RM_ESC_FREE = 0x29,
	RM_ESC_CONTROL = 0x2a,
	RM_ESC_ALLOC = 0x2b,
	RM_ESC_DUP = 0x34,
	RM_ESC_SHARE = 0x35,
	RM_ESC_IDLE_CHANNELS = 0x41,
	RM_ESC_HEAP = 0x4a, /* NV_ESC_RM_VID_HEAP_CONTROL */
	RM_ESC_MAP_MEMORY = 0x4e,
	RM_ESC_UNMAP_MEMORY = 0x4f,
	RM_ESC_EVENT_DATA = 0x52,
	RM_ESC_CONTEXT_DMA = 0x54,
	RM_ESC_MAP_DMA = 0x57,
	RM_ESC_UNMAP_DMA = 0x58,
	RM_ESC_MAPPING_INFO = 0x5e,
	RM_ESC_CARD_INFO = 200,
	RM_ESC_REGISTER_FD = 201,
	RM_ESC_EVENT = 206,
	RM_ESC_EVENT_FREE = 207,
	RM_ESC_VERSION = 210,  /* the library's version string, compared with the kernel's */
	RM_ESC_TRANSFER = 211, /* struct rm_transfer describes the actual call */
	RM_ESC_ATTACH_GPUS = 212,
	RM_ESC_SYSTEM = 214,
	RM_ESC_NUMA = 215,
	RM_ESC_DMABUF = 217, /* exports memory as a descriptor */
	RM_ESC_OPEN_COMPLETE = 218,
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

/* The branches whose layouts are known: this range, and one that was read later. */
#define RM_BRANCH_FIRST 515u
#define RM_BRANCH_LAST 599u
#define RM_BRANCH_LATER 615u

static inline _Bool rm_branch_known(unsigned int branch)
{
	return (branch >= RM_BRANCH_FIRST && branch <= RM_BRANCH_LAST) || branch == RM_BRANCH_LATER;
}

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

/* Value: the index of the status in rest[]; -1: an unknown layout. */
static inline int rm_alloc_status(unsigned int branch, uint32_t size)
{
	if (!rm_branch_known(branch))
		return -1;
	if (size == 32)
		return branch < 535 ? 0 : 1;
	if (size == 40 && branch < 535)
		return branch < 530 ? 2 : 3;
	return size == 48 && branch >= 535 ? 4 : -1;
}

/*
 * True if the parameters are not the class's structure but a message that the manager unpacks
 * (NVOS64_FLAGS_FINN_SERIALIZED of nvos.h, read by alloc_free.c). In layouts with flags, they precede the status.
 */
static inline _Bool rm_alloc_serialized(unsigned int branch, uint32_t size, const struct rm_alloc *a)
{
	uint32_t flags = size == 48 ? a->rest[3] : size == 40 && branch >= 530 ? a->rest[2] : 0;

	return flags & 1;
}

struct rm_free { /* 16 bytes in all branches */
	uint32_t client, parent, object, status;
};

/* NV_ESC_RM_ALLOC_MEMORY: NVOS02 and a descriptor. `limit` is the size less one. */
struct rm_alloc_memory {
	uint32_t client, parent, object, class, flags, unused;
	uint64_t address, limit;
	uint32_t status, unused2;
	int32_t fd, unused3;
};

#define RM_MEMORY_FLAGS_LOCATION(flags) ((flags) >> 8 & 0xf)
enum rm_memory_location { RM_MEMORY_PCI = 0, RM_MEMORY_VIDEO = 2 };

struct rm_dup { /* NVOS55: `object` of `client` becomes another name of source_object */
	uint32_t client, parent, object, source_client, source_object, flags, status;
};

/*
 * NV_ESC_RM_VID_HEAP_CONTROL: NVOS32, 184 bytes. A union by function follows the head; allocating functions begin
 * alike. The size is 8 bytes earlier for ALLOC_SIZE_RANGE than for the others. For ALLOC_TILED the size is an answer;
 * it follows from height and pitch (rmapi_deprecated_vidheapctrl.c).
 */
struct rm_heap {
	uint32_t client, parent, function, space;
	int16_t ivc;
	uint16_t unused;
	uint32_t status;
	uint64_t total, free;
	uint32_t owner, object, type, flags; /* of FREE: owner, object, flags */
	uint32_t words[32];
};

enum rm_heap_function {
	RM_HEAP_ALLOC_SURFACE = 1, /* by depth, width and height */
	RM_HEAP_ALLOC_SIZE = 2,
	RM_HEAP_FREE = 3,
	RM_HEAP_INFO = 5,
	RM_HEAP_ALLOC_TILED = 6,
	RM_HEAP_ALLOC_RANGE = 14,
	RM_HEAP_ALIGNMENT = 18,
	RM_HEAP_HW_ALLOC = 19,
	RM_HEAP_HW_FREE = 20,
	RM_HEAP_OS_DESCRIPTOR = 27,
};

#define RM_HEAP_SIZE_AT 88u
#define RM_HEAP_RANGE_SIZE_AT 80u
#define RM_HEAP_ATTR_AT 56u
#define RM_HEAP_TILED_ATTR_AT 64u
#define RM_HEAP_ATTR2_AT 144u
#define RM_HEAP_RANGE_ATTR2_AT 136u
#define RM_HEAP_ALIGNMENT_AT 96u
#define RM_HEAP_RANGE_ALIGNMENT_AT 88u
#define RM_HEAP_TILED_HEIGHT_AT 56u
#define RM_HEAP_TILED_PITCH_AT 60u
#define RM_HEAP_FLAG_ALIGN 0x180u /* NVOS32_ALLOC_FLAGS_ALIGNMENT_HINT, _FORCE: sizes are rounded up to it */
/* _FIXED_ADDRESS_ALLOCATE: the memory extends to the alignment on both sides (vidmemPmaAllocate of video_mem.c) */
#define RM_HEAP_FLAG_FIXED 0x10u
#define RM_HEAP_FLAG_VIRTUAL 0x80000u /* NVOS32_ALLOC_FLAGS_VIRTUAL: only addresses */

/*
 * The parameters of RM_CLASS_MEMORY (NV_MEMORY_ALLOCATION_PARAMS), up to the length of branch 535; 128 bytes since 545.
 */
struct rm_memory {
	uint32_t owner, type, flags, width, height;
	int32_t pitch;
	uint32_t attr, attr2, format, compression, depth, unused;
	uint64_t low, high;
	uint64_t size; /* in the reply: the allocated size */
	uint64_t alignment, offset, limit, address;
	uint32_t tag_offset, space, internal, tag;
};

#define RM_ATTR_PAGE(attr) ((attr) >> 23 & 3)
#define RM_ATTR_LOCATION(attr) ((attr) >> 25 & 3)
enum rm_attr_page { RM_PAGE_DEFAULT, RM_PAGE_4K, RM_PAGE_BIG, RM_PAGE_HUGE };
enum rm_attr_location { RM_LOCATION_VIDEO, RM_LOCATION_PCI, RM_LOCATION_AGP, RM_LOCATION_ANY };
#define RM_ATTR2_HUGE(attr2) ((attr2) >> 20 & 3)
#define RM_HUGE_512M 2u
#define RM_HUGE_256G 3u

/* RM_SUBDEVICE_FB_INFO: followed by `count` of these, 128 at most; in KiB. */
struct rm_fb_entry {
	uint32_t index, data;
};
#define RM_FB_MOST 128u
enum rm_fb_index {
	RM_FB_RAM_SIZE = 7,
	RM_FB_TOTAL_RAM_SIZE = 8,
	RM_FB_HEAP_SIZE = 9,
	RM_FB_LARGEST_FREE = 0x12,
	RM_FB_HEAP_FREE = 0x16,
	RM_FB_USABLE_RAM_SIZE = 0x20,
};

struct rm_control { /* 32 bytes in all branches */
	uint32_t client, object, command, flags;
	uint64_t parameters;
	uint32_t parameters_size, status;
};
#define RM_CONTROL_SERIALIZED 4u /* in the flags: as rm_alloc_serialized() */

/* The classes that memory is made, held or named by, and those above it. */
enum rm_class {
	RM_CLASS_ROOT = 0,
	RM_CLASS_ROOT_PLAIN = 1,
	RM_CLASS_SYSTEM_MEMORY = 0x3e,
	RM_CLASS_REGISTERS = 0x3f, /* NV01_MEMORY_LOCAL_PRIVILEGED */
	RM_CLASS_MEMORY = 0x40,	   /* NV01_MEMORY_LOCAL_USER */
	RM_CLASS_CLIENT = 0x41,
	RM_CLASS_DEVICE = 0x80,
	RM_CLASS_EXTENDED = 0x42,    /* NV_MEMORY_EXTENDED_USER, with the parameters of RM_CLASS_MEMORY; since 550 */
	RM_CLASS_SYSTEM_LIST = 0x81, /* NV01_MEMORY_LIST_SYSTEM, as RM_CLASS_FB_LIST */
	RM_CLASS_OBJECT_LIST = 0x83, /* NV01_MEMORY_LIST_OBJECT: pages of another object */
	RM_CLASS_PHYSICAL = 0xc2,    /* NV01_MEMORY_LOCAL_PHYSICAL: device memory by its address */
	RM_CLASS_SEMAPHORES = 0xda,  /* NV_SEMAPHORE_SURFACE: it holds memory under names of its own (sem_surf.c) */
	RM_CLASS_EXPORT = 0xe0,	     /* NV_MEMORY_EXPORT: memory that others attach */
	RM_CLASS_FLA = 0xf3,	     /* memory of others, by addresses of the fabric */
	RM_CLASS_FABRIC = 0xf8,
	RM_CLASS_FABRIC_IMPORT = 0xf9,
	RM_CLASS_FABRIC_REF = 0xfb,
	RM_CLASS_MULTICAST = 0xfd, /* NV_MEMORY_MULTICAST_FABRIC: it holds attached memory */
	RM_CLASS_MAPPER = 0xfe,	   /* NV_MEMORY_MAPPER: it holds a semaphore surface, and so its memory */
	RM_CLASS_FB_LIST = 0x82,   /* NV01_MEMORY_LIST_FBMEM: the caller names the pages */
	RM_CLASS_SUBDEVICE = 0x2080,
	RM_CLASS_GROUP = 0xa06c, /* KEPLER_CHANNEL_GROUP_A, in use up to Blackwell */
};

/* Every architecture's GPFIFO channel class ends in 6f: 0xa06f Kepler ... 0xc56f Ampere ... 0xca6f Blackwell. */
static inline int rm_class_is_channel(uint32_t class)
{
	return (class & 0xff) == 0x6f && class <= 0xffff;
}

/* Those that take no device memory by a size, and hold none whose name is gone. */
enum rm_plain_class {
	RM_PLAIN_CONTEXT_DMA = 0x02,
	RM_PLAIN_TIMER = 0x04,
	RM_PLAIN_EVENT = 0x05,
	RM_PLAIN_FABRIC_SESSION = 0x0f,
	RM_PLAIN_MANAGEMENT = 0x20, /* NV0020_GPU_MANAGEMENT */
	RM_PLAIN_DEVICELESS = 0x30, /* the host's memory */
	RM_PLAIN_BOOST = 0x60,
	RM_PLAIN_ADDRESSES = 0x70, /* NV01_MEMORY_VIRTUAL */
	RM_PLAIN_OS_PAGES = 0x71,  /* NV01_MEMORY_SYSTEM_OS_DESCRIPTOR */
	RM_PLAIN_DISPLAY = 0x73,   /* NV04_DISPLAY_COMMON */
	RM_PLAIN_CALLBACK = 0x78,
	RM_PLAIN_OS_EVENT = 0x79,
	RM_PLAIN_CALLBACK_EX = 0x7e,
	RM_PLAIN_DEBUG_BUFFER = 0xdb,
	RM_PLAIN_USER_SHARED = 0xde, /* RM_USER_SHARED_DATA */
	RM_PLAIN_IMEX_SESSION = 0xf1,
	RM_PLAIN_BINAPI = 0x2081,
	RM_PLAIN_BINAPI_PRIVILEGED = 0x2082,
	RM_PLAIN_DIAGNOSIS = 0x208f,
	RM_PLAIN_P2P = 0x503b,
	RM_PLAIN_THIRD_PARTY_P2P = 0x503c,
	RM_PLAIN_DEFERRED = 0x5080,
	RM_PLAIN_HEAP_ADDRESSES = 0x50a0, /* NV50_MEMORY_VIRTUAL */
	RM_PLAIN_DEBUGGER = 0x83de,
	RM_PLAIN_PERFBUFFER = 0x844c,
	RM_PLAIN_MPS = 0x900e,
	RM_PLAIN_TWOD = 0x902d,
	RM_PLAIN_CONTEXT_SHARE = 0x9067,
	RM_PLAIN_DISPLAY_SOFTWARE = 0x9072,
	RM_PLAIN_TIMED_SEMAPHORE = 0x9074,
	RM_PLAIN_ZBC = 0x9096,
	RM_PLAIN_PROFILER = 0x90cc,
	RM_PLAIN_EVENT_BUFFER = 0x90cd,	   /* goes with the memory that it names (refAddDependant of event_buffer.c) */
	RM_PLAIN_SUBDEVICE_FIRST = 0x90e0, /* GF100_SUBDEVICE_... */
	RM_PLAIN_SUBDEVICE_LAST = 0x90e7,
	RM_PLAIN_VASPACE = 0x90f1,
	RM_PLAIN_ENCODER_SESSION = 0xa0bc,
	RM_PLAIN_CAPTURE_SESSION = 0xa0bd,
	RM_PLAIN_PROFILER_CONTEXT = 0xb1cc,
	RM_PLAIN_PROFILER_DEVICE = 0xb2cc,
	RM_PLAIN_MIG_INSTANCE = 0xc637,
	RM_PLAIN_MIG_COMPUTE = 0xc638,
	RM_PLAIN_MIG_CONFIG = 0xc639,
	RM_PLAIN_MIG_MONITOR = 0xc640,
	RM_PLAIN_CONFIDENTIAL = 0xcb33,
	RM_PLAIN_COUNTERS = 0xcbca,
};

/*
 * Engines below a channel, and its doorbell: every architecture's class of a kind has the same last byte, and the
 * architecture before it, from 0x90 (Fermi) on.
 */
enum rm_engine_class {
	RM_ENGINE_CLASS_INLINE = 0x40, /* ..._INLINE_TO_MEMORY_... */
	RM_ENGINE_CLASS_DOORBELL = 0x61,
	RM_ENGINE_CLASS_GRAPHICS = 0x97,
	RM_ENGINE_CLASS_SECURITY = 0xa2, /* HOPPER_SEC2_WORK_LAUNCH_A */
	RM_ENGINE_CLASS_DECODER = 0xb0,
	RM_ENGINE_CLASS_COPY = 0xb5,
	RM_ENGINE_CLASS_ENCODER = 0xb7,
	RM_ENGINE_CLASS_COMPUTE = 0xc0,
	RM_ENGINE_CLASS_JPEG = 0xd1,
	RM_ENGINE_CLASS_FLOW = 0xfa,
};

enum rm_command {
	RM_GROUP_SCHEDULE = 0xa06c0101,
	RM_GROUP_BIND = 0xa06c0102,
	RM_GROUP_SET_SLICE = 0xa06c0103,
	RM_GROUP_GET_SLICE = 0xa06c0104,
	RM_GROUP_PREEMPT = 0xa06c0105,
	RM_GROUP_SET_INTERLEAVE = 0xa06c0107,
	RM_GROUP_REALTIME = 0xa06c0110,
	RM_CHANNEL_SET_INTERLEAVE = 0xa06f0109,
	RM_CHANNEL_RESTART_RUNLIST = 0xa06f0111,
	RM_DEVICE_CHANNEL_PROPERTY = 0x80170f, /* FIFO_SET_CHANNEL_PROPERTIES */
	RM_DEVICE_STOP_RUNLIST = 0x801711,
	RM_DEVICE_START_RUNLIST = 0x801712,
	RM_CLIENT_EXPORT = 0x3d05,
	RM_CLIENT_IMPORT = 0x3d06,
	RM_CLIENT_EXPORT_MANY = 0x3d0b,
	RM_CLIENT_IMPORT_MANY = 0x3d0c,
	RM_SUBDEVICE_FB_INFO = 0x20801303,
	RM_SUBDEVICE_SCHED_POLICY = 0x20801115,
	RM_SUBDEVICE_DISABLE = 0x2080110b,
	RM_SUBDEVICE_GID = 0x2080014a,
	RM_SUBDEVICE_DMABUF = 0x20803a01, /* DMABUF_EXPORT_OBJECTS_TO_FD, of which RM_ESC_DMABUF is the call */
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

/*
 * The property that RM_DEVICE_CHANNEL_PROPERTY sets for a running channel. The first two are slices in microseconds;
 * the next two remove slices, so that the channel runs until it yields. The manager checks no rights.
 */
struct rm_property {
	uint32_t channel, property;
	uint64_t value;
};
#define RM_PROPERTY_ENGINE_SLICE 0u
#define RM_PROPERTY_HOST_SLICE 1u

/* GPFIFO_SCHEDULE has two bytes of parameters, three in later branches; the program's own calls show the number. */
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
	uint64_t event; /* for the kernel only; a user's call that sets it is refused */
	uint32_t client[RM_DISABLE_MOST];
	uint32_t channel[RM_DISABLE_MOST];
};

#define RM_GID_BINARY 2u

struct rm_gid {
	uint32_t index, flags, length;
	uint8_t data[256];
};

_Static_assert(sizeof(struct rm_free) == 16 && sizeof(struct rm_control) == 32, "sizes of the escapes");
_Static_assert(sizeof(struct rm_heap) == 184 && sizeof(struct rm_alloc_memory) == 56, "sizes of the escapes");
_Static_assert(sizeof(struct rm_dup) == 28 && sizeof(struct rm_memory) == 120, "sizes of the escapes");
_Static_assert(sizeof(struct rm_alloc) == 48 && sizeof(struct rm_version) == 72, "sizes of the escapes");
_Static_assert(sizeof(struct rm_property) == 16, "size of a device's control");
_Static_assert(sizeof(struct rm_slice) == 8 && sizeof(struct rm_preempt) == 8, "sizes of a group's controls");
_Static_assert(sizeof(struct rm_disable) == 536 && sizeof(struct rm_gid) == 268, "sizes of a subdevice's controls");

enum rm_status {
	RM_OK = 0,
	RM_INSUFFICIENT_PERMISSIONS = 0x1b,
	RM_INVALID_ARGUMENT = 0x1f,
	RM_NO_MEMORY = 0x51,
	RM_NOT_SUPPORTED = 0x56,
	RM_OBJECT_NOT_FOUND = 0x57,
};
