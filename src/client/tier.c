/* tier.c: see tier.h. */
#include "client/tier.h"

#include "base/cleanup.h"
#include "client/place.h"
#include "rm/interface.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

int tier_choose(const char *word, bool *ret_t3, struct fault *f)
{
	const char *from = "--tier ", *value = word;

	if (!value) {
		from = "METE_TIER=";
		value = getenv("METE_TIER");
	}
	*ret_t3 = false;
	if (!value || (!word && !*value) || !strcasecmp(value, "T2"))
		return 0;
	if (!strcasecmp(value, "T3")) {
		*ret_t3 = true;
		return 0;
	}
	return fault_set(f, -EINVAL, "%s%s: there is T2 (the usual) and T3 (hardware time slices, see docs/tiers.md)",
			 from, value);
}

bool tier_installed(const char *shim_dir)
{
	char path[PATH_MAX];

	return path_join(path, "%s/" TIER_LIBRARY, shim_dir) && !access(path, R_OK);
}

bool tier_doubt(char *text, size_t size)
{
	_cleanup_fclose_ FILE *f = fopen("/sys/module/nvidia/version", "re");
	unsigned int branch = 0;

	if (!f)
		snprintf(text, size, "NVIDIA's kernel module is not loaded here");
	else if (fscanf(f, "%u", &branch) != 1)
		snprintf(text, size, "the version of NVIDIA's kernel module cannot be read");
	else if (branch < RM_BRANCH_FIRST || branch > RM_BRANCH_LAST)
		snprintf(text, size, "the driver's branch %u is not one that this version knows (%u to %u)", branch,
			 RM_BRANCH_FIRST, RM_BRANCH_LAST);
	else
		return false;
	return true;
}
