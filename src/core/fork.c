/*
 * fork.c: see fork.h.
 *
 * A child starts with nothing: no connection, no account, no records. What the parent holds is the parent's; a driver
 * that the parent has initialised refuses the child anyway, and a child that uses one for itself attaches as a client
 * of its own. The inherited socket stays open over a real driver, whose inherited descriptors keep the parent's memory
 * occupied for as long as the child lives: so meted sees the parent's account end when the memory really is free. The
 * software device gives memory back at the death of its process, so there the child closes the socket.
 * Every lock is made anew, because its holder may be a thread that the child does not have.
 */
#include "core/fork.h"
#include "core/account.h"
#include "core/attach.h"
#include "core/blocks.h"
#include "core/door.h"
#include "core/faces.h"
#include "core/gate.h"
#include "core/measured.h"
#include "core/pace.h"
#include "core/records.h"
#include "core/sharing.h"

#include <errno.h>
#include <pthread.h>

static void in_child(void)
{
	int saved = errno;
	bool real = false;

	for (unsigned int i = 0; i < account_count; i++)
		real |= !accounts[i].soft;
	account_forget();
	attach_forget(real);
	gate_reset();
	door_reset();
	records_reset();
	blocks_reset();
	sharing_reset();
	measured_reset();
	pace_reset();
	faces_forget();
	errno = saved;
}

static void watch(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

void fork_watch(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch);
}
