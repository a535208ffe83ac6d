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

/* Of /dev/nvidiactl and /dev/nvidiaN: the numbers of commands with that letter. */
static const uint8_t frontend[] = {
	0x27, /* RM_ALLOC_MEMORY */
	0x28, /* RM_ALLOC_OBJECT */
	0x29, /* RM_FREE */
	0x2a, /* RM_CONTROL */
	0x2b, /* RM_ALLOC */
	0x34, /* RM_DUP_OBJECT */
	0x35, /* RM_SHARE */
	0x41, /* RM_IDLE_CHANNELS */
	0x4a, /* RM_VID_HEAP_CONTROL */
	0x4e, /* RM_MAP_MEMORY */
	0x4f, /* RM_UNMAP_MEMORY */
	0x52, /* RM_GET_EVENT_DATA */
	0x54, /* RM_ALLOC_CONTEXT_DMA2 */
	0x57, /* RM_MAP_MEMORY_DMA */
	0x58, /* RM_UNMAP_MEMORY_DMA */
	0x59, /* RM_BIND_CONTEXT_DMA */
	0x5c, /* RM_EXPORT_OBJECT_TO_FD */
	0x5d, /* RM_IMPORT_OBJECT_FROM_FD */
	0x5e, /* RM_UPDATE_DEVICE_MAPPING_INFO */
	200,  /* CARD_INFO */
	201,  /* REGISTER_FD */
	206,  /* ALLOC_OS_EVENT */
	207,  /* FREE_OS_EVENT */
	209,  /* STATUS_CODE */
	210,  /* CHECK_VERSION_STR */
	212,  /* ATTACH_GPUS_TO_FD */
	214,  /* SYS_PARAMS */
	215,  /* NUMA_INFO */
	217,  /* EXPORT_TO_DMABUF_FD */
	218,  /* WAIT_OPEN_COMPLETE */
};

/* Of /dev/nvidia-uvm: plain numbers up to here, but for those of tools; and its two of its own. */
#define UVM_END 128u
static const uint8_t uvm_tools[] = { 56, 57, 58, 59, 60, 61, 62, 63, 64, 67, 76, 77 };
static const uint32_t uvm_begin_end[] = { 0x30000001u, 0x30000002u };

struct program {
	struct sock_filter step[160];
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

static void write_program(struct program *p, uint32_t refused)
{
	const uint32_t allowed = SECCOMP_RET_ALLOW;

	load(p, offsetof(struct seccomp_data, nr));
	add(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 1, 0);
	add(p, BPF_RET | BPF_K, allowed, 0, 0);
	load(p, command_at());
	for (size_t i = 0; i < sizeof(uvm_begin_end) / sizeof(*uvm_begin_end); i++)
		verdict_if(p, uvm_begin_end[i], allowed);
	for (size_t i = 0; i < sizeof(uvm_tools); i++)
		verdict_if(p, uvm_tools[i], refused);
	add(p, BPF_JMP | BPF_JGE | BPF_K, UVM_END, 1, 0);
	add(p, BPF_RET | BPF_K, allowed, 0, 0);
	add(p, BPF_ALU | BPF_AND | BPF_K, 0xffff, 0, 0); /* without the size and the direction */
	for (size_t i = 0; i < sizeof(frontend); i++)
		verdict_if(p, LETTER | frontend[i], allowed);
	add(p, BPF_RET | BPF_K, refused, 0, 0);
}

int device_filter_set(bool observe)
{
	static struct program program;
	struct sock_fprog given = { .filter = program.step };
	long r;

	program.count = 0;
	write_program(&program, observe ? SECCOMP_RET_LOG : SECCOMP_RET_ERRNO | EPERM);
	given.len = program.count;
	r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_LOG, &given);
	if (r < 0 && errno == EINVAL) /* a kernel before 4.14: refused without a word */
		r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &given);
	return r < 0 ? -errno : r > 0 ? -ESRCH : 0;
}
