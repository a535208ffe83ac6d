/*
 * twin.h: the client's half of a forwarded library that mete has itself (src/libs): what generated bodies are made of.
 *
 * Every object of the program (a handle, a plan, a descriptor) has a twin in the client: an object of mete's own
 * library, whose device does nothing (twin_device.c). A call goes to the twin first, which checks the arguments and
 * remembers what is set: wrong arguments are answered at once, with the library's own status, and what was set is read
 * without asking. Then the call goes to the worker, and is waited for only if it gives something out or takes memory.
 * What the twin does not support the worker's library may: it is asked, and waited for.
 *
 * A generator of the host has a twin alone.
 */
#pragma once

#include "remote/libs/request.h"

#include <pthread.h>

enum twin_way {
	TWIN_RUN,      /* nothing comes back */
	TWIN_ASK,      /* something does */
	TWIN_ASK_ONCE, /* the same, and always the same */
};

struct twin_call {
	struct forward_call f;
	const struct forward_library *library;
	void *made; /* the handle of what a call makes */
	uint64_t made_id;
	bool goes, memo;
	const void *turn_of;	/* the object whose turn is this call's, until twin_end(); or NULL */
	pthread_t thread;	/* that has it */
	struct twin_call *next; /* of those that have one */
};

/* Before the twin's call. */
void twin_enter(struct twin_call *c, const struct forward_library *library);
/* The twin of an object of this type; NULL: it is none. */
void *twin_of(const void *object, unsigned int type);

/*
 * After the twin's call, which gave `status`. True: a message has begun, and what follows is put into it. False: the
 * program gets c->f.status. `object` is what the call is about, or NULL.
 */
bool twin_begin(struct twin_call *c, int status, unsigned int call, const void *object, enum twin_way way,
		size_t bytes);
/* The same for a call that makes an object, whose twin is `twin`; `waits`: it takes memory of the device. */
bool twin_make(struct twin_call *c, int status, unsigned int call, bool waits, size_t bytes);

void twin_put_object(struct twin_call *c, const void *object);
void twin_put_list(struct twin_call *c, const void *list, uint64_t count, size_t each);
/* True: there is an answer. */
bool twin_send(struct twin_call *c);
/* The next of what is given out; `to` NULL: the program does not want it. */
void twin_get(struct twin_call *c, void *to, size_t bytes);
int twin_end(struct twin_call *c);
/* In place of twin_end(): 0, and c->made is the new object, kept with its twin; or the status, and `end` has got the
 * twin. */
int twin_made(struct twin_call *c, void *twin, unsigned int type, void (*end)(void *twin));
/* An object of the client alone. NULL: no memory. */
const void *twin_here(void *twin, unsigned int type);
/* True: it was one, and is none any more; its twin goes on. */
bool twin_leaves(const void *object);
/* After the worker was told: the object is gone, and its twin. */
void twin_gone(const void *object);

/* Objects that are numbers in the program: the twin's own. */
const void *twin_object(int number);
void twin_number(int number, const void *object);
