/* segment.c: who is in the segment, and what they are charged; see segment.h. */
#include "softdev/segment.h"

#include "base/cleanup.h"
#include "softdev/config.h"
#include "softdev/segment_file.h"
#include "softdev/segment_lock.h"
#include "softdev/segment_time.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define PID_SPACE_BITS 24
#define PID_ELSEWHERE 0x40000000u /* above every pid */

/* ---- attach ---- */

/* The kernel's name of this process's pid namespace, cut to the bits that its names differ in. */
static uint64_t own_pid_space(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : (uint64_t)st.st_ino & ((UINT64_C(1) << PID_SPACE_BITS) - 1);
}

/* 0: it is not there, or /proc is not. `whose`: "self", or a pid. */
static uint64_t start_time_of(const char *whose)
{
	_cleanup_fclose_ FILE *f = NULL;
	char line[1024], path[64], *rest;
	unsigned long long start = 0;

	snprintf(path, sizeof(path), "/proc/%s/stat", whose);
	f = fopen(path, "re");
	if (!f || !fgets(line, sizeof(line), f) || !(rest = strrchr(line, ')')))
		return 0;
	if (sscanf(rest + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
		   &start) != 1)
		return 0;
	return start % (UINT64_C(1) << (64 - PID_SPACE_BITS)) | own_pid_space() << (64 - PID_SPACE_BITS);
}

bool segment_process_gone(const struct segment_process *q)
{
	char pid[16];

	if (!start_time_of("self") || q->start_time >> (64 - PID_SPACE_BITS) != own_pid_space())
		return false;
	snprintf(pid, sizeof(pid), "%d", (int)q->pid);
	return start_time_of(pid) != q->start_time;
}

uint32_t segment_pid(const struct segment_place *p, uint32_t index)
{
	const struct segment_process *q = &p->segment->process[index], *own = &p->segment->process[p->index];

	if ((q->start_time ^ own->start_time) >> (64 - PID_SPACE_BITS))
		return PID_ELSEWHERE + index;
	return (uint32_t)q->pid;
}

static void own_command(char command[64])
{
	_cleanup_close_ int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, command, 63);

	command[n < 0 ? 0 : n] = 0;
	command[strcspn(command, "\n")] = 0;
}

static void time_make(struct segment_time *t, const struct segment_config *c)
{
	memset(t, 0, offsetof(struct segment_time, copy));
	timeline_init(&t->copy[0], c->sharing, c->slice_ns, c->switch_ns);
}

/* Makes the segment anew in the mapping; nobody lives in it and the file's flock is held. */
static int segment_make(int fd, struct segment *s, const char *dir, char *why, size_t why_bytes)
{
	struct segment_config config[SEGMENT_MAX_DEVICES];
	uint64_t generation = s->generation, next = s->next_object;
	uint32_t lost[SEGMENT_MAX_DEVICES] = { 0 };
	int count = config_read(config, why, why_bytes), r;

	if (count < 0)
		return count;
	r = -posix_fallocate(fd, 0, (off_t)(offsetof(struct segment, time) + (size_t)count * sizeof(s->time[0])));
	if (r)
		return r;
	for (uint32_t i = 0; s->magic && i < SEGMENT_MAX_OBJECTS; i++) {
		char path[PATH_MAX];

		if (!s->object[i].id)
			continue;
		segment_object_path(dir, s->object[i].id, path);
		unlink(path);
	}
	/* A lost device is one until somebody says that it is back. */
	for (int d = 0; s->magic == SEGMENT_MAGIC && s->version == SEGMENT_VERSION && d < count; d++)
		lost[d] = memcmp(s->device[d].config.uuid, config[d].uuid, sizeof(config[d].uuid))
				  ? 0
				  : atomic_load(&s->device[d].lost);
	s->magic = 0;
	memset((char *)s + sizeof(s->magic), 0, offsetof(struct segment, time) - sizeof(s->magic));
	s->version = SEGMENT_VERSION;
	s->bytes = sizeof(*s);
	s->device_count = (uint32_t)count;
	s->generation = generation + 1;
	s->next_object = next + 1;
	for (int d = 0; d < count; d++) {
		s->device[d].config = config[d];
		s->device[d].lost = lost[d];
		time_make(&s->time[d], &config[d]);
	}
	s->magic = SEGMENT_MAGIC;
	return 0;
}

static bool object_any_alive(const struct segment *s, const char *dir)
{
	if (s->magic != SEGMENT_MAGIC)
		return false;
	for (uint32_t i = 0; i < SEGMENT_MAX_OBJECTS; i++)
		if (s->object[i].id && segment_object_alive(s, dir, &s->object[i]))
			return true;
	return false;
}

/* Takes the first place that nobody living has, and nobody dead whose memory lingers. Value: its index, or -errno. */
static int place_take(const struct segment *s, int fd)
{
	for (uint32_t i = 0; i < SEGMENT_MAX_PROCESSES; i++) {
		int r = segment_file_lock(fd, F_WRLCK, SEGMENT_TOKEN_BASE + i);

		if (!r && !segment_lingers(s, i))
			return (int)i;
		if (!r)
			r = segment_file_lock(fd, F_UNLCK, SEGMENT_TOKEN_BASE + i);
		if (r && r != -EAGAIN && r != -EACCES)
			return r;
	}
	return -EUSERS;
}

static int segment_map(int fd, struct segment **ret, char *why, size_t why_bytes)
{
	struct stat st;
	void *m;
	int r;

	if (fstat(fd, &st))
		return -errno;
	if ((uint64_t)st.st_size != sizeof(struct segment) &&
	    segment_file_locked(fd, SEGMENT_TOKEN_BASE, SEGMENT_MAX_PROCESSES)) {
		snprintf(why, why_bytes,
			 "software device: another version of mete lives in the segment; wait for its "
			 "programs to end or set METE_SOFT_DIR");
		return -EPROTO;
	}
	if ((uint64_t)st.st_size != sizeof(struct segment) &&
	    (ftruncate(fd, 0) || ftruncate(fd, sizeof(struct segment))))
		return -errno;
	/* Pages that a full file system cannot give would end the process by SIGBUS, now or later. */
	r = -posix_fallocate(fd, 0, offsetof(struct segment, time)); /* segment_make() does the rest */
	if (r) {
		if (ftruncate(fd, 0))
			return -errno;
		return r;
	}
	m = mmap(NULL, sizeof(struct segment), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (m == MAP_FAILED)
		return -errno;
	*ret = m;
	return 0;
}

/* The place's mapping: the lock hangs on it, and a child made by fork must not have it. */
static int token_map(int fd, void **ret)
{
	void *m = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	if (m == MAP_FAILED)
		return -errno;
	if (madvise(m, 4096, MADV_DONTFORK)) {
		int r = -errno;

		munmap(m, 4096);
		return r;
	}
	*ret = m;
	return 0;
}

static int attach_locked(int fd, int token, enum segment_kind kind, struct segment_place *p, char *why,
			 size_t why_bytes)
{
	int index, r = segment_map(fd, &p->segment, why, why_bytes);

	if (r)
		return r;
	if (!segment_file_locked(fd, SEGMENT_TOKEN_BASE, SEGMENT_MAX_PROCESSES) &&
	    !object_any_alive(p->segment, p->dir)) {
		r = segment_make(fd, p->segment, p->dir, why, why_bytes);
		if (r)
			return r;
	} else if (p->segment->version != SEGMENT_VERSION) {
		snprintf(why, why_bytes,
			 "software device: another version of mete lives in the segment; wait for its "
			 "programs to end or set METE_SOFT_DIR");
		return -EPROTO;
	}
	index = place_take(p->segment, token);
	if (index == -EUSERS)
		snprintf(why, why_bytes, "software device: %u processes use it already", SEGMENT_MAX_PROCESSES);
	if (index < 0)
		return index;
	p->index = (uint32_t)index;
	p->word = segment_word_make(p->index, ++p->segment->process[index].owner);
	r = token_map(token, &p->token);
	if (r)
		return r;
	segment_lock(p);
	if (p->segment->places <= p->index)
		p->segment->places = p->index + 1;
	segment_clear_locked(p, p->index);
	p->segment->process[p->index].pid = getpid();
	p->segment->process[p->index].start_time = start_time_of("self");
	own_command(p->segment->process[p->index].command);
	p->segment->process[p->index].kind = kind;
	segment_recount_locked(p->segment);
	segment_reap_locked(p);
	segment_unlock(p);
	return 0;
}

int segment_attach(enum segment_kind kind, struct segment_place *ret, char *why, size_t why_bytes)
{
	struct segment_place p = { 0 };
	_cleanup_close_ int fd = -1, token = -1;
	int r;

	why[0] = 0;
	r = segment_dir_find(p.dir, why, why_bytes);
	if (r)
		return r;
	fd = segment_file_open(p.dir);
	token = segment_file_open(p.dir);
	if (fd < 0 || token < 0) {
		r = -errno;
		snprintf(why, why_bytes, "software device: cannot open %s/segment: %s", p.dir, strerror(-r));
		return r;
	}
	segment_file_keep(p.dir);
	while (flock(fd, LOCK_EX))
		if (errno != EINTR)
			return -errno;
	r = attach_locked(fd, token, kind, &p, why, why_bytes);
	flock(fd, LOCK_UN);
	if (r) {
		if (p.token)
			munmap(p.token, 4096);
		if (p.segment)
			munmap(p.segment, sizeof(*p.segment));
		if (!why[0])
			snprintf(why, why_bytes, "software device: cannot use %s/segment: %s; set METE_SOFT_DIR", p.dir,
				 strerror(-r));
		return r;
	}
	*ret = p;
	return 0;
}

void segment_detach(struct segment_place *p)
{
	if (!p->segment)
		return;
	segment_lock(p);
	segment_clear_locked(p, p->index);
	segment_recount_locked(p->segment);
	segment_unlock(p);
	munmap(p->token, 4096);
	munmap(p->segment, sizeof(*p->segment));
	memset(p, 0, sizeof(*p));
}

const struct segment *segment_peek(void)
{
	char dir[200], path[PATH_MAX], why[200];
	_cleanup_close_ int fd = -1;
	struct stat st;
	void *m;

	if (segment_dir_find(dir, why, sizeof(why)))
		return NULL;
	snprintf(path, sizeof(path), "%s/segment", dir);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) || (uint64_t)st.st_size != sizeof(struct segment))
		return NULL;
	m = mmap(NULL, sizeof(struct segment), PROT_READ, MAP_SHARED, fd, 0);
	return m == MAP_FAILED ? NULL : m;
}

void segment_unpeek(const struct segment *s)
{
	if (s)
		munmap((void *)(uintptr_t)s, sizeof(*s));
}

/* ---- charging ---- */

int segment_charge(struct segment_place *p, uint32_t device, uint64_t units)
{
	struct segment_device *dev = &p->segment->device[device];
	struct segment_share *share = &p->segment->process[p->index].share[device];
	int r = 0;

	segment_lock(p);
	if (!segment_room_locked(dev, units))
		segment_reap_locked(p);
	if (segment_room_locked(dev, units)) {
		share->held_units += units;
		dev->used_units += units;
		if (share->held_units > share->peak_units)
			share->peak_units = share->held_units;
		if (dev->used_units > dev->peak_units)
			dev->peak_units = dev->used_units;
	} else {
		r = -ENOMEM;
	}
	segment_unlock(p);
	return r;
}

void segment_refund(struct segment_place *p, uint32_t device, uint64_t units)
{
	segment_lock(p);
	p->segment->process[p->index].share[device].held_units -= units;
	p->segment->device[device].used_units -= units;
	segment_unlock(p);
}

uint64_t segment_held_units(struct segment_place *p, uint32_t device)
{
	return atomic_load(&p->segment->process[p->index].share[device].held_units);
}

uint64_t segment_free_units(struct segment_place *p, uint32_t device)
{
	struct segment_device *dev = &p->segment->device[device];
	uint64_t total = dev->config.total_bytes / SEGMENT_UNIT_BYTES, used;

	segment_lock(p);
	segment_reap_locked(p);
	used = dev->used_units;
	segment_unlock(p);
	return used < total ? total - used : 0;
}

void segment_reap(struct segment_place *p)
{
	segment_lock(p);
	segment_reap_locked(p);
	segment_unlock(p);
}

/* ---- contexts and kernels ---- */

void segment_context_add(struct segment_place *p, uint32_t device)
{
	p->segment->process[p->index].share[device].contexts++;
}

void segment_context_remove(struct segment_place *p, uint32_t device)
{
	p->segment->process[p->index].share[device].contexts--;
}
