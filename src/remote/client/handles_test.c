/* handles_test.c: what a worker names is an object of the kind that was asked for, or none. */
#include "remote/client/handles.h"

#include "remote/client/deeds.h"
#include "ring/call.h"

#include "base/tap.h"

/* No object here has deeds. */
bool deeds_same(const struct deed *a, const struct deed *b)
{
	return a == b;
}

void deeds_free(struct deed *deeds)
{
	(void)deeds;
}

struct deed *deed_copy(const struct deed *deed)
{
	(void)deed;
	return NULL;
}

static struct handles h;

static void test_kinds(void)
{
	const uint64_t named = CALL_ID(KIND_GRAPH, 1, CALL_ID_WORKER | 7);
	uint64_t id, module, graph, kernel, kernel_id;

	module = handles_add(&h, KIND_MODULE, 0, 0, &id);
	kernel = handles_add(&h, KIND_KERNEL, 0, 0, &kernel_id);
	graph = handles_meet(&h, KIND_GRAPH, 0, named);
	tap_ok(module && handles_meet(&h, KIND_MODULE, 0, id) == module,
	       "an object that the client has made is met by its id");
	tap_ok(graph && handles_meet(&h, KIND_GRAPH, 0, named) == graph, "and one that the worker has named");
	tap_ok(!handles_meet(&h, KIND_GRAPH, 0, id) && !handles_meet(&h, KIND_MODULE, 0, named),
	       "neither is met as an object of another kind");
	tap_ok(kernel && handles_meet(&h, KIND_FUNCTION, 0, kernel_id) == kernel, "but a kernel is as a function");
}

int main(void)
{
	tap_begin();
	handles_init(&h, 0);
	test_kinds();
	handles_deinit(&h);
	return tap_end();
}
