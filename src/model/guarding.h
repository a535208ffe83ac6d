/*
 * guarding.h: which grants the guard holds: the setting guard.grants of a node, and what a program asks for. Pure.
 *
 * The guard is for programs that have NVIDIA's driver in their own process: behind a wall a worker has it, and a
 * software device has none.
 */
#pragma once

#include <stdbool.h>

enum guarding {
	GUARDING_ASKED,	    /* where --guard is given */
	GUARDING_PREFERRED, /* every grant; where nothing can hold, the shim alone does, and a line says so */
	GUARDING_REQUIRED,  /* every grant; where nothing can hold, nothing is started */
	GUARDINGS
};

/* What is to be done for one program. */
enum guarding_wish { GUARDING_NONE, GUARDING_IF_IT_HOLDS, GUARDING_MUST };

/* "asked", "preferred", "required" */
const char *guarding_word(enum guarding rule);
/* Value: the rule of this word, or -1. */
int guarding_find(const char *word);
/* driver: of the grant, such as "nvidia". A user who requests the guard gets the reason of a refusal under any rule. */
enum guarding_wish guarding_wish(enum guarding rule, bool asked, const char *driver, bool walled);
