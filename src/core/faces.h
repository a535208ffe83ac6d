/*
 * faces.h: the faces that have joined the core of this process, in the order in which they did.
 */
#pragma once

#include "core/face.h"

#define FACES_MAX 8u

/*
 * Before the face asks anything of the core; any thread, again and again. False: core and face are of different
 * releases, or there is no room. Then nothing of the face may be metered, and its API has to refuse what takes memory.
 */
bool faces_join(const struct face *f);

unsigned int faces_count(void);
const struct face *faces_at(unsigned int i);

/* The first launch is about to be gated: each is told, and so is one that joins later. */
void faces_arm(void);
/* Has each give back some of what it keeps on the device. False: none did. */
bool faces_shrink(unsigned int device);
/* In the child of fork(): they stay joined. */
void faces_forget(void);
