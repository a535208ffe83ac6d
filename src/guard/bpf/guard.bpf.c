// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0
/*
 * guard.bpf.c: the guard's programs in the kernel.
 *
 *	file_open		whose file it is, and may he
 *	file_ioctl		the call as the program shows it: refused, or its charge is reserved
 *	call			the same as the kernel has copied it, judged again: what was changed ends its process
 *	copy_out		the reply of an allocation, still in the kernel: the reservation becomes what was taken
 *	behind call		the manager's answer: the reservation becomes an object, or goes back
 *	behind cleanup		the manager has freed all that a file had
 *	dup, behind dup		another driver, nvidia-uvm, gets a name of its own for memory that a program maps
 *	free_dup, behind it	and gives it back
 *	task_alloc, fork, exec, cgroup_attach_task	whose process: a tenant's stays the tenant's
 *
 * The first two are hooks of the kernel's security modules, where bpf is one of them (lsm=). Elsewhere the same
 * programs are attached to the functions that call those hooks (security_file_ioctl() and others; "traced" below): the
 * kernel lets a program change the result of any function of that name (check_attach_modify_return() of
 * kernel/bpf/verifier.c). Two things are different then. Such a program cannot wait for a page of the program's. And
 * the kernel leaves it out when another task on the same processor was interrupted in it (bpf_prog_enter_recur()),
 * which a tenant can provoke where the kernel preempts itself. So nothing rests on it alone: a tenant's call that was
 * not shown is judged at `call`, where a kprobe is never left out that way, and ends its process if it may not pass; a
 * child is noted by a tracepoint; and whose file it is, is looked at again with each call.
 *
 * `call`, `copy_out`, `cleanup`, `dup` and `free_dup` are functions of the driver; mete-guard names them (drivers.c).
 *All but `copy_out` are of its core, in which the kernel lets no probe be: the probes are where they are called
 *(sites.h).
 *
 * A program of this kind cannot stop the driver once it is past file_ioctl. So a call that took more than was reserved,
 * with no room for the difference, keeps its charge, and its process is killed before it returns to its own code.
 *
 * The charge is taken in file_ioctl by compare and swap, so that it is never above the quota at any time; every other
 * step moves it by the difference. An object's record holds one reference of its memory. Who changes `memory` of a
 * record from its number to 0, by compare and swap, gives the reference back: so it is given back once, whoever frees
 * the same name at once.
 */
#include <stdbool.h>
#include <stdint.h>

#include <linux/bpf.h>
#include <linux/ptrace.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "guard/classify.c"
#include "guard/maps.h"

#define EPERM 1
#define ENOMEM 12
#define SIGKILL 9
#define KIND 0170000
#define CHARACTER 0020000
#define CONTROL_MINOR 255
#define MODESET_MINOR 254
#define GRAPHICS_MAJOR 226 /* DRM_MAJOR */
#define PUT_TRIES 256

/* Of the kernel's structures what is read here; their places are found when the program is loaded. */
struct inode {
	unsigned short i_mode;
	uint32_t i_rdev;
} __attribute__((preserve_access_index));

struct module {
	char name[GUARD_MODULE];
} __attribute__((preserve_access_index));

struct file_operations {
	struct module *owner;
} __attribute__((preserve_access_index));

struct file {
	struct inode *f_inode;
	const struct file_operations *f_op;
} __attribute__((preserve_access_index));

struct bpf_local_storage;
struct css_set;

struct task_struct {
	struct task_struct *group_leader;
	struct css_set *cgroups;
	struct bpf_local_storage *bpf_storage;
} __attribute__((preserve_access_index));

struct cgroup;

struct css_set {
	struct cgroup *dfl_cgrp;
} __attribute__((preserve_access_index));

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
} __attribute__((preserve_access_index));

struct kernfs_node {
	uint64_t id;
} __attribute__((preserve_access_index));

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
} __attribute__((preserve_access_index));

struct linux_binprm;
struct bpf_map;

const volatile struct guard_options guard_options = { .rewrites = 1 };

enum stage { IDLE, RESERVED, CALLED };

/* A task's, from its first call on; the call in progress. */
struct work {
	uint64_t owner;	  /* the account that the task stays with; 0: none yet. The first word: mete-guard writes it
			     (tenants_join) */
	uint64_t account; /* that the call is charged to */
	uint64_t reserved;
	uint64_t file, data;		     /* the manager's record of the file; the kernel's copy of the argument */
	uint64_t leaving;		     /* the record of a file that is being released */
	uint64_t memory;		     /* the number that a free found, or that a dup has a reference of */
	uint64_t until, leaving_until;	     /* the last number when a free, and when a release, began */
	uint64_t shown_file, shown_argument; /* the call that was judged last, and by which set of programs */
	uint32_t shown_command, set;
	uint32_t stage;
	uint32_t replied; /* what is nested was copied back */
	uint32_t group;	  /* 1: a channel group is counted that is not made yet */
	uint32_t dup;	  /* the place of its source in the tenant's dup_of, and 1; one more: it has none; 0: no dup */
	uint64_t mapping; /* the memory that another driver maps; a reference of it */
	uint64_t mapping_device, mapping_name_at;    /* whose name is made, and where the manager puts it */
	uint64_t unmapping_device, unmapping_number; /* the mapping that is given back; 0: none */
	uint32_t unmapping_name, unused;
	struct guard_plan plan;
	struct guard_call call;
	uint8_t nested[GUARD_NESTED_BYTES] __attribute__((aligned(8)));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct guard_config);
} guard_config SEC(".maps");

/* name -> account */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GUARD_TENANTS_MOST);
	__type(key, uint64_t);
	__type(value, uint64_t);
} guard_names SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GUARD_TENANTS_MOST);
	__type(key, uint32_t);
	__type(value, struct guard_limits);
} guard_limits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GUARD_TENANTS_MOST);
	__type(key, uint32_t);
	__type(value, struct guard_tenant);
} guard_tenants SEC(".maps");

/* How many of guard_files have this mark (mark_of): where there is none, no lookup is needed. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GUARD_MARKS_MOST);
	__type(key, uint32_t);
	__type(value, uint32_t);
} guard_marks SEC(".maps");

/* Cgroups that are no tenant's and below none's, as far as they are remembered. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GUARD_CGROUPS_MOST);
	__type(key, uint32_t);
	__type(value, uint64_t);
} guard_nobodys SEC(".maps");

/* struct file -> account */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GUARD_FILES_MOST);
	__type(key, uint64_t);
	__type(value, uint64_t);
} guard_files SEC(".maps");

/* the manager's record of a file, with objects of a tenant -> account */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GUARD_FILES_MOST);
	__type(key, uint64_t);
	__type(value, uint64_t);
} guard_records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GUARD_OBJECTS_MOST);
	__type(key, struct guard_key);
	__type(value, struct guard_object);
} guard_objects SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GUARD_OBJECTS_MOST);
	__type(key, uint64_t);
	__type(value, struct guard_memory);
} guard_memories SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GUARD_OBJECTS_MOST);
	__type(key, struct guard_mapped_key);
	__type(value, struct guard_mapped);
} guard_mapped SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct guard_pool);
} guard_pool SEC(".maps");

/* the last number of a memory or of an object */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint64_t);
} guard_number SEC(".maps");

_Static_assert(__builtin_offsetof(struct work, owner) == 0, "where tenants_join() writes");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct work);
} guard_work SEC(".maps");

static struct guard_config *config_get(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&guard_config, &zero);
}

static struct guard_pool *pool_get(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&guard_pool, &zero);
}

/* The account of a name; 0: none. */
static uint64_t name_find(uint64_t id)
{
	uint64_t *account = bpf_map_lookup_elem(&guard_names, &id);

	return account ? *account : 0;
}

static struct guard_limits *limits_find(uint64_t account)
{
	uint32_t row = GUARD_ROW(account);
	struct guard_limits *l = bpf_map_lookup_elem(&guard_limits, &row);

	return l && account && l->account == account ? l : NULL;
}

/* Of an account whose limits have been found. */
static struct guard_tenant *tenant_of(uint64_t account, const struct guard_limits *l)
{
	uint32_t row = GUARD_ROW(account);

	return l ? bpf_map_lookup_elem(&guard_tenants, &row) : NULL;
}

/* NULL: it is dropped. */
static struct guard_tenant *tenant_find(uint64_t account)
{
	return tenant_of(account, limits_find(account));
}

/* One object of the kernel's, and so one source: in this order, by what each is about. */
#include "guard/bpf/account.bpf.h"
#include "guard/bpf/objects.bpf.h"
#include "guard/bpf/processes.bpf.h"
#include "guard/bpf/files.bpf.h"
#include "guard/bpf/calls.bpf.h"
#include "guard/bpf/mapped.bpf.h"

/* For mete-guard, which looks for the places where the driver's core is called (sites.h). */
struct guard_text guard_text;

SEC("syscall")
int guard_read(void *context)
{
	guard_text.result = (int32_t)bpf_probe_read_kernel(guard_text.bytes,
							   bounded(guard_text.size, sizeof guard_text.bytes),
							   (const void *)guard_text.at);
	return 0;
}

#ifdef GUARD_FLOOR
/*
 * Of the tests' own helper: other kinds of the first look, which do nothing: one that cannot wait for a page, and one
 * of a single cgroup's processes.
 */
SEC("?lsm/file_ioctl")
int BPF_PROG(guard_plain, struct file *file, unsigned int command, unsigned long argument, int ret)
{
	return ret;
}

SEC("?lsm_cgroup/file_ioctl")
int BPF_PROG(guard_bound, struct file *file, unsigned int command, unsigned long argument)
{
	return 1;
}
#endif

char guard_license[] SEC("license") = "GPL";
