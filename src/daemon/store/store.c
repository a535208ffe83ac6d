/* store.c: grants in SQLite. */
#include "daemon/store/store.h"

#include "base/cleanup.h"
#include "base/kept_text.h"
#include "daemon/store/db.h"
#include "daemon/store/health.h"
#include "daemon/store/site.h"
#include "daemon/store/steps.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define COLUMNS_BYTES 2048 /* names of a table's columns */
#define BUSY_MS 2000	   /* for which a start waits for another program's lock */
#define TRY_TIMES 5
#define TRY_PAUSE_US 20000

/* SQLite says that it cannot, and tries again for reading: what the first try met is asked for here. */
static const char *why_not_open(const struct store *store)
{
	_cleanup_close_ int fd = open(store->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? strerror(errno) : sqlite3_errmsg(store->db);
}

/* The reason and the remedy. */
int store_fail(struct store *store, const char *what, char *error, size_t size)
{
	int code = sqlite3_errcode(store->db);

	if (code == SQLITE_FULL || sqlite3_extended_errcode(store->db) == SQLITE_IOERR_WRITE) {
		snprintf(error, size,
			 "cannot %s: no room to write %s: the disk is full or a limit is reached; free some room", what,
			 store->path);
		return -ENOSPC;
	}
	if (code == SQLITE_BUSY && site_locked_by(store->path) > 0) {
		site_say_locked(store->path, site_locked_by(store->path), error, size);
		return -EIO;
	}
	if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) {
		site_say_damaged(store->path, sqlite3_errmsg(store->db), error, size);
		return -EBADMSG;
	}
	snprintf(error, size, "cannot %s: %s: %s: check the file and its folder", what, store->path,
		 code == SQLITE_CANTOPEN ? why_not_open(store) : sqlite3_errmsg(store->db));
	return -EIO;
}

/* The file has a name: what is written to one that was removed under us would be gone with this meted. */
static bool stands(const struct store *store)
{
	struct stat st;

	return !store->inode || (!stat(store->path, &st) && st.st_ino == store->inode && st.st_dev == store->device);
}

static int fail_gone(const struct store *store, const char *what, char *error, size_t size)
{
	snprintf(error, size,
		 "cannot %s: %s was moved away or removed while meted ran: put it back, or restart meted, which then "
		 "begins without the grants in it",
		 what, store->path);
	return -ENOENT;
}

static int run(struct store *store, const char *sql)
{
	return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : -1;
}

/* Every page of it makes sense. */
static int check_pages(struct store *store, char *error, size_t size)
{
	_cleanup_statement_ sqlite3_stmt *s = NULL;
	const char *said;
	char why[200];

	if (sqlite3_prepare_v2(store->db, "PRAGMA quick_check(1)", -1, &s, NULL) != SQLITE_OK ||
	    sqlite3_step(s) != SQLITE_ROW)
		return store_fail(store, "check the store", error, size);
	said = (const char *)sqlite3_column_text(s, 0);
	if (said && !strcmp(said, "ok"))
		return 0;
	snprintf(why, sizeof(why), "%s", said ? said : "it cannot be checked");
	for (char *c = why; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = ' ';
	site_say_damaged(store->path, why, error, size);
	return -EBADMSG;
}

/* The names of a table's columns, in their order. Value: SQLITE_OK, or why not. */
static int read_columns(sqlite3 *db, const char *table, char *ret, size_t size)
{
	_cleanup_statement_ sqlite3_stmt *s = NULL;
	int r = sqlite3_prepare_v2(db, "SELECT name FROM pragma_table_info(?) ORDER BY cid", -1, &s, NULL);
	size_t used = 0;

	*ret = 0;
	if (r != SQLITE_OK)
		return r;
	sqlite3_bind_text(s, 1, table, -1, SQLITE_STATIC);
	while ((r = sqlite3_step(s)) == SQLITE_ROW && used < size)
		used += (size_t)snprintf(ret + used, size - used, "%s%s", used ? "," : "",
					 (const char *)sqlite3_column_text(s, 0));
	return r == SQLITE_DONE ? SQLITE_OK : SQLITE_ERROR;
}

/* Rows are written by their place: a column more or less would be noticed at the first grant that is kept. */
static int compare_tables(struct store *store, sqlite3 *own, char *error, size_t size)
{
	_cleanup_statement_ sqlite3_stmt *s = NULL;
	char wanted[COLUMNS_BYTES], found[COLUMNS_BYTES], why[128];
	const char *table;
	int step;

	if (sqlite3_prepare_v2(own, "SELECT name FROM sqlite_master WHERE type = 'table'", -1, &s, NULL) != SQLITE_OK)
		return -ENOMEM;
	while ((step = sqlite3_step(s)) == SQLITE_ROW) {
		table = (const char *)sqlite3_column_text(s, 0);
		if (read_columns(own, table, wanted, sizeof(wanted)) != SQLITE_OK)
			return -ENOMEM;
		if (read_columns(store->db, table, found, sizeof(found)) != SQLITE_OK)
			return store_fail(store, "check the store", error, size);
		if (strcmp(wanted, found)) {
			snprintf(why, sizeof(why), "its table %s has other columns than meted's", table);
			site_say_damaged(store->path, why, error, size);
			return -EBADMSG;
		}
	}
	return step == SQLITE_DONE ? 0 : -ENOMEM;
}

static int check_tables(struct store *store, char *error, size_t size)
{
	sqlite3 *own = NULL;
	int r = -ENOMEM;

	snprintf(error, size, "no memory");
	if (sqlite3_open(":memory:", &own) == SQLITE_OK && !store_migrate(own, 0))
		r = compare_tables(store, own, error, size);
	sqlite3_close(own);
	return r;
}

/* What SQLite's tables of the kind STRICT refuse, and meted never makes: the file was changed by another hand. */
static int check_made_here(struct store *store, char *error, size_t size)
{
	static const struct {
		const char *sql, *words;
	} strange[] = {
		{ "SELECT name FROM sqlite_master WHERE type IN ('view', 'trigger')", "it has a view or a trigger" },
		{ "SELECT name FROM grants GROUP BY name HAVING count(*) > 1", "it has two grants of a name" },
		{ "SELECT grant_id FROM shares GROUP BY grant_id, place HAVING count(*) > 1",
		  "a grant has two shares in one place" },
		{ "SELECT grant_id FROM shares WHERE grant_id NOT IN (SELECT id FROM grants)",
		  "it has a share of no grant" },
	};
	int r = check_tables(store, error, size);

	if (r)
		return r;
	for (size_t i = 0; i < sizeof(strange) / sizeof(*strange); i++) {
		_cleanup_statement_ sqlite3_stmt *s = NULL;
		int step;

		if (sqlite3_prepare_v2(store->db, strange[i].sql, -1, &s, NULL) != SQLITE_OK)
			return store_fail(store, "check the store", error, size);
		step = sqlite3_step(s);
		if (step == SQLITE_ROW) {
			site_say_damaged(store->path, strange[i].words, error, size);
			return -EBADMSG;
		}
		if (step != SQLITE_DONE)
			return store_fail(store, "check the store", error, size);
	}
	return 0;
}

/*
 * A rollback journal, not a write-ahead log: that would map a file of which a full disk makes a SIGBUS. Exclusive: the
 * runtime directory's lock says that there is only one meted, and no lock files are needed.
 */
static int prepare(struct store *store, bool copied, char *error, size_t size)
{
	bool in_memory = !strcmp(store->path, ":memory:");
	int r, version;

	if (run(store, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = FULL;"
		       "PRAGMA foreign_keys = ON;") ||
	    store_version_of(store->db, &version))
		return store_fail(store, "open the store", error, size);
	if (version <= 0 && !in_memory) {
		site_say_damaged(store->path, "it has no version", error, size);
		return -EBADMSG;
	}
	r = store_refuse_later(store->path, version, error, size);
	if (!r && version && !copied)
		r = check_pages(store, error, size);
	if (r || version == (int)store_step_count)
		return r;
	if (!r && version && !copied)
		r = store_keep_copy(store->db, store->path, version, error, size);
	if (r)
		return r;
	if (store_migrate(store->db, version)) {
		r = store_fail(store, "make the store", error, size);
		if (!sqlite3_get_autocommit(store->db))
			run(store, "ROLLBACK");
	}
	return r;
}

int store_open(const char *path, bool copied, struct store **ret, char *error, size_t size)
{
	struct store *store = calloc(1, sizeof(*store));
	bool missing = false;
	struct stat st;
	int r = 0;

	if (!store) {
		snprintf(error, size, "no memory");
		return -ENOMEM;
	}
	snprintf(store->path, sizeof(store->path), "%s", path);
	if (strcmp(path, ":memory:"))
		r = site_check(path, &missing, error, size);
	if (!r && missing)
		r = site_make(path, error, size);
	if (r) {
		store_close(store);
		return r;
	}
	if (sqlite3_open_v2(path, &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL) !=
	    SQLITE_OK)
		r = store->db ? store_fail(store, "open the store", error, size) : -ENOMEM;
	if (!r) {
		/* A backup may read it just now. */
		sqlite3_busy_timeout(store->db, BUSY_MS);
		r = prepare(store, copied, error, size);
		sqlite3_busy_timeout(store->db, 0);
	}
	if (r) {
		store_close(store);
		return r;
	}
	if (!stat(path, &st)) {
		store->device = st.st_dev;
		store->inode = st.st_ino;
	}
	*ret = store;
	return 0;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	sqlite3_close(store->db);
	free(store);
}

int store_step_done(sqlite3_stmt *s)
{
	return sqlite3_step(s) == SQLITE_DONE ? 0 : -1;
}

#define SHARE_FIXED "device_index, uuid, name, total_bytes, granule_bytes, quota_units, target_units, frozen"
enum { SHARE_FIXED_COUNT = 8 }; /* of these columns; those of model/words.h follow */
#define SHARE_SQL_BYTES 640

/* BEFORE COLUMNS, the words' columns, AFTER. */
static const char *share_sql(const char *before, const char *after, char sql[SHARE_SQL_BYTES])
{
	size_t used = (size_t)snprintf(sql, SHARE_SQL_BYTES, "%s" SHARE_FIXED, before);

	for (size_t i = 0; i < SHARE_WORD_COUNT; i++)
		used += (size_t)snprintf(sql + used, SHARE_SQL_BYTES - used, ", %s", word_table[i].column);
	snprintf(sql + used, SHARE_SQL_BYTES - used, "%s", after);
	return sql;
}

static void bind_word(sqlite3_stmt *s, int at, const struct share_word *word, const struct policy_wish *w)
{
	const char *name = word_name(word, w);

	if (word_is_name(word))
		sqlite3_bind_text(s, at, name ? name : "", -1, SQLITE_STATIC);
	else if (word->type == WORD_PERCENT)
		sqlite3_bind_double(s, at, word_number(word, w));
	else
		sqlite3_bind_int64(s, at, (sqlite3_int64)word_kept(word, w));
}

static int write_share(struct store *store, const struct grant *g, unsigned int i)
{
	_cleanup_statement_ sqlite3_stmt *s = NULL;
	const struct grant_share *share = &g->share[i];
	char sql[SHARE_SQL_BYTES], values[3 * (SHARE_FIXED_COUNT + SHARE_WORD_COUNT + 2) + 16] = ") VALUES (?";
	int at = 2 + SHARE_FIXED_COUNT;

	for (int n = 1; n < at + (int)SHARE_WORD_COUNT; n++)
		strcat(values, ",?");
	strcat(values, ")");
	if (sqlite3_prepare_v2(store->db, share_sql("INSERT INTO shares (grant_id, place, ", values, sql), -1, &s,
			       NULL) != SQLITE_OK)
		return -1;
	sqlite3_bind_int64(s, 1, (sqlite3_int64)g->id);
	sqlite3_bind_int64(s, 2, i);
	sqlite3_bind_int64(s, 3, share->device.index);
	sqlite3_bind_blob(s, 4, share->device.uuid, DEVICE_UUID_BYTES, SQLITE_STATIC);
	sqlite3_bind_text(s, 5, share->device.name, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 6, (sqlite3_int64)share->device.total_bytes);
	sqlite3_bind_int64(s, 7, share->device.granule_bytes);
	sqlite3_bind_int64(s, 8, (sqlite3_int64)share->ledger.quota_units);
	sqlite3_bind_int64(s, 9, (sqlite3_int64)share->ledger.target_units);
	sqlite3_bind_int(s, 10, share->compute.terms.frozen);
	for (size_t n = 0; n < SHARE_WORD_COUNT; n++)
		bind_word(s, at + 1 + (int)n, &word_table[n], &share->compute.wish);
	return store_step_done(s);
}

static int write_grant(struct store *store, const struct grant *g)
{
	_cleanup_statement_ sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(store->db, "INSERT INTO grants VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
			       -1, &s, NULL) != SQLITE_OK)
		return -1;
	sqlite3_bind_int64(s, 1, (sqlite3_int64)g->id);
	sqlite3_bind_text(s, 2, g->name, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 3, g->uid);
	sqlite3_bind_int64(s, 4, g->gid);
	sqlite3_bind_int(s, 5, (int)g->kind);
	sqlite3_bind_text(s, 6, g->libcuda, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 7, g->libnvml, -1, SQLITE_STATIC);
	sqlite3_bind_int(s, 8, g->runner_pid);
	sqlite3_bind_int64(s, 9, (sqlite3_int64)g->runner_start);
	sqlite3_bind_int64(s, 10, g->created);
	sqlite3_bind_int(s, 11, g->overcommit);
	sqlite3_bind_int(s, 12, g->wall);
	sqlite3_bind_int(s, 13, g->container.is);
	sqlite3_bind_int(s, 14, g->container.keep);
	sqlite3_bind_text(s, 15, g->container.spec, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 16, g->container.files, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 17, g->expires);
	for (int i = 0; i < (int)GRANT_LABELS; i++)
		sqlite3_bind_text(s, 18 + i, g->label[i], -1, SQLITE_STATIC);
	sqlite3_bind_int(s, 18 + (int)GRANT_LABELS, g->spill);
	sqlite3_bind_int(s, 19 + (int)GRANT_LABELS, g->suspended);
	sqlite3_bind_int64(s, 20 + (int)GRANT_LABELS, (sqlite3_int64)g->resident_units);
	if (store_step_done(s))
		return -1;
	for (unsigned int i = 0; i < g->share_count; i++)
		if (write_share(store, g, i))
			return -1;
	return 0;
}

static int delete_grant(struct store *store, uint64_t id)
{
	_cleanup_statement_ sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(store->db, "DELETE FROM grants WHERE id = ?", -1, &s, NULL) != SQLITE_OK)
		return -1;
	sqlite3_bind_int64(s, 1, (sqlite3_int64)id);
	return store_step_done(s);
}

/* One transaction: deletes the grant `id`, and writes `g` unless it is NULL. */
static int replace(struct store *store, uint64_t id, const struct grant *g, const char *what, char *error, size_t size)
{
	int r;

	if (g && !stands(store))
		return fail_gone(store, what, error, size);
	if (!run(store, "BEGIN IMMEDIATE") && !delete_grant(store, id) && (!g || !write_grant(store, g)) &&
	    !run(store, "COMMIT"))
		return 0;
	r = store_fail(store, what, error, size);
	if (!sqlite3_get_autocommit(store->db))
		run(store, "ROLLBACK");
	return r;
}

int store_add(struct store *store, const struct grant *grant, char *error, size_t size)
{
	return replace(store, grant->id, grant, "keep the grant", error, size);
}

int store_update(struct store *store, const struct grant *grant, char *error, size_t size)
{
	return replace(store, grant->id, grant, "keep the grant's new share", error, size);
}

int store_remove(struct store *store, uint64_t id, char *error, size_t size)
{
	store_drop_quarantine(store, id);
	return replace(store, id, NULL, "remove the grant", error, size);
}

void store_read_text(sqlite3_stmt *s, int column, char *to, size_t size)
{
	const unsigned char *text = sqlite3_column_text(s, column);

	snprintf(to, size, "%s", text ? (const char *)text : "");
}

/* Value: false: a name that this meted does not know. */
static bool read_word(sqlite3_stmt *s, int column, const struct share_word *word, struct policy_wish *w)
{
	char name[32];

	if (!word_is_name(word)) {
		word_keep(word, w, sqlite3_column_double(s, column));
		return true;
	}
	store_read_text(s, column, name, sizeof(name));
	return !*name || word_set_name(word, w, name, NULL);
}

static int read_compute(sqlite3_stmt *s, struct grant_compute *c)
{
	words_clear(&c->wish);
	for (size_t i = 0; i < SHARE_WORD_COUNT; i++)
		if (!read_word(s, SHARE_FIXED_COUNT + (int)i, &word_table[i], &c->wish))
			return -1;
	if (c->wish.policy < 0 || policy_terms(&c->wish, NULL, &c->terms, NULL, 0))
		return -1;
	c->terms.frozen = sqlite3_column_int(s, SHARE_FIXED_COUNT - 1);
	return 0;
}

/* The figures of a share are ones that meted can have given. */
static bool share_row_fits(sqlite3_stmt *s)
{
	sqlite3_int64 granule = sqlite3_column_int64(s, 4);

	if (sqlite3_column_int64(s, 3) < 0 || granule < 1 || granule > UINT32_MAX || granule & (granule - 1))
		return false;
	for (int column = 5; column <= 6; column++) /* the quota, and what it is to be */
		if (sqlite3_column_int64(s, column) < 0 || sqlite3_column_int64(s, column) > WIRE_MAX_UNITS)
			return false;
	return true;
}

static int read_shares(struct store *store, struct grant *g)
{
	_cleanup_statement_ sqlite3_stmt *s = NULL;
	char sql[SHARE_SQL_BYTES];
	int r;

	if (sqlite3_prepare_v2(store->db, share_sql("SELECT ", " FROM shares WHERE grant_id = ? ORDER BY place", sql),
			       -1, &s, NULL) != SQLITE_OK)
		return -1;
	sqlite3_bind_int64(s, 1, (sqlite3_int64)g->id);
	while ((r = sqlite3_step(s)) == SQLITE_ROW && g->share_count < WIRE_MAX_DEVICES) {
		struct grant_share *share = &g->share[g->share_count++];

		if (sqlite3_column_bytes(s, 1) != DEVICE_UUID_BYTES)
			return -1;
		if (!share_row_fits(s))
			return -1;
		share->device.kind = g->kind;
		share->device.index = (unsigned int)sqlite3_column_int64(s, 0);
		memcpy(share->device.uuid, sqlite3_column_blob(s, 1), DEVICE_UUID_BYTES);
		store_read_text(s, 2, share->device.name, sizeof(share->device.name));
		share->device.total_bytes = (uint64_t)sqlite3_column_int64(s, 3);
		share->device.granule_bytes = (uint32_t)sqlite3_column_int64(s, 4);
		ledger_init(&share->ledger, (uint64_t)sqlite3_column_int64(s, 5));
		ledger_shrink_soon(&share->ledger, (uint64_t)sqlite3_column_int64(s, 6));
		if (read_compute(s, &share->compute))
			return -1;
	}
	return r == SQLITE_DONE && g->share_count ? 0 : -1;
}

/* Without memory: none, as of a driver that has gone. */
static const char *read_path(sqlite3_stmt *s, int column)
{
	char path[GRANT_PATH_BYTES];
	const char *kept;

	store_read_text(s, column, path, sizeof(path));
	kept = kept_text(path);
	return kept ? kept : "";
}

static void read_grant(sqlite3_stmt *s, struct grant *g)
{
	*g = (struct grant){
		.id = (uint64_t)sqlite3_column_int64(s, 0),
		.uid = (uid_t)sqlite3_column_int64(s, 2),
		.gid = (gid_t)sqlite3_column_int64(s, 3),
		.kind = sqlite3_column_int(s, 4),
		.runner_pid = sqlite3_column_int(s, 7),
		.runner_start = (uint64_t)sqlite3_column_int64(s, 8),
		.created = sqlite3_column_int64(s, 9),
		.overcommit = sqlite3_column_int(s, 10),
		.wall = sqlite3_column_int(s, 11),
		.container.is = sqlite3_column_int(s, 12),
		.container.keep = sqlite3_column_int(s, 13),
		.expires = sqlite3_column_int64(s, 16),
		.spill = sqlite3_column_int(s, 17 + (int)GRANT_LABELS),
		.suspended = sqlite3_column_int(s, 18 + (int)GRANT_LABELS),
		.resident_units = (uint64_t)sqlite3_column_int64(s, 19 + (int)GRANT_LABELS),
	};
	store_read_text(s, 14, g->container.spec, sizeof(g->container.spec));
	store_read_text(s, 15, g->container.files, sizeof(g->container.files));
	for (int i = 0; i < (int)GRANT_LABELS; i++)
		store_read_text(s, 17 + i, g->label[i], sizeof(g->label[i]));
	store_read_text(s, 1, g->name, sizeof(g->name));
	g->libcuda = read_path(s, 5);
	g->libnvml = read_path(s, 6);
}

/* As share_row_fits(): of the row that was read. A name that was cut, or ends at a zero byte, is another's. */
static bool grant_row_fits(sqlite3_stmt *s, const struct grant *g)
{
	for (int column = 2; column <= 3; column++) /* user and group */
		if (sqlite3_column_int64(s, column) < 0 || sqlite3_column_int64(s, column) > UINT32_MAX)
			return false;
	return sqlite3_column_int64(s, 4) > 0 && sqlite3_column_int64(s, 4) < DEVICE_KINDS &&
	       grant_name_valid(g->name) && (size_t)sqlite3_column_bytes(s, 1) == strlen(g->name);
}

int store_policy(struct store *store, const uint8_t uuid[DEVICE_UUID_BYTES])
{
	_cleanup_statement_ sqlite3_stmt *s = NULL;
	char name[32];

	if (sqlite3_prepare_v2(store->db, "SELECT policy FROM defaults WHERE uuid = ?", -1, &s, NULL) != SQLITE_OK)
		return -1;
	sqlite3_bind_blob(s, 1, uuid, DEVICE_UUID_BYTES, SQLITE_STATIC);
	if (sqlite3_step(s) != SQLITE_ROW)
		return -1;
	store_read_text(s, 0, name, sizeof(name));
	return policy_parse(name, NULL);
}

int store_set_policy(struct store *store, const uint8_t uuid[DEVICE_UUID_BYTES], enum policy policy, char *error,
		     size_t size)
{
	_cleanup_statement_ sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(store->db, "INSERT OR REPLACE INTO defaults VALUES (?,?)", -1, &s, NULL) == SQLITE_OK) {
		sqlite3_bind_blob(s, 1, uuid, DEVICE_UUID_BYTES, SQLITE_STATIC);
		sqlite3_bind_text(s, 2, policy_name(policy), -1, SQLITE_STATIC);
		if (!store_step_done(s))
			return 0;
	}
	return store_fail(store, "keep the device's policy", error, size);
}

bool store_native(struct store *store, const uint8_t uuid[DEVICE_UUID_BYTES])
{
	_cleanup_statement_ sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(store->db, "SELECT 1 FROM natives WHERE uuid = ?", -1, &s, NULL) != SQLITE_OK)
		return false;
	sqlite3_bind_blob(s, 1, uuid, DEVICE_UUID_BYTES, SQLITE_STATIC);
	return sqlite3_step(s) == SQLITE_ROW;
}

int store_set_native(struct store *store, const uint8_t uuid[DEVICE_UUID_BYTES], bool allowed, char *error, size_t size)
{
	const char *text = allowed ? "INSERT OR REPLACE INTO natives VALUES (?)" : "DELETE FROM natives WHERE uuid = ?";
	_cleanup_statement_ sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(store->db, text, -1, &s, NULL) == SQLITE_OK) {
		sqlite3_bind_blob(s, 1, uuid, DEVICE_UUID_BYTES, SQLITE_STATIC);
		if (!store_step_done(s))
			return 0;
	}
	return store_fail(store, "keep whether the device lets native run", error, size);
}

int store_load(struct store *store, int (*fn)(const struct grant *grant, void *owner), void *owner, char *error,
	       size_t size)
{
	_cleanup_statement_ sqlite3_stmt *s = NULL;
	_cleanup_free_ struct grant *g = malloc(sizeof(*g));
	char why[128];
	int r, step;

	if (!g)
		return -ENOMEM;
	r = check_made_here(store, error, size);
	if (r)
		return r;
	if (sqlite3_prepare_v2(store->db, "SELECT * FROM grants ORDER BY id", -1, &s, NULL) != SQLITE_OK)
		return store_fail(store, "read the grants", error, size);
	while ((step = sqlite3_step(s)) == SQLITE_ROW) {
		read_grant(s, g);
		if (!grant_row_fits(s, g) || read_shares(store, g)) {
			snprintf(why, sizeof(why), "at grant %s", grant_name_valid(g->name) ? g->name : "?");
			site_say_damaged(store->path, why, error, size);
			return -EBADMSG;
		}
		r = fn(g, owner);
		if (r)
			return r;
	}
	return step == SQLITE_DONE ? 0 : store_fail(store, "read the grants", error, size);
}

/* Copies. */

int store_snapshot(struct store *store)
{
	_cleanup_close_ int fd = memfd_create("mete-store", MFD_CLOEXEC);
	sqlite3_int64 bytes = 0;
	unsigned char *data;
	int r;

	if (fd < 0)
		return -errno;
	data = sqlite3_serialize(store->db, "main", &bytes, 0);
	r = data ? store_write(fd, data, (size_t)bytes) : -ENOMEM;
	sqlite3_free(data);
	return r ? r : steal_fd(&fd);
}

int store_keep(struct store *store, char *error, size_t size)
{
	return store_keep_copy(store->db, store->path, (int)store_step_count, error, size);
}

/* Takes the copy into the connection's memory. */
static int take_copy(struct store *store, int snapshot)
{
	off_t bytes = lseek(snapshot, 0, SEEK_END);
	unsigned char *data = bytes > 0 ? sqlite3_malloc64((sqlite3_uint64)bytes) : NULL;

	if (!data)
		return bytes > 0 ? -ENOMEM : -EBADMSG;
	if (pread(snapshot, data, (size_t)bytes, 0) != (ssize_t)bytes) {
		sqlite3_free(data);
		return -EIO;
	}
	/* In the mode WAL, into which another program may have put the file, a copy in memory cannot be opened. */
	if (bytes > 19 && data[18] == 2 && data[19] == 2)
		data[18] = data[19] = 1;
	return sqlite3_deserialize(store->db, "main", data, bytes, bytes,
				   SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) == SQLITE_OK
		       ? 0
		       : -EBADMSG;
}

static int ignore(const struct grant *grant, void *owner)
{
	(void)grant;
	(void)owner;
	return 0;
}

int store_check(int snapshot, char *error, size_t size)
{
	struct store *store = calloc(1, sizeof(*store));
	int r = -ENOMEM;

	snprintf(error, size, "the copy of the store cannot be read");
	if (!store)
		return r;
	strcpy(store->path, "the store");
	if (sqlite3_open(":memory:", &store->db) == SQLITE_OK)
		r = take_copy(store, snapshot);
	if (!r)
		r = prepare(store, true, error, size);
	if (r == -EPROTO)
		snprintf(error, size,
			 "the store is of a later meted than this one: an older release takes over by a restart, with "
			 "the copy of the store (mete.db.v%u) that was kept before the upgrade",
			 store_step_count);
	if (!r)
		r = store_load(store, ignore, NULL, error, size);
	store_close(store);
	return r;
}

/* Reads the file into a memory file. Value: its descriptor or -errno. */
static int copy_file(const char *path)
{
	_cleanup_close_ int from = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	_cleanup_close_ int to = memfd_create("mete-store", MFD_CLOEXEC);
	char part[65536];
	ssize_t n;
	int r = 0;

	if (from < 0 || to < 0)
		return -errno;
	while (!r && (n = read(from, part, sizeof(part))) > 0)
		r = store_write(to, part, (size_t)n);
	return r ? r : n < 0 ? -errno : steal_fd(&to);
}

/* Something is being written, or was when its writer died: the file alone says nothing then. */
static bool has_journal(const char *path)
{
	char journal[GRANT_PATH_BYTES + 16];
	struct stat st;

	snprintf(journal, sizeof(journal), "%s-journal", path);
	return !stat(journal, &st) && st.st_size;
}

static int try_copy(const char *path, int snapshot, char *error, size_t size)
{
	struct store *store = calloc(1, sizeof(*store));
	int r = -ENOMEM;

	if (!store)
		return r;
	snprintf(store->path, sizeof(store->path), "%s", path);
	if (sqlite3_open(":memory:", &store->db) == SQLITE_OK)
		r = take_copy(store, snapshot);
	if (r == -EBADMSG)
		site_say_damaged(path, "it cannot be read", error, size);
	if (!r)
		r = check_pages(store, error, size);
	if (!r)
		r = prepare(store, true, error, size);
	if (!r)
		r = store_load(store, ignore, NULL, error, size);
	store_close(store);
	return r;
}

int store_try(const char *path, char *error, size_t size)
{
	_cleanup_close_ int snapshot = -1;
	bool missing = false;
	int r = site_check(path, &missing, error, size);

	if (!r && missing)
		return site_check_room(path, error, size);

	for (int i = 0; !r && i < TRY_TIMES; i++) {
		cleanup_close(&snapshot);
		snapshot = copy_file(path);
		if (snapshot < 0) {
			snprintf(error, size, "%s cannot be read: %s: check the file and its folder", path,
				 strerror(-snapshot));
			return snapshot;
		}
		r = try_copy(path, snapshot, error, size);
		if (!r || !has_journal(path))
			break;
		usleep(TRY_PAUSE_US);
		r = 0;
	}
	return r;
}
