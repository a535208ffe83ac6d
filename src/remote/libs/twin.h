/*
 * twin.h: the client's half of a forwarded library that mete has itself (src/libs): the parts of generated bodies.
 *
 * Every object of the program (a handle, a plan, a descriptor) has a twin in the client: an object of mete's own
 * library, whose device does nothing (twin_device.c). A call goes to the twin first, which checks the arguments and
 * remembers settings: wrong arguments are answered at once, with the library's own status, and settings are read
 * without a request. Then the call goes to the worker; the client waits only if the call has results or allocates
 * memory. What the twin does not support, the worker's library may: the call is sent, and waited for.
 *
 * A host generator has only a twin.
 */
#pragma once

#include "remote/libs/request.h"

#include <pthread.h>

enum twin_way {
	TWIN_RUN,      /* without results */
	TWIN_ASK,      /* with results */
	TWIN_ASK_ONCE, /* with results that never change */
};

struct twin_call {
	struct forward_call f;
	const struct forward_library *library;
	void *made; /* the handle of the object that the call creates */
	uint64_t made_id;
	bool goes, memo;
	const void *turn_of;	/* the object that this call has locked, until twin_end(); or NULL */
	pthread_t thread;	/* the thread that has locked it */
	struct twin_call *next; /* in the list of calls that have locked an object */
};

/* Called before the twin's call. */
void twin_enter(struct twin_call *c, const struct forward_library *library);
/* The twin of an object of this type; NULL: not such an object. */
void *twin_of(const void *object, unsigned int type);

/*
 * Called after the twin's call, which returned `status`. True: a message has begun, and the arguments are put into it.
 * False: the program gets c->f.status. `object`: the object that the call names, or NULL.
 */
bool twin_begin(struct twin_call *c, int status, unsigned int call, const void *object, enum twin_way way,
		size_t bytes);
/* The same for a call that creates an object, whose twin is `twin`; `waits`: it allocates device memory. */
bool twin_make(struct twin_call *c, int status, unsigned int call, bool waits, size_t bytes);

void twin_put_object(struct twin_call *c, const void *object);
void twin_put_list(struct twin_call *c, const void *list, uint64_t count, size_t each);
/* True: there is an answer. */
bool twin_send(struct twin_call *c);
/* Takes the next result; `to` NULL: the program does not want it. */
void twin_get(struct twin_call *c, void *to, size_t bytes);
int twin_end(struct twin_call *c);
/*
 * In place of twin_end(). Value: 0: c->made is the new object, kept with its twin; or the status, and `end` was called
 * with the twin.
 */
int twin_made(struct twin_call *c, void *twin, unsigned int type, void (*end)(void *twin));
/* An object that exists only in the client. NULL: no memory. */
const void *twin_here(void *twin, unsigned int type);
/* True: it was such an object, and is one no longer; its twin remains. */
bool twin_leaves(const void *object);
/* Called after the worker was told: frees the object and its twin. */
void twin_gone(const void *object);

/* Objects that are numbers in the program: those of the twin. */
const void *twin_object(int number);
void twin_number(int number, const void *object);
