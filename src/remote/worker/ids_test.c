/* ids_test.c: lookups, owners, used slots. */
#include "base/tap.h"
#include "remote/worker/ids.h"
#include "ring/call.h"

#include <errno.h>

static int gone_ids, kept_gone;

static void on_gone(void *owner, uint64_t id, void *handle, bool ranges)
{
	gone_ids++;
}

static void on_kept(void *data)
{
	kept_gone += *(int *)data;
}

static void *handle(uintptr_t n)
{
	return (void *)n;
}

static void test_add(struct ids *ids)
{
	uint64_t id = CALL_ID(KIND_STREAM, 1, 7);

	is(ids_add(ids, KIND_STREAM, id, handle(100), 0), 0);
	ok(ids_find(ids, KIND_STREAM, id) && ids_find(ids, KIND_STREAM, id)->handle == handle(100));
	ok(!ids_find(ids, KIND_EVENT, id));
	ok(!ids_find(ids, KIND_STREAM, CALL_ID(KIND_STREAM, 2, 7)));
	is(ids_add(ids, KIND_STREAM, CALL_ID(KIND_STREAM, 2, 7), handle(101), 0), -EPROTO);
	is(ids_add(ids, KIND_STREAM, CALL_ID(KIND_EVENT, 1, 8), handle(102), 0), -EPROTO);
	is(ids_add(ids, KIND_STREAM, CALL_ID(KIND_STREAM, 1, CALL_ID_WORKER | 8), handle(102), 0), -EPROTO);
	is(ids_add(ids, KIND_STREAM, CALL_ID(KIND_STREAM, 1, 0x7fffffff), handle(102), 0), -ENOSPC);
	is(ids_add(ids, KIND_NONE, 5, handle(102), 0), -EPROTO);
	ids_remove(ids, id);
	ok(!ids_find(ids, KIND_STREAM, id));
	is(ids_add(ids, KIND_EVENT, CALL_ID(KIND_EVENT, 2, 7), handle(103), 0), 0);
	ids_remove(ids, CALL_ID(KIND_EVENT, 2, 7));
	ids_remove(ids, 12345);
}

static void test_owners(struct ids *ids)
{
	uint64_t context = CALL_ID(KIND_CONTEXT, 1, 1), module = CALL_ID(KIND_MODULE, 1, 2), kernel;
	int one = 1;
	bool is_new;

	gone_ids = kept_gone = 0;
	is(ids_add(ids, KIND_CONTEXT, context, handle(1), 0), 0);
	is(ids_add(ids, KIND_MODULE, module, handle(2), context), 0);
	kernel = ids_name(ids, KIND_KERNEL, handle(3), module, &is_new);
	ok(kernel & CALL_ID_WORKER && is_new);
	is(ids_name(ids, KIND_KERNEL, handle(3), module, &is_new), kernel);
	ok(!is_new);
	ok(ids_name(ids, KIND_FUNCTION, handle(3), module, &is_new) != kernel);
	ok(ids_find(ids, KIND_FUNCTION, kernel));
	ids_keep(ids, kernel, &one, on_kept);
	for (uint32_t i = 0; i < 5000; i++)
		if (ids_add(ids, KIND_FUNCTION, CALL_ID(KIND_FUNCTION, 1, 100 + i), handle(1000 + i), module))
			ok(false);
	ids_remove(ids, CALL_ID(KIND_FUNCTION, 1, 2100));
	is(gone_ids, 1);
	ids_remove(ids, context);
	is(gone_ids, 5000 + 4);
	is(kept_gone, 1);
	ok(!ids_find(ids, KIND_KERNEL, kernel) && !ids_find(ids, KIND_MODULE, module));
	ok(ids_name(ids, KIND_KERNEL, handle(3), 0, &is_new) != kernel);
	is(ids->count, 1);
	/* What is kept of nothing goes at once. */
	ids_keep(ids, kernel, &one, on_kept);
	is(kept_gone, 2);
}

/* A handle with two ids, and an object that comes to belong to another one. */
static void test_twins(struct ids *ids)
{
	uint64_t graph = CALL_ID(KIND_GRAPH, 1, 30), other = CALL_ID(KIND_GRAPH, 1, 31), named, node;
	bool is_new;

	named = ids_name(ids, KIND_GRAPH, handle(30), 0, &is_new);
	node = ids_name(ids, KIND_GRAPH_NODE, handle(31), named, &is_new);
	is(ids_add(ids, KIND_GRAPH, graph, handle(30), 0), 0);
	is(ids_add(ids, KIND_GRAPH, other, handle(32), 0), 0);
	ok(ids_find(ids, KIND_GRAPH, named) && ids_find(ids, KIND_GRAPH, graph));
	ok(ids_hide(ids, graph, handle(30)));
	ok(!ids_find(ids, KIND_GRAPH, named) && !ids_find(ids, KIND_GRAPH_NODE, node));
	ids_remove(ids, graph);
	ok(!ids_look(ids, KIND_GRAPH, named) && !ids_look(ids, KIND_GRAPH_NODE, node));
	is(ids_add(ids, KIND_GRAPH, graph, handle(30), 0), 0);
	ids_own(ids, graph, other);
	ids_own(ids, other, graph); /* which would be a circle */
	ids_own(ids, 12345, other);
	ids_remove(ids, other);
	ok(!ids_look(ids, KIND_GRAPH, graph) && !ids_look(ids, KIND_GRAPH, other));
}

/* The driver gives a handle away again before the id that it had is removed. */
static void test_handle_again(struct ids *ids)
{
	uint64_t old = CALL_ID(KIND_MODULE, 1, 20), new = CALL_ID(KIND_MODULE, 1, 21), was, is_now;
	bool is_new;

	is(ids_add(ids, KIND_MODULE, old, handle(20), 0), 0);
	was = ids_name(ids, KIND_FUNCTION, handle(21), old, &is_new);
	ok(!ids_hide(ids, old, handle(22))); /* another one's id by now */
	ok(ids_hide(ids, old, handle(20)) && !ids_hide(ids, old, handle(20)));
	ok(!ids_find(ids, KIND_FUNCTION, was) && !ids_find(ids, KIND_MODULE, old) && ids_look(ids, KIND_MODULE, old));
	is(ids_add(ids, KIND_MODULE, new, handle(20), 0), 0);
	is_now = ids_name(ids, KIND_FUNCTION, handle(21), new, &is_new);
	ok(is_new && is_now != was);
	ids_remove(ids, old);
	ok(!ids_find(ids, KIND_FUNCTION, was) && ids_find(ids, KIND_FUNCTION, is_now));
	is(ids_name(ids, KIND_FUNCTION, handle(21), new, &is_new), is_now);
	is(ids_name(ids, KIND_MODULE, handle(20), 0, &is_new), new);
	/* The driver has refused to end it. */
	ids_hide(ids, new, handle(20));
	ids_show(ids, new);
	is(ids_name(ids, KIND_FUNCTION, handle(21), new, &is_new), is_now);
	ids_remove(ids, new);
}

/* What is kept goes when nobody looks at it who may have found it. */
static void test_readers(struct ids *ids)
{
	struct ids_reader first, second;
	uint64_t id = CALL_ID(KIND_MODULE, 1, 30), next = CALL_ID(KIND_MODULE, 1, 31);
	int one = 1, ten = 10, hundred = 100;

	kept_gone = 0;
	ids_reader_init(ids, &first);
	ids_reader_init(ids, &second);
	is(ids_add(ids, KIND_MODULE, id, handle(30), 0), 0);
	is(ids_add(ids, KIND_MODULE, next, handle(31), 0), 0);
	ids_keep(ids, id, &one, on_kept);
	ids_keep(ids, next, &ten, on_kept);
	ids_read(ids, &first);
	ids_remove(ids, id);
	ok(!ids_find(ids, KIND_MODULE, id));
	is(kept_gone, 0);
	ids_read(ids, &second); /* it cannot have found the first one */
	ids_remove(ids, next);
	is(kept_gone, 0);
	ids_read_end(ids, &first);
	is(kept_gone, 1);
	/* Other data in its place, and for what is not there. */
	is(ids_add(ids, KIND_MODULE, id, handle(30), 0), 0);
	ids_keep(ids, id, &hundred, on_kept);
	ids_keep(ids, id, &one, on_kept);
	ids_keep(ids, next, &hundred, on_kept);
	is(kept_gone, 1);
	ids_reader_deinit(ids, &second);
	is(kept_gone, 211);
	ids_remove(ids, id);
	is(kept_gone, 212); /* nobody reads */
	ids_reader_deinit(ids, &first);
}

#define NAMES 4

/* A client wants an id whose slot is free again. Value: a name that was given later leads to what another id keeps. */
static bool want_free_slot(uintptr_t wanted)
{
	uint64_t link = CALL_ID(KIND_LINK, 1, 0), name[NAMES], first, second;
	bool is_new, good = true;
	struct ids ids;
	int kept = 0;

	if (ids_init(&ids, on_gone, NULL) || ids_add(&ids, KIND_LINK, link, handle(1), 0))
		return true;
	ids_keep(&ids, link, &kept, on_kept);
	first = ids_name(&ids, KIND_FUNCTION, handle(2), 0, &is_new);
	second = ids_name(&ids, KIND_FUNCTION, handle(3), 0, &is_new);
	ids_remove(&ids, first);
	ids_remove(&ids, second);
	good = !ids_want(&ids, 100, &first, 1, false);
	for (unsigned int i = 0; i < NAMES; i++)
		name[i] = ids_name(&ids, KIND_FUNCTION, handle(i ? 10 + i : wanted), 0, &is_new);
	good = good && name[0] == first;
	for (unsigned int i = 0; i < NAMES; i++) {
		const struct id_entry *e = ids_find(&ids, KIND_FUNCTION, name[i]);

		good = good && e && e->handle == handle(i ? 10 + i : wanted) && !e->kept;
	}
	good = good && ids_find(&ids, KIND_LINK, link) && ids_find(&ids, KIND_LINK, link)->kept == &kept;
	ids_deinit(&ids);
	return !good;
}

/* Whatever chain of the hash its handle comes into. */
static void test_want_free_slot(void)
{
	unsigned int bad = 0;

	for (uintptr_t wanted = 100; wanted < 400; wanted++)
		bad += want_free_slot(wanted);
	is(bad, 0);
}

/* One that was wanted and has gone is free once, and then the worker's. */
static void test_want_again(struct ids *ids)
{
	uint64_t first, second, third;
	bool is_new;

	first = ids_name(ids, KIND_EVENT, handle(40), 0, &is_new);
	ids_remove(ids, first);
	is(ids_want(ids, 0x1000, &first, 1, false), 0);
	is(ids_name(ids, KIND_EVENT, handle(41), 0, &is_new), first);
	ids_remove(ids, first);
	second = ids_name(ids, KIND_EVENT, handle(42), 0, &is_new);
	third = ids_name(ids, KIND_EVENT, handle(43), 0, &is_new);
	ok(second != first && second != third && (uint32_t)second != (uint32_t)third);
	ok(ids_find(ids, KIND_EVENT, second)->handle == handle(42));
	ok(ids_find(ids, KIND_EVENT, third)->handle == handle(43));
	ids_remove(ids, second);
	ids_remove(ids, third);
}

/* More than one message names, in pieces: behind those before, or in their place. */
static void test_want_behind(struct ids *ids)
{
	uint64_t id[6];
	bool is_new;

	for (unsigned int i = 0; i < 6; i++)
		id[i] = CALL_ID(KIND_EVENT, 1, CALL_ID_WORKER | (0x2000 + i));
	is(ids_want(ids, 0x3000, id, 2, false), 0);
	is(ids_want(ids, 0x3000, id + 2, 3, true), 0);
	is(ids_name(ids, KIND_EVENT, handle(50), 0, &is_new), id[0]);
	is(ids_want(ids, 0x3000, id + 5, 1, true), 0);
	for (unsigned int i = 1; i < 6; i++)
		is(ids_name(ids, KIND_EVENT, handle(50 + i), 0, &is_new), id[i]);
	for (unsigned int i = 0; i < 6; i++)
		ids_remove(ids, id[i]);
	is(ids_want(ids, 0x3000, id, 3, false), 0);
	id[0] = ids_name(ids, KIND_EVENT, handle(60), 0, &is_new);
	is(ids_want(ids, 0x3000, NULL, 0, false), 0);
	id[1] = ids_name(ids, KIND_EVENT, handle(61), 0, &is_new);
	ok((uint32_t)id[0] == (CALL_ID_WORKER | 0x2000) && id[1] != CALL_ID(KIND_EVENT, 1, CALL_ID_WORKER | 0x2001));
	ids_remove(ids, id[0]);
	ids_remove(ids, id[1]);
	/* Names of the client's own are not the worker's to give, nor such as lie beyond what it has given. */
	id[2] = CALL_ID(KIND_EVENT, 1, 0x2002);
	is(ids_want(ids, 0x3000, id + 2, 1, false), -EPROTO);
	id[2] = CALL_ID(KIND_EVENT, 1, CALL_ID_WORKER | 0x3000);
	is(ids_want(ids, 0x3000, id + 2, 1, false), -EPROTO);
}

int main(void)
{
	struct ids ids;

	tap_begin();
	ok(!ids_init(&ids, on_gone, NULL));
	test_add(&ids);
	test_owners(&ids);
	test_twins(&ids);
	test_handle_again(&ids);
	test_readers(&ids);
	test_want_free_slot();
	test_want_again(&ids);
	test_want_behind(&ids);
	ids_deinit(&ids);
	return tap_end();
}
