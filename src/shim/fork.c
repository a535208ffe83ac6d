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
#include "shim/fork.h"
#include "shim/account.h"
#include "shim/attach.h"
#include "shim/blocks.h"
#include "shim/face.h"
#include "shim/gate.h"
#include "shim/measured.h"
#include "shim/pace.h"
#include "shim/records.h"
#include "shim/sharing.h"

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
	records_reset();
	blocks_reset();
	sharing_reset();
	measured_reset();
	pace_reset();
	face->forget();
	errno = saved;
}

void fork_watch(void)
{
	pthread_atfork(NULL, NULL, in_child);
}
