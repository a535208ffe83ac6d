/*
 * health.c: see health.h.
 *
 * Times ahead are kept by the wall clock. When that has jumped, or the machine was off, what is left of them is at most
 * what it could have been.
 */
#include "daemon/store/health.h"

#include "base/clock.h"
#include "daemon/store/db.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DRAIN_MOST_S 604800 /* a week */
#define AGE_MOST_S 31536000 /* no window is as long */
#define TIMES_BYTES (QUARANTINE_FAULTS * 21u + 1u)

/* A moment of CLOCK_MONOTONIC, in seconds since 1970. 0 stays 0. */
static int64_t to_wall(uint64_t at_ns)
{
	uint64_t now = clock_now_ns();

	return !at_ns ? 0 : time(NULL) + (at_ns > now ? (int64_t)((at_ns - now) / 1000000000u) : 0);
}

static uint64_t from_wall(int64_t at_s, int64_t most_s)
{
	int64_t left = at_s - time(NULL);

	return !at_s ? 0 : clock_now_ns() + (uint64_t)(left < 0 ? 0 : left > most_s ? most_s : left) * 1000000000u;
}

/* The moments of faults, in seconds since 1970. A clock that has been set back makes the last ones new. */
static void write_times(const struct quarantine *q, char text[TIMES_BYTES])
{
	uint64_t now = clock_now_ns();
	int64_t wall = time(NULL);
	size_t n = 0;

	*text = 0;
	for (unsigned int i = 0; i < q->faults; i++)
		n += (size_t)snprintf(text + n, TIMES_BYTES - n, "%s%" PRId64, i ? " " : "",
				      wall - (int64_t)((now - q->fault_ns[i]) / 1000000000u));
}

/* How long ago is what counts: a moment before the machine was started is one below 0, as a number without a sign. */
static void read_times(const char *text, struct quarantine *q)
{
	uint64_t now = clock_now_ns();
	int64_t wall = time(NULL), age;
	char *end;

	for (q->faults = 0; text && q->faults < QUARANTINE_FAULTS; q->faults++) {
		age = wall - strtoll(text, &end, 10);
		if (end == text)
			return;
		age = age < 0 ? 0 : age > AGE_MOST_S ? AGE_MOST_S : age;
		q->fault_ns[q->faults] = now - (uint64_t)age * 1000000000u;
		text = end;
	}
}

int store_put_health(struct store *store, const struct health *h, char *error, size_t size)
{
	static const char sql[] = "INSERT OR REPLACE INTO devices VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
	_cleanup_statement_ sqlite3_stmt *s = NULL;
	const struct device *d = &h->device;

	if (sqlite3_prepare_v2(store->db, sql, -1, &s, NULL) != SQLITE_OK)
		return store_fail(store, "keep the device's state", error, size);
	sqlite3_bind_blob(s, 1, d->uuid, DEVICE_UUID_BYTES, SQLITE_STATIC);
	sqlite3_bind_int(s, 2, (int)d->kind);
	sqlite3_bind_int64(s, 3, d->index);
	sqlite3_bind_text(s, 4, d->name, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 5, (sqlite3_int64)d->total_bytes);
	sqlite3_bind_int64(s, 6, d->granule_bytes);
	sqlite3_bind_int(s, 7, h->cordoned);
	sqlite3_bind_int(s, 8, h->drained);
	sqlite3_bind_int(s, 9, h->draining);
	sqlite3_bind_int(s, 10, h->ends);
	sqlite3_bind_int64(s, 11, to_wall(h->until_ns));
	sqlite3_bind_int(s, 12, h->lost);
	sqlite3_bind_text(s, 13, h->reason, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 14, h->lost_reason, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 15, h->since);
	sqlite3_bind_int64(s, 16, (sqlite3_int64)h->faults);
	sqlite3_bind_text(s, 17, h->who, -1, SQLITE_STATIC);
	return store_step_done(s) ? store_fail(store, "keep the device's state", error, size) : 0;
}

static bool read_health(sqlite3_stmt *s, struct health *h)
{
	struct device *d = &h->device;

	if (sqlite3_column_bytes(s, 0) != DEVICE_UUID_BYTES)
		return false;
	*h = (struct health){
		.cordoned = sqlite3_column_int(s, 6),
		.drained = sqlite3_column_int(s, 7),
		.draining = sqlite3_column_int(s, 8),
		.ends = sqlite3_column_int(s, 9),
		.until_ns = from_wall(sqlite3_column_int64(s, 10), DRAIN_MOST_S),
		.lost = sqlite3_column_int(s, 11),
		.since = sqlite3_column_int64(s, 14),
		.faults = (uint64_t)sqlite3_column_int64(s, 15),
	};
	memcpy(d->uuid, sqlite3_column_blob(s, 0), DEVICE_UUID_BYTES);
	d->kind = sqlite3_column_int(s, 1);
	d->index = (unsigned int)sqlite3_column_int64(s, 2);
	store_read_text(s, 3, d->name, sizeof(d->name));
	d->total_bytes = (uint64_t)sqlite3_column_int64(s, 4);
	d->granule_bytes = (uint32_t)sqlite3_column_int64(s, 5);
	store_read_text(s, 12, h->reason, sizeof(h->reason));
	store_read_text(s, 13, h->lost_reason, sizeof(h->lost_reason));
	store_read_text(s, 16, h->who, sizeof(h->who));
	return true;
}

int store_load_health(struct store *store, void (*fn)(const struct health *h, void *owner), void *owner, char *error,
		      size_t size)
{
	_cleanup_statement_ sqlite3_stmt *s = NULL;
	struct health h;
	int step;

	if (sqlite3_prepare_v2(store->db, "SELECT * FROM devices ORDER BY device_index", -1, &s, NULL) != SQLITE_OK)
		return store_fail(store, "read the devices' states", error, size);
	while ((step = sqlite3_step(s)) == SQLITE_ROW)
		if (read_health(s, &h))
			fn(&h, owner);
	return step == SQLITE_DONE ? 0 : store_fail(store, "read the devices' states", error, size);
}

int store_put_quarantine(struct store *store, uint64_t grant_id, uint64_t faults, const struct quarantine *q,
			 char *error, size_t size)
{
	_cleanup_statement_ sqlite3_stmt *s = NULL;
	char times[TIMES_BYTES];

	write_times(q, times);
	if (sqlite3_prepare_v2(store->db, "INSERT OR REPLACE INTO quarantines VALUES (?,?,?,?,?,?)", -1, &s, NULL) !=
	    SQLITE_OK)
		return store_fail(store, "keep the tenant's quarantine", error, size);
	sqlite3_bind_int64(s, 1, (sqlite3_int64)grant_id);
	sqlite3_bind_int64(s, 2, (sqlite3_int64)faults);
	sqlite3_bind_int64(s, 3, q->level);
	sqlite3_bind_int64(s, 4, to_wall(q->until_ns));
	sqlite3_bind_text(s, 5, times, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 6, (sqlite3_int64)(q->length_ns / 1000000000u));
	return store_step_done(s) ? store_fail(store, "keep the tenant's quarantine", error, size) : 0;
}

void store_get_quarantine(struct store *store, uint64_t grant_id, uint64_t most_ns, uint64_t *ret_faults,
			  struct quarantine *ret)
{
	_cleanup_statement_ sqlite3_stmt *s = NULL;
	int64_t length;

	if (sqlite3_prepare_v2(store->db,
			       "SELECT faults, level, until, times, length FROM quarantines WHERE grant_id = ?", -1, &s,
			       NULL) != SQLITE_OK)
		return;
	sqlite3_bind_int64(s, 1, (sqlite3_int64)grant_id);
	if (sqlite3_step(s) != SQLITE_ROW)
		return;
	*ret_faults = (uint64_t)sqlite3_column_int64(s, 0);
	length = sqlite3_column_int64(s, 4);
	*ret = (struct quarantine){ .level = (unsigned int)sqlite3_column_int64(s, 1),
				    .until_ns = from_wall(sqlite3_column_int64(s, 2), (int64_t)(most_ns / 1000000000u)),
				    .length_ns = length > 0 && length < (int64_t)(most_ns / 1000000000u) ?
							 (uint64_t)length * 1000000000u :
							 most_ns };
	read_times((const char *)sqlite3_column_text(s, 3), ret);
}

void store_drop_quarantine(struct store *store, uint64_t grant_id)
{
	_cleanup_statement_ sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(store->db, "DELETE FROM quarantines WHERE grant_id = ?", -1, &s, NULL) != SQLITE_OK)
		return;
	sqlite3_bind_int64(s, 1, (sqlite3_int64)grant_id);
	store_step_done(s);
}
