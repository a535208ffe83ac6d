/*
 * roam_many.c: a module of more functions than are described when it is loaded: the program asks for each of them by
 * its name, and each has the same id in every worker.
 */
#include "roamer.h"

#include <stdio.h>
#include <stdlib.h>

#define FUNCTIONS 3000u
#define A_ROUND 50u

static const char head[] = ".version 7.0\n.target sm_70\n.address_size 64\n";
static const char entry[] =
	".visible .entry function_number_%u(.param .u64 p) {\n"
	"	.reg .u64 %%d<3>; .reg .u32 %%r<4>;\n"
	"	ld.param.u64 %%d0, [p]; mov.u32 %%r0, %%tid.x; mul.wide.u32 %%d1, %%r0, 4; add.u64 %%d0, %%d0, %%d1;\n"
	"	ld.global.u32 %%r1, [%%d0]; mad.lo.u32 %%r1, %%r1, 31, %u; st.global.u32 [%%d0], %%r1; ret;\n}\n";

static struct {
	CUfunction function[FUNCTIONS];
	CUdeviceptr words;
} t;

void many_make(void)
{
	size_t room = sizeof(head) + FUNCTIONS * (sizeof(entry) + 32), used;
	char *text = malloc(room), name[64];
	CUmodule m;

	used = (size_t)snprintf(text, room, "%s", head);
	for (unsigned int i = 0; i < FUNCTIONS; i++)
		used += (size_t)snprintf(text + used, room - used, entry, i, i);
	must(cuModuleLoadData(&m, text), "a module");
	free(text);
	for (unsigned int i = 0; i < FUNCTIONS; i++) {
		snprintf(name, sizeof(name), "function_number_%u", i);
		t.function[i] = function_of(m, name);
	}
	must(cuMemAlloc(&t.words, 128), "memory");
	must(cuMemsetD32(t.words, 1, 32), "a fill");
}

void many_round(unsigned int n, uint64_t *d)
{
	void *args[] = { &t.words };
	uint32_t words[32];

	for (unsigned int i = 0; i < A_ROUND; i++)
		run(t.function[(n * A_ROUND + i) % FUNCTIONS], 32, NULL, args);
	must(cuMemcpyDtoH(words, t.words, sizeof(words)), "a copy");
	digest(d, words, sizeof(words));
}
