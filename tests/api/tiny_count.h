/* tiny_count.h: what the generated bodies of the tiny API call; see golden/tiny.toml. */
#pragma once

#include "tiny_table.h"

void shim_count(int call);

/* The program's addresses are the driver's with their lowest bits the other way round. */
static inline tyaddress shim_turned(tyaddress address)
{
	return address ^ 15;
}

static inline void shim_turn(tyresult r, unsigned int *address)
{
	if (r == TY_OK)
		*address = (unsigned int)shim_turned(*address);
}
