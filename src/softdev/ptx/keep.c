/*
 * keep.c: see hot.h. One file for each compiled function, in a folder of the user's own: METE_SOFT_COMPILE_CACHE, else
 * mete/kernels in XDG_CACHE_HOME or ~/.cache; "off": none.
 *
 *   head      magic, COMPILE_ABI, sizes, a sum of all that follows
 *   key       all that the object was made from: the operations, the instruction set, the version
 *   object    what the compiler made of them
 *
 * A file is used when folder and file belong to this user, nobody else may write to them, the sum is right and the key
 * is the same byte by byte: the name, a hash of the key, only says where to look. Files are written under another name
 * and renamed, so that two processes that compile the same do not meet. Where something does not work, it is compiled.
 */
#include "softdev/ptx/hot.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x316b6574656d0a0dull
#define FILE_BYTES_MAX (32u << 20)

#ifndef METE_VERSION
#define METE_VERSION "?"
#endif

struct head {
	uint64_t magic, sum;
	uint32_t abi, key_bytes, object_bytes, zero;
};

struct key {
	uint8_t *bytes;
	size_t count, room;
	bool failed;
};

static uint64_t sum_of(const uint8_t *p, size_t n, uint64_t h)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	return h;
}

static void put(struct key *k, const void *p, size_t n)
{
	if (k->count + n > k->room) {
		const size_t room = (k->count + n) * 2 + 4096;
		uint8_t *grown = k->failed ? NULL : realloc(k->bytes, room);

		k->failed = !grown;
		if (k->failed)
			return;
		k->bytes = grown;
		k->room = room;
	}
	memcpy(k->bytes + k->count, p, n);
	k->count += n;
}

static void put_number(struct key *k, uint64_t n)
{
	put(k, &n, sizeof(n));
}

static void put_text(struct key *k, const char *text)
{
	put(k, text, strlen(text) + 1);
}

static void put_operand(struct key *k, const struct compile_operand *o)
{
	put_number(k, o->place | (uint64_t)o->lane << 8 | (uint64_t)o->at << 32);
	put_number(k, o->value);
}

static struct key key_of(const struct compile_request *q)
{
	struct key k = { 0 };

	put_text(&k, METE_VERSION);
	put_text(&k, q->isa);
	put_number(&k, q->abi);
	put_number(&k, q->layout | (uint64_t)q->partial << 32 | (uint64_t)q->alone << 40 | (uint64_t)q->dots << 48);
	put_number(&k, q->count | (uint64_t)q->local << 32);
	for (uint32_t i = 0; i < q->count; i++) {
		const struct compile_op *o = &q->op[i];

		put_text(&k, o->name);
		put_number(&k, o->kind | (uint64_t)o->defs << 8 | (uint64_t)o->weight << 16 |
				       (uint64_t)o->lanewise << 24 | (uint64_t)o->guard_not << 32 |
				       (uint64_t)o->wild << 40 | (uint64_t)o->sync << 48);
		put_number(&k, o->to);
		put_number(&k, o->imm);
		for (uint32_t n = 0; n < COMPILE_OPERANDS; n++)
			put_operand(&k, &o->operand[n]);
		put_operand(&k, &o->guard);
		put_number(&k, o->more_count | (uint64_t)o->more_defs << 32);
		put_number(&k, o->product.rows | (uint64_t)o->product.deep << 8 | (uint64_t)o->product.a_signed << 16);
		for (uint32_t n = 0; n < o->more_count; n++)
			put_operand(&k, &o->more[n]);
	}
	while (!k.failed && k.count % 8)
		put(&k, "", 1);
	return k;
}

static bool mine(int fd, mode_t kind)
{
	struct stat st;

	return !fstat(fd, &st) && (st.st_mode & S_IFMT) == kind && st.st_uid == geteuid() &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

static void make_folders(char *path)
{
	for (char *p = path + 1; (p = strchr(p, '/')); p++) {
		*p = 0;
		mkdir(path, 0700);
		*p = '/';
	}
	mkdir(path, 0700);
}

/* The folder, made when it is not there; below 0: none. */
static int folder_open(void)
{
	const char *set = secure_getenv("METE_SOFT_COMPILE_CACHE"), *cache = secure_getenv("XDG_CACHE_HOME"),
		   *home = secure_getenv("HOME");
	char path[PATH_MAX];
	int n, fd;

	if (set && *set)
		n = snprintf(path, sizeof(path), "%s", set);
	else if (cache && *cache == '/')
		n = snprintf(path, sizeof(path), "%s/mete/kernels", cache);
	else if (home && *home == '/')
		n = snprintf(path, sizeof(path), "%s/.cache/mete/kernels", home);
	else
		return -1;
	if (*path != '/' || n < 0 || (size_t)n >= sizeof(path))
		return -1;
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		make_folders(path);
		fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (fd >= 0 && !mine(fd, S_IFDIR)) {
		close(fd);
		return -1;
	}
	return fd;
}

static void file_name(const struct key *k, char ret[32])
{
	snprintf(ret, 32, "%016llx.o", (unsigned long long)sum_of(k->bytes, k->count, 0xcbf29ce484222325ull));
}

static uint8_t *file_read(int folder, const char *name, size_t *ret_bytes)
{
	_cleanup_close_ int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	uint8_t *bytes;
	size_t got = 0;

	if (fd < 0 || !mine(fd, S_IFREG) || fstat(fd, &st) || st.st_size < (off_t)sizeof(struct head) ||
	    st.st_size > FILE_BYTES_MAX)
		return NULL;
	bytes = malloc((size_t)st.st_size);
	while (bytes && got < (size_t)st.st_size) {
		const ssize_t n = read(fd, bytes + got, (size_t)st.st_size - got);

		if (n <= 0) {
			free(bytes);
			return NULL;
		}
		got += (size_t)n;
	}
	*ret_bytes = got;
	return bytes;
}

/* The object in a file that has the key; NULL: it is another's, or damaged. */
static void *object_in(const uint8_t *bytes, size_t size, const struct key *k, size_t *ret_bytes)
{
	const uint8_t *rest = bytes + sizeof(struct head);
	struct head h;
	void *object;

	memcpy(&h, bytes, sizeof(h));
	if (h.magic != MAGIC || h.abi != COMPILE_ABI || h.key_bytes != k->count ||
	    size != sizeof(h) + (size_t)h.key_bytes + h.object_bytes)
		return NULL;
	if (sum_of(rest, size - sizeof(h), MAGIC) != h.sum || memcmp(rest, k->bytes, k->count) != 0)
		return NULL;
	object = malloc(h.object_bytes + 1u);
	if (object)
		memcpy(object, rest + h.key_bytes, h.object_bytes);
	*ret_bytes = h.object_bytes;
	return object;
}

void *keep_find(const struct compile_request *q, size_t *ret_bytes)
{
	_cleanup_close_ int folder = folder_open();
	struct key k = key_of(q);
	uint8_t *bytes = NULL;
	void *object = NULL;
	size_t size = 0;
	char name[32];

	if (folder >= 0 && !k.failed) {
		file_name(&k, name);
		bytes = file_read(folder, name, &size);
		object = bytes ? object_in(bytes, size, &k, ret_bytes) : NULL;
	}
	free(bytes);
	free(k.bytes);
	return object;
}

static bool write_all(int fd, const void *p, size_t n)
{
	const uint8_t *from = p;

	while (n) {
		const ssize_t done = write(fd, from, n);

		if (done <= 0)
			return false;
		from += done;
		n -= (size_t)done;
	}
	return true;
}

static void file_write(int folder, const char *name, const struct head *h, const struct key *k, const void *object)
{
	char other[64];
	bool good;
	int fd;

	snprintf(other, sizeof(other), ".%s.%d", name, (int)getpid());
	fd = openat(folder, other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	good = write_all(fd, h, sizeof(*h)) && write_all(fd, k->bytes, k->count) &&
	       write_all(fd, object, h->object_bytes);
	good = !close(fd) && good;
	if (!good || renameat(folder, other, folder, name))
		unlinkat(folder, other, 0);
}

void keep_store(const struct compile_request *q, const void *object, size_t bytes)
{
	_cleanup_close_ int folder = folder_open();
	struct key k = key_of(q);
	struct head h = { .magic = MAGIC, .abi = COMPILE_ABI };
	char name[32];

	if (folder >= 0 && !k.failed && k.count + bytes < FILE_BYTES_MAX / 2) {
		h.key_bytes = (uint32_t)k.count;
		h.object_bytes = (uint32_t)bytes;
		h.sum = sum_of(object, bytes, sum_of(k.bytes, k.count, MAGIC));
		file_name(&k, name);
		file_write(folder, name, &h, &k, object);
	}
	free(k.bytes);
}
