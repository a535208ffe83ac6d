/* history.c: history.db is opened and written; see history.h and history_file.h. */
#include "daemon/store/history.h"

#include "daemon/log.h"
#include "daemon/store/meters_keep.h"
#include "daemon/store/history_file.h"
#include "daemon/tenants/tenant.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 1
#define JOURNAL_MS 1000
#define TICKS 30u /* of these, then histories are written too */

/* A row to be written. */
struct row {
	struct row *next;
	uint8_t key[KEY_BYTES];
	size_t key_bytes;
	int level; /* -1: totals */
	int64_t chunk;
	size_t bytes;
	uint8_t data[];
};

static const char schema[] =
	"PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = OFF;"
	"CREATE TABLE IF NOT EXISTS journal (id INTEGER PRIMARY KEY, time INTEGER, first_time INTEGER, count INTEGER,"
	" kind INTEGER, tenant TEXT, device BLOB, text TEXT);"
	/* of users' lines; a table of its own, so that a meted of before can go on with the file */
	"CREATE TABLE IF NOT EXISTS writers (id INTEGER PRIMARY KEY, user INTEGER NOT NULL);"
	"CREATE TABLE IF NOT EXISTS history (key BLOB, level INTEGER, chunk INTEGER, data BLOB,"
	" PRIMARY KEY (key, level, chunk)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS totals (key BLOB PRIMARY KEY, data BLOB) WITHOUT ROWID;"
	"PRAGMA user_version = 1;";

static bool run(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

/* Keys and numbers. */

static void put_u64(uint8_t **at, uint64_t value)
{
	for (unsigned int i = 0; i < 8; i++)
		*(*at)++ = (uint8_t)(value >> 8 * i);
}

static void make_key(uint8_t key[KEY_BYTES], uint64_t grant_id, const uint8_t *uuid)
{
	put_u64(&(uint8_t *){ key }, grant_id);
	memcpy(key + 8, uuid, DEVICE_UUID_BYTES);
}

/* The copy that is written. */

static struct row *add_row(struct history_store *s, const uint8_t *key, size_t key_bytes, int level, int64_t chunk,
			   size_t bytes)
{
	struct row *row = malloc(sizeof(*row) + bytes);

	if (!row)
		return NULL;
	*row = (struct row){ .next = s->rows, .key_bytes = key_bytes, .level = level, .chunk = chunk, .bytes = bytes };
	memcpy(row->key, key, key_bytes);
	s->rows = row;
	return row;
}

static void copy_totals(struct history_store *s, const uint8_t *key, const struct meter *m, const uint64_t *refused,
			const struct telemetry *t)
{
	struct row *row = add_row(s, key, KEY_BYTES, -1, 0, TOTALS_BYTES);
	uint8_t *at = row ? row->data : NULL;

	for (unsigned int i = 0; row && i < METER_TIMES; i++) {
		put_u64(&at, m->time_ns[i]);
		put_u64(&at, m->last_ns[i]);
	}
	for (unsigned int i = 0; row && i < REFUSALS; i++)
		put_u64(&at, refused[i]);
	for (unsigned int i = 0; row && i < TRAFFIC_WAYS * WORKER_COUNTS; i++)
		put_u64(&at, t ? t->remote[i / WORKER_COUNTS][i % WORKER_COUNTS] : 0);
}

/* How many chunks before the present one may not have been written yet. The finest level is when meted ends. */
static int64_t chunks_before(const struct history_store *s, unsigned int level, int64_t now)
{
	return level && !s->shifted ? now % HISTORY_CHUNK < 6 : history_steps(level) / HISTORY_CHUNK - 1;
}

static void copy_history(struct history_store *s, const uint8_t *key, size_t key_bytes, const struct history *h,
			 unsigned int from_level)
{
	for (unsigned int level = from_level; h && level < HISTORY_LEVELS; level++) {
		int64_t now = history_now(h, level), chunk = now / HISTORY_CHUNK;

		for (int64_t c = now < 0 ? chunk + 1 : chunk - chunks_before(s, level, now); c <= chunk; c++) {
			struct row *row = NULL;

			if (c >= 0)
				row = add_row(s, key, key_bytes, (int)level, c, history_chunk_bytes(h));
			if (row)
				history_save(h, level, c, row->data);
		}
	}
}

static void copy_flow(struct history_store *s, uint64_t grant_id, const struct flow *flow, unsigned int from_level)
{
	uint8_t key[FLOW_KEY_BYTES];

	put_u64(&(uint8_t *){ key }, grant_id);
	copy_history(s, key, sizeof(key), flow->history, from_level);
}

/* How fast data went through workers. */
static void copy_flows(struct history_store *s, unsigned int from_level)
{
	copy_flow(s, 0, &s->daemon->meter.flow, from_level);
	for (struct tenant *t = s->daemon->tenants; t; t = t->next)
		if (t->telemetry)
			copy_flow(s, t->grant.id, &t->telemetry->flow, from_level);
}

static void copy_meters(struct history_store *s, unsigned int from_level)
{
	struct daemon *d = s->daemon;
	uint8_t key[KEY_BYTES];

	for (unsigned int i = 0; i < d->meter.device_count; i++) {
		make_key(key, 0, d->meter.device[i].uuid);
		copy_totals(s, key, &d->meter.device[i].meter,
			    (uint64_t[REFUSALS]){ [REFUSAL_MEMORY] = d->meter.device[i].refused }, NULL);
		copy_history(s, key, KEY_BYTES, d->meter.device[i].meter.history, from_level);
	}
	for (struct tenant *t = d->tenants; t; t = t->next)
		for (unsigned int i = 0; t->telemetry && i < t->grant.share_count; i++) {
			make_key(key, t->grant.id, t->grant.share[i].device.uuid);
			copy_totals(s, key, &t->telemetry->share[i], t->telemetry->refused, t->telemetry);
			copy_history(s, key, KEY_BYTES, t->telemetry->share[i].history, from_level);
		}
	copy_flows(s, from_level);
	s->step_s = d->meter.step_s;
	s->prune = true;
	s->clear = s->shifted;
	s->shifted = false;
	s->now_s = telemetry_now(d);
}

/* Of tenants whose traffic has grown: what was taken from a worker's counts is in the totals alone. */
static void copy_traffic(struct history_store *s)
{
	uint8_t key[KEY_BYTES];

	for (struct tenant *t = s->daemon->tenants; t; t = t->next) {
		if (!t->telemetry || !traffic_moved(t->telemetry))
			continue;
		for (unsigned int i = 0; i < t->grant.share_count; i++) {
			make_key(key, t->grant.id, t->grant.share[i].device.uuid);
			copy_totals(s, key, &t->telemetry->share[i], t->telemetry->refused, t->telemetry);
		}
	}
}

static void copy_lines(struct history_store *s)
{
	const struct journal_line *l = NULL;
	unsigned int n = 0;

	if (!journal_settle(s->daemon->journal))
		return;
	s->lines = malloc(JOURNAL_LINES * sizeof(*s->lines));
	if (!s->lines)
		return;
	s->kept_count = 0;
	while ((l = journal_next(s->daemon->journal, l))) {
		s->kept[s->kept_count++] = l->id;
		if (l->stored_id != l->id)
			s->lines[n++] = *l;
	}
	s->line_count = n;
	s->last_line = journal_last(s->daemon->journal);
}

/* Writing, in the pool's thread: only the job is touched. */

static bool write_line(sqlite3_stmt *insert, sqlite3_stmt *writer, const struct journal_line *l)
{
	sqlite3_reset(insert);
	sqlite3_bind_int64(insert, 1, (sqlite3_int64)l->id);
	sqlite3_bind_int64(insert, 2, l->time);
	sqlite3_bind_int64(insert, 3, l->first_time);
	sqlite3_bind_int64(insert, 4, (sqlite3_int64)l->count);
	sqlite3_bind_int(insert, 5, (int)l->kind);
	sqlite3_bind_text(insert, 6, l->tenant, -1, SQLITE_STATIC);
	sqlite3_bind_blob(insert, 7, l->uuid, l->has_device ? (int)DEVICE_UUID_BYTES : 0, SQLITE_STATIC);
	sqlite3_bind_text(insert, 8, l->text, -1, SQLITE_STATIC);
	sqlite3_reset(writer);
	sqlite3_bind_int64(writer, 1, (sqlite3_int64)l->id);
	sqlite3_bind_int64(writer, 2, (sqlite3_int64)l->user);
	return sqlite3_step(insert) == SQLITE_DONE && (!l->user || sqlite3_step(writer) == SQLITE_DONE);
}

static bool is_kept(const struct history_store *s, uint64_t id)
{
	unsigned int low = 0, high = s->kept_count;

	while (low < high) {
		unsigned int at = low + (high - low) / 2;

		if (s->kept[at] < id)
			low = at + 1;
		else
			high = at;
	}
	return low < s->kept_count && s->kept[low] == id;
}

/* Lines that are in the journal no more, also those that have gone while they were on the way here. */
static bool forget_lines(struct history_store *s, const char *all_ids, const char *one)
{
	_cleanup_statement_ sqlite3_stmt *all = NULL, *forget = NULL;
	int r;

	if (sqlite3_prepare_v2(s->db, all_ids, -1, &all, NULL) || sqlite3_prepare_v2(s->db, one, -1, &forget, NULL))
		return false;
	while ((r = sqlite3_step(all)) == SQLITE_ROW) {
		sqlite3_int64 id = sqlite3_column_int64(all, 0);

		if (is_kept(s, (uint64_t)id))
			continue;
		sqlite3_reset(forget);
		sqlite3_bind_int64(forget, 1, id);
		if (sqlite3_step(forget) != SQLITE_DONE)
			return false;
	}
	return r == SQLITE_DONE;
}

static bool write_lines(struct history_store *s)
{
	_cleanup_statement_ sqlite3_stmt *insert = NULL, *writer = NULL;

	if (!s->line_count)
		return true;
	if (sqlite3_prepare_v2(s->db, "INSERT OR REPLACE INTO journal VALUES (?,?,?,?,?,?,?,?)", -1, &insert, NULL) ||
	    sqlite3_prepare_v2(s->db, "INSERT OR REPLACE INTO writers VALUES (?,?)", -1, &writer, NULL))
		return false;
	for (unsigned int i = 0; i < s->line_count; i++)
		if (!write_line(insert, writer, &s->lines[i]))
			return false;
	return forget_lines(s, "SELECT id FROM journal", "DELETE FROM journal WHERE id = ?") &&
	       forget_lines(s, "SELECT id FROM writers", "DELETE FROM writers WHERE id = ?");
}

static bool write_rows(struct history_store *s)
{
	_cleanup_statement_ sqlite3_stmt *chunk = NULL, *totals = NULL;

	if (sqlite3_prepare_v2(s->db, "INSERT OR REPLACE INTO history VALUES (?,?,?,?)", -1, &chunk, NULL) ||
	    sqlite3_prepare_v2(s->db, "INSERT OR REPLACE INTO totals VALUES (?,?)", -1, &totals, NULL))
		return false;
	for (struct row *r = s->rows; r; r = r->next) {
		sqlite3_stmt *to = r->level < 0 ? totals : chunk;

		sqlite3_reset(to);
		sqlite3_bind_blob(to, 1, r->key, (int)r->key_bytes, SQLITE_STATIC);
		if (r->level >= 0) {
			sqlite3_bind_int(to, 2, r->level);
			sqlite3_bind_int64(to, 3, r->chunk);
		}
		sqlite3_bind_blob(to, r->level < 0 ? 2 : 4, r->data, (int)r->bytes, SQLITE_STATIC);
		if (sqlite3_step(to) != SQLITE_DONE)
			return false;
	}
	return true;
}

/* What is older than the rings, or of a time that is yet to come: the clock was set back while no meted ran. */
static bool forget_old(struct history_store *s)
{
	char sql[160];

	for (unsigned int level = 0; s->prune && level < HISTORY_LEVELS; level++) {
		int64_t step = history_step(level), now = s->now_s / step, kept = now - history_steps(level);

		snprintf(sql, sizeof(sql), "DELETE FROM history WHERE level = %u AND (chunk < %lld OR chunk > %lld)",
			 level, (long long)(kept / (int64_t)HISTORY_CHUNK),
			 (long long)(now / (int64_t)HISTORY_CHUNK + 1));
		if (!run(s->db, sql))
			return false;
	}
	return true;
}

static void on_work(uv_work_t *work)
{
	struct history_store *s = work->data;

	*s->error = 0;
	if (run(s->db, "BEGIN") && (!s->clear || run(s->db, "DELETE FROM history")) && write_lines(s) &&
	    write_rows(s) && forget_old(s) && run(s->db, "COMMIT"))
		return;
	snprintf(s->error, sizeof(s->error), "%s", sqlite3_errmsg(s->db));
	run(s->db, "ROLLBACK");
}

static void end_job(struct history_store *s)
{
	struct row *next;

	if (!*s->error && s->last_line)
		journal_stored(s->daemon->journal, s->last_line);
	if (*s->error && !s->failed) {
		log_line("history.db: %s", s->error);
		journal_add(s->daemon, JOURNAL_FAULT, NULL, NULL,
			    "history.db cannot be written: %s: free some room; shares are not touched by it", s->error);
	}
	if (s->failed && !*s->error)
		log_line("history.db: written again");
	s->shifted |= s->clear && *s->error;
	s->failed = *s->error;
	for (struct row *r = s->rows; r; r = next) {
		next = r->next;
		free(r);
	}
	free(s->lines);
	s->rows = NULL;
	s->lines = NULL;
	s->line_count = 0;
	s->last_line = 0;
	s->prune = s->clear = false;
	if (!*s->error && s->step_s)
		telemetry_saved(s->daemon, s->step_s);
	s->step_s = 0;
}

static void on_worked(uv_work_t *work, int status)
{
	struct history_store *s = work->data;

	(void)status;
	s->working = false;
	end_job(s);
}

static void on_tick(void *owner)
{
	struct history_store *s = owner;

	if (s->working)
		return;
	copy_lines(s);
	if (++s->ticks % TICKS == 0 || s->shifted)
		copy_meters(s, 1);
	else
		copy_traffic(s);
	if (!s->line_count && !s->rows)
		return;
	s->work.data = s;
	s->working = !uv_queue_work(s->daemon->loop, &s->work, on_work, on_worked);
	if (!s->working)
		end_job(s);
}

static int user_version(sqlite3 *db)
{
	_cleanup_statement_ sqlite3_stmt *q = NULL;

	if (sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &q, NULL) || sqlite3_step(q) != SQLITE_ROW)
		return -1;
	return sqlite3_column_int(q, 0);
}

/* Value: whether it can be used. */
static bool open_file(struct history_store *s, const char *path)
{
	int version;

	if (sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL) ==
	    SQLITE_OK) {
		version = user_version(s->db);
		if (version >= 0 && version <= VERSION && run(s->db, schema) &&
		    run(s->db, "SELECT count(*) FROM journal; SELECT count(*) FROM totals"))
			return true;
	}
	snprintf(s->error, sizeof(s->error), "%s", s->db ? sqlite3_errmsg(s->db) : "no memory");
	sqlite3_close(s->db);
	s->db = NULL;
	return false;
}

void history_store_open(struct daemon *daemon)
{
	struct history_store *s = calloc(1, sizeof(*s));
	char path[GRANT_PATH_BYTES], bad[GRANT_PATH_BYTES];

	if (!s)
		return;
	daemon->history = s;
	s->daemon = daemon;
	snprintf(path, sizeof(path), "%.*s/history.db", (int)sizeof(path) - 32, daemon->state_dir);
	snprintf(bad, sizeof(bad), "%.*s/history.db.bad", (int)sizeof(bad) - 32, daemon->state_dir);
	if (!open_file(s, path)) {
		log_line("%s: %s: it is moved to history.db.bad, and begun anew", path, s->error);
		journal_add(daemon, JOURNAL_FAULT, NULL, NULL, "history.db could not be read (%s): begun anew",
			    s->error);
		rename(path, bad);
		if (!open_file(s, path)) {
			log_line("%s: %s: events and history end with this meted", path, s->error);
			return;
		}
	}
	*s->error = 0;
	history_restore(s);
	s->tick = timer_new(daemon->loop, on_tick, s);
	if (s->tick)
		timer_start(s->tick, JOURNAL_MS, JOURNAL_MS);
}

void history_store_shifted(struct daemon *daemon)
{
	if (daemon->history)
		daemon->history->shifted = true;
}

bool history_store_busy(const struct daemon *daemon)
{
	return daemon->history && daemon->history->working;
}

void history_store_flush(struct daemon *daemon)
{
	struct history_store *s = daemon->history;

	if (!s || !s->db || s->working)
		return;
	copy_lines(s);
	telemetry_end_step(daemon);
	copy_meters(s, 0);
	s->work.data = s;
	on_work(&s->work);
	end_job(s);
	meters_keep(daemon);
}

void history_store_close(struct daemon *daemon)
{
	struct history_store *s = daemon->history;

	if (!s)
		return;
	timer_free(s->tick);
	while (s->working)
		uv_run(daemon->loop, UV_RUN_ONCE);
	history_store_flush(daemon);
	sqlite3_close(s->db);
	free(s);
	daemon->history = NULL;
}
