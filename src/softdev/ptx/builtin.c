/*
 * builtin.c: the functions that every kernel may call: printf, malloc, free, assert, the one that sets a value for
 * conditional nodes of graphs, and the one that hands over to a library's own function (wire/soft_native.h).
 *
 * Their arguments lie in the caller's call area, at the offsets that the operation names. Format and strings are
 * addresses in device memory and are checked like any other access.
 */
#include "softdev/ptx/builtin.h"

#include "softdev/ptx/run.h"

#include <stdio.h>

#define TEXT_BYTES_MAX 4096u

struct out {
	char text[TEXT_BYTES_MAX];
	size_t n;
};

static void out_put(struct out *out, const char *text, size_t bytes)
{
	if (bytes > sizeof(out->text) - out->n)
		bytes = sizeof(out->text) - out->n;
	memcpy(out->text + out->n, text, bytes);
	out->n += bytes;
}

/* Copies a string of the device, shortened to fit. */
static void read_string(struct warp *w, uint64_t address, char *ret, size_t room)
{
	size_t n = 0;

	if (!address) {
		snprintf(ret, room, "(null)");
		return;
	}
	while (n + 1 < room && address + n >= address && warp_reach(w, address + n, address + n + 1, false)) {
		ret[n] = *(const char *)(uintptr_t)(address + n);
		if (!ret[n])
			return;
		n++;
	}
	ret[n] = 0;
}

/* The variable arguments that are not printed yet. */
struct args {
	uint64_t at;
	uint32_t taken;
};

/* The next variable argument, aligned to its size. */
static bool next_argument(struct warp *w, struct args *args, uint32_t bytes, uint64_t *ret)
{
	const uint64_t from = (args->at + bytes - 1) & ~(uint64_t)(bytes - 1);

	*ret = 0;
	args->at = from + bytes;
	args->taken++;
	if (!warp_reach(w, from, from + bytes, false))
		return false;
	memcpy(ret, (const void *)(uintptr_t)from, bytes);
	return true;
}

/* One conversion, from behind the percent sign; value: where the format goes on. */
static const char *convert(struct warp *w, struct out *out, const char *f, struct args *args)
{
	char spec[32] = "%", piece[512], string[400];
	size_t n = 1, longs = 0;
	uint64_t v = 0;
	double d;
	int printed;

	while (*f && strchr("-+ #0123456789.*hljztL", *f) && n < sizeof(spec) - 8) {
		if (*f == '*') {
			if (!next_argument(w, args, 4, &v))
				return NULL;
			n += (size_t)snprintf(spec + n, 6, "%d", (int)v % 1000);
		} else if (*f == 'l' || *f == 'j' || *f == 'z' || *f == 't') {
			longs++;
		} else if (*f != 'h' && *f != 'L') {
			spec[n++] = *f;
		}
		f++;
	}
	switch (*f) {
	case 'd':
	case 'i':
	case 'u':
	case 'x':
	case 'X':
	case 'o':
		if (!next_argument(w, args, longs ? 8 : 4, &v))
			return NULL;
		memcpy(spec + n, (char[]){ 'l', 'l', *f, 0 }, 4);
		if (!longs && (*f == 'd' || *f == 'i'))
			v = (uint64_t)(int64_t)(int32_t)v;
		printed = snprintf(piece, sizeof(piece), spec, v);
		break;
	case 'c':
		if (!next_argument(w, args, 4, &v))
			return NULL;
		memcpy(spec + n, "c", 2);
		printed = snprintf(piece, sizeof(piece), spec, (int)(v & 255));
		break;
	case 'p':
		if (!next_argument(w, args, 8, &v))
			return NULL;
		memcpy(spec + n, "p", 2);
		printed = snprintf(piece, sizeof(piece), spec, (void *)(uintptr_t)v);
		break;
	case 's':
		if (!next_argument(w, args, 8, &v))
			return NULL;
		read_string(w, v, string, sizeof(string));
		memcpy(spec + n, "s", 2);
		printed = snprintf(piece, sizeof(piece), spec, string);
		break;
	case 'e':
	case 'E':
	case 'f':
	case 'F':
	case 'g':
	case 'G':
	case 'a':
	case 'A':
		if (!next_argument(w, args, 8, &v))
			return NULL;
		memcpy(&d, &v, sizeof(d));
		memcpy(spec + n, (char[]){ *f, 0 }, 2);
		printed = snprintf(piece, sizeof(piece), spec, d);
		break;
	case '%':
		printed = snprintf(piece, sizeof(piece), "%%");
		break;
	default:
		out_put(out, "%", 1);
		return f;
	}
	if (printed > 0)
		out_put(out, piece, (size_t)printed < sizeof(piece) ? (size_t)printed : sizeof(piece) - 1);
	return f + 1;
}

/* printf's value is the number of arguments that it took, -1 without a format. */
static void print_lane(struct warp *w, const struct op *o, uint32_t lane)
{
	const uint64_t format = builtin_argument(w, lane, o->a, 8);
	struct args args = { builtin_argument(w, lane, o->b, 8), 0 };
	char text[1024];
	struct out out;

	if (!format) {
		builtin_result(w, o, lane, UINT32_MAX, 4);
		return;
	}
	out.n = 0;
	w->checked = lane;
	read_string(w, format, text, sizeof(text));
	for (const char *f = text; f && *f;) {
		const char *percent = strchr(f, '%');

		out_put(&out, f, percent ? (size_t)(percent - f) : strlen(f));
		f = percent ? convert(w, &out, percent + 1, &args) : NULL;
	}
	w->checked = LANES;
	run_print(w->block, out.text, out.n);
	builtin_result(w, o, lane, args.taken, 4);
}

void builtin_vprintf(struct warp *w, const struct op *o)
{
	for (uint32_t left = w->mask; left; left &= left - 1)
		print_lane(w, o, (uint32_t)__builtin_ctz(left));
}

void builtin_malloc(struct warp *w, const struct op *o)
{
	const struct ptx_memory *m = &w->block->launch->memory;

	for (uint32_t left = w->mask; left; left &= left - 1) {
		const uint32_t i = (uint32_t)__builtin_ctz(left);

		builtin_result(w, o, i, m->heap_alloc ? m->heap_alloc(m->ctx, builtin_argument(w, i, o->a, 8)) : 0, 8);
	}
}

void builtin_free(struct warp *w, const struct op *o)
{
	const struct ptx_memory *m = &w->block->launch->memory;

	for (uint32_t left = w->mask; left && m->heap_free; left &= left - 1) {
		const uint64_t p = builtin_argument(w, (uint32_t)__builtin_ctz(left), o->a, 8);

		if (p)
			m->heap_free(m->ctx, p);
	}
}

void builtin_set_condition(struct warp *w, const struct op *o)
{
	const struct ptx_launch *l = w->block->launch;

	for (uint32_t left = w->mask; left && l->condition; left &= left - 1) {
		const uint32_t i = (uint32_t)__builtin_ctz(left);

		l->condition(l->condition_ctx, builtin_argument(w, i, o->a, 8),
			     (uint32_t)builtin_argument(w, i, o->b, 4));
	}
}

void builtin_assertfail(struct warp *w, const struct op *o)
{
	const uint32_t i = (uint32_t)__builtin_ctz(w->mask);
	char message[400], file[400], function[400], text[1600];
	const struct block *b = w->block;
	int n;

	w->checked = i;
	read_string(w, builtin_argument(w, i, o->a, 8), message, sizeof(message));
	read_string(w, builtin_argument(w, i, o->b, 8), file, sizeof(file));
	read_string(w, builtin_argument(w, i, o->e, 8), function, sizeof(function));
	w->checked = LANES;
	n = snprintf(text, sizeof(text), "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n",
		     file, (unsigned)builtin_argument(w, i, o->c, 4), function, b->id[0], b->id[1], b->id[2],
		     w->tid[0][i], w->tid[1][i], w->tid[2][i], message);
	run_print(w->block, text, n < 0 ? 0 : (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
	warp_fault(w, PTX_FAULT_ASSERT, o, i, 0);
}

/* ---- a library's own function ---- */

struct native {
	struct soft_native call; /* first: the function gets its address */
	struct warp *warp;
	const struct op *op;
	uint32_t lane;
};

static bool native_reach(struct soft_native *call, uint64_t address, uint64_t bytes, bool write)
{
	struct native *n = (struct native *)call;
	struct warp *w = n->warp;
	bool good;

	if (!bytes)
		return true;
	w->checked = n->lane;
	good = address + bytes >= address && warp_reach(w, address, address + bytes, write);
	w->checked = LANES;
	if (!good) {
		warp_fault(w, PTX_FAULT_ILLEGAL_ADDRESS, n->op, n->lane, address);
		w->block->fault.bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
	}
	return good;
}

static bool native_go_on(struct soft_native *call, uint64_t warp_instructions)
{
	struct native *n = (struct native *)call;

	n->warp->executed += warp_instructions;
	n->warp->executed_lanes += warp_instructions * LANES;
	return !block_out_of_time(n->warp->block);
}

static void native_refuse(struct soft_native *call)
{
	struct native *n = (struct native *)call;

	warp_fault(n->warp, PTX_FAULT_ILLEGAL_INSTRUCTION, n->op, n->lane, 0);
}

/* For one of the threads that have come here together. */
void builtin_native(struct warp *w, const struct op *o)
{
	const struct block *b = w->block;
	const struct ptx_launch *l = b->launch;
	struct native n = { .warp = w, .op = o, .lane = (uint32_t)__builtin_ctz(w->mask) };
	soft_native_function f = NULL;

	n.call = (struct soft_native){ .params = l->params,
				       .bytes = l->kernel->param_bytes,
				       .block = b->id[0],
				       .blocks = l->grid[0],
				       .reach = native_reach,
				       .go_on = native_go_on,
				       .refuse = native_refuse };
	if (l->native)
		f = l->native((uint32_t)builtin_argument(w, n.lane, o->a, 4));
	if (f)
		f(&n.call);
	else
		native_refuse(&n.call);
}
