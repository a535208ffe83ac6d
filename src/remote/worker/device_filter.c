/* device_filter.c: see device_filter.h. A program of the kernel's classic filter: a test and a verdict per command. */
#include "remote/worker/device_filter.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SECCOMP_RET_LOG
#define SECCOMP_RET_LOG 0x7ffc0000u
#endif
#ifndef SECCOMP_FILTER_FLAG_LOG
#define SECCOMP_FILTER_FLAG_LOG 2u
#endif

/* The driver looks at the number alone, not at the letter; its own libraries give this one. */
#define LETTER ((uint32_t)'F' << 8)

struct command {
	uint32_t number;
	unsigned int since; /* the first branch that has it; 0: all that are known */
};

/* Of /dev/nvidiactl and /dev/nvidiaN: the numbers of commands with that letter. */
static const struct command frontend[] = {
	{ 0x27, 0 },  /* RM_ALLOC_MEMORY */
	{ 0x29, 0 },  /* RM_FREE */
	{ 0x2a, 0 },  /* RM_CONTROL */
	{ 0x2b, 0 },  /* RM_ALLOC */
	{ 0x34, 0 },  /* RM_DUP_OBJECT */
	{ 0x35, 0 },  /* RM_SHARE */
	{ 0x41, 0 },  /* RM_IDLE_CHANNELS */
	{ 0x4a, 0 },  /* RM_VID_HEAP_CONTROL */
	{ 0x4e, 0 },  /* RM_MAP_MEMORY */
	{ 0x4f, 0 },  /* RM_UNMAP_MEMORY */
	{ 0x54, 0 },  /* RM_ALLOC_CONTEXT_DMA2 */
	{ 0x57, 0 },  /* RM_MAP_MEMORY_DMA */
	{ 0x58, 0 },  /* RM_UNMAP_MEMORY_DMA */
	{ 0x5e, 0 },  /* RM_UPDATE_DEVICE_MAPPING_INFO */
	{ 200, 0 },   /* CARD_INFO */
	{ 201, 0 },   /* REGISTER_FD */
	{ 206, 0 },   /* ALLOC_OS_EVENT */
	{ 207, 0 },   /* FREE_OS_EVENT */
	{ 210, 0 },   /* CHECK_VERSION_STR */
	{ 212, 0 },   /* ATTACH_GPUS_TO_FD */
	{ 214, 0 },   /* SYS_PARAMS */
	{ 215, 0 },   /* NUMA_INFO */
	{ 217, 0 },   /* EXPORT_TO_DMABUF_FD */
	{ 218, 550 }, /* WAIT_OPEN_COMPLETE */
};

/* Of /dev/nvidia-uvm: plain numbers. */
static const struct command uvm[] = {
	{ 0x30000001, 0 }, /* INITIALIZE */
	{ 0x30000002, 0 }, /* DEINITIALIZE */
	{ 23, 0 },	   /* CREATE_RANGE_GROUP */
	{ 24, 0 },	   /* DESTROY_RANGE_GROUP */
	{ 25, 0 },	   /* REGISTER_GPU_VASPACE */
	{ 26, 0 },	   /* UNREGISTER_GPU_VASPACE */
	{ 27, 0 },	   /* REGISTER_CHANNEL */
	{ 28, 0 },	   /* UNREGISTER_CHANNEL */
	{ 29, 0 },	   /* ENABLE_PEER_ACCESS */
	{ 30, 0 },	   /* DISABLE_PEER_ACCESS */
	{ 31, 0 },	   /* SET_RANGE_GROUP */
	{ 33, 0 },	   /* MAP_EXTERNAL_ALLOCATION */
	{ 34, 0 },	   /* FREE */
	{ 37, 0 },	   /* REGISTER_GPU */
	{ 38, 0 },	   /* UNREGISTER_GPU */
	{ 39, 0 },	   /* PAGEABLE_MEM_ACCESS */
	{ 42, 0 },	   /* SET_PREFERRED_LOCATION */
	{ 43, 0 },	   /* UNSET_PREFERRED_LOCATION */
	{ 44, 0 },	   /* ENABLE_READ_DUPLICATION */
	{ 45, 0 },	   /* DISABLE_READ_DUPLICATION */
	{ 46, 0 },	   /* SET_ACCESSED_BY */
	{ 47, 0 },	   /* UNSET_ACCESSED_BY */
	{ 51, 0 },	   /* MIGRATE */
	{ 53, 0 },	   /* MIGRATE_RANGE_GROUP */
	{ 65, 0 },	   /* MAP_DYNAMIC_PARALLELISM_REGION */
	{ 66, 0 },	   /* UNMAP_EXTERNAL */
	{ 68, 0 },	   /* ALLOC_SEMAPHORE_POOL */
	{ 70, 0 },	   /* PAGEABLE_MEM_ACCESS_ON_GPU */
	{ 72, 0 },	   /* VALIDATE_VA_RANGE */
	{ 73, 0 },	   /* CREATE_EXTERNAL_RANGE */
	{ 74, 0 },	   /* MAP_EXTERNAL_SPARSE: not nvproxy's; a range of the program's own */
	{ 75, 535 },	   /* MM_INITIALIZE */
};

#define COMMANDS(list) (sizeof(list) / sizeof(*(list)))

struct program {
	struct sock_filter step[2 * (COMMANDS(frontend) + COMMANDS(uvm)) + 8];
	unsigned short count;
};

static void add(struct program *p, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
	p->step[p->count++] = (struct sock_filter){ code, yes, no, k };
}

static void load(struct program *p, size_t at)
{
	add(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)at, 0, 0);
}

static void verdict_if(struct program *p, uint32_t value, uint32_t verdict)
{
	add(p, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	add(p, BPF_RET | BPF_K, verdict, 0, 0);
}

/* The kernel looks at the lower half of a command alone, and so does this. */
static size_t command_at(void)
{
	const union {
		uint16_t word;
		uint8_t low;
	} order = { 1 };

	return offsetof(struct seccomp_data, args[1]) + (order.low ? 0 : sizeof(uint32_t));
}

static void allow_each(struct program *p, const struct command *list, size_t count, uint32_t letter,
		       unsigned int branch)
{
	for (size_t i = 0; i < count; i++)
		if (!branch || branch >= list[i].since)
			verdict_if(p, letter | list[i].number, SECCOMP_RET_ALLOW);
}

static void write_program(struct program *p, unsigned int branch, uint32_t refused)
{
	load(p, offsetof(struct seccomp_data, nr));
	add(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 1, 0);
	add(p, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	load(p, command_at());
	allow_each(p, uvm, COMMANDS(uvm), 0, branch);
	add(p, BPF_ALU | BPF_AND | BPF_K, 0xffff, 0, 0); /* without the size and the direction */
	allow_each(p, frontend, COMMANDS(frontend), LETTER, branch);
	add(p, BPF_RET | BPF_K, refused, 0, 0);
}

int device_filter_set(unsigned int branch, bool observe)
{
	static struct program program;
	struct sock_fprog given = { .filter = program.step };
	long r;

	program.count = 0;
	write_program(&program, branch, observe ? SECCOMP_RET_LOG : SECCOMP_RET_ERRNO | EPERM);
	given.len = program.count;
	r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_LOG, &given);
	if (r < 0 && errno == EINVAL) /* a kernel before 4.14: refused without a word */
		r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &given);
	return r < 0 ? -errno : r > 0 ? -ESRCH : 0;
}
