/*
 * start.c: tier T3's library in a process: libmete-rm.so, preloaded where T3 was asked for.
 *
 * Nothing happens at the start but a look at the environment. Without METE_TIER=T3, or outside a grant, ioctl() calls
 * pass unseen for good.
 */
#include "core/attach.h"
#include "base/setting.h"
#include "shim/rm/watch.h"
#include "shim/rm/worker.h"

#include <stdlib.h>
#include <string.h>

__attribute__((constructor)) static void begin(void)
{
	const char *tier = setting_get("METE_TIER");
	bool wanted = tier && !strcmp(tier, "T3");

	if (wanted) {
		attach_init(ATTACH_RM, NULL);
		wanted = attach_wanted();
	}
	watch_init(wanted);
}

__attribute__((destructor)) static void end(void)
{
	worker_leave();
}
