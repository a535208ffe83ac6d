/*
 * segment.c: see segment.h.
 *
 * Order: lock_mutex (threads of this process), then segment->lock (processes). Nothing is called out with them held but
 * system calls on the segment's own files.
 */
#include "softdev/segment.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/setting.h"
#include "base/soft_dir.h"
#include "softdev/config.h"
#include "softdev/segment_time.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define TOKEN_BASE (INT64_C(1) << 40) /* byte TOKEN_BASE + i of the segment's file is the lock of place i */
#define PID_SPACE_BITS 24
#define PID_ELSEWHERE 0x40000000u /* above every pid */
#define LOCK_PATIENCE_NS 2000000u     /* after this a waiter asks whether the holder lives */

static pthread_mutex_t lock_mutex = PTHREAD_MUTEX_INITIALIZER;

/* ---- files ---- */

/*
 * Ours, and nobody else can write to it; or a common one, as /tmp is (sticky), of ours or of root: meted opens the
 * folder like that for containers, whose programs may be of any user.
 */
static bool dir_fits(const struct stat *st)
{
	if (!S_ISDIR(st->st_mode))
		return false;
	if (st->st_mode & 022)
		return st->st_mode & S_ISVTX && (!st->st_uid || st->st_uid == geteuid() || setting_inside());
	return st->st_uid == geteuid();
}

static int dir_open(const char *dir, char *why, size_t why_bytes)
{
	struct stat st;

	if (mkdir(dir, 0700) && errno != EEXIST) {
		int r = -errno;

		snprintf(why, why_bytes, "software device: cannot make %s: %s", dir, strerror(-r));
		return r;
	}
	if (lstat(dir, &st) || !dir_fits(&st)) {
		snprintf(why, why_bytes,
			 "software device: %s is not a directory of this user alone; remove it or set METE_SOFT_DIR",
			 dir);
		return -EPERM;
	}
	return 0;
}

static int dir_find(char dir[200], char *why, size_t why_bytes)
{
	const char *asked = setting_get("METE_SOFT_DIR");

	if (asked && asked[0] && (strlen(asked) >= 160 || asked[0] != '/')) {
		snprintf(why, why_bytes,
			 "software device: METE_SOFT_DIR=%.60s: give an absolute path of at most 159 bytes", asked);
		return -EINVAL;
	}
	soft_dir_find(dir, 200);
	return dir_open(dir, why, why_bytes);
}

/*
 * The segment's file in a process that is going to lose the right to open files (METE_SOFT_SEALED=1: a worker behind a
 * wall), to ask who lives. Elsewhere no descriptor is kept in somebody's process.
 */
static _Atomic int kept_fd = -1;

static int segment_open_file(const char *dir)
{
	char path[PATH_MAX];
	int fd, kept = atomic_load_explicit(&kept_fd, memory_order_relaxed);

	snprintf(path, sizeof(path), "%s/segment", dir);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT)
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 && kept >= 0 && (errno == EPERM || errno == EACCES))
		fd = fcntl(kept, F_DUPFD_CLOEXEC, 0);
	return fd;
}

static void segment_keep_file(const char *dir)
{
	const char *sealed = getenv("METE_SOFT_SEALED");

	if (sealed && !strcmp(sealed, "1") && atomic_load_explicit(&kept_fd, memory_order_relaxed) < 0)
		atomic_store_explicit(&kept_fd, segment_open_file(dir), memory_order_relaxed);
}

static void object_path(const char *dir, uint64_t id, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/object-%llu", dir, (unsigned long long)id);
}

/* Whether a lock of somebody else lies on [start, start + length). */
static bool file_locked(int fd, int64_t start, int64_t length)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = length };

	return !fcntl(fd, F_OFD_GETLK, &l) && l.l_type != F_UNLCK;
}

static int file_lock(int fd, short type, int64_t start)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = 1 };

	return fcntl(fd, F_OFD_SETLK, &l) ? -errno : 0;
}

/* ---- who lives ---- */

static bool place_alive(int fd, uint32_t index)
{
	return file_locked(fd, TOKEN_BASE + index, 1);
}

bool segment_alive(const struct segment_place *p, uint32_t index)
{
	_cleanup_close_ int fd = segment_open_file(p->dir);

	return fd < 0 || place_alive(fd, index);
}

static bool object_alive(const char *dir, uint64_t id)
{
	char path[PATH_MAX];
	_cleanup_close_ int fd = -1;

	object_path(dir, id, path);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errno != ENOENT; /* no descriptor to be had is no proof of death */
	return file_locked(fd, 0, 1);
}

/* The file of the segment, if it is still the one that is mapped. Value: a descriptor or -1. */
static int segment_probe(const struct segment_place *p)
{
	return segment_open_file(p->dir);
}

/* ---- totals and recovery; all with the lock held ---- */

static void recount_locked(struct segment *s)
{
	uint64_t used[SEGMENT_MAX_DEVICES] = { 0 };

	for (uint32_t i = 0; i < s->places; i++)
		for (uint32_t d = 0; d < s->device_count; d++)
			used[d] += s->process[i].share[d].held_units;
	for (uint32_t i = 0; i < s->objects; i++)
		if (s->object[i].id)
			used[s->object[i].device % SEGMENT_MAX_DEVICES] += s->object[i].units;
	for (uint32_t d = 0; d < s->device_count; d++)
		s->device[d].used_units = used[d];
}

static void process_clear_locked(struct segment_place *p, uint32_t place)
{
	struct segment_process *q = &p->segment->process[place];

	for (uint32_t d = 0; d < SEGMENT_MAX_DEVICES; d++) {
		q->share[d].held_units = 0;
		q->share[d].peak_units = 0;
		q->share[d].contexts = 0;
		q->share[d].running = 0;
	}
	segment_time_clear(p, place);
	q->pid = 0;
	q->kind = SEGMENT_FREE;
}

static void reap_locked(struct segment_place *p)
{
	struct segment *s = p->segment;
	bool changed = false;
	int fd = -1;

	for (uint32_t i = 0; i < s->places; i++) {
		if (i == p->index || !s->process[i].kind)
			continue;
		if (fd < 0 && (fd = segment_probe(p)) < 0)
			break;
		if (!place_alive(fd, i)) {
			process_clear_locked(p, i);
			changed = true;
		}
	}
	if (fd >= 0)
		close(fd);
	for (uint32_t i = 0; i < s->objects; i++) {
		uint64_t id = s->object[i].id;
		char path[PATH_MAX];

		if (!id || object_alive(p->dir, id))
			continue;
		object_path(p->dir, id, path);
		unlink(path);
		s->object[i].id = 0;
		changed = true;
	}
	if (changed)
		recount_locked(s);
}

/* ---- the lock ---- */

#define WORD_PLACE_BITS 11u /* SEGMENT_MAX_PROCESSES and one */
_Static_assert(SEGMENT_MAX_PROCESSES < 1u << WORD_PLACE_BITS, "a place fits into the word");

static uint32_t word_make(uint32_t index, uint32_t owner)
{
	return owner << WORD_PLACE_BITS | (index + 1);
}

/*
 * Whether who left this word in the lock is dead. The place alone would not do: somebody new may have it by now, and by
 * the time that a waiter acts on what it learnt may hold the lock with the same number.
 */
bool segment_word_dead(const struct segment_place *p, uint32_t word)
{
	uint32_t index = (word & ((1u << WORD_PLACE_BITS) - 1)) - 1;

	return word != word_make(index, atomic_load(&p->segment->process[index % SEGMENT_MAX_PROCESSES].owner)) ||
	       !segment_alive(p, index);
}

static bool lock_try(_Atomic uint32_t *lock, uint32_t *holder, uint32_t mine)
{
	*holder = 0;
	/* acquire: pairs with the release of the last holder */
	return atomic_compare_exchange_strong_explicit(lock, holder, mine, memory_order_acquire, memory_order_relaxed);
}

bool segment_lock_wait(struct segment_place *p, _Atomic uint32_t *lock, uint32_t mine, uint64_t patience_ns)
{
	uint64_t asked = 0, since = 0;
	uint32_t holder, before = 0;

	for (unsigned spins = 0; !lock_try(lock, &holder, mine); spins++) {
		uint64_t now;
		bool dead;

		if (spins < 100)
			continue;
		if (spins < 200)
			sched_yield();
		else
			nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
		now = clock_now_ns();
		if (holder != before) {
			before = holder;
			asked = since = now;
		}
		if (now - asked < LOCK_PATIENCE_NS)
			continue;
		asked = now;
		dead = segment_word_dead(p, holder);
		if (!dead && now - since < patience_ns)
			continue;
		if (atomic_compare_exchange_strong_explicit(lock, &holder, mine, memory_order_acquire,
							    memory_order_relaxed)) {
			p->segment->recoveries += dead;
			return dead;
		}
	}
	return false;
}

static void segment_lock(struct segment_place *p)
{
	pthread_mutex_lock(&lock_mutex);
	if (segment_lock_wait(p, &p->segment->lock, p->word, UINT64_MAX))
		recount_locked(p->segment);
}

static void segment_unlock(struct segment_place *p)
{
	atomic_store_explicit(&p->segment->lock, 0, memory_order_release);
	pthread_mutex_unlock(&lock_mutex);
}

/* ---- attach ---- */

/* The kernel's name of this process's pid namespace, cut to the bits that its names differ in. */
static uint64_t own_pid_space(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : (uint64_t)st.st_ino & ((UINT64_C(1) << PID_SPACE_BITS) - 1);
}

static uint64_t own_start_time(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/stat", "re");
	char line[1024], *rest;
	unsigned long long start = 0;

	if (!f || !fgets(line, sizeof(line), f) || !(rest = strrchr(line, ')')))
		return 0;
	if (sscanf(rest + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
		   &start) != 1)
		return 0;
	return start % (UINT64_C(1) << (64 - PID_SPACE_BITS)) | own_pid_space() << (64 - PID_SPACE_BITS);
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
		object_path(dir, s->object[i].id, path);
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
		if (s->object[i].id && object_alive(dir, s->object[i].id))
			return true;
	return false;
}

/* Takes the first place that nobody living has. Value: its index, or -errno. */
static int place_take(int fd)
{
	for (uint32_t i = 0; i < SEGMENT_MAX_PROCESSES; i++) {
		int r = file_lock(fd, F_WRLCK, TOKEN_BASE + i);

		if (!r)
			return (int)i;
		if (r != -EAGAIN && r != -EACCES)
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
	if ((uint64_t)st.st_size != sizeof(struct segment) && file_locked(fd, TOKEN_BASE, SEGMENT_MAX_PROCESSES)) {
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
	if (!file_locked(fd, TOKEN_BASE, SEGMENT_MAX_PROCESSES) && !object_any_alive(p->segment, p->dir)) {
		r = segment_make(fd, p->segment, p->dir, why, why_bytes);
		if (r)
			return r;
	} else if (p->segment->version != SEGMENT_VERSION) {
		snprintf(why, why_bytes,
			 "software device: another version of mete lives in the segment; wait for its "
			 "programs to end or set METE_SOFT_DIR");
		return -EPROTO;
	}
	index = place_take(token);
	if (index == -EUSERS)
		snprintf(why, why_bytes, "software device: %u processes use it already", SEGMENT_MAX_PROCESSES);
	if (index < 0)
		return index;
	p->index = (uint32_t)index;
	p->word = word_make(p->index, ++p->segment->process[index].owner);
	r = token_map(token, &p->token);
	if (r)
		return r;
	segment_lock(p);
	if (p->segment->places <= p->index)
		p->segment->places = p->index + 1;
	process_clear_locked(p, p->index);
	p->segment->process[p->index].pid = getpid();
	p->segment->process[p->index].start_time = own_start_time();
	own_command(p->segment->process[p->index].command);
	p->segment->process[p->index].kind = kind;
	recount_locked(p->segment);
	reap_locked(p);
	segment_unlock(p);
	return 0;
}

int segment_attach(enum segment_kind kind, struct segment_place *ret, char *why, size_t why_bytes)
{
	struct segment_place p = { 0 };
	_cleanup_close_ int fd = -1, token = -1;
	int r;

	why[0] = 0;
	r = dir_find(p.dir, why, why_bytes);
	if (r)
		return r;
	fd = segment_open_file(p.dir);
	token = segment_open_file(p.dir);
	if (fd < 0 || token < 0) {
		r = -errno;
		snprintf(why, why_bytes, "software device: cannot open %s/segment: %s", p.dir, strerror(-r));
		return r;
	}
	segment_keep_file(p.dir);
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
	process_clear_locked(p, p->index);
	recount_locked(p->segment);
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

	if (dir_find(dir, why, sizeof(why)))
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

static bool room_locked(const struct segment_device *dev, uint64_t units)
{
	uint64_t total = dev->config.total_bytes / SEGMENT_UNIT_BYTES;

	return dev->used_units <= total && units <= total - dev->used_units;
}

int segment_charge(struct segment_place *p, uint32_t device, uint64_t units)
{
	struct segment_device *dev = &p->segment->device[device];
	struct segment_share *share = &p->segment->process[p->index].share[device];
	int r = 0;

	segment_lock(p);
	if (!room_locked(dev, units))
		reap_locked(p);
	if (room_locked(dev, units)) {
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

uint64_t segment_free_units(struct segment_place *p, uint32_t device)
{
	struct segment_device *dev = &p->segment->device[device];
	uint64_t total = dev->config.total_bytes / SEGMENT_UNIT_BYTES, used;

	segment_lock(p);
	reap_locked(p);
	used = dev->used_units;
	segment_unlock(p);
	return used < total ? total - used : 0;
}

void segment_reap(struct segment_place *p)
{
	segment_lock(p);
	reap_locked(p);
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

/* ---- shared objects ---- */

static struct segment_object *object_take_locked(struct segment *s)
{
	for (uint32_t i = 0; i < SEGMENT_MAX_OBJECTS; i++)
		if (!s->object[i].id) {
			if (s->objects <= i)
				s->objects = i + 1;
			return &s->object[i];
		}
	return NULL;
}

/* A descriptor of the object's file that holds it alive. Value: descriptor or -errno. */
static int object_hold(const char *path, int flags)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
	int r;

	if (fd < 0)
		return -errno;
	/* In a container the tenant's processes may be of several users. Others see it too: a device for tests. */
	if (flags & O_CREAT && setting_inside() && fchmod(fd, 0666))
		return -errno;
	r = file_lock(fd, F_RDLCK, 0);
	return r ? r : steal_fd(&fd);
}

static int object_new_locked(struct segment_place *p, const struct segment_wish *wish, uint64_t *ret_id)
{
	struct segment_device *dev = &p->segment->device[wish->device];
	struct segment_process *self = &p->segment->process[p->index];
	struct segment_object *o;
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	uint64_t id;

	if (!wish->charged && !room_locked(dev, wish->units))
		reap_locked(p);
	if (!wish->charged && !room_locked(dev, wish->units))
		return -ENOMEM;
	o = object_take_locked(p->segment);
	if (!o)
		return -ENOSPC;
	o->units = wish->units;
	o->device = wish->device;
	o->kind = wish->kind;
	o->owner_pid = self->pid;
	o->owner_start_time = self->start_time;
	do { /* a file that is there already belongs to a segment that was deleted: its number is passed over */
		id = ++p->segment->next_object;
		object_path(p->dir, id, path);
		o->id = id; /* from here on a kill leaves an object without a living file, which the next reap clears */
		fd = object_hold(path, O_CREAT | O_EXCL);
	} while (fd == -EEXIST);
	if (fd < 0 || ftruncate(fd, (off_t)wish->bytes)) {
		int r = fd < 0 ? fd : -errno;

		unlink(path);
		o->id = 0;
		return r;
	}
	if (wish->charged) {
		self->share[wish->device].held_units -= wish->units;
	} else {
		dev->used_units += wish->units;
		if (dev->used_units > dev->peak_units)
			dev->peak_units = dev->used_units;
	}
	*ret_id = id;
	return steal_fd(&fd);
}

int segment_object_new(struct segment_place *p, const struct segment_wish *wish, uint64_t *ret_id)
{
	int r;

	segment_lock(p);
	r = object_new_locked(p, wish, ret_id);
	segment_unlock(p);
	return r;
}

int segment_object_open(struct segment_place *p, uint64_t id)
{
	char path[PATH_MAX];

	object_path(p->dir, id, path);
	return object_hold(path, 0);
}

int segment_object_find(struct segment_place *p, enum segment_object_kind kind, int fd, uint64_t *ret_id,
			uint32_t *ret_device, uint64_t *ret_units)
{
	struct segment *s = p->segment;
	struct stat given, st;
	char path[PATH_MAX];
	int r = -EINVAL;

	if (fstat(fd, &given))
		return -EINVAL;
	segment_lock(p);
	for (uint32_t i = 0; i < s->objects; i++) {
		uint64_t id = s->object[i].id;

		if (!id || s->object[i].kind != kind)
			continue;
		object_path(p->dir, id, path);
		if (stat(path, &st) || st.st_ino != given.st_ino || st.st_dev != given.st_dev)
			continue;
		*ret_id = id;
		*ret_device = s->object[i].device;
		*ret_units = s->object[i].units;
		r = 0;
		break;
	}
	segment_unlock(p);
	return r;
}
