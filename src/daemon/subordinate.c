/* subordinate.c: see subordinate.h. */
#include "daemon/subordinate.h"

#include "base/cleanup.h"
#include "daemon/owner.h"

#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define PLACE "/etc/subuid"
#define MOST 65536u /* ranges */

struct range {
	uint64_t first, end;
	uid_t user;
};

static struct {
	struct range *range; /* by `first` */
	size_t count;
	struct timespec changed;
	off_t bytes;
	time_t looked; /* in seconds of the clock that is cheap */
} known;

static bool read_user(const char *name, uid_t *ret)
{
	const struct passwd *p;
	char *end;

	*ret = (uid_t)strtoul(name, &end, 10);
	if (*name && !*end)
		return true;
	p = getpwnam(name);
	if (p)
		*ret = p->pw_uid;
	return p;
}

static bool read_range(char *line, struct range *ret)
{
	char *first = strchr(line, ':'), *count = first ? strchr(first + 1, ':') : NULL;

	if (!count)
		return false;
	*first++ = *count++ = 0;
	ret->first = strtoul(first, NULL, 10);
	ret->end = ret->first + strtoul(count, NULL, 10);
	/* In root's ranges are containers' users, who are not root. */
	return ret->first && ret->end > ret->first && ret->end <= UINT32_MAX && read_user(line, &ret->user) &&
	       !owner_is(ret->user);
}

static int compare(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

static void read_all(void)
{
	_cleanup_fclose_ FILE *f = fopen(PLACE, "re");
	struct range one, *more;
	size_t room = 0;
	char line[512];

	known.count = 0;
	while (f && fgets(line, sizeof(line), f) && known.count < MOST) {
		if (!read_range(line, &one))
			continue;
		if (known.count == room) {
			more = realloc(known.range, (room + 64) * sizeof(*more));
			if (!more)
				break;
			known.range = more;
			room += 64;
		}
		known.range[known.count++] = one;
	}
	if (known.count)
		qsort(known.range, known.count, sizeof(*known.range), compare);
}

/* Once a second at most. */
static void look(void)
{
	struct timespec now;
	struct stat st;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	if (known.looked == now.tv_sec + 1)
		return;
	known.looked = now.tv_sec + 1; /* 0: never */
	if (stat(PLACE, &st))
		st = (struct stat){ 0 };
	if (st.st_size == known.bytes && st.st_mtim.tv_sec == known.changed.tv_sec &&
	    st.st_mtim.tv_nsec == known.changed.tv_nsec)
		return;
	known.bytes = st.st_size;
	known.changed = st.st_mtim;
	read_all();
}

uid_t subordinate_user(uid_t uid)
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
	return low < known.count && known.range[low].first <= uid ? known.range[low].user : uid;
}
