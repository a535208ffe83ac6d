/* history_restore.c: what history.db has, when meted begins; see history_file.h. */
#include "daemon/store/history_file.h"

#include "daemon/tenants/tenant.h"

#include <stdio.h>
#include <string.h>

static uint64_t take_u64(const uint8_t **at)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < 8; i++)
		value |= (uint64_t) * (*at)++ << 8 * i;
	return value;
}

static void restore_lines(struct history_store *s)
{
	_cleanup_statement_ sqlite3_stmt *q = NULL;

	if (sqlite3_prepare_v2(
		    s->db,
		    "SELECT journal.*, writers.user FROM (SELECT * FROM journal ORDER BY id DESC LIMIT 1024) AS "
		    "journal LEFT JOIN writers USING (id) ORDER BY journal.id",
		    -1, &q, NULL))
		return;
	while (sqlite3_step(q) == SQLITE_ROW) {
		const unsigned char *tenant = sqlite3_column_text(q, 5), *text = sqlite3_column_text(q, 7);
		struct journal_line l = { .id = (uint64_t)sqlite3_column_int64(q, 0),
					  .time = sqlite3_column_int64(q, 1),
					  .first_time = sqlite3_column_int64(q, 2),
					  .count = (uint64_t)sqlite3_column_int64(q, 3),
					  .kind = (enum journal_kind)sqlite3_column_int(q, 4),
					  .has_device = sqlite3_column_bytes(q, 6) == DEVICE_UUID_BYTES,
					  .user = (uid_t)sqlite3_column_int64(q, 8) };

		if ((unsigned int)l.kind >= JOURNAL_KINDS || l.id > INT64_MAX / 2)
			continue;
		if (l.has_device)
			memcpy(l.uuid, sqlite3_column_blob(q, 6), DEVICE_UUID_BYTES);
		snprintf(l.tenant, sizeof(l.tenant), "%s", tenant ? (const char *)tenant : "");
		snprintf(l.text, sizeof(l.text), "%s", text ? (const char *)text : "");
		journal_restore(s->daemon->journal, &l);
	}
}

static struct device_meter *device_of(struct daemon *d, const uint8_t *key)
{
	return telemetry_device(d, key + 8);
}

/* Value: NULL: nothing of this daemon's. */
static struct meter *meter_of(struct daemon *d, const uint8_t *key, size_t bytes, struct telemetry **ret)
{
	struct grant_share *share;
	struct tenant *t;
	uint64_t id;

	*ret = NULL;
	if (bytes != KEY_BYTES)
		return NULL;
	id = take_u64(&(const uint8_t *){ key });
	if (!id) {
		struct device_meter *m = device_of(d, key);

		return m ? &m->meter : NULL;
	}
	t = tenant_find_id(d, id);
	share = t && t->telemetry ? grant_find_share(&t->grant, key + 8) : NULL;
	if (!share)
		return NULL;
	*ret = t->telemetry;
	return &t->telemetry->share[share - t->grant.share];
}

static void restore_totals(struct history_store *s)
{
	_cleanup_statement_ sqlite3_stmt *q = NULL;

	if (sqlite3_prepare_v2(s->db, "SELECT key, data FROM totals", -1, &q, NULL))
		return;
	while (sqlite3_step(q) == SQLITE_ROW) {
		uint64_t refused[REFUSALS];
		struct telemetry *t;
		const uint8_t *key = sqlite3_column_blob(q, 0), *at = sqlite3_column_blob(q, 1);
		struct meter *m = meter_of(s->daemon, key, (size_t)sqlite3_column_bytes(q, 0), &t);
		size_t bytes = (size_t)sqlite3_column_bytes(q, 1);

		if (!m || (bytes != TOTALS_BYTES && bytes != TOTALS_OLD_BYTES))
			continue;
		for (unsigned int i = 0; i < METER_TIMES; i++) {
			m->time_ns[i] = m->drawn_ns[i] = take_u64(&at);
			m->last_ns[i] = take_u64(&at);
		}
		m->known = true;
		for (unsigned int i = 0; i < REFUSALS; i++)
			refused[i] = take_u64(&at);
		if (t)
			memcpy(t->refused, refused, sizeof(t->refused));
		else
			device_of(s->daemon, key)->refused = refused[REFUSAL_MEMORY];
		for (unsigned int i = 0; t && bytes == TOTALS_BYTES && i < TRAFFIC_WAYS * WORKER_COUNTS; i++)
			t->remote[i / WORKER_COUNTS][i % WORKER_COUNTS] = take_u64(&at);
	}
}

/* That of a key; what never had one gets one. NULL: nothing of this daemon's. */
static struct history *history_of(struct daemon *d, const uint8_t *key, size_t bytes)
{
	uint64_t id = bytes == FLOW_KEY_BYTES ? take_u64(&(const uint8_t *){ key }) : 0;
	struct tenant *tenant = id ? tenant_find_id(d, id) : NULL;
	struct telemetry *t;
	struct meter *m;

	if (bytes != FLOW_KEY_BYTES) {
		m = meter_of(d, key, bytes, &t);
		return m ? m->history : NULL;
	}
	if (!id)
		return flow_open(&d->meter.flow);
	return tenant && tenant->telemetry ? flow_open(&tenant->telemetry->flow) : NULL;
}

static void restore_histories(struct history_store *s)
{
	int64_t now_s = telemetry_now(s->daemon);
	_cleanup_statement_ sqlite3_stmt *q = NULL;

	if (sqlite3_prepare_v2(s->db, "SELECT key, level, chunk, data FROM history ORDER BY key, level, chunk", -1, &q,
			       NULL))
		return;
	while (sqlite3_step(q) == SQLITE_ROW) {
		size_t bytes = (size_t)sqlite3_column_bytes(q, 0);
		struct history *h = history_of(s->daemon, sqlite3_column_blob(q, 0), bytes);
		int level = sqlite3_column_int(q, 1);
		int64_t chunk = sqlite3_column_int64(q, 2);

		/* What a clock that has been set back says is in the future would keep the present out. */
		if (!h || level < 0 || level >= (int)HISTORY_LEVELS || chunk < 0 ||
		    chunk > now_s / history_step((unsigned int)level) / (int64_t)HISTORY_CHUNK ||
		    sqlite3_column_bytes(q, 3) != (int)history_chunk_bytes(h))
			continue;
		history_load(h, (unsigned int)level, chunk, sqlite3_column_blob(q, 3));
	}
}

/* What is of grants that have ended meanwhile. */
static void forget_ended(struct history_store *s)
{
	_cleanup_statement_ sqlite3_stmt *q = NULL, *totals = NULL, *history = NULL;

	if (sqlite3_prepare_v2(s->db, "SELECT key FROM totals UNION SELECT key FROM history", -1, &q, NULL) ||
	    sqlite3_prepare_v2(s->db, "DELETE FROM totals WHERE key = ?", -1, &totals, NULL) ||
	    sqlite3_prepare_v2(s->db, "DELETE FROM history WHERE key = ?", -1, &history, NULL))
		return;
	while (sqlite3_step(q) == SQLITE_ROW) {
		sqlite3_stmt *const from[] = { totals, history };

		if (history_of(s->daemon, sqlite3_column_blob(q, 0), (size_t)sqlite3_column_bytes(q, 0)))
			continue;
		for (unsigned int i = 0; i < 2; i++) {
			sqlite3_reset(from[i]);
			sqlite3_bind_value(from[i], 1, sqlite3_column_value(q, 0));
			sqlite3_step(from[i]);
		}
	}
}

void history_restore(struct history_store *s)
{
	restore_lines(s);
	restore_totals(s);
	restore_histories(s);
	forget_ended(s);
}
