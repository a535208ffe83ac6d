/* check.c: `meted --check-upgrade`: could this meted take over from the one that asks? */
#include "daemon/upgrade/handover.h"
#include "daemon/store/store.h"
#include "daemon/store/steps.h"
#include "daemon/upgrade/keeper.h"
#include "daemon/upgrade/upgrade.h"
#include "daemon/upgrade/version.h"
#include "wire/message.h"

#include <stdio.h>

int upgrade_check_main(int store_snapshot)
{
	char error[1024];

	if (store_check(store_snapshot, error, sizeof(error))) {
		fprintf(stderr, "%s\n", error);
		return 1;
	}
	printf("{\"version\":\"%s\",\"handover\":[%u,%u],\"store\":%u,\"wire\":[%u,%u],\"page\":%u,\"keeper\":%d}\n",
	       daemon_version(), HANDOVER_FORMAT_OLDEST, HANDOVER_FORMAT, store_step_count, WIRE_VERSION_OLDEST,
	       WIRE_VERSION, WIRE_PAGE_VERSION, KEEPER_VERSION);
	return 0;
}
