/* meters.c: see meters.h. */
#include "daemon/store/meters.h"

#include "daemon/entry_file.h"
#include "daemon/log.h"
#include "daemon/runtime.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define FILE_NAME "meters"
#define MAGIC 0x7265746du /* "mter" */
#define VERSION 1u
#define TABLES 2u
#define ENTRIES 16384u /* of a sparse file: room is reserved as it is needed */
#define STEP 64u

struct table {
	uint64_t count;
	struct meters_clock clock;
};

struct head {
	struct entry_head head;
	_Atomic uint64_t written; /* how often a table was made the one that counts; 0: never */
	struct table table[TABLES];
};

struct file {
	struct head head;
	struct meters_entry entry[ENTRIES][TABLES];
};

struct meters {
	int fd;
	struct file *file;
	uint64_t room; /* entries for which there is room on the disk */
	uint64_t at;   /* entries of the table that is being written */
	bool told;
};

static bool is_sound(const void *mapped)
{
	const struct file *file = mapped;

	return file->head.table[0].count <= ENTRIES && file->head.table[1].count <= ENTRIES;
}

static const struct entry_kind kind = { .name = FILE_NAME,
					.magic = MAGIC,
					.version = VERSION,
					.entry_bytes = sizeof(struct meters_entry),
					.bytes = sizeof(struct file),
					.is_sound = is_sound };

/* Room for `count` entries. */
static bool reserve(struct meters *m, uint64_t count)
{
	uint64_t most = (count / STEP + 1) * STEP;

	if (count <= m->room)
		return true;
	if (count > ENTRIES || !entry_file_reserve(m->fd, offsetof(struct file, entry[most])))
		return false;
	m->room = most;
	return true;
}

static struct table *counting(const struct meters *m)
{
	uint64_t written = atomic_load_explicit(&m->file->head.written, memory_order_acquire);

	return written ? &m->file->head.table[written % TABLES] : NULL;
}

struct meters *meters_open(struct runtime *runtime)
{
	struct meters *m = calloc(1, sizeof(*m));
	void *file = NULL;
	int r;

	if (!m)
		return NULL;
	m->fd = -1;
	r = entry_file_open(runtime, &kind, false, &m->fd, &file);
	m->file = file;
	if (!r && reserve(m, counting(m) ? counting(m)->count : 0))
		return m;
	log_line("%s/" FILE_NAME ": %s: counters may fall when meted is killed; make room, then restart meted",
		 runtime->dir, strerror(r ? -r : ENOSPC));
	meters_close(m);
	return NULL;
}

void meters_close(struct meters *m)
{
	if (!m)
		return;
	entry_file_close(&kind, &m->fd, m->file);
	free(m);
}

const struct meters_entry *meters_find(const struct meters *m, const uint8_t key[METERS_KEY_BYTES])
{
	const struct table *t = m ? counting(m) : NULL;

	for (uint64_t i = 0; t && i < t->count; i++)
		if (!memcmp(m->file->entry[i][t - m->file->head.table].key, key, METERS_KEY_BYTES))
			return &m->file->entry[i][t - m->file->head.table];
	return NULL;
}

void meters_each(const struct meters *m, void (*fn)(const struct meters_entry *e, void *owner), void *owner)
{
	const struct table *t = m ? counting(m) : NULL;

	for (uint64_t i = 0; t && i < t->count; i++)
		fn(&m->file->entry[i][t - m->file->head.table], owner);
}

bool meters_clock(const struct meters *m, struct meters_clock *ret)
{
	const struct table *t = m ? counting(m) : NULL;

	if (t)
		*ret = t->clock;
	return t;
}

static unsigned int other(const struct meters *m)
{
	return (atomic_load_explicit(&m->file->head.written, memory_order_relaxed) + 1) % TABLES;
}

void meters_begin(struct meters *m)
{
	if (m)
		m->at = 0;
}

struct meters_entry *meters_add(struct meters *m, const uint8_t key[METERS_KEY_BYTES])
{
	struct meters_entry *e;

	if (!m)
		return NULL;
	if (!reserve(m, m->at + 1)) {
		if (!m->told)
			log_line("no room for more in " FILE_NAME ": counters may fall when meted is killed; make room "
				 "in the runtime directory");
		m->told = true;
		return NULL;
	}
	e = &m->file->entry[m->at++][other(m)];
	memset(e, 0, sizeof(*e));
	memcpy(e->key, key, METERS_KEY_BYTES);
	return e;
}

void meters_end(struct meters *m, const struct meters_clock *clock)
{
	if (!m)
		return;
	m->file->head.table[other(m)] = (struct table){ .count = m->at, .clock = *clock };
	/* Release: all of the table is there before it counts. */
	atomic_fetch_add_explicit(&m->file->head.written, 1, memory_order_release);
}
