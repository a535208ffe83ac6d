/* sharing.c: see sharing.h. */
#include "core/sharing.h"
#include "core/account.h"
#include "core/attach.h"
#include "core/charge.h"
#include "core/connection.h"
#include "core/gate.h"
#include "core/records.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct object {
	uint8_t key[WIRE_KEY_BYTES];
	unsigned int device;
	uint32_t units;
	unsigned int holds; /* 0: lingers where there is a watch, else a free place */
	int watch;	    /* 1 + the descriptor that watches its file; 0: none */
	bool owed;	    /* without holds: meted was away for too long to say that it counts none any more */
	bool taken;	    /* owed: until then its units are in our account too, for it lingers */
};

/* Held while meted is asked, so that the last drop and a new import of one key do not overtake each other. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct object objects[WIRE_MAX_OBJECTS]; /* guarded by lock */
static _Atomic unsigned int lingering;		/* or owed; changed with the lock held */
static _Atomic uint64_t mark_seed; /* of this process: in each one allocations are numbered alike */

/*
 * A driver answers further openings of a handle with the same address and counts them. Held over an opening and over a
 * closing, so that its count and the record's stay the same. Taken before the gate.
 */
static pthread_mutex_t openings = PTHREAD_MUTEX_INITIALIZER;

void sharing_openings_lock(void)
{
	pthread_mutex_lock(&openings);
}

void sharing_openings_unlock(void)
{
	pthread_mutex_unlock(&openings);
}

static int ask_within(unsigned int patience_ms, enum wire_type type, const uint8_t *key, unsigned int device,
		      uint32_t units, struct wire_shared *ret)
{
	struct wire_object_request request = { .head = { .type = type, .size = sizeof request },
					       .device = device,
					       .units = units };

	memcpy(request.key, key, sizeof request.key);
	return attach_ask(&request, ret, sizeof *ret, patience_ms);
}

static int ask(enum wire_type type, const uint8_t *key, unsigned int device, uint32_t units, struct wire_shared *ret)
{
	return ask_within(ATTACH_PATIENCE_MS, type, key, device, units, ret);
}

static int find_locked(const uint8_t *key)
{
	for (unsigned int i = 0; i < WIRE_MAX_OBJECTS; i++)
		if ((objects[i].holds || objects[i].watch) && !objects[i].owed &&
		    !memcmp(objects[i].key, key, WIRE_KEY_BYTES))
			return (int)i;
	return SHARING_NONE;
}

static int free_place_locked(void)
{
	for (unsigned int i = 0; i < WIRE_MAX_OBJECTS; i++)
		if (!objects[i].holds && !objects[i].watch && !objects[i].owed)
			return (int)i;
	return SHARING_NONE;
}

static void fill_locked(int id, const uint8_t *key, unsigned int device, uint32_t units)
{
	memcpy(objects[id].key, key, WIRE_KEY_BYTES);
	objects[id].device = device;
	objects[id].units = units;
	objects[id].holds = 1;
}

static bool moved(unsigned int device)
{
	return atomic_load_explicit(&accounts[device].wire->word, memory_order_acquire) & WIRE_MOVED;
}

/* True: the units have left our account. Another process may have made the object first; then they are given back. */
static bool share_locked(const uint8_t *key, unsigned int device, uint32_t units)
{
	struct wire_shared answer;
	bool before = moved(device);
	int r = ask(WIRE_SHARE, key, device, units, &answer);

	/* The meted that was killed before it could say so may have done it. */
	if (r != WIRE_OK)
		return r < 0 && moved(device) != before;
	if (moved(device) == before)
		account_give(device, units);
	return true;
}

/* The watch is still ours: the program closes what it likes. */
static bool watches(const struct object *o)
{
	uint8_t key[WIRE_KEY_BYTES];

	return o->watch && sharing_key_of_fd(o->watch - 1, key) && !memcmp(key, o->key, WIRE_KEY_BYTES);
}

static void unwatch(struct object *o)
{
	int saved = errno;

	if (watches(o))
		syscall(SYS_close, o->watch - 1);
	o->watch = 0;
	errno = saved;
}

/* Somebody, we included, has a descriptor or mapping of it. */
static bool is_held(const struct object *o)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	int saved = errno;
	bool held = watches(o) && syscall(SYS_fcntl, o->watch - 1, F_OFD_GETLK, &l) == 0 && l.l_type != F_UNLCK;

	errno = saved;
	return held;
}

static void owe(struct object *o, bool taken)
{
	o->owed = true;
	o->taken = taken;
	atomic_fetch_add_explicit(&lingering, 1, memory_order_relaxed);
}

/* Once more, without waiting. False: meted is still away. */
static bool pay_locked(struct object *o)
{
	struct wire_shared answer;
	bool taken = o->taken;

	if (ask_within(0, WIRE_DROP, o->key, o->device, 0, &answer) < 0)
		return false;
	o->owed = o->taken = false;
	if (taken && answer.last && is_held(o) && share_locked(o->key, o->device, o->units))
		return true; /* it lingers from now on */
	unwatch(o);
	if (taken)
		account_give(o->device, o->units);
	atomic_fetch_sub_explicit(&lingering, 1, memory_order_relaxed);
	return true;
}

/* What meted may still count under this key is settled first. False: it is away. */
static bool none_owed_locked(const uint8_t *key)
{
	for (struct object *o = objects; o < objects + WIRE_MAX_OBJECTS; o++)
		if (o->owed && !memcmp(o->key, key, WIRE_KEY_BYTES) && !pay_locked(o))
			return false;
	return true;
}

/* Lets go of an object without holds. */
static void end_locked(struct object *o)
{
	struct wire_shared answer;

	unwatch(o);
	if (ask(WIRE_DROP, o->key, o->device, 0, &answer) < 0)
		owe(o, false);
}

/*
 * The object has no holds. True: it must stay charged here. Only a DROP tells whether another process references it,
 * so the units are taken once more first, for the case that nobody does and the object must come back.
 */
static bool linger_locked(struct object *o)
{
	struct wire_shared answer;
	struct charge c;
	int r;

	if (!is_held(o))
		return false;
	if (charge_try_units(&c, o->device, o->units) != CHARGE_HELD)
		return true;
	gate_leave();
	r = ask(WIRE_DROP, o->key, o->device, 0, &answer);
	if (r == WIRE_OK && answer.last && share_locked(o->key, o->device, o->units))
		return true;
	if (r < 0) { /* it may have been counted out before meted was killed */
		owe(o, true);
		return false;
	}
	gate_enter();
	charge_cancel(&c);
	return false;
}

int sharing_share(const uint8_t *key, unsigned int device, uint32_t units)
{
	int id;

	pthread_mutex_lock(&lock);
	id = find_locked(key);
	if (id != SHARING_NONE || !none_owed_locked(key)) {
		id = SHARING_NONE; /* another allocation under the same name: keep it in our own account */
	} else {
		id = free_place_locked();
		if (id != SHARING_NONE && share_locked(key, device, units))
			fill_locked(id, key, device, units);
		else
			id = SHARING_NONE;
	}
	pthread_mutex_unlock(&lock);
	return id;
}

int sharing_import(const uint8_t *key)
{
	struct wire_shared answer;
	int id, r;

	pthread_mutex_lock(&lock);
	id = find_locked(key);
	if (id != SHARING_NONE) {
		if (!objects[id].holds++)
			atomic_fetch_sub_explicit(&lingering, 1, memory_order_relaxed);
	} else {
		id = none_owed_locked(key) ? free_place_locked() : SHARING_NONE;
		r = id == SHARING_NONE ? WIRE_FULL : ask(WIRE_IMPORT, key, 0, 0, &answer);
		if (r == WIRE_OK)
			fill_locked(id, key, answer.device, answer.units);
		else
			id = r == WIRE_UNKNOWN_OBJECT ? SHARING_UNKNOWN : SHARING_NONE;
	}
	pthread_mutex_unlock(&lock);
	return id;
}

void sharing_drop(uint32_t id)
{
	if (id >= WIRE_MAX_OBJECTS)
		return;
	pthread_mutex_lock(&lock);
	if (objects[id].holds && --objects[id].holds == 0) {
		if (linger_locked(&objects[id]))
			atomic_fetch_add_explicit(&lingering, 1, memory_order_relaxed);
		else if (!objects[id].owed)
			end_locked(&objects[id]);
	}
	pthread_mutex_unlock(&lock);
}

/* 1 + a descriptor of our own of the same file, or 0. It is opened anew: a duplicate would carry the lock. */
static int watch_open(int fd)
{
	int saved = errno;
	char path[32];
	long own;

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	own = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
	errno = saved;
	if (own < 0)
		return 0;
	own = connection_move_high((int)own);
	errno = saved;
	return (int)own + 1;
}

void sharing_watch(uint32_t id, int fd)
{
	uint8_t key[WIRE_KEY_BYTES];
	struct object *o;

	pthread_mutex_lock(&lock);
	o = id < WIRE_MAX_OBJECTS ? &objects[id] : NULL;
	if (o && o->holds && accounts[o->device].soft && !watches(o) && sharing_key_of_fd(fd, key) &&
	    !memcmp(key, o->key, WIRE_KEY_BYTES))
		o->watch = watch_open(fd);
	pthread_mutex_unlock(&lock);
}

bool sharing_look(void)
{
	bool gone = false;

	if (!atomic_load_explicit(&lingering, memory_order_relaxed))
		return false;
	pthread_mutex_lock(&lock);
	for (struct object *o = objects; o < objects + WIRE_MAX_OBJECTS; o++)
		if (o->owed) {
			gone |= pay_locked(o);
		} else if (!o->holds && o->watch && !is_held(o)) {
			atomic_fetch_sub_explicit(&lingering, 1, memory_order_relaxed);
			end_locked(o);
			gone = true;
		}
	pthread_mutex_unlock(&lock);
	return gone;
}

void sharing_reset(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = openings = unlocked;
	for (struct object *o = objects; o < objects + WIRE_MAX_OBJECTS; o++)
		unwatch(o);
	atomic_store_explicit(&lingering, 0, memory_order_relaxed);
	atomic_store_explicit(&mark_seed, 0, memory_order_relaxed);
	memset(objects, 0, sizeof objects);
}

/*
 * The software device numbers its objects' files, and no number comes twice. An inode's does, and at once: while the
 * one process has yet to tell meted that an object is gone, another's may be under its number. 0: no such file.
 */
static uint64_t file_number(int fd)
{
	char path[32], target[512];
	const char *name;
	uint64_t number = 0;
	long n;

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	n = syscall(SYS_readlinkat, AT_FDCWD, path, target, sizeof target - 1);
	if (n <= 0)
		return 0;
	target[n] = 0;
	name = strrchr(target, '/');
	if (!name || strncmp(name, "/object-", 8) != 0)
		return 0;
	for (name += 8; *name >= '0' && *name <= '9'; name++)
		number = number * 10 + (uint64_t)(*name - '0');
	return number;
}

/* ---- what is exported through a device node, whose inode tells no allocation from another ---- */

/*
 * The one-byte lock of an open file, from what the kernel says of the file; 0: none. The lock belongs to the open file,
 * not to a process: whoever is sent the descriptor finds it, and it ends with the last descriptor.
 */
static uint64_t mark_of_text(const char *text)
{
	for (const char *line = text; (line = strstr(line, "OFDLCK")); line++) {
		const char *p = strchrnul(line, '\n');
		uint64_t bound[2] = { 0 };

		for (unsigned int i = 0; i < 2; i++) {
			uint64_t place = 1;

			while (p > line && (p[-1] < '0' || p[-1] > '9'))
				p--;
			for (; p > line && p[-1] >= '0' && p[-1] <= '9'; p--, place *= 10)
				bound[i] += (uint64_t)(p[-1] - '0') * place;
		}
		if (bound[0] && bound[0] == bound[1])
			return bound[0];
	}
	return 0;
}

static uint64_t mark_of_fd(int fd)
{
	char path[40], text[1024];
	long info, n;

	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
	info = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (info < 0)
		return 0;
	n = syscall(SYS_read, (int)info, text, sizeof text - 1);
	syscall(SYS_close, (int)info);
	text[n > 0 ? n : 0] = 0;
	return mark_of_text(text);
}

/* The same one for each descriptor of the allocation. An offset in a file: it has 62 bits. 0: the kernel gives no
 * random bits. */
static uint64_t mark_of_allocation(uint64_t allocation)
{
	uint64_t seed = atomic_load_explicit(&mark_seed, memory_order_relaxed), made = 0;

	if (!seed && syscall(SYS_getrandom, &made, sizeof made, 0) == sizeof made && made) {
		if (atomic_compare_exchange_strong_explicit(&mark_seed, &seed, made, memory_order_relaxed,
							    memory_order_relaxed))
			seed = made;
	}
	return seed ? (seed ^ allocation * 0x9e3779b97f4a7c15u) >> 2 | 1 : 0;
}

bool sharing_mark(int fd, uint64_t allocation)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	int saved = errno;
	struct stat st;
	bool good;

	if (syscall(SYS_fstat, fd, &st) < 0 || (!S_ISCHR(st.st_mode) && !S_ISBLK(st.st_mode))) {
		errno = saved;
		return true;
	}
	l.l_start = (off_t)mark_of_allocation(allocation);
	good = l.l_start && syscall(SYS_fcntl, fd, F_OFD_SETLK, &l) == 0;
	l.l_type = F_RDLCK; /* of a descriptor that cannot be written */
	good = good || (l.l_start && syscall(SYS_fcntl, fd, F_OFD_SETLK, &l) == 0);
	good = good && mark_of_fd(fd) == (uint64_t)l.l_start;
	errno = saved;
	return good;
}

bool sharing_key_of_fd(int fd, uint8_t *ret_key)
{
	struct stat st;
	int saved = errno;
	uint64_t name[3];
	bool node;

	memset(ret_key, 0, WIRE_KEY_BYTES);
	if (syscall(SYS_fstat, fd, &st) < 0) {
		errno = saved;
		return false;
	}
	node = S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode);
	name[0] = node ? st.st_rdev : st.st_dev;
	name[1] = node ? mark_of_fd(fd) : st.st_ino;
	name[2] = node ? 0 : file_number(fd);
	errno = saved;
	if (!name[1])
		return false;
	memcpy(ret_key, node ? "node" : "fd", node ? 4 : 2);
	memcpy(ret_key + 8, name, sizeof name);
	return true;
}

/* Four 64-bit FNV-1a hashes with different starts: names what honest processes exchange, keeps no secret. */
void sharing_key_of_bytes(const void *bytes, size_t size, uint8_t *ret_key)
{
	const uint8_t *byte = bytes;

	for (unsigned int part = 0; part < 4; part++) {
		uint64_t hash = 0xcbf29ce484222325u + part * 0x9e3779b97f4a7c15u;

		for (size_t i = 0; i < size; i++)
			hash = (hash ^ byte[i]) * 0x100000001b3u;
		memcpy(ret_key + part * sizeof hash, &hash, sizeof hash);
	}
}
