/*
 * cases.c: ways around the guard, tried in a guest against the stand-in (standin/). Static, root, in the guest alone.
 *
 *	cases [notify] all | NAME...
 *
 * TAP. Each way is a process of a tenant; the cases are in the files of their groups.
 */
#include "ground.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static const struct {
	const char *name;
	void (*body)(void);
} cases[] = {
	{ "quota", case_quota },
	{ "granule", case_granule },
	{ "descriptors", case_descriptors },
	{ "calls", case_calls },
	{ "devices", case_devices },
	{ "sibling", case_sibling },
	{ "names", case_names },
	{ "many", case_many },
	{ "full", case_full },
	{ "full-all", case_full_all },
	{ "end", case_end },
	{ "grant", case_grant },
	{ "accounts", case_accounts },
	{ "attacks", case_attacks },
	{ "swaps", case_swaps },
	{ "tricks", case_tricks },
	{ "published", case_published },
	{ "detours", case_detours },
	{ "nodes", case_nodes },
	{ "lines", case_lines },
	{ "helper", case_helper },
	{ "killed", case_killed },
	{ "reload", case_reload },
	{ "race", case_race },
	{ "crowd", case_crowd },
	{ "race-class", case_race_class },
	{ "race-pointer", case_race_pointer },
	{ "cost", case_cost },
	{ "floor", case_floor },
	{ "watched", case_watched },
	{ "locked", case_locked },
	{ "only-notify", case_notify },
};

int main(int argc, char **argv)
{
	char path[64];

	if (argc == 3 && !strcmp(argv[1], "--grab")) {
		struct session s;

		return session_open(&s) ? 2 : expect(grab(&s, MIB(64), MIB(65536)), (uint64_t)atoi(argv[2]));
	}
	for (int minor = 0; minor < 256; minor++) {
		snprintf(path, sizeof path, "/dev/standin%d", minor);
		mknod(path, S_IFCHR | 0666, makedev(standin_major(), (unsigned int)minor));
	}
	front_notify = argc > 1 && !strcmp(argv[1], "notify");
	if (!front_notify && !ok(!guard_load(), "the guard is loaded"))
		return 1;
	tenant_set("a", "1G", "0");
	tenant_set("b", "2G", "0");
	tenant_set("d", "512M", "0");
	if (!ok(!tenant_set("c", "512M", "0"), "tenants are made"))
		return 1;
	truth_reset(false);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int k = 1; k < argc; k++)
			if (!strcmp(argv[k], "all") || !strcmp(argv[k], cases[i].name)) {
				uint64_t from = now_ns();

				cases[i].body();
				printf("# %s: %.1f s\n", cases[i].name, (double)(now_ns() - from) / 1e9);
			}
	printf("1..%d\n", count);
	return failed != 0;
}
