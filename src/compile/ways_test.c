/*
 * ways_test.c: a function in which lanes wait at many places at once is compiled in time: the ways between groups of
 * lanes are as many as the square of its jumps.
 */
#include "softdev/ptx/engine.h"

#include "softdev/ptx/compile.h"

#include "base/tap.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define JUMPS 200u

extern __attribute__((visibility("default"))) compile_fn mete_compile;

static const struct compile_operand lanes = { .place = COMPILE_LANES, .lane = 4 }, none = { .place = COMPILE_NONE };

static struct compile_op plain(void)
{
	struct compile_op o = { .name = "not.b32", .weight = 1, .lanewise = true, .defs = 1, .guard = none };

	for (uint32_t k = 0; k < COMPILE_OPERANDS; k++)
		o.operand[k] = k < 2 ? lanes : none;
	return o;
}

int main(void)
{
	static struct compile_op op[3 * JUMPS + 1];
	struct compile_request q = {
		.abi = COMPILE_ABI, .count = 3 * JUMPS + 1, .op = op, .isa = "avx2", .layout = COMPILE_ROWS
	};
	void *object = NULL;
	size_t bytes = 0;
	char why[300] = "";
	int r;

	tap_begin();
	/* Each jumps on another condition, behind where those go that jumped after it. */
	for (uint32_t i = 0; i < JUMPS; i++) {
		op[2 * i] = (struct compile_op){
			.name = "bra", .kind = COMPILE_BRANCH, .weight = 1, .guard = lanes, .to = 3 * JUMPS - 1 - i
		};
		op[2 * i + 1] = plain();
		op[2 * JUMPS + i] = plain();
	}
	op[3 * JUMPS] = (struct compile_op){ .name = "exit", .kind = COMPILE_END, .weight = 1, .guard = none };
	setrlimit(RLIMIT_CPU, &(struct rlimit){ 30, 30 });
	r = mete_compile(&q, &object, &bytes, why, sizeof(why));
	tap_ok(!r && bytes < 400000, "%u jumps of parted lanes make %zu bytes in %.1f s %s", JUMPS, bytes,
	       (double)clock() / CLOCKS_PER_SEC, why);
	free(object);
	return tap_end();
}
