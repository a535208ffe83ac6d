/* calls.c: see calls.h. One thread; all memory is here from the start. */
#include "guard/notify/calls.h"

#include "base/cleanup.h"
#include "rm/interface.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define ARGUMENT_MOST 16384u
#define PARAMETERS_MOST (1u << 20) /* as the manager has it: RMAPI_PARAM_COPY_MAX_PARAMS_SIZE */
#define ALLOC_MOST 1024u	   /* no class takes more; channels take most, some 400 */
#define ALLOC_MEMORY 128u /* NV_MEMORY_ALLOCATION_PARAMS since 545; 120 before, then 8 bytes too many are harmless */
#define LISTS 3u
#define FDS_MOST 1u
#define FDS_FROM 4096 /* above all others here */
#define PAGE 4096u
#define PAGES_MOST (UINT64_C(1) << 42)
#define RELEASE_MOST_NS UINT64_C(10000000000)

/* A piece of the program's memory, and its copy. */
struct piece {
	uint8_t *here, *before; /* what the driver works on; as it was */
	uint64_t there;
	size_t size, room;
};

struct list_row {
	uint32_t command; /* of CONTROL */
	uint8_t count_at, element_bytes;
	uint8_t pointer_at[LISTS]; /* 0: none */
};

/*
 * Pointers within the parameters of a control: src/nvidia/src/kernel/rmapi/embedded_param_copy.c names all that the
 * manager follows, and says that none will be added; ctrl0080*.h, ctrl2080*.h and ctrl0000system.h have their layouts.
 * Those for debuggers, displays and buses are left out: their lists are not found, and the manager refuses the call.
 */
static const struct list_row lists[] = {
	{ 0x101, 0, 1, { 8, 16, 24 } }, /* SYSTEM_GET_BUILD_VERSION */
	{ 0x800201, 0, 4, { 8 } },	/* GPU_GET_CLASSLIST */
	{ 0x801102, 0, 1, { 8 } },	/* GR_GET_CAPS */
	{ 0x801104, 0, 8, { 8 } },	/* GR_GET_INFO */
	{ 0x801301, 0, 1, { 8 } },	/* FB_GET_CAPS */
	{ 0x801401, 0, 1, { 8 } },	/* HOST_GET_CAPS */
	{ 0x801701, 0, 1, { 8 } },	/* FIFO_GET_CAPS */
	{ 0x80170d, 0, 4, { 8, 16 } },	/* FIFO_GET_CHANNELLIST */
	{ 0x801b01, 0, 1, { 8 } },	/* MSENC_GET_CAPS */
	{ 0x20800123, 0, 4, { 8 } },	/* GPU_GET_ENGINES */
	{ 0x20800124, 4, 4, { 8 } },	/* GPU_GET_ENGINE_CLASSLIST */
	{ 0x20800802, 0, 8, { 8 } },	/* BIOS_GET_INFO */
	{ 0x20801201, 0, 8, { 8 } },	/* GR_GET_INFO */
	{ 0x20801301, 0, 8, { 8 } },	/* FB_GET_INFO */
	{ 0x20801802, 0, 8, { 8 } },	/* BUS_GET_INFO */
	{ 0x20802a01, 4, 1, { 8 } },	/* CE_GET_CAPS */
};

/* IDLE_CHANNELS: three lists of handles (NVOS30). */
static const struct list_row idle_channels = { 0, 12, 4, { 16, 24, 32 } };

/* Where a descriptor stands in the argument. */
static const struct {
	uint8_t number, at;
} descriptors[] = {
	{ RM_ESC_REGISTER_FD, 0 },   { RM_ESC_EVENT, 8 },	{ RM_ESC_EVENT_FREE, 8 },
	{ RM_ESC_ALLOC_MEMORY, 48 }, { RM_ESC_MAP_MEMORY, 48 },
};

#define CLASS_OS_PAGES 0x71 /* NV01_MEMORY_SYSTEM_OS_DESCRIPTOR: the caller's own pages */
#define OS_PAGES_AT 24u      /* NVOS02_PARAMETERS: pMemory, and limit behind it: the bytes, less one */
#define CLASS_OS_EVENT 0x79 /* NV01_EVENT_OS_EVENT: `data` of its parameters, at 16, is a descriptor */
#define OS_EVENT_DATA_AT 16u

static uint8_t argument_now[ARGUMENT_MOST], argument_before[ARGUMENT_MOST];
static uint8_t parameters_now[PARAMETERS_MOST], parameters_before[PARAMETERS_MOST];
static uint8_t list_now[LISTS][PARAMETERS_MOST], list_before[LISTS][PARAMETERS_MOST];

/* One call while it is made. */
struct making {
	struct calls *c;
	const struct caller *caller;
	uint32_t number;
	struct guard_call call;
	struct guard_plan plan;
	struct piece argument, parameters, list[LISTS];
	unsigned int list_count;
	struct {
		struct piece *in;
		size_t at;
		uint64_t was;
	} pointer[1 + LISTS]; /* replaced, and put back */
	unsigned int pointer_count;
	struct {
		struct piece *in;
		size_t at, size;
		uint64_t was;
		int here;
	} fd[FDS_MOST];
	unsigned int fd_count;
	struct piece shared; /* the program's own pages, mapped here for this call */
	uint64_t charged;
	uint32_t memory_from; /* a dup's source */
};

/* ---- the program's memory ---- */

bool caller_waits(const struct caller *caller)
{
	uint64_t id = caller->id;

	return !ioctl(caller->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id);
}

/* Value: the bytes that could be read from the start. */
static size_t read_there(pid_t tid, void *to, uint64_t from, size_t size)
{
	/* A read stops at a page that is not there, between pieces: so the first ends with its page. */
	size_t first = PAGE - from % PAGE < size ? PAGE - from % PAGE : size;
	struct iovec here = { to, size }, there[2] = { { (void *)(uintptr_t)from, first },
						       { (void *)(uintptr_t)(from + first), size - first } };
	ssize_t n = process_vm_readv(tid, &here, 1, there, size > first ? 2 : 1, 0);

	return n > 0 ? (size_t)n : 0;
}

static int piece_read(struct making *m, struct piece *p, uint64_t there, size_t size, bool may_be_less)
{
	size_t n;

	if (size > p->room)
		return -EINVAL;
	n = size ? read_there(m->caller->tid, p->here, there, size) : 0;
	if (n < size && (!may_be_less || !n))
		return -EFAULT;
	p->there = there;
	p->size = n;
	memcpy(p->before, p->here, n);
	return 0;
}

/*
 * Whoever waits may end at any moment, or another program take its place (execve by another thread), root's perhaps,
 * under the same number. What is open is the memory of the program that was there; that it is the caller's is known if
 * the caller still waits afterwards.
 */
static int memory_open(const struct caller *caller)
{
	char path[64];
	int fd;

	snprintf(path, sizeof path, "/proc/%d/mem", caller->tid);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return caller_waits(caller) ? -EFAULT : -EINTR;
	if (caller_waits(caller))
		return fd;
	close(fd);
	return -EINTR;
}

/* Writes what has changed, so that nothing that the program changed beside it is lost. */
static int piece_write(int memory, const struct piece *p)
{
	size_t from = 0, to;

	while (from < p->size) {
		while (from < p->size && p->here[from] == p->before[from])
			from++;
		for (to = from; to < p->size && p->here[to] != p->before[to];)
			to++;
		if (from < to &&
		    pwrite(memory, p->here + from, to - from, (off_t)(p->there + from)) != (ssize_t)(to - from))
			return -EFAULT;
		from = to;
	}
	return 0;
}

static uint32_t word_at(const struct piece *p, size_t at)
{
	uint32_t w = 0;

	if (at + sizeof w <= p->size)
		memcpy(&w, p->here + at, sizeof w);
	return w;
}

static uint64_t long_at(const struct piece *p, size_t at)
{
	uint64_t w = 0;

	if (at + sizeof w <= p->size)
		memcpy(&w, p->here + at, sizeof w);
	return w;
}

/* ---- pointers and descriptors ---- */

static void pointer_replace(struct making *m, struct piece *in, size_t at, const struct piece *by)
{
	uint64_t here = by->size ? (uintptr_t)by->here : 0;

	m->pointer[m->pointer_count].in = in;
	m->pointer[m->pointer_count].at = at;
	m->pointer[m->pointer_count++].was = long_at(in, at);
	memcpy(in->here + at, &here, sizeof here);
}

static int fd_replace(struct making *m, struct piece *in, size_t at, size_t size)
{
	uint64_t was = size == 8 ? long_at(in, at) : word_at(in, at);
	int fd, own;

	if (at + size > in->size)
		return -EINVAL;
	if ((int32_t)was < 0)
		return 0;
	fd = (int)syscall(SYS_pidfd_getfd, m->caller->pidfd, (int32_t)was, 0);
	if (fd < 0)
		return -errno;
	/* The driver tells a client's events apart by these numbers: each of the program's has one of its own here. */
	own = dup3(fd, FDS_FROM + (int32_t)was, O_CLOEXEC);
	if (own >= 0) {
		close(fd);
		fd = own;
	}
	m->fd[m->fd_count].in = in;
	m->fd[m->fd_count].at = at;
	m->fd[m->fd_count].size = size;
	m->fd[m->fd_count].was = was;
	m->fd[m->fd_count++].here = fd;
	memcpy(in->here + at, &(uint64_t){ (uint32_t)fd }, size);
	return 0;
}

static int lists_read(struct making *m, struct piece *in, const struct list_row *row)
{
	uint64_t bytes = (uint64_t)word_at(in, row->count_at) * row->element_bytes;

	for (unsigned int i = 0; i < LISTS && row->pointer_at[i]; i++) {
		uint64_t there = long_at(in, row->pointer_at[i]);
		struct piece *p = &m->list[i];
		int r;

		if (row->pointer_at[i] + 8u > in->size)
			return -EINVAL;
		m->list_count = i + 1;
		if (!there)
			continue;
		if (bytes > p->room)
			return -EINVAL;
		r = piece_read(m, p, there, bytes, false);
		if (r)
			return r;
		pointer_replace(m, in, row->pointer_at[i], p);
	}
	return 0;
}

/* Any word that leads into this process, but for those that were replaced. */
static bool leads_here(const struct making *m, const struct piece *p)
{
	for (size_t at = 0; at + 8 <= p->size; at += 4) {
		uint64_t w = long_at(p, at);
		bool ours = false;

		if (w < m->c->lowest || w >= m->c->highest)
			continue;
		for (unsigned int i = 0; i < m->pointer_count; i++)
			ours |= m->pointer[i].in == p && at + 8 > m->pointer[i].at && at < m->pointer[i].at + 8;
		for (size_t i = 0; !ours && i < m->c->range_count; i++)
			if (w >= m->c->range[i].from && w < m->c->range[i].to)
				return true;
	}
	return false;
}

/* ---- the program's own pages ---- */

struct mapping {
	unsigned long long from, to, offset, inode;
	dev_t device;
};

/*
 * The program's mapping that has all of it, if it is one that others can share, and the program may write to: the
 * device writes, and this process may be root's and the program another user's, who may only read the file.
 */
static bool mapping_find(pid_t tid, uint64_t there, uint64_t size, struct mapping *ret)
{
	char path[64], line[512], rights[8];
	_cleanup_fclose_ FILE *f = NULL;
	unsigned int high, low;
	bool begins, ends = true;

	snprintf(path, sizeof path, "/proc/%d/maps", tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f)) {
		/* The rest of a line that is longer is a path, which may read like any mapping. */
		begins = ends;
		ends = strchr(line, '\n');
		if (!begins || sscanf(line, "%llx-%llx %7s %llx %x:%x %llu", &ret->from, &ret->to, rights, &ret->offset,
				      &high, &low, &ret->inode) != 7)
			continue;
		ret->device = makedev(high, low);
		if (there >= ret->from && there < ret->to)
			return rights[1] == 'w' && rights[3] == 's' && size <= ret->to - there;
	}
	return false;
}

/*
 * Its file, where it lies in memory alone. Opened by nobody before it is known what it is: a device's would act.
 * Another thread of the program's may have put another mapping in its place: it must be that file.
 */
static int mapping_open(pid_t tid, const struct mapping *of)
{
	_cleanup_close_ int there = -1;
	struct statfs system;
	struct stat s;
	char path[96];
	int fd;

	snprintf(path, sizeof path, "/proc/%d/map_files/%llx-%llx", tid, of->from, of->to);
	there = open(path, O_PATH | O_CLOEXEC);
	if (there < 0 || fstat(there, &s) || fstatfs(there, &system))
		return -errno;
	if (!S_ISREG(s.st_mode) || system.f_type != TMPFS_MAGIC || s.st_dev != of->device || s.st_ino != of->inode)
		return -EPERM;
	snprintf(path, sizeof path, "/proc/self/fd/%d", there);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * The program's own pages for the device (NV01_MEMORY_SYSTEM_OS_DESCRIPTOR): NVIDIA's driver makes each context with
 * some, and gives such for pinned memory. The manager takes the pages of whoever calls, by address; so they are mapped
 * here while the call is made. That can be done with memory that is shared and may be written to (the driver's is); not
 * with a program's private memory (cuMemHostRegister of what malloc gave).
 */
static int pages_map(struct making *m, struct piece *in, size_t at)
{
	uint64_t there = long_at(in, at), size = long_at(in, at + 8) + 1;
	_cleanup_close_ int fd = -1;
	struct mapping mapping;
	void *here;

	if (!size || size > PAGES_MOST || there % PAGE || !mapping_find(m->caller->tid, there, size, &mapping))
		return -EPERM;
	fd = mapping_open(m->caller->tid, &mapping);
	if (fd < 0)
		return -EPERM;
	here = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    (off_t)(mapping.offset + (there - mapping.from)));
	if (here == MAP_FAILED)
		return -ENOMEM;
	m->shared = (struct piece){ .here = here, .there = there, .size = size };
	pointer_replace(m, in, at, &m->shared);
	return 0;
}

static void put_back(struct making *m)
{
	if (m->shared.size)
		munmap(m->shared.here, m->shared.size);
	m->shared.size = 0;
	while (m->pointer_count) {
		m->pointer_count--;
		memcpy(m->pointer[m->pointer_count].in->here + m->pointer[m->pointer_count].at,
		       &m->pointer[m->pointer_count].was, 8);
	}
	while (m->fd_count) {
		m->fd_count--;
		memcpy(m->fd[m->fd_count].in->here + m->fd[m->fd_count].at, &m->fd[m->fd_count].was,
		       m->fd[m->fd_count].size);
		close(m->fd[m->fd_count].here);
	}
}

/* ---- what a call points to ---- */

/* The size of an allocation's parameters, where the call says it; 0: it does not. */
static uint32_t alloc_said(const struct making *m)
{
	if (m->call.size == 32)
		return m->c->terms.branch < 535 ? 0 : word_at(&m->argument, 24);
	return m->call.size == 48 ? word_at(&m->argument, 32) : 0;
}

static int alloc_read(struct making *m)
{
	uint64_t there = long_at(&m->argument, 16);
	bool memory = m->plan.effect == GUARD_MEMORY;
	uint32_t said = memory ? 0 : alloc_said(m);
	int r;

	if (m->call.size > 32 && long_at(&m->argument, 24)) /* rights that are asked for */
		return -EPERM;
	if (m->plan.class == CLASS_OS_PAGES)
		return -EPERM;
	if (!there)
		return 0;
	/*
	 * What it does not say is read as far as any class goes; the driver takes what it needs. Of memory all is read
	 * that is judged, whatever is said; and nothing of the call before is left behind what was read.
	 */
	if (said > ALLOC_MOST)
		return -EINVAL;
	memset(m->parameters.here, 0, ALLOC_MOST);
	r = piece_read(m, &m->parameters, there, said ? said : memory ? ALLOC_MEMORY : ALLOC_MOST, !said);
	if (r)
		return r;
	if (memory && m->parameters.size < GUARD_NESTED_BYTES)
		return -EFAULT;
	pointer_replace(m, &m->argument, 16, &m->parameters);
	return m->plan.class == CLASS_OS_EVENT ? fd_replace(m, &m->parameters, OS_EVENT_DATA_AT, 8) : 0;
}

static int control_read(struct making *m)
{
	uint64_t there = long_at(&m->argument, 16);
	uint32_t size = word_at(&m->argument, 24);
	int r;

	if (!there || !size)
		return 0;
	r = piece_read(m, &m->parameters, there, size, false);
	if (r)
		return r;
	pointer_replace(m, &m->argument, 16, &m->parameters);
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		if (lists[i].command == m->plan.class)
			return lists_read(m, &m->parameters, &lists[i]);
	return 0;
}

static int all_read(struct making *m)
{
	switch (m->number) {
	case RM_ESC_ALLOC:
		return alloc_read(m);
	case RM_ESC_CONTROL:
		return control_read(m);
	case RM_ESC_IDLE_CHANNELS:
		return lists_read(m, &m->argument, &idle_channels);
	case RM_ESC_EVENT_DATA: /* writes to an address of the caller's; X servers call it */
		return -EPERM;
	case RM_ESC_HEAP:
		return word_at(&m->argument, 8) == RM_HEAP_OS_DESCRIPTOR ? -EPERM : 0;
	case RM_ESC_ALLOC_MEMORY:
		if (m->plan.class == CLASS_OS_PAGES)
			return pages_map(m, &m->argument, OS_PAGES_AT);
		break;
	default:
		break;
	}
	for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; i++)
		if (descriptors[i].number == m->number)
			return fd_replace(m, &m->argument, descriptors[i].at, 4);
	return 0;
}

/* ---- judging ---- */

static uint32_t judge_objects(struct making *m)
{
	struct tenant_account *a = m->c->account;
	const struct guard_plan *p = &m->plan;

	if (p->effect == GUARD_DUP) {
		if (!tenant_find(a, p->source_client, p->source_client))
			return GUARD_FOREIGN;
	}
	if (p->effect != GUARD_NOTHING && p->effect != GUARD_FREE && !tenant_room(a))
		return GUARD_FULL;
	if (p->effect == GUARD_GROUP && a->groups >= m->c->groups_most)
		return GUARD_GROUPS;
	return GUARD_FINE;
}

static void judge_nested(struct making *m, const struct guard_terms *terms)
{
	uint8_t nested[GUARD_NESTED_BYTES] __attribute__((aligned(8))) = { 0 };

	if (!m->plan.nested_bytes)
		return;
	memcpy(nested, m->parameters.here,
	       m->parameters.size < m->plan.nested_bytes ? m->parameters.size : m->plan.nested_bytes);
	guard_classify_nested(&m->plan, terms, nested);
}

/* The same call as the driver has answered it. */
static void judge_taken(struct making *m, const struct guard_terms *terms)
{
	size_t size = m->call.size < GUARD_ARGUMENT_BYTES ? m->call.size : GUARD_ARGUMENT_BYTES;

	memcpy(m->call.bytes, m->argument.here, size);
	guard_classify(&m->call, terms, &m->plan);
}

static int refuse(struct making *m, uint32_t reason)
{
	struct tenant_account *a = m->c->account;

	a->refused++;
	a->last_reason = reason;
	a->last_pid = (uint32_t)m->caller->tid;
	return reason == GUARD_QUOTA || reason == GUARD_FULL || reason == GUARD_ABSURD ? -ENOMEM : -EPERM;
}

/* Of what is not to be: 0, or -errno for the program. */
static int judge(struct making *m)
{
	const struct tenant_object *above;
	int r;

	guard_classify(&m->call, &m->c->terms, &m->plan);
	if (m->plan.reason)
		return refuse(m, m->plan.reason);
	above = tenant_find(m->c->account, m->plan.client, m->plan.parent);
	guard_channel(&m->plan, above && above->class == RM_CLASS_GROUP);
	r = all_read(m);
	/* What was read is the caller's only if it has waited all the time. */
	if (!caller_waits(m->caller))
		return -EINTR;
	if (r == -EPERM)
		return refuse(m, GUARD_CLASS);
	if (r)
		return r;
	if (m->plan.nested == GUARD_NESTED_MEMORY && !m->parameters.size)
		return refuse(m, GUARD_UNREADABLE);
	judge_nested(m, &m->c->terms);
	if (!m->plan.reason)
		m->plan.reason = judge_objects(m);
	if (m->plan.reason)
		return refuse(m, m->plan.reason);
	if (leads_here(m, &m->argument) || leads_here(m, &m->parameters))
		return refuse(m, GUARD_CLASS);
	for (unsigned int i = 0; i < m->list_count; i++)
		if (leads_here(m, &m->list[i]))
			return refuse(m, GUARD_CLASS);
	if (m->plan.effect != GUARD_MEMORY)
		return 0;
	if (!tenant_charge(m->c->account, m->plan.bytes) &&
	    (!calls_sweep(m->c) || !tenant_charge(m->c->account, m->plan.bytes)))
		return refuse(m, GUARD_QUOTA);
	m->charged = m->plan.bytes;
	return 0;
}

/* ---- answers ---- */

/* The node that the program has open, opened anew. */
static void control_open(struct calls *c, int fd)
{
	char path[32];

	if (c->control_fd >= 0)
		return;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	c->control_fd = open(path, O_RDWR | O_CLOEXEC);
}

static bool client_watch(struct calls *c, int fd, uint32_t client)
{
	uint32_t i = 0;
	int at;

	while (i < CALLS_CLIENTS_MOST && c->client[i])
		i++;
	if (i == CALLS_CLIENTS_MOST)
		return false;
	/* The set knows a file by its number here too: the same file goes in once for each client under another. */
	for (at = 512; at < 512 + (int)CALLS_CLIENTS_MOST; at++) {
		struct epoll_event e = { .data.u64 = i };
		int there = fcntl(fd, F_DUPFD_CLOEXEC, at), r;

		if (there < 0)
			return false;
		r = epoll_ctl(c->watch_fd, EPOLL_CTL_ADD, there, &e) ? errno : 0;
		close(there);
		if (!r)
			break;
		if (r != EEXIST)
			return false;
		at = there;
	}
	c->client[i] = client;
	c->released_ns[i] = 0;
	control_open(c, fd);
	return true;
}

/* The driver has made a client of that name: who had it before is gone, with its file or without. */
static void client_forget(struct calls *c, uint32_t client)
{
	tenant_free_object(c->account, client, client);
	for (uint32_t i = 0; i < CALLS_CLIENTS_MOST; i++)
		if (c->client[i] == client)
			c->client[i] = UINT32_MAX; /* its number is free when its file is released */
}

static void answer_memory(struct making *m, bool succeeded, uint32_t handle)
{
	struct guard_terms answered = m->c->terms;
	struct tenant_account *a = m->c->account;

	if (!succeeded) {
		tenant_refund(a, m->charged);
		return;
	}
	/* What was really taken stands in the reply, or in the argument itself. */
	answered.flags |= GUARD_ANSWERED;
	judge_nested(m, &answered);
	if (m->plan.taken)
		judge_taken(m, &answered);
	if (!m->plan.reason && m->plan.bytes != m->charged) {
		tenant_settle(a, m->charged, m->plan.bytes);
		m->charged = m->plan.bytes;
	}
	tenant_put_memory(a, m->plan.client, m->plan.parent, handle, m->charged);
}

static void answer(struct making *m, int fd, bool succeeded)
{
	struct tenant_account *a = m->c->account;
	const struct guard_plan *p = &m->plan;
	uint32_t handle = p->object_at == GUARD_NO_PLACE ? p->object : word_at(&m->argument, p->object_at);
	const struct tenant_object *source;

	switch (p->effect) {
	case GUARD_MEMORY:
		answer_memory(m, succeeded, handle);
		return;
	case GUARD_PARENT:
	case GUARD_GROUP:
		if (!succeeded)
			return;
		if (p->class == RM_CLASS_CLIENT)
			client_forget(m->c, handle);
		tenant_put(a, p->class == RM_CLASS_CLIENT ? handle : p->client,
			   p->class == RM_CLASS_CLIENT ? handle : p->parent, handle, p->class);
		/* A client whose end would not be seen holds nothing: its objects are unknown, so nothing may be below.
		 */
		if (p->class == RM_CLASS_CLIENT && !client_watch(m->c, fd, handle)) {
			a->last_reason = GUARD_FULL;
			tenant_free_object(a, handle, handle);
		}
		return;
	case GUARD_FREE:
		if (!succeeded)
			return;
		if (p->client == p->object)
			client_forget(m->c, p->client);
		else
			tenant_free_object(a, p->client, p->object);
		return;
	case GUARD_DUP:
		source = tenant_find(a, p->source_client, p->source_object);
		if (succeeded && source)
			tenant_put_name(a, p->client, p->parent, handle, source);
		return;
	default:
		return;
	}
}

/* Memory information says the tenant's quota. */
static void answer_info(struct making *m)
{
	uint32_t count = word_at(&m->parameters, 0);

	for (uint32_t i = 0; i < count && i < RM_FB_MOST; i++) {
		size_t at = 4 + i * sizeof(struct rm_fb_entry);
		struct rm_fb_entry e;

		if (at + sizeof e > m->parameters.size)
			return;
		memcpy(&e, m->parameters.here + at, sizeof e);
		if (guard_rewrite(e.index, &e.data, m->c->account->quota, m->c->account->used))
			memcpy(m->parameters.here + at, &e, sizeof e);
	}
}

static int make(struct making *m, int fd, unsigned int command)
{
	_cleanup_close_ int memory = -1;
	uint32_t status = 0;
	int r, w;

	r = ioctl(fd, command, m->argument.here) ? -errno : 0;
	put_back(m);
	if (m->plan.status_at != GUARD_NO_PLACE)
		status = word_at(&m->argument, m->plan.status_at);
	answer(m, fd, !r && !status);
	if (!r && !status && m->plan.nested == GUARD_NESTED_FB_INFO)
		answer_info(m);
	memory = memory_open(m->caller);
	if (memory < 0)
		return memory;
	w = piece_write(memory, &m->parameters);
	for (unsigned int i = 0; !w && i < m->list_count; i++)
		w = piece_write(memory, &m->list[i]);
	if (!w)
		w = piece_write(memory, &m->argument);
	return r ? r : w;
}

/* Only devices of the tenant's, and the control node. */
static int node_check(struct making *m, int fd)
{
	struct stat s;

	if (fstat(fd, &s))
		return -errno;
	/* Another file's call with a number that the driver has: it cannot be made in another process's place. */
	if (!S_ISCHR(s.st_mode) || major(s.st_rdev) != m->c->major)
		return -ENOTTY;
	if (minor(s.st_rdev) == RM_CONTROL_MINOR)
		return 0;
	return minor(s.st_rdev) < 64 && m->c->devices >> minor(s.st_rdev) & 1 ? 0 : refuse(m, GUARD_DEVICE);
}

/* For whoever looks for the reason of a driver's error under the guard: what is refused here, and what the driver
 * refuses. */
static void tell(const struct making *m, int r)
{
	uint32_t status = m->plan.status_at != GUARD_NO_PLACE ? word_at(&m->argument, m->plan.status_at) : 0;

	if (m->plan.reason)
		fprintf(stderr, "mete-guard-notify: call 0x%x of %u bytes, class or control 0x%x: refused: %s\n",
			m->number, m->call.size, m->plan.class, guard_reason_text(m->plan.reason));
	else if (r || status)
		fprintf(stderr, "mete-guard-notify: call 0x%x of %u bytes, class or control 0x%x: %s, status 0x%x\n",
			m->number, m->call.size, m->plan.class, r ? strerror(-r) : "done", status);
}

int calls_make(struct calls *c, const struct caller *caller, int fd, unsigned int command, uint64_t there)
{
	static struct making m;
	uint32_t size = _IOC_SIZE(command);
	int r;

	m = (struct making){
		.c = c,
		.caller = caller,
		.number = _IOC_NR(command),
		.call = { .number = _IOC_NR(command), .size = size },
		.argument = { argument_now, argument_before, 0, 0, ARGUMENT_MOST },
		.parameters = { parameters_now, parameters_before, 0, 0, PARAMETERS_MOST },
	};
	for (unsigned int i = 0; i < LISTS; i++)
		m.list[i] = (struct piece){ list_now[i], list_before[i], 0, 0, PARAMETERS_MOST };
	r = node_check(&m, fd);
	if (r)
		return r;
	r = piece_read(&m, &m.argument, there, size, false);
	if (r)
		return r;
	memcpy(m.call.bytes, m.argument.here, size < GUARD_ARGUMENT_BYTES ? size : GUARD_ARGUMENT_BYTES);
	r = judge(&m);
	if (!r)
		r = make(&m, fd, command);
	else
		put_back(&m);
	if (c->observes)
		tell(&m, r);
	return r;
}

/* ---- files that are released ---- */

/* The driver gives a client the name that is asked for, unless another has it; then that one is not freed yet. */
static bool client_is_gone(struct calls *c, uint32_t client)
{
	struct rm_alloc a = { .object = client, .class = RM_CLASS_CLIENT };
	struct rm_free f = { .client = client, .object = client };
	int status = rm_alloc_status(c->terms.branch, 32);

	if (c->control_fd < 0 || status < 0 || ioctl(c->control_fd, RM_REQUEST(RM_ESC_ALLOC, 32), &a) ||
	    a.rest[status])
		return false;
	ioctl(c->control_fd, RM_REQUEST(RM_ESC_FREE, sizeof f), &f);
	return true;
}

/* Value: it is gone. A driver that gives nobody the name must not keep the charge for ever. */
static bool client_released(struct calls *c, uint32_t i)
{
	struct timespec t;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC, &t);
	now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	if (!c->released_ns[i])
		c->released_ns[i] = now;
	return c->client[i] == UINT32_MAX || client_is_gone(c, c->client[i]) ||
	       now - c->released_ns[i] > RELEASE_MOST_NS;
}

bool calls_sweep(struct calls *c)
{
	static char text[CALLS_CLIENTS_MOST * 112];
	static bool there[CALLS_CLIENTS_MOST];
	size_t length = 0;
	bool any = false;
	ssize_t n;

	while ((n = pread(c->watch_info_fd, text + length, sizeof text - 1 - length, (off_t)length)) > 0)
		length += (size_t)n;
	text[length] = 0;
	/* What cannot be read is not gone. */
	if (n < 0 || length == sizeof text - 1)
		return false;
	memset(there, 0, sizeof there);
	for (const char *at = text; (at = strstr(at, "data:")); at++) {
		unsigned long i = strtoul(at + 5, NULL, 16);

		if (i < CALLS_CLIENTS_MOST)
			there[i] = true;
	}
	for (uint32_t i = 0; i < CALLS_CLIENTS_MOST; i++)
		if (c->client[i] && !there[i] && client_released(c, i)) {
			if (c->client[i] != UINT32_MAX)
				tenant_free_object(c->account, c->client[i], c->client[i]);
			c->client[i] = 0;
			c->released_ns[i] = 0;
			any = true;
		}
	return any;
}

int calls_begin(struct calls *c)
{
	char path[64];

	/* Its pages are there from now on. */
	memset(argument_now, 0, sizeof argument_now);
	c->control_fd = -1;
	c->watch_fd = epoll_create1(EPOLL_CLOEXEC);
	if (c->watch_fd < 0)
		return -errno;
	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", c->watch_fd);
	c->watch_info_fd = open(path, O_RDONLY | O_CLOEXEC);
	return c->watch_info_fd < 0 ? -errno : 0;
}

int calls_ranges_read(struct calls *c)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long long from, to;
	char line[512];

	if (!f)
		return -errno;
	c->range_count = 0;
	while (fgets(line, sizeof line, f)) {
		if (sscanf(line, "%llx-%llx", &from, &to) != 2)
			continue;
		if (c->range_count == CALLS_RANGES_MOST)
			break;
		/* With a margin: a stack may grow, and a heap. */
		c->range[c->range_count].from = from > (1u << 20) ? from - (1u << 20) : 0;
		c->range[c->range_count++].to = to + (1u << 20);
	}
	fclose(f);
	c->lowest = c->range_count ? c->range[0].from : 0;
	/* The last is the kernel's own page for old programs, which nothing of ours is in. */
	c->highest = UINT64_C(1) << 56;
	return c->range_count == CALLS_RANGES_MOST ? -E2BIG : 0;
}
