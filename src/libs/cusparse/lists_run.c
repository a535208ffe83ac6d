/*
 * lists_run.c: kernels about lists of indices. One block does the work. Another stream may change a list meanwhile:
 * every index is checked when it is used, and one that is read twice is checked twice.
 */
#include "libs/cusparse/lists.h"

#include "libs/common/scratch.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A number of a matrix of coordinates, and where it stood. */
struct entry {
	int32_t major, minor, order, place;
};

struct lists {
	struct soft_native *n;
	const struct sparse_lists *w;
	int32_t *rows, *columns, *order, *to_offsets, *to_indices;
	bool fault;
};

/* From 0 on; one that is not below `count` is a fault of the launch. */
static int64_t index_of(struct lists *l, int32_t listed, int64_t count)
{
	int64_t at = (int64_t)listed - l->w->base;

	if (at >= 0 && at < count)
		return at;
	l->fault = true;
	return 0;
}

/* Numbers [*ret_begin, *ret_end) are those of a row. */
static void row_range(struct lists *l, int64_t row, int64_t *ret_begin, int64_t *ret_end)
{
	*ret_begin = index_of(l, l->rows[row], l->w->count + 1);
	*ret_end = index_of(l, l->rows[row + 1], l->w->count + 1);
}

/* Counts at [1, rows] become offsets from 0 on. */
static void counts_sum(int32_t *offsets, int64_t rows)
{
	for (int64_t i = 0; i < rows; i++)
		offsets[i + 1] = (int32_t)((uint32_t)offsets[i + 1] + (uint32_t)offsets[i]);
}

static void based(const struct lists *l, int32_t *offsets, int64_t rows)
{
	for (int64_t i = 0; i <= rows; i++)
		offsets[i] = (int32_t)((uint32_t)offsets[i] + l->w->base);
}

/* Another stream may have written anything there. */
static void one_more(int32_t *count)
{
	*count = (int32_t)((uint32_t)*count + 1);
}

static void run_offsets(struct lists *l)
{
	int64_t rows = l->w->rows;

	memset(l->to_offsets, 0, (size_t)(rows + 1) * sizeof(int32_t));
	for (int64_t k = 0; k < l->w->count && !l->fault; k++)
		one_more(&l->to_offsets[index_of(l, l->rows[k], rows) + 1]);
	counts_sum(l->to_offsets, rows);
	based(l, l->to_offsets, rows);
}

static void run_lines(struct lists *l)
{
	int64_t begin, end, done = 0;

	for (int64_t i = 0; i < l->w->rows && !l->fault; i++) {
		row_range(l, i, &begin, &end);
		for (int64_t k = begin; k < end && !l->fault; k++) {
			l->to_indices[k] = (int32_t)(i + l->w->base);
			l->fault = ++done > l->w->count; /* rows overlap */
		}
	}
}

static void run_identity(struct lists *l)
{
	for (int64_t k = 0; k < l->w->count; k++)
		l->to_indices[k] = (int32_t)k;
}

static int by_place(const void *a, const void *b)
{
	const struct entry *one = a, *other = b;

	if (one->major != other->major)
		return one->major < other->major ? -1 : 1;
	if (one->minor != other->minor)
		return one->minor < other->minor ? -1 : 1;
	return one->place < other->place ? -1 : 1;
}

/* Sorts numbers [begin, end) by `major`, if there is one, and `minor`. */
static void sort(struct lists *l, struct entry *room, int32_t *major, int32_t *minor, int64_t begin, int64_t end)
{
	for (int64_t k = begin; k < end; k++)
		room[k - begin] = (struct entry){ .major = major ? major[k] : 0,
						  .minor = minor[k],
						  .order = l->order ? l->order[k] : 0,
						  .place = (int32_t)(k - begin) };
	qsort(room, (size_t)(end - begin), sizeof(*room), by_place);
	for (int64_t k = begin; k < end; k++) {
		if (major)
			major[k] = room[k - begin].major;
		minor[k] = room[k - begin].minor;
		if (l->order)
			l->order[k] = room[k - begin].order;
	}
}

static void run_sort(struct lists *l)
{
	struct entry *room = scratch_get((size_t)l->w->count * sizeof(*room));
	int64_t begin, end, done = 0;

	if (!room) {
		l->n->refuse(l->n);
		return;
	}
	if (!l->w->compressed) {
		sort(l, room, l->rows, l->columns, 0, l->w->count);
		return;
	}
	for (int64_t i = 0; i < l->w->rows && !l->fault; i++) {
		row_range(l, i, &begin, &end);
		done += end > begin ? end - begin : 0;
		l->fault |= done > l->w->count; /* rows overlap */
		if (end > begin && !l->fault)
			sort(l, room, NULL, l->columns, begin, end);
	}
}

/* One number goes to where its column has come to. */
static void turn_one(struct lists *l, int64_t row, int64_t k)
{
	uint32_t each = l->w->each;
	int32_t *next = &l->to_offsets[index_of(l, l->columns[k], l->w->columns)];
	int64_t to = *next;

	if (to < 0 || to >= l->w->count)
		l->fault = true;
	if (l->fault)
		return;
	*next = (int32_t)(to + 1);
	l->to_indices[to] = (int32_t)(row + l->w->base);
	if (each)
		memcpy((char *)(uintptr_t)l->w->to_values_at + to * each,
		       (const char *)(uintptr_t)l->w->values_at + k * each, each);
}

/* Rows become columns: columns are counted, and each row's numbers go behind those of the rows before it. */
static void run_turn(struct lists *l)
{
	int64_t begin, end, done = 0, columns = l->w->columns;

	memset(l->to_offsets, 0, (size_t)(columns + 1) * sizeof(int32_t));
	for (int64_t k = 0; k < l->w->count && !l->fault; k++)
		one_more(&l->to_offsets[index_of(l, l->columns[k], columns) + 1]);
	counts_sum(l->to_offsets, columns);
	for (int64_t i = 0; i < l->w->rows && !l->fault; i++) {
		row_range(l, i, &begin, &end);
		for (int64_t k = begin; k < end && !l->fault; k++) {
			turn_one(l, i, k);
			l->fault |= ++done > l->w->count; /* rows overlap */
		}
	}
	memmove(l->to_offsets + 1, l->to_offsets, (size_t)columns * sizeof(int32_t));
	l->to_offsets[0] = 0;
	based(l, l->to_offsets, columns);
}

static const struct list_kernel {
	void (*run)(struct lists *l);
	bool rows, columns, values, sorts; /* what it reads; sorts: where it stands */
	bool offsets, indices;		   /* what it writes */
} kernels[SPARSE_KERNELS] = {
	[SPARSE_OFFSETS] = { run_offsets, .rows = true, .offsets = true },
	[SPARSE_LINES] = { run_lines, .rows = true, .indices = true },
	[SPARSE_IDENTITY] = { run_identity, .indices = true },
	[SPARSE_SORT] = { run_sort, .rows = true, .columns = true, .sorts = true },
	[SPARSE_TURN] = { run_turn, .rows = true, .columns = true, .values = true, .offsets = true, .indices = true },
};

static bool size_sound(int64_t v)
{
	return v >= 0 && v <= INT32_MAX;
}

static bool lists_sound(const struct sparse_lists *w)
{
	bool compresses = w->kernel == SPARSE_LINES || w->kernel == SPARSE_TURN;

	return w->kernel < SPARSE_KERNELS && kernels[w->kernel].run && size_sound(w->rows) && size_sound(w->columns) &&
	       size_sound(w->count) && w->base <= 1 && w->each <= 16 &&
	       (w->kernel == SPARSE_SORT || w->compressed == compresses) &&
	       /* an index that is none is taken for 0 */
	       (!w->count || w->kernel != SPARSE_OFFSETS || w->rows) &&
	       (!w->count || w->kernel != SPARSE_TURN || w->columns);
}

static bool lists_reach(struct soft_native *n, const struct sparse_lists *w)
{
	const struct list_kernel *k = &kernels[w->kernel];
	int64_t offsets = (w->kernel == SPARSE_TURN ? w->columns : w->rows) + 1;

	return (!k->rows || library_reach(n, w->rows_at, w->compressed ? w->rows + 1 : w->count, sizeof(int32_t),
					  k->sorts && !w->compressed)) &&
	       (!k->columns || library_reach(n, w->columns_at, w->count, sizeof(int32_t), k->sorts)) &&
	       (!k->sorts || !w->order_at || library_reach(n, w->order_at, w->count, sizeof(int32_t), true)) &&
	       (!k->offsets || library_reach(n, w->to_offsets_at, offsets, sizeof(int32_t), true)) &&
	       (!k->indices || library_reach(n, w->to_indices_at, w->count, sizeof(int32_t), true)) &&
	       (!k->values || !w->each ||
		(library_reach(n, w->values_at, w->count, w->each, false) &&
		 library_reach(n, w->to_values_at, w->count, w->each, true)));
}

static int32_t *list_at(uint64_t at)
{
	return (int32_t *)(uintptr_t)at;
}

void sparse_lists_run(struct soft_native *n)
{
	const struct sparse_lists *w = n->params;
	struct lists l = { n,
			   w,
			   list_at(w->rows_at),
			   list_at(w->columns_at),
			   list_at(w->order_at),
			   list_at(w->to_offsets_at),
			   list_at(w->to_indices_at),
			   false };
	int64_t from, to;

	if (!lists_sound(w)) {
		n->refuse(n);
		return;
	}
	library_part(n, 1, &from, &to);
	if (from == to || !lists_reach(n, w))
		return;
	kernels[w->kernel].run(&l);
	if (l.fault)
		n->reach(n, 0, 1, false);
	else
		n->go_on(n, (uint64_t)(w->count + w->rows + w->columns) / 4 + 1);
}
