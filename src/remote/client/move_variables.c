/*
 * move_variables.c: the variables of modules and libraries of a session that moves: their bytes are kept by name, and
 * put into those of the new worker's modules. They may lie elsewhere there. What the program says of an address
 * that it was told, the worker takes for the new one (worker/moved.h). But memory that holds such an address, told or
 * taken by a kernel, is not changed: who knows what the word is. It is looked for, and the session stays if there is
 * any.
 */
#include "remote/client/move.h"

#include "remote/client/call.h"
#include "remote/client/globals.h"
#include "remote/client/thread.h"
#include "remote/code.h"

#include <stdlib.h>
#include <string.h>

/* A part on its way: the request, and the name and bytes behind it. */
struct part {
	struct call_request head;
	struct move_variable variable;
	uint8_t rest[CODE_NAME_MOST + 16 + MOVE_VARIABLE_BYTES];
};

/* ---- addresses ---- */

static bool span_add(struct move *m, uint64_t begin, uint64_t bytes)
{
	const size_t room = m->span_room ? 2 * m->span_room : 64;
	struct move_span *more;

	if (m->spans == m->span_room) {
		more = realloc(m->span, room * sizeof(*more));
		if (!more)
			return false;
		m->span = more;
		m->span_room = room;
	}
	m->span[m->spans++] = (struct move_span){ begin, begin + bytes };
	return true;
}

static int by_begin(const void *a, const void *b)
{
	const struct move_span *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Those that touch become one. */
void move_spans_sort(struct move *m)
{
	size_t kept = 0;

	if (!m->spans)
		return;
	qsort(m->span, m->spans, sizeof(*m->span), by_begin);
	for (size_t i = 1; i < m->spans; i++) {
		struct move_span *last = &m->span[kept];

		if (m->span[i].begin > last->end)
			m->span[++kept] = m->span[i];
		else if (m->span[i].end > last->end)
			last->end = m->span[i].end;
	}
	m->spans = kept + 1;
}

static bool in_span(const struct move *m, uint64_t word)
{
	size_t low = 0, high = m->spans;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (m->span[middle].begin <= word)
			low = middle;
		else
			high = middle;
	}
	return word >= m->span[low].begin && word < m->span[low].end;
}

void move_words_count(struct move *m, const void *data, uint64_t bytes)
{
	const uint64_t least = m->spans ? m->span[0].begin : 0, most = m->spans ? m->span[m->spans - 1].end : 0;
	const uint8_t *at = data;

	if (!m->spans)
		return;
	for (uint64_t i = 0; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, at + i, sizeof(word));
		if (word - least < most - least)
			m->words += in_span(m, word);
	}
}

/* ---- those that the program knows ---- */

struct knowing {
	struct move *m;
	uint64_t owner;
	bool short_of_memory;
};

static void know(void *arg, const struct global_known *g)
{
	struct knowing *k = arg;
	struct move_known *known = g->bytes ? malloc(sizeof(*known)) : NULL;

	if (!known || !span_add(k->m, g->address, g->bytes)) {
		k->short_of_memory |= g->bytes != 0;
		free(known);
		return;
	}
	*known = (struct move_known){ .next = k->m->known,
				      .owner = k->owner,
				      .context = g->context,
				      .address = g->address,
				      .bytes = g->bytes,
				      .name = g->name };
	k->m->known = known;
}

static void know_all(void *arg, uint64_t handle, const struct object *o)
{
	const enum remote_kind kind = handle_kind(handle);
	struct knowing *k = arg;
	const struct code *code;

	if (kind != KIND_MODULE && kind != KIND_LIBRARY)
		return;
	code = atomic_load_explicit(&o->kept, memory_order_acquire);
	k->owner = o->id;
	if (code)
		globals_each(code, know, k);
}

bool move_known_look(struct move *m)
{
	struct knowing k = { .m = m };

	handles_each(&m->session->handles, know_all, &k);
	return !k.short_of_memory || move_stays(m, WORKER_STAY_HOST, 0);
}

static bool lives(const struct move *m, uint64_t context)
{
	for (unsigned int i = 0; i < m->context_count; i++)
		if (m->context[i] == context)
			return true;
	return false;
}

/* Those of this owner that can be asked for: of a library in contexts that live. */
static bool is_of(const struct move *m, const struct move_known *k, uint64_t owner)
{
	return k->owner == owner && (owner >> 56 == KIND_MODULE || lives(m, k->context));
}

/* The spans of all of them, sorted. NULL: no memory. */
static struct move_span *known_spans(const struct move *m, size_t *ret_count)
{
	struct move_span *span;
	size_t count = 0;

	for (const struct move_known *k = m->known; k; k = k->next)
		count++;
	span = malloc((count + 1) * sizeof(*span));
	*ret_count = count;
	if (!span)
		return NULL;
	for (const struct move_known *k = m->known; k; k = k->next)
		span[--count] = (struct move_span){ k->address, k->address + k->bytes };
	qsort(span, *ret_count, sizeof(*span), by_begin);
	return span;
}

CUresult move_known_reserve(struct move *m)
{
	uint64_t done = 0; /* up to this address */
	CUresult r = CUDA_SUCCESS;
	size_t count;
	struct move_span *span = known_spans(m, &count);

	if (!span)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; r == CUDA_SUCCESS && i < count; i++) {
		const uint64_t end = (span[i].end + MOVE_GRANULE - 1) / MOVE_GRANULE * MOVE_GRANULE;
		struct move_place place = { .begin = span[i].begin / MOVE_GRANULE * MOVE_GRANULE };
		struct link_answer answer;

		place.begin = place.begin < done ? done : place.begin;
		if (place.begin >= end)
			continue;
		place.bytes = end - place.begin;
		done = end;
		r = move_request(m, CALL_MOVE_RESERVE, m->context_count ? m->context[0] : 0, &place, sizeof(place),
				 &answer);
		link_done(&answer);
	}
	free(span);
	return r;
}

/* ---- out ---- */

static CUresult ask_part(struct move *m, uint16_t call, const struct move_kept_variable *v, uint64_t at, uint64_t bytes,
			 struct link_answer *answer)
{
	struct remote_writer w;
	struct part *p = calloc(1, sizeof(*p));
	CUresult r;

	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	w = (struct remote_writer){ .data = p->rest, .capacity = sizeof(p->rest) };
	p->head = move_head(call, v->context);
	p->variable = (struct move_variable){ .owner = v->owner, .at = at, .bytes = bytes };
	remote_put_string(&w, v->name);
	if (call == CALL_MOVE_VARIABLE_IN)
		remote_put(&w, v->data + at, bytes);
	r = w.bad ? CUDA_ERROR_INVALID_VALUE
		  : move_ask(m, p, sizeof(p->head) + sizeof(p->variable) + remote_padded(w.used), answer);
	free(p);
	return r;
}

static CUresult through(struct move *m, struct move_kept_variable *v, uint16_t call)
{
	CUresult r = CUDA_SUCCESS;

	for (uint64_t at = 0, bytes; r == CUDA_SUCCESS && at < v->bytes; at += bytes) {
		struct link_answer answer = { .longer = NULL };

		bytes = v->bytes - at < MOVE_VARIABLE_BYTES ? v->bytes - at : MOVE_VARIABLE_BYTES;
		r = ask_part(m, call, v, at, bytes, &answer);
		if (r == CUDA_SUCCESS && call == CALL_MOVE_VARIABLE && answer.bytes < bytes)
			r = CLIENT_LOST;
		else if (r == CUDA_SUCCESS && call == CALL_MOVE_VARIABLE)
			memcpy(v->data + at, answer.body, bytes);
		link_done(&answer);
	}
	return r;
}

static struct move_kept_variable *keep(struct move *m, uint64_t owner, uint64_t context, const char *name,
				       uint64_t bytes)
{
	const size_t length = strlen(name) + 1;
	struct move_kept_variable *v = malloc(sizeof(*v) + length + bytes);

	if (!v)
		return NULL;
	*v = (struct move_kept_variable){ .owner = owner, .context = context, .bytes = bytes };
	v->name = (char *)v->data + bytes;
	memcpy(v->name, name, length);
	v->next = m->variables;
	m->variables = v;
	return v;
}

static bool keep_all(struct move *m, uint64_t owner, uint64_t context, struct remote_reader *in)
{
	while (in->used < in->size) {
		struct move_kept_variable *v;
		uint64_t address, bytes;
		const char *name;

		remote_get(in, &address, sizeof(address));
		remote_get(in, &bytes, sizeof(bytes));
		name = remote_take_string(in);
		if (in->bad || !name || bytes > CODE_IMAGE_MOST)
			return false;
		v = *name ? keep(m, owner, context, name, bytes) : NULL;
		if ((*name && !v) || !span_add(m, address, bytes))
			return move_stays(m, WORKER_STAY_HOST, 0);
		if (!v)
			continue;
		if (through(m, v, CALL_MOVE_VARIABLE) != CUDA_SUCCESS)
			return move_stays(m, WORKER_STAY_FAULT, 0);
	}
	return true;
}

bool move_variables_out(struct move *m, const struct code_load *load, uint64_t context)
{
	struct move_variables ask = { .owner = load->id, .whole = load->whole };
	struct link_answer answer;
	struct remote_reader in;
	bool good = false;
	CUresult r;

	memcpy(ask.hash, load->hash, sizeof(ask.hash));
	r = move_request(m, CALL_MOVE_VARIABLES, context, &ask, sizeof(ask), &answer);
	if (r == CUDA_SUCCESS) {
		in = (struct remote_reader){ .data = answer.body, .size = answer.bytes };
		good = keep_all(m, load->id, context, &in);
	} else {
		move_stays(m, r == CUDA_ERROR_NOT_PERMITTED ? WORKER_STAY_HEAP : WORKER_STAY_VARIABLE, 1);
	}
	link_done(&answer);
	return good;
}

static bool is_kept(const struct move *m, const struct move_known *k)
{
	const struct move_kept_variable *v = m->variables;

	while (v && (v->owner != k->owner || (k->context && v->context != k->context) || strcmp(v->name, k->name)))
		v = v->next;
	return v;
}

bool move_known_out(struct move *m, uint64_t owner, uint64_t context)
{
	for (const struct move_known *k = m->known; k; k = k->next) {
		struct move_kept_variable *v;

		if (!is_of(m, k, owner) || is_kept(m, k))
			continue;
		v = keep(m, owner, k->context ? k->context : context, k->name, k->bytes);
		if (!v)
			return move_stays(m, WORKER_STAY_HOST, 0);
		if (through(m, v, CALL_MOVE_VARIABLE) != CUDA_SUCCESS)
			return move_stays(m, WORKER_STAY_FAULT, 0);
	}
	return true;
}

/* ---- in ---- */

CUresult move_known_again(struct move *m, uint64_t owner, uint64_t context)
{
	CUresult r = CUDA_SUCCESS;

	for (const struct move_known *k = m->known; r == CUDA_SUCCESS && k; k = k->next) {
		struct link_answer answer = { .longer = NULL };
		struct move_kept_variable v = { .owner = owner,
						.context = k->context ? k->context : context,
						.name = (char *)(uintptr_t)k->name };

		if (!is_of(m, k, owner))
			continue;
		r = ask_part(m, CALL_MOVE_VARIABLE_AT, &v, k->address, k->bytes, &answer);
		link_done(&answer);
	}
	return r;
}

CUresult move_variables_in(struct move *m)
{
	CUresult r = CUDA_SUCCESS;

	for (struct move_kept_variable *v = m->variables; v && r == CUDA_SUCCESS; v = v->next)
		r = through(m, v, CALL_MOVE_VARIABLE_IN);
	return r;
}

void move_variables_free(struct move *m)
{
	while (m->known) {
		struct move_known *k = m->known;

		m->known = k->next;
		free(k);
	}
	free(m->span);
	while (m->variables) {
		struct move_kept_variable *v = m->variables;

		m->variables = v->next;
		free(v);
	}
}
