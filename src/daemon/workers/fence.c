/* fence.c: see fence.h. */
#include "daemon/workers/fence.h"

#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/workers/cgroup.h"
#include "daemon/workers/worker.h"
#include "wire/worker.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The word of meted.yaml, and what it means to whoever reads the log. */
static const struct {
	uint32_t bit;
	const char *word, *text;
	bool root_only; /* nothing that another meted could have */
} parts[] = {
	{ WORKER_FENCE_USER, "user", "user namespace", false },
	{ WORKER_FENCE_NETWORK, "network", "network namespace", false },
	{ WORKER_FENCE_IPC, "ipc", "IPC namespace", false },
	{ WORKER_FENCE_MOUNTS, "mounts", "mount namespace", false },
	{ WORKER_FENCE_FILES, "files", "empty root", false },
	{ WORKER_FENCE_ID, "uid", "user id of its own", true },
	{ WORKER_FENCE_SCOPE, "scope", "Landlock for signals and sockets (Linux 6.12)", false },
	{ WORKER_FENCE_RULES, "landlock", "Landlock for files (Linux 5.13)", false },
	{ WORKER_FENCE_CGROUP, "cgroup", "cgroup", true },
};

#define FENCE_LEAST_UID 1000u
#define PARTS (sizeof(parts) / sizeof(*parts))

static uint32_t bit_of(const char *word, size_t length)
{
	for (size_t i = 0; i < PARTS; i++)
		if (strlen(parts[i].word) == length && !memcmp(parts[i].word, word, length))
			return parts[i].bit;
	return 0;
}

uint32_t fence_read(const char *words, char *why, size_t size)
{
	uint32_t bits = 0, bit;

	*why = 0;
	for (const char *p = words; *p;) {
		size_t length = strcspn(p, ", ");

		bit = length ? bit_of(p, length) : 0;
		if (length && !bit) {
			snprintf(why, size, "%.*s", (int)(length < 40 ? length : 40), p);
			return 0;
		}
		bits |= bit;
		p += length + (p[length] != 0);
	}
	return bits;
}

int fence_check_words(const char *value, char *why, size_t size)
{
	char word[48];
	size_t used;

	if (fence_read(value, word, sizeof(word)))
		return 0;
	used = (size_t)snprintf(why, size, "knows no \"%s\"; its words are", *word ? word : value);
	for (size_t i = 0; i < PARTS && used < size; i++)
		used += (size_t)snprintf(why + used, size - used, "%s %s", i ? "," : "", parts[i].word);
	return -EINVAL;
}

/* What is no number the setting itself refuses. */
int fence_check_uid(const char *value, char *why, size_t size)
{
	unsigned long long uid = strtoull(value, NULL, 10);

	if (!uid || uid >= FENCE_LEAST_UID)
		return 0;
	snprintf(why, size, "wants 0, or a number from %u on, below which users of the system are, not %.40s",
		 FENCE_LEAST_UID, value);
	return -EINVAL;
}

int fence_check_cgroup(const char *value, char *why, size_t size)
{
	if (!strcmp(value, FENCE_AUTO) || !strcmp(value, FENCE_OFF) || *value == '/')
		return 0;
	snprintf(why, size, "wants " FENCE_AUTO ", " FENCE_OFF " or the path of a cgroup's folder, not \"%.80s\"",
		 value);
	return -EINVAL;
}

int fence_check_libraries(const char *value, char *why, size_t size)
{
	char folder[PATH_MAX];
	size_t length;
	struct stat st;

	for (const char *p = value;; p += length + 1) {
		length = strcspn(p, ":");
		if (*p != '/' || length >= sizeof(folder) || strlen(value) >= FENCE_LIBRARIES) {
			snprintf(why, size,
				 "wants absolute paths of folders with colons between, %u bytes at most, not \"%.80s\"",
				 FENCE_LIBRARIES - 1, value);
			return -EINVAL;
		}
		snprintf(folder, sizeof(folder), "%.*s", (int)length, p);
		if (stat(folder, &st) || !S_ISDIR(st.st_mode)) {
			snprintf(why, size, "%.80s is no folder; correct it, or leave it out", folder);
			return -EINVAL;
		}
		if (!p[length])
			return 0;
	}
}

static bool is_used(const struct daemon *daemon, uid_t uid)
{
	const struct worker *w = daemon->workers;

	while (w && w->uid != uid)
		w = w->next;
	return w;
}

/* In a ring, so that one which has just come free is the last to be given again. */
uid_t fence_choose_uid(struct daemon *daemon)
{
	uint64_t first = daemon->fence.first_uid;

	if (geteuid() || !first)
		return 0;
	for (unsigned int i = 0; i < FENCE_UIDS; i++) {
		uid_t uid = (uid_t)(first + daemon->next_uid++ % FENCE_UIDS);

		if (!is_used(daemon, uid))
			return uid;
	}
	return 0;
}

static size_t list(char *text, size_t size, uint32_t bits)
{
	size_t used = 0;

	*text = 0;
	for (size_t i = 0; i < PARTS; i++)
		if (bits & parts[i].bit && used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", parts[i].text);
	return used;
}

/* What this meted could have, and its settings do not leave out. */
static uint32_t wanted(const struct daemon *daemon)
{
	const struct fence_options *o = &daemon->fence;
	uint32_t bits = 0;

	for (size_t i = 0; i < PARTS; i++)
		if (!geteuid() || !parts[i].root_only)
			bits |= parts[i].bit;
	if (!o->namespaces)
		bits &= ~(uint32_t)(WORKER_FENCE_USER | WORKER_FENCE_NETWORK | WORKER_FENCE_IPC | WORKER_FENCE_MOUNTS);
	if (!o->first_uid)
		bits &= ~(uint32_t)WORKER_FENCE_ID;
	if (o->cgroup && !strcmp(o->cgroup, FENCE_OFF))
		bits &= ~(uint32_t)WORKER_FENCE_CGROUP;
	return bits;
}

static void say(struct daemon *daemon, uint32_t held)
{
	char has[512], lacks[512];

	list(has, sizeof(has), held);
	if (!list(lacks, sizeof(lacks), wanted(daemon) & ~held))
		log_line("workers are closed in by their filter of system calls and: %s", has);
	else
		log_line(
			"workers are closed in by their filter of system calls%s%s; not by: %s, which this machine, or "
			"meted's rights, do not give",
			*has ? " and: " : "", has, lacks);
	daemon->fence_held = held;
	daemon->fence_known = true;
}

bool fence_take(struct daemon *daemon, uint32_t held, char *why, size_t size)
{
	uint32_t demanded = daemon->fence.demand ? fence_read(daemon->fence.demand, why, size) : 0;
	char lacks[512];

	/* The worker says that it would enter one. */
	if (!cgroup_there(daemon))
		held &= ~(uint32_t)WORKER_FENCE_CGROUP;
	if (!daemon->fence_known || held != daemon->fence_held)
		say(daemon, held);
	if (!list(lacks, sizeof(lacks), demanded & ~held))
		return true;
	snprintf(why, size, "workers.demand of meted.yaml wants what workers do not get here: %.180s", lacks);
	return false;
}

json_t *fence_json(const struct daemon *daemon)
{
	json_t *held, *missing;

	if (!daemon->fence_known)
		return json_null();
	held = json_array();
	missing = json_array();
	for (size_t i = 0; i < PARTS; i++)
		if (daemon->fence_held & parts[i].bit)
			json_array_append_new(held, json_string(parts[i].word));
		else if (wanted(daemon) & parts[i].bit)
			json_array_append_new(missing, json_string(parts[i].word));
	return json_pack("{s:o s:o}", "held", held, "missing", missing);
}
