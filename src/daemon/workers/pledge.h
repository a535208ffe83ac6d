/*
 * pledge.h: charges what a client's contexts will take to its grant, before the client gets a worker that has them.
 *
 * The contexts of a waiting worker belong to nobody. From the pledge on they are the grant's. The pledge lasts while
 * the client waits and while its worker attaches, and then becomes the credit of the worker's account. A grant whose
 * quota has no room for it gets no worker. A grant therefore cannot take more of a device than it was promised,
 * however many clients it has.
 */
#pragma once

#include "model/ledger.h"
#include "wire/page.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct client;
struct tenant;

struct pledge {
	bool made;
	uint32_t units[WIRE_MAX_DEVICES]; /* of the grant's devices */
	unsigned int lacks;		  /* LEDGER_NO_ROOM: the device without room */
};

/* Charges contexts of these sizes. LEDGER_GRANT: done; LEDGER_WAIT: ask again; LEDGER_NO_ROOM. */
enum ledger_answer pledge_make(struct pledge *pledge, struct tenant *tenant, const uint64_t *context_bytes);
/*
 * Returns the charge: the contexts will not be this client's. `tenant` may be NULL: it has ended, and its ledger too.
 */
void pledge_release(struct pledge *pledge, struct tenant *tenant);
/* Converts the pledge into the credit of a worker that has attached. */
void pledge_redeem(struct pledge *pledge, struct client *client);
/* As JSON for the next meted, which charges it again; NULL: there is none. */
json_t *pledge_save(const struct pledge *pledge);
void pledge_restore(struct pledge *pledge, struct tenant *tenant, const json_t *saved);
