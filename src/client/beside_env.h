/*
 * beside_env.h: the environment of programs of Ascend's and Cambricon's: a face to preload beside the vendor's own
 * libraries, which a program finds as without mete, and the vendor's variable that says which devices it sees.
 *
 * METE_FACES (words with a comma between) asks for faces that the grant's kind of device does not: a program may use a
 * card by several APIs.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct beside {
	const char *kind;    /* of device, and the word of METE_FACES */
	const char *library; /* in the folder of the shim */
	const char *visible; /* the vendor's variable */
};

/* Ends with a kind of NULL. */
extern const struct beside beside_kinds[];

/* Whether programs on devices of this kind get the face: the kind is its own, or METE_FACES names it. */
bool beside_wanted(const struct beside *b, const char *kind);

/* Sets the vendor's variable to the grant's devices ("0,2"), where the kind is its own. False: no memory. */
bool beside_show(const char *kind, json_t *grant);
