/* identity.c: see identity.h. */
#include "remote/worker/identity.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

#define NOBODY 65534u

/* Whether this namespace knows the number. */
static bool is_mapped(const char *map, unsigned int id)
{
	FILE *f = fopen(map, "re");
	unsigned int inside, outside, count;
	bool found = false;

	while (f && !found && fscanf(f, "%u %u %u", &inside, &outside, &count) == 3)
		found = id >= inside && id - inside < count;
	if (f)
		fclose(f);
	return found;
}

static bool can_become(uid_t uid, gid_t gid)
{
	return is_mapped("/proc/self/uid_map", uid) && is_mapped("/proc/self/gid_map", gid);
}

static bool is_free(uid_t uid)
{
	const struct passwd *user = getpwuid(uid);
	const struct group *group = user ? NULL : getgrgid(uid);

	if (user || group)
		fprintf(stderr, "number %u is that of %s %s: give workers.first_uid other numbers\n", (unsigned int)uid,
			user ? "user" : "group", user ? user->pw_name : group->gr_name);
	return !user && !group;
}

void identity_choose(struct identity *ret, uid_t wanted)
{
	const struct passwd *user;

	*ret = (struct identity){ .uid = geteuid(), .gid = getegid() };
	if (geteuid() && getuid())
		return;
	if (wanted && can_become(wanted, wanted) && is_free(wanted)) {
		*ret = (struct identity){ .uid = wanted, .gid = wanted, .leaves = true, .own = true };
		return;
	}
	user = getpwnam("mete-worker");
	ret->uid = user ? user->pw_uid : NOBODY;
	ret->gid = user ? user->pw_gid : NOBODY;
	ret->leaves = can_become(ret->uid, ret->gid);
}

int identity_take(const struct identity *identity)
{
	uid_t uid = identity->uid;
	gid_t gid = identity->gid;

	if (!identity->leaves)
		return 0;
	return !setgroups(0, NULL) && !setresgid(gid, gid, gid) && !setresuid(uid, uid, uid) ? 0 : -errno;
}
