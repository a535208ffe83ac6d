/*
 * beside_env.h: the environment of programs for Ascend's and Cambricon's devices. It preloads a face beside the
 * vendor's own libraries, which a program finds as without mete, and sets the vendor's variable for visible devices.
 *
 * METE_FACES (words separated by commas) adds faces to those of the grant's kind of device, because a program may use a
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

/* The last row has a kind of NULL. */
extern const struct beside beside_kinds[];

/* True if programs on devices of this kind get the face: it is the kind's own, or METE_FACES names it. */
bool beside_wanted(const struct beside *b, const char *kind);

/* Sets the vendor's variable to the grant's devices ("0,2") if the face is the kind's own. False: no memory. */
bool beside_show(const char *kind, json_t *grant);
