/*
 * move_objects.c: the objects of a session that moves: their deeds in order. Ids that the worker had chosen are wanted
 * of the next one, deed by deed, so that no number that the program's side remembers becomes another.
 */
#include "remote/client/move.h"

#include "cuda_remote.h"
#include "remote/client/context.h"
#include "remote/client/functions.h"
#include "remote/client/textures.h"
#include "remote/client/thread.h"
#include "remote/code.h"
#include "remote/copy.h"
#include "remote/graph.h"
#include "remote/image.h"

#include <stdlib.h>
#include <string.h>

#define RECORDED 4u /* events.c: its word counts in fours how often it was recorded */

/* ---- what there is ---- */

static enum worker_stay fixed_kind(enum remote_kind kind)
{
	switch (kind) {
	case KIND_ARRAY:
	case KIND_MIPMAPPED_ARRAY:
	case KIND_TEXTURE_REFERENCE:
	case KIND_SURFACE_REFERENCE:
		return WORKER_STAY_ARRAY;
	case KIND_GRAPH:
	case KIND_GRAPH_NODE:
	case KIND_GRAPH_EXEC:
	case KIND_GRAPH_CONDITION:
		return WORKER_STAY_GRAPH;
	case KIND_FORWARDED:
		return WORKER_STAY_LIBRARY;
	case KIND_MEMORY_HANDLE:
		return WORKER_STAY_MAPPED;
	default:
		return WORKER_STAY_OTHER;
	}
}

struct ids {
	uint64_t *id;
	size_t count, room;
	bool short_of_memory;
};

struct look {
	struct move *m;
	struct ids wanted; /* what nodes and instances of graphs are made of */
	enum worker_stay stay;
	uint32_t count;
	size_t deeds;
	uint32_t slot; /* the first that no worker has named */
};

static struct code *code_of(uint64_t handle, const struct object *o)
{
	enum remote_kind kind = handle_kind(handle);

	return kind == KIND_MODULE || kind == KIND_LIBRARY ? atomic_load_explicit(&o->kept, memory_order_acquire)
							   : NULL;
}

static bool may_be_covered(enum remote_kind kind)
{
	return kind != KIND_LINK && kind != KIND_MEMORY_HANDLE && kind != KIND_TEXTURE_REFERENCE &&
	       kind != KIND_SURFACE_REFERENCE;
}

static void ids_add(struct ids *ids, uint64_t id)
{
	size_t room = ids->room ? 2 * ids->room : 64;
	uint64_t *more = ids->count < ids->room ? ids->id : realloc(ids->id, room * sizeof(*more));

	if (!more) {
		ids->short_of_memory = true;
		return;
	}
	ids->room = ids->count < ids->room ? ids->room : room;
	ids->id = more;
	ids->id[ids->count++] = id;
}

static bool names_parts(enum remote_kind kind, const struct deed *d)
{
	return kind == KIND_GRAPH_EXEC || kind == KIND_GRAPH_NODE ||
	       (kind == KIND_FUNCTION && d->call == CALL_GRAPH_GET);
}

static bool is_of_object(uint32_t type)
{
	return type == CU_GRAPH_NODE_TYPE_GRAPH || type == CU_GRAPH_NODE_TYPE_WAIT_EVENT ||
	       type == CU_GRAPH_NODE_TYPE_EVENT_RECORD;
}

/* Behind the first words of a message: of parameters the first word, if it is an object's id. The rest is the program's
 * own numbers, and any of them looks like an id. */
static size_t words_to_params(const uint64_t *word, size_t at)
{
	const struct graph_params *p = (const struct graph_params *)(word + at);

	return at + sizeof(*p) / sizeof(*word) + is_of_object(p->type);
}

/* How many words of a deed, behind its head, may be ids. */
static size_t id_words(const struct deed *d)
{
	const size_t words = d->bytes / sizeof(*d->message) - DEED_FIRST;
	const uint64_t *word = d->message + DEED_FIRST;
	const struct graph_add *add = (const struct graph_add *)word;
	size_t most = words;

	if (d->call == CALL_GRAPH_ATTRIBUTE_SET)
		most = 1;
	else if (d->call == CALL_GRAPH_SET)
		most = words_to_params(word, sizeof(struct graph_set) / sizeof(*word));
	else if (d->call == CALL_GRAPH_ADD)
		most = words_to_params(word, sizeof(*add) / sizeof(*word) +
						     add->dependencies * (add->flags & GRAPH_EDGES ? 2 : 1));
	return most < words ? most : words;
}

/*
 * A node or an instance is made anew of graphs, nodes and events: of one that has ended nothing can be made. So is a
 * function that was learnt of by a node.
 */
static void want_parts(struct look *l, const struct object *o, enum remote_kind kind_of)
{
	for (const struct deed *d = o->deeds; d; d = d->next)
		for (size_t i = DEED_FIRST; names_parts(kind_of, d) && i < DEED_FIRST + id_words(d); i++) {
			const uint64_t kind = d->message[i] >> 56;

			if (kind == KIND_GRAPH || kind == KIND_GRAPH_NODE || kind == KIND_EVENT)
				ids_add(&l->wanted, d->message[i]);
		}
}

static void look_for_parts(struct look *l)
{
	for (size_t i = 0; i < l->wanted.count; i++)
		if (!handles_names(&l->m->session->handles, l->wanted.id[i])) {
			l->stay = l->stay ? l->stay : WORKER_STAY_GRAPH;
			l->count += l->stay == WORKER_STAY_GRAPH;
		}
	if (!l->stay && l->wanted.short_of_memory)
		l->stay = WORKER_STAY_HOST;
	free(l->wanted.id);
}

static void look_at(void *arg, uint64_t handle, const struct object *o)
{
	enum remote_kind kind = handle_kind(handle);
	enum worker_stay stay = WORKER_STAY_NOTHING;
	struct look *l = arg;
	uint64_t id = o->id;

	if (!id)
		return; /* a primary context that nobody retains */
	for (const struct deed *d = o->deeds; d; d = d->next)
		l->deeds++;
	if (kind == KIND_CONTEXT && l->m->context_count == MOVE_CONTEXTS)
		stay = WORKER_STAY_OTHER;
	else if (kind == KIND_CONTEXT)
		l->m->context[l->m->context_count++] = id;
	if (kind == KIND_CONTEXT)
		l->m->a_context = handle;
	if (id & CALL_ID_WORKER && ((uint32_t)id & ~CALL_ID_WORKER) >= l->slot)
		l->slot = ((uint32_t)id & ~CALL_ID_WORKER) + 1;
	/* Memory is made again with what is mapped (move_mapped.c); what is none is an object of several devices. */
	if (kind == KIND_MEMORY_HANDLE && atomic_load_explicit(&o->kept, memory_order_acquire))
		return;
	if (!stay && (!may_be_covered(kind) || !atomic_load_explicit(&o->covered, memory_order_relaxed)))
		stay = fixed_kind(kind);
	else if (!stay)
		want_parts(l, o, kind);
	if (!l->stay)
		l->stay = stay;
	l->count += stay && stay == l->stay;
}

struct gather {
	struct move *m;
	bool contexts;
};

static void gather_from(void *arg, uint64_t handle, const struct object *o)
{
	struct gather *g = arg;

	/* Memory has been made again by then: move_mapped.c. */
	if ((handle_kind(handle) == KIND_CONTEXT) != g->contexts || handle_kind(handle) == KIND_MEMORY_HANDLE)
		return;
	for (struct deed *d = o->deeds; d; d = d->next)
		g->m->deed[g->m->deeds++] = d;
}

static int by_age(const void *a, const void *b)
{
	const struct deed *x = *(struct deed *const *)a, *y = *(struct deed *const *)b;

	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* What still lives is made by its own deed. False: no memory. */
static bool stand_ins_gather(struct move *m)
{
	size_t count = 0;

	for (size_t i = m->contexts; i < m->deeds; i++)
		for (const struct deed *d = m->deed[i]->needs; d; d = d->next)
			count++;
	m->stand_in = calloc(count + 1, sizeof(struct deed *));
	m->stands = calloc(count + 1, 1);
	if (!m->stand_in || !m->stands)
		return false;
	for (size_t i = m->contexts; i < m->deeds; i++)
		for (struct deed *d = m->deed[i]->needs; d; d = d->next)
			if (!handles_names(&m->session->handles, d->made_id))
				m->stand_in[m->stand_ins++] = d;
	return true;
}

static bool look_at_all(struct move *m, struct look *l)
{
	handles_each(&m->session->handles, look_at, l);
	look_for_parts(l);
	return !l->stay || move_stays(m, l->stay, l->count);
}

bool move_objects_pinned(struct move *m)
{
	struct look l = { .m = m };

	return !look_at_all(m, &l);
}

bool move_objects_look(struct move *m)
{
	struct look l = { .m = m };
	struct gather g = { .m = m, .contexts = true };

	/* What it asks for leaves deeds. */
	if (!move_arrays_look(m) || !move_known_look(m) || !look_at_all(m, &l))
		return false;
	m->slot = l.slot;
	m->deed = calloc(l.deeds + 1, sizeof(struct deed *));
	if (!m->deed)
		return move_stays(m, WORKER_STAY_HOST, 0);
	handles_each(&m->session->handles, gather_from, &g);
	m->contexts = m->deeds;
	g.contexts = false;
	handles_each(&m->session->handles, gather_from, &g);
	qsort(m->deed, m->contexts, sizeof(struct deed *), by_age);
	qsort(m->deed + m->contexts, m->deeds - m->contexts, sizeof(struct deed *), by_age);
	return stand_ins_gather(m) || move_stays(m, WORKER_STAY_HOST, 0);
}

/* ---- images ---- */

static bool is_load(const struct deed *d)
{
	return d->call == CUDA_CALL_cuModuleLoadDataEx || d->call == CUDA_CALL_cuLibraryLoadData;
}

static const struct code_load *load_of(const struct deed *d)
{
	return (const void *)((const uint8_t *)d->message + sizeof(struct call_request));
}

static struct move_kept_image *find_image(const struct move *m, const uint8_t hash[SHA256_BYTES])
{
	struct move_kept_image *i = m->images;

	while (i && memcmp(i->hash, hash, SHA256_BYTES))
		i = i->next;
	return i;
}

static bool image_out(struct move *m, const struct code_load *load)
{
	struct move_kept_image *i = find_image(m, load->hash) ? NULL : malloc(sizeof(*i) + load->whole);
	struct move_image ask = { .whole = load->whole };
	CUresult r = CUDA_SUCCESS;

	if (!i)
		return find_image(m, load->hash) || move_stays(m, WORKER_STAY_HOST, 0);
	memcpy(i->hash, load->hash, sizeof(i->hash));
	memcpy(ask.hash, load->hash, sizeof(ask.hash));
	i->bytes = load->whole;
	for (; r == CUDA_SUCCESS && ask.at < i->bytes; ask.at += ask.bytes) {
		struct link_answer answer;

		ask.bytes = i->bytes - ask.at < CODE_PIECE_BYTES ? i->bytes - ask.at : CODE_PIECE_BYTES;
		r = move_request(m, CALL_MOVE_IMAGE, 0, &ask, sizeof(ask), &answer);
		if (r == CUDA_SUCCESS && answer.bytes < ask.bytes)
			r = CUDA_ERROR_NOT_FOUND;
		if (r == CUDA_SUCCESS)
			memcpy(i->data + ask.at, answer.body, ask.bytes);
		link_done(&answer);
	}
	if (r != CUDA_SUCCESS) {
		free(i);
		return move_stays(m, WORKER_STAY_IMAGE, 0);
	}
	i->next = m->images;
	m->images = i;
	return true;
}

struct owners {
	struct move *m;
	uint64_t *id; /* of modules and libraries with variables, or with an image that does not say */
	size_t count, room;
};

static void find_owner(void *arg, uint64_t handle, const struct object *o)
{
	struct code *code = code_of(handle, o);
	struct owners *owners = arg;

	if (!code || !atomic_load(&code->variables))
		return;
	if (owners->count < owners->room)
		owners->id[owners->count] = o->id;
	owners->count++;
}

static struct call_request head_of(const struct deed *d)
{
	struct call_request head;

	memcpy(&head, d->message, sizeof(head));
	return head;
}

static bool variables_out(struct move *m, const struct deed *d)
{
	const struct code_load *load = load_of(d);
	const struct call_request head = head_of(d);

	if (load->id >> 56 == KIND_MODULE)
		return move_variables_out(m, load, head.context);
	for (unsigned int i = 0; i < m->context_count; i++)
		if (!move_variables_out(m, load, m->context[i]))
			return false;
	return true;
}

/* Of those that have some: all deeds are in order. */
static bool all_variables_out(struct move *m)
{
	struct owners owners = { .m = m };
	bool good = true;

	handles_each(&m->session->handles, find_owner, &owners);
	owners.room = owners.count;
	owners.count = 0;
	owners.id = calloc(owners.room + 1, sizeof(*owners.id));
	if (!owners.id)
		return move_stays(m, WORKER_STAY_HOST, 0);
	handles_each(&m->session->handles, find_owner, &owners);
	for (size_t i = 0; good && i < m->deeds; i++)
		for (size_t k = 0; good && is_load(m->deed[i]) && k < owners.room; k++)
			if (load_of(m->deed[i])->id == owners.id[k])
				good = variables_out(m, m->deed[i]);
	free(owners.id);
	for (size_t i = 0; good && i < m->deeds; i++)
		if (is_load(m->deed[i]))
			good = move_known_out(m, load_of(m->deed[i])->id, head_of(m->deed[i]).context);
	move_spans_sort(m);
	for (const struct move_kept_variable *v = m->variables; v; v = v->next)
		move_words_count(m, v->data, v->bytes);
	return good;
}

static bool heaps_look(struct move *m)
{
	uint32_t count = 0;

	for (const struct move_kept_image *i = m->images; i; i = i->next)
		count += image_takes_memory(i->data, i->bytes); /* what is packed the worker looks at */
	return !count || move_stays(m, WORKER_STAY_HEAP, count);
}

bool move_images_out(struct move *m)
{
	for (size_t i = 0; i < m->deeds; i++)
		if (is_load(m->deed[i]) && !image_out(m, load_of(m->deed[i])))
			return false;
	return heaps_look(m) && all_variables_out(m);
}

static CUresult image_in(struct move *m, const struct move_kept_image *i)
{
	struct {
		struct call_request head;
		struct code_piece piece;
		uint8_t data[CODE_PIECE_BYTES];
	} *sent = calloc(1, sizeof(*sent));
	CUresult r = sent ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

	for (uint64_t at = 0; r == CUDA_SUCCESS && at < i->bytes; at += sent->piece.bytes) {
		struct link_answer answer;

		sent->head = move_head(CALL_CODE_PIECE, 0);
		memcpy(sent->piece.hash, i->hash, sizeof(i->hash));
		sent->piece.whole = i->bytes;
		sent->piece.at = at;
		sent->piece.bytes = i->bytes - at < CODE_PIECE_BYTES ? i->bytes - at : CODE_PIECE_BYTES;
		memcpy(sent->data, i->data + at, sent->piece.bytes);
		r = move_ask(m, sent, sizeof(sent->head) + sizeof(sent->piece) + remote_padded(sent->piece.bytes),
			     &answer);
		link_done(&answer);
	}
	free(sent);
	return r;
}

/* ---- again ---- */

/* The worker takes it before what is sent next. */
CUresult move_want(struct move *m, const uint64_t *ids, uint32_t count)
{
	struct {
		struct call_request head;
		struct move_names names;
		uint64_t id[MOVE_NAMES_MOST];
	} sent;
	uint32_t done = 0;
	CUresult r;

	do {
		const uint32_t n = count - done < MOVE_NAMES_MOST ? count - done : MOVE_NAMES_MOST;

		sent.head = move_head(CALL_MOVE_NAMES, 0);
		sent.names = (struct move_names){ .next = m->slot, .count = n, .behind = done != 0 };
		if (n)
			memcpy(sent.id, ids + done, n * sizeof(*ids));
		r = move_send(m, &sent, offsetof(typeof(sent), id) + n * sizeof(*ids));
		done += n;
	} while (r == CUDA_SUCCESS && done < count);
	return r;
}

/*
 * What the answer to a load says: the call's own result, or that the image is missing there. A load succeeds also where
 * the driver has no memory to list what is in the image. The session knows functions of it, though: those without their
 * ids would be none to the worker.
 */
static CUresult loaded(const struct link_answer *answer, const struct deed *d, bool *ret_missing)
{
	struct code_loaded l;

	if (answer->bytes < sizeof(l))
		return CLIENT_LOST;
	memcpy(&l, answer->body, sizeof(l));
	*ret_missing = l.missing;
	if (l.result == CUDA_SUCCESS && !l.missing && l.told < d->named_count)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return (CUresult)l.result;
}

/* A function has the id by which the session knows it. */
static bool is_named_so(const struct link_answer *answer, const struct deed *d)
{
	struct code_told told;

	if (d->call != CALL_CODE_TELL || !d->named_count)
		return true;
	if (answer->bytes < sizeof(told))
		return false;
	memcpy(&told, answer->body, sizeof(told));
	return told.id == d->named[0];
}

/* What was made in a context that is no more, and lives on without it, can be made in any. */
static void settle_context(const struct move *m, struct deed *d)
{
	struct call_request *head = (void *)d->message;

	for (unsigned int i = 0; i < m->context_count; i++)
		if (head->context == m->context[i])
			return;
	head->context = m->context_count ? m->context[0] : 0;
}

/* What was set to something that has ended since is set to nothing. */
static bool may_fail(const struct deed *d)
{
	return d->call >= CALL_LIBRARY && d->change;
}

/* The image is sent when the worker has not got it. */
static CUresult load_again(struct move *m, const struct deed *d)
{
	struct move_kept_image *image;
	CUresult r = CUDA_SUCCESS;
	bool missing = true;

	for (unsigned int attempt = 0; r == CUDA_SUCCESS && missing && attempt < 2; attempt++) {
		struct link_answer answer;

		if (attempt) {
			image = find_image(m, load_of(d)->hash);
			r = image ? image_in(m, image) : CUDA_ERROR_NOT_FOUND;
			if (r != CUDA_SUCCESS)
				break;
		}
		r = move_ask(m, d->message, d->bytes, &answer);
		if (r == CUDA_SUCCESS)
			r = loaded(&answer, d, &missing);
		link_done(&answer);
	}
	if (r == CUDA_SUCCESS && missing)
		return CUDA_ERROR_NOT_FOUND;
	return r == CUDA_SUCCESS ? move_known_again(m, load_of(d)->id, head_of(d).context) : r;
}

static CUresult ask_again(struct move *m, const struct deed *d)
{
	struct link_answer answer;
	CUresult r = move_ask(m, d->message, d->bytes, &answer);

	if (r != CUDA_SUCCESS && r != CLIENT_LOST && may_fail(d))
		r = CUDA_SUCCESS;
	if (r == CUDA_SUCCESS && !is_named_so(&answer, d))
		r = CUDA_ERROR_NOT_FOUND;
	link_done(&answer);
	return r;
}

/* The worker begins and ends it before it takes the next request. */
static bool goes_ahead(const struct deed *d)
{
	const struct copy_request *copy = (const void *)((const uint8_t *)d->message + sizeof(struct call_request));

	if (is_load(d) || head_of(d).flags & CALL_PAYLOAD)
		return false;
	if (d->call == CALL_COPY) /* what is answered waits for bytes of the arena (worker/copies.c) */
		return copy->source.kind != COPY_ARENA && copy->target.kind != COPY_ARENA;
	return d->call < CALL_FIRST || d->call == CALL_FILL;
}

static CUresult repeat_one(struct move *m, const struct deed *d)
{
	CUresult r = move_want(m, d->named, d->named_count);

	if (r == CUDA_SUCCESS && goes_ahead(d))
		return move_send(m, d->message, d->bytes);
	if (r == CUDA_SUCCESS)
		r = move_caught_up(m);
	if (r == CUDA_SUCCESS)
		r = is_load(d) ? load_again(m, d) : ask_again(m, d);
	return r;
}

/* ---- what captures need ---- */

static CUresult stand_in_make(struct move *m, struct deed *d)
{
	settle_context(m, d);
	return move_send(m, d->message, d->bytes);
}

/* The worker may put the end of a stream aside. */
static CUresult stand_in_end(struct move *m, const struct deed *d)
{
	const bool stream = d->made_id >> 56 == KIND_STREAM;
	const struct {
		struct call_request head;
		uint64_t id;
	} sent = { .head = move_head(stream ? CUDA_CALL_cuStreamDestroy_v2 : CUDA_CALL_cuEventDestroy_v2,
				     head_of(d).context),
		   .id = d->made_id };
	struct link_answer answer;
	CUresult r;

	if (!stream)
		return move_send(m, &sent, sizeof(sent));
	r = move_caught_up(m);
	if (r != CUDA_SUCCESS)
		return r;
	r = move_ask(m, &sent, sizeof(sent), &answer);
	link_done(&answer);
	return r;
}

/* Another capture has it as well. */
static bool stands_elsewhere(const struct move *m, size_t i)
{
	for (size_t k = 0; k < m->stand_ins; k++)
		if (k != i && m->stands[k] && m->stand_in[k]->made_id == m->stand_in[i]->made_id)
			return true;
	return false;
}

/* Those that have ended before this deed end, and those that it may name are made. */
static CUresult stand_ins_until(struct move *m, uint64_t seq)
{
	CUresult r = CUDA_SUCCESS;

	for (size_t i = 0; r == CUDA_SUCCESS && i < m->stand_ins; i++) {
		if (!m->stands[i] || m->stand_in[i]->until >= seq)
			continue;
		m->stands[i] = 0;
		if (!stands_elsewhere(m, i))
			r = stand_in_end(m, m->stand_in[i]);
	}
	for (size_t i = 0; r == CUDA_SUCCESS && i < m->stand_ins; i++) {
		if (m->stands[i] || m->stand_in[i]->from > seq || m->stand_in[i]->until < seq)
			continue;
		if (!stands_elsewhere(m, i))
			r = stand_in_make(m, m->stand_in[i]);
		m->stands[i] = r == CUDA_SUCCESS;
	}
	return r;
}

CUresult move_contexts_again(struct move *m)
{
	CUresult r = move_want(m, NULL, 0);

	for (size_t i = 0; r == CUDA_SUCCESS && i < m->contexts; i++) {
		struct call_request *head = (void *)m->deed[i]->message;

		/* They are made in none. */
		if (m->deed[i]->call == CUDA_CALL_cuCtxCreate_v2 ||
		    m->deed[i]->call == CUDA_CALL_cuDevicePrimaryCtxRetain)
			head->context = 0;
		r = repeat_one(m, m->deed[i]);
		if (r == CUDA_SUCCESS)
			r = move_caught_up(m); /* making one may take long, and the worker goes on meanwhile */
	}
	return r;
}

/* ---- events ---- */

struct recorded {
	struct {
		uint64_t id, context;
	} * list;
	size_t count, room;
};

static void add_recorded(void *arg, uint64_t handle, const struct object *o)
{
	struct recorded *l = arg;
	struct context *c;

	if (handle_kind(handle) != KIND_EVENT || atomic_load_explicit(&o->word, memory_order_relaxed) < RECORDED)
		return;
	if (l->list && l->count < l->room) {
		c = context_of((CUcontext)(uintptr_t)atomic_load_explicit(&o->context, memory_order_relaxed));
		l->list[l->count].id = o->id;
		l->list[l->count].context = c ? c->id : 0;
	}
	l->count++;
}

/* An event that was recorded is a recorded event again: it has been reached. */
static CUresult record_again(struct move *m)
{
	struct recorded l = { .count = 0 };
	CUresult r = CUDA_SUCCESS;

	handles_each(&m->session->handles, add_recorded, &l);
	l.room = l.count;
	l.count = 0;
	l.list = calloc(l.room + 1, sizeof(*l.list));
	if (!l.list)
		return CUDA_ERROR_OUT_OF_MEMORY;
	handles_each(&m->session->handles, add_recorded, &l);
	for (size_t i = 0; r == CUDA_SUCCESS && i < l.room && i < l.count; i++) {
		const struct {
			struct call_request head;
			uint64_t event, stream;
		} sent = { .head = move_head(CUDA_CALL_cuEventRecord, l.list[i].context),
			   .event = l.list[i].id,
			   .stream = ID_STREAM_LEGACY };

		r = move_send(m, &sent, sizeof(sent));
	}
	free(l.list);
	return r;
}

CUresult move_objects_again(struct move *m)
{
	CUresult r = CUDA_SUCCESS;

	memset(m->stands, 0, m->stand_ins); /* another worker may have had some */
	for (size_t i = m->contexts; r == CUDA_SUCCESS && i < m->deeds; i++) {
		settle_context(m, m->deed[i]);
		r = stand_ins_until(m, m->deed[i]->seq);
		if (r == CUDA_SUCCESS)
			r = repeat_one(m, m->deed[i]);
	}
	if (r == CUDA_SUCCESS)
		r = stand_ins_until(m, UINT64_MAX);
	if (r == CUDA_SUCCESS)
		r = move_want(m, NULL, 0);
	if (r == CUDA_SUCCESS)
		r = move_caught_up(m);
	if (r == CUDA_SUCCESS)
		r = move_arrays_in(m);
	if (r == CUDA_SUCCESS)
		r = textures_again(m->session);
	if (r == CUDA_SUCCESS)
		r = move_variables_in(m);
	if (r == CUDA_SUCCESS)
		r = record_again(m);
	return r == CUDA_SUCCESS ? move_caught_up(m) : r;
}

void move_objects_free(struct move *m)
{
	move_variables_free(m);
	move_arrays_free(m);
	while (m->images) {
		struct move_kept_image *i = m->images;

		m->images = i->next;
		free(i);
	}
	free(m->deed);
	free(m->stand_in);
	free(m->stands);
}
