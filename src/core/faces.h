/*
 * faces.h: the faces that have joined the core of this process, in the order in which they joined, and how each begins.
 */
#pragma once

#include "core/face.h"
#include "core/log.h"

#define FACES_MAX 8u

/*
 * Adds the face to the core, which from then on also informs it of a fork. Before this call a face calls nothing of the
 * core but account_init(), the log and attach_wanted(). Any thread; repeated calls have no effect. False: core and face
 * are of different releases, or there is no room. The face is then not metered, and its API must refuse calls that take
 * memory.
 */
bool faces_join(const struct face *f);

/* The same; if the result is false, a log line names the face's library. Also works with a core of another release. */
static inline bool faces_join_as(const struct face *f, const char *library)
{
	if (faces_join(f))
		return true;
	log_line("%s and libmete-core.so are of different releases; install all of mete", library);
	return false;
}

enum faces_state {
	FACES_METERED,	/* attached to meted: the accounts are filled */
	FACES_OPEN,	/* METE_OPEN=1, and meted was out of reach: no limit until the process ends */
	FACES_REFUSED,	/* meted is out of reach; the log has said why, and a later call tries again */
	FACES_SHUT_OUT, /* the same, because meted lets no program of the grant begin */
};

/*
 * Attaches the process to meted for a face that has joined. Only where attach_wanted(). Any thread, any number of
 * times; one thread at a time tries. The result FACES_OPEN is final for the face. Preserves errno.
 */
enum faces_state faces_begin(const struct face *f);

unsigned int faces_count(void);
const struct face *faces_at(unsigned int i);

/* The first launch is about to be gated: informs each face, now or when it joins. */
void faces_arm(void);
/* Asks the faces to release memory that they keep on the device, until one does. False: none did. */
bool faces_shrink(unsigned int device);
/* In the child of fork(): the faces stay joined, and open ones stay open. */
void faces_forget(void);
