/* subordinate.c: see subordinate.h. */
#include "daemon/subordinate.h"

#include "base/cleanup.h"
#include "daemon/owner.h"

#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define PLACE "/etc/subuid"
#define MOST 65536u	 /* ranges */
#define GROUPS_MOST 64	 /* of a user */
#define NAME_BYTES 4096u /* of what the system knows of a user */
#define FIRST_MS 1000u	 /* that a start waits */
#define AGAIN_S 60	 /* who is in which group is nothing that a file's time tells */

struct person {
	struct person *next;
	uid_t user;
	unsigned int group_count;
	gid_t group[GROUPS_MOST];
};

struct range {
	uint64_t first, end;
	uid_t user;
	const struct person *person; /* NULL: nothing is known of the user's groups */
};

struct table {
	struct range *range; /* by `first` */
	size_t count, room;
	struct person *people;
};

/* The loop's own. */
static struct table known;
static struct stat seen;
static time_t looked, asked; /* in seconds of the clock that is cheap */

/* A service of names may take as long as it likes: a thread asks it. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool runs, fresh;
	struct table table; /* fresh: for the loop to take */
} names = { .lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER };

static void table_free(struct table *t)
{
	struct person *next;

	for (struct person *p = t->people; p; p = next) {
		next = p->next;
		free(p);
	}
	free(t->range);
	*t = (struct table){ 0 };
}

/* By name or number. */
static bool find_user(const char *text, struct passwd *ret, char room[NAME_BYTES])
{
	struct passwd *found = NULL;
	unsigned long uid;
	char *end;

	uid = strtoul(text, &end, 10);
	if (*text && !*end) {
		if (getpwuid_r((uid_t)uid, ret, room, NAME_BYTES, &found) || !found)
			*ret = (struct passwd){ .pw_uid = (uid_t)uid };
		return true;
	}
	return !getpwnam_r(text, ret, room, NAME_BYTES, &found) && found;
}

static const struct person *add_person(struct table *t, const struct passwd *user)
{
	int count = GROUPS_MOST;
	struct person *p;

	for (p = t->people; p; p = p->next)
		if (p->user == user->pw_uid)
			return p;
	p = user->pw_name ? calloc(1, sizeof(*p)) : NULL;
	if (!p)
		return NULL;
	p->user = user->pw_uid;
	/* Of one who is in more of them the first ones count. */
	getgrouplist(user->pw_name, user->pw_gid, p->group, &count);
	p->group_count = (unsigned int)(count < GROUPS_MOST ? count : GROUPS_MOST);
	p->next = t->people;
	t->people = p;
	return p;
}

static bool read_range(struct table *t, char *line, struct range *ret)
{
	char *first = strchr(line, ':'), *count = first ? strchr(first + 1, ':') : NULL, room[NAME_BYTES];
	struct passwd user;

	if (!count)
		return false;
	*first++ = *count++ = 0;
	ret->first = strtoul(first, NULL, 10);
	ret->end = ret->first + strtoul(count, NULL, 10);
	/* In root's ranges are containers' users, who are not root. */
	if (!ret->first || ret->end <= ret->first || ret->end > UINT32_MAX || !find_user(line, &user, room) ||
	    owner_is(user.pw_uid))
		return false;
	ret->user = user.pw_uid;
	ret->person = add_person(t, &user);
	return true;
}

static int compare(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

static void read_all(struct table *t)
{
	_cleanup_fclose_ FILE *f = fopen(PLACE, "re");
	struct range one, *more;
	char line[512];

	while (f && fgets(line, sizeof(line), f) && t->count < MOST) {
		if (!read_range(t, line, &one))
			continue;
		if (t->count == t->room) {
			more = realloc(t->range, (t->room + 64) * sizeof(*more));
			if (!more)
				break;
			t->range = more;
			t->room += 64;
		}
		t->range[t->count++] = one;
	}
	if (t->count)
		qsort(t->range, t->count, sizeof(*t->range), compare);
}

static void *ask_names(void *unused)
{
	struct table t = { 0 };

	read_all(&t);
	pthread_mutex_lock(&names.lock);
	table_free(&names.table);
	names.table = t;
	names.fresh = true;
	names.runs = false;
	pthread_cond_broadcast(&names.ended);
	pthread_mutex_unlock(&names.lock);
	return unused;
}

static void take_locked(void)
{
	if (!names.fresh)
		return;
	table_free(&known);
	known = names.table;
	names.table = (struct table){ 0 };
	names.fresh = false;
}

/* At the first time the answer is waited for, if it does not take too long. */
static void ask_locked(bool first)
{
	struct timespec until;
	pthread_t thread;

	names.runs = !pthread_create(&thread, NULL, ask_names, NULL);
	if (!names.runs)
		return;
	pthread_detach(thread);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += FIRST_MS / 1000;
	while (first && names.runs)
		if (pthread_cond_timedwait(&names.ended, &names.lock, &until))
			return;
}

static bool has_changed(void)
{
	struct stat st;

	if (stat(PLACE, &st))
		st = (struct stat){ 0 };
	if (st.st_size == seen.st_size && st.st_ino == seen.st_ino && st.st_mtim.tv_sec == seen.st_mtim.tv_sec &&
	    st.st_mtim.tv_nsec == seen.st_mtim.tv_nsec)
		return false;
	seen = st;
	return true;
}

/* Once a second at most. */
static void look(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	if (looked == now.tv_sec + 1)
		return;
	pthread_mutex_lock(&names.lock);
	take_locked();
	if (!names.runs && (has_changed() || (known.count && now.tv_sec - asked >= AGAIN_S))) {
		asked = now.tv_sec;
		ask_locked(!looked);
		take_locked();
	}
	pthread_mutex_unlock(&names.lock);
	looked = now.tv_sec + 1; /* 0: never */
}

static const struct range *find(uid_t uid)
{
	size_t low = 0, high;

	look();
	high = known.count;
	while (low < high) {
		size_t at = low + (high - low) / 2;

		if (known.range[at].end <= uid)
			low = at + 1;
		else
			high = at;
	}
	return low < known.count && known.range[low].first <= uid ? &known.range[low] : NULL;
}

uid_t subordinate_user(uid_t uid)
{
	const struct range *r = find(uid);

	return r ? r->user : uid;
}

bool subordinate_groups(uid_t uid, const gid_t **ret, unsigned int *ret_count)
{
	const struct range *r = find(uid);

	if (!r)
		return false;
	*ret = r->person ? r->person->group : NULL;
	*ret_count = r->person ? r->person->group_count : 0;
	return true;
}
