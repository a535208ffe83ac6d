/*
 * graph_program.c: from the mirror of a graph to steps. See graph.h.
 *
 * Each graph's nodes are brought into an order that the edges allow. A child graph becomes a step without work where it
 * begins, its own steps, and one where it ends. A body of a conditional node is a program of its own.
 */
#include "softdev/graph.h"

#include <stdlib.h>
#include <string.h>

#define NO_STEP UINT32_MAX

struct link {
	uint32_t from, to;
};

/* One program while it is made. */
struct builder {
	struct exec *exec;
	struct program *program;
	struct link *link;
	size_t link_count, link_room;
	uint32_t step_room;
	bool body; /* of a conditional node */
	CUgraphInstantiateResult result;
	struct node *bad;
};

static CUresult build(struct builder *b, const struct graph *g, uint32_t entry, uint32_t *ret_exit);

static CUresult refuse(struct builder *b, CUgraphInstantiateResult result, struct node *n, CUresult e)
{
	b->result = result;
	b->bad = n;
	return e;
}

static CUresult step_new(struct builder *b, struct node *n, uint32_t *ret)
{
	struct program *p = b->program;

	if (p->count == b->step_room) {
		uint32_t room = b->step_room * 2 + 16;
		struct step *more = reallocarray(p->step, room, sizeof(*more));

		if (!more)
			return CUDA_ERROR_OUT_OF_MEMORY;
		p->step = more;
		b->step_room = room;
	}
	p->step[p->count] = (struct step){ .node = n, .number = b->exec->step_count++ };
	*ret = p->count++;
	return CUDA_SUCCESS;
}

static CUresult link_new(struct builder *b, uint32_t from, uint32_t to)
{
	if (from == NO_STEP)
		return CUDA_SUCCESS;
	if (b->link_count == b->link_room) {
		size_t room = b->link_room * 2 + 16;
		struct link *more = reallocarray(b->link, room, sizeof(*more));

		if (!more)
			return CUDA_ERROR_OUT_OF_MEMORY;
		b->link = more;
		b->link_room = room;
	}
	b->link[b->link_count++] = (struct link){ from, to };
	b->program->step[to].need++;
	return CUDA_SUCCESS;
}

/* ---- the order of one graph ---- */

struct order {
	struct node **node;    /* by the order of their making */
	uint32_t *first;       /* where each node's dependents begin in `next` */
	uint32_t *next, *left; /* left: dependencies not yet placed */
	uint32_t *queue;       /* the order */
	uint32_t *begin, *end; /* steps */
};

static void order_deinit(struct order *o)
{
	free(o->node);
	free(o->first);
}

static bool order_init(struct order *o, const struct graph *g)
{
	size_t n = g->count, edges = 0;
	uint32_t *all;

	for (struct node *k = g->first; k; k = k->next)
		edges += k->need_count;
	o->node = malloc((n + 1) * sizeof(struct node *));
	all = calloc(5 * (n + 2) + edges, sizeof(*all));
	o->first = all;
	if (!o->node || !all) {
		order_deinit(o);
		return false;
	}
	o->left = all + (n + 2);
	o->queue = o->left + n;
	o->begin = o->queue + n;
	o->end = o->begin + n;
	o->next = o->end + n;
	return true;
}

/* Value: how many nodes could be placed; fewer than all when there is a circle. */
static uint32_t order_make(struct order *o, const struct graph *g)
{
	uint32_t n = 0, head = 0, tail = 0;

	for (struct node *k = g->first; k; k = k->next) {
		k->mark = n;
		o->node[n++] = k;
	}
	for (uint32_t i = 0; i < n; i++)
		for (size_t j = 0; j < o->node[i]->need_count; j++)
			o->first[o->node[i]->need[j].from->mark + 2]++;
	for (uint32_t i = 0; i < n; i++)
		o->first[i + 2] += o->first[i + 1];
	for (uint32_t i = 0; i < n; i++)
		for (size_t j = 0; j < o->node[i]->need_count; j++)
			o->next[o->first[o->node[i]->need[j].from->mark + 1]++] = i;
	for (uint32_t i = 0; i < n; i++) {
		o->left[i] = (uint32_t)o->node[i]->need_count;
		if (!o->left[i])
			o->queue[tail++] = i;
	}
	while (head < tail) {
		uint32_t at = o->queue[head++];

		for (uint32_t i = o->first[at]; i < o->first[at + 1]; i++)
			if (!--o->left[o->next[i]])
				o->queue[tail++] = o->next[i];
	}
	return tail;
}

/* ---- steps ---- */

static bool allowed_in_body(CUgraphNodeType type)
{
	return type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_MEMCPY ||
	       type == CU_GRAPH_NODE_TYPE_MEMSET || type == CU_GRAPH_NODE_TYPE_EMPTY ||
	       type == CU_GRAPH_NODE_TYPE_GRAPH || type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
}

static CUresult program_finish(struct builder *b)
{
	struct program *p = b->program;
	uint32_t at = 0, roots = 0;

	p->next = malloc((b->link_count + 1) * sizeof(*p->next));
	p->pending = calloc(p->count + 1, sizeof(*p->pending));
	p->ready = calloc(p->count + 1, sizeof(*p->ready));
	p->held = calloc(p->count + 1, sizeof(*p->held));
	if (!p->next || !p->pending || !p->ready || !p->held)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < b->link_count; i++)
		p->step[b->link[i].from].next_count++;
	p->narrow = true;
	for (uint32_t i = 0; i < p->count; i++) {
		p->step[i].next = at;
		at += p->step[i].next_count;
		p->narrow &= p->step[i].next_count <= 1;
		roots += !p->step[i].need;
		p->step[i].next_count = 0;
	}
	p->narrow &= roots <= 1;
	for (size_t i = 0; i < b->link_count; i++) {
		struct step *s = &p->step[b->link[i].from];

		p->next[s->next + s->next_count++] = b->link[i].to;
	}
	return CUDA_SUCCESS;
}

static CUresult build_body(struct builder *b, const struct graph *g, struct program *ret)
{
	struct builder inner = { .exec = b->exec, .program = ret, .body = true };
	uint32_t unused;
	CUresult e = build(&inner, g, NO_STEP, &unused);

	if (!e)
		e = program_finish(&inner);
	if (e && inner.bad)
		refuse(b, inner.result, inner.bad, e);
	free(inner.link);
	return e;
}

/* The branches of a conditional node. */
static CUresult build_conditional(struct builder *b, struct node *n, uint32_t step)
{
	struct program *body = calloc(n->conditional.count, sizeof(*body));
	CUresult e = CUDA_SUCCESS;

	if (!body)
		return CUDA_ERROR_OUT_OF_MEMORY;
	b->program->step[step].body = body;
	while (b->exec->mirror->condition[b->program->step[step].slot].handle != n->conditional.handle)
		b->program->step[step].slot++; /* the handle was checked when the node was made */
	for (uint32_t i = 0; !e && i < n->conditional.count; i++)
		e = build_body(b, (struct graph *)n->conditional.body[i], &body[i]);
	return e;
}

static CUresult build_node(struct builder *b, struct node *n, uint32_t *ret_begin, uint32_t *ret_end)
{
	struct exec *x = b->exec;
	CUresult e;

	if (b->body && !allowed_in_body(n->type))
		return refuse(b, CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED, n, CUDA_ERROR_NOT_SUPPORTED);
	e = step_new(b, n, ret_begin);
	if (e)
		return e;
	n->step = b->program->step[*ret_begin].number;
	*ret_end = *ret_begin;
	switch (n->type) {
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return build(b, n->child, *ret_begin, ret_end);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return build_conditional(b, n, *ret_begin);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		b->program->step[*ret_begin].slot = x->wait_count++;
		return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		b->program->step[*ret_begin].slot = x->record_count++;
		return CUDA_SUCCESS;
	default:
		return CUDA_SUCCESS;
	}
}

static CUresult build_nodes(struct builder *b, const struct graph *g, struct order *o, uint32_t entry)
{
	CUresult e = CUDA_SUCCESS;

	for (uint32_t i = 0; !e && i < g->count; i++) {
		uint32_t at = o->queue[i];
		struct node *n = o->node[at];

		e = build_node(b, n, &o->begin[at], &o->end[at]);
		if (!e && !n->need_count)
			e = link_new(b, entry, o->begin[at]);
		for (size_t j = 0; !e && j < n->need_count; j++)
			e = link_new(b, o->end[n->need[j].from->mark], o->begin[at]);
	}
	return e;
}

/* The steps of one graph after `entry`. ret_exit: a step after all of them, where there is an entry. */
static CUresult build(struct builder *b, const struct graph *g, uint32_t entry, uint32_t *ret_exit)
{
	struct order o;
	uint32_t placed;
	CUresult e;

	if (!order_init(&o, g))
		return CUDA_ERROR_OUT_OF_MEMORY;
	placed = order_make(&o, g);
	if (placed < g->count) {
		uint32_t i = 0;

		while (!o.left[i])
			i++;
		e = refuse(b, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE, o.node[i], CUDA_ERROR_INVALID_VALUE);
	} else {
		e = build_nodes(b, g, &o, entry);
	}
	if (!e && entry != NO_STEP) {
		e = step_new(b, NULL, ret_exit);
		if (!e && !g->count)
			e = link_new(b, entry, *ret_exit);
		for (uint32_t i = 0; !e && i < g->count; i++)
			if (o.first[i] == o.first[i + 1])
				e = link_new(b, o.end[i], *ret_exit);
	}
	order_deinit(&o);
	return e;
}

static bool condition_used(const struct graph *g, CUgraphConditionalHandle handle)
{
	for (const struct node *n = g->first; n; n = n->next) {
		if (n->type != CU_GRAPH_NODE_TYPE_CONDITIONAL)
			continue;
		if (n->conditional.handle == handle)
			return true;
		for (uint32_t i = 0; i < n->conditional.count; i++)
			if (condition_used((struct graph *)n->conditional.body[i], handle))
				return true;
	}
	return false;
}

CUresult exec_compile(struct exec *x, CUgraphInstantiateResult *ret_result, struct node **ret_node)
{
	struct builder b = { .exec = x, .program = &x->program };
	uint32_t unused;
	CUresult e = CUDA_SUCCESS;

	for (uint32_t i = 0; !e && i < x->mirror->condition_count; i++)
		if (!condition_used(x->mirror, x->mirror->condition[i].handle))
			e = refuse(&b, CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED, NULL,
				   CUDA_ERROR_INVALID_VALUE);
	if (!e)
		e = build(&b, x->mirror, NO_STEP, &unused);
	if (!e)
		e = program_finish(&b);
	free(b.link);
	if (e) {
		*ret_result = b.result ? b.result : CUDA_GRAPH_INSTANTIATE_ERROR;
		*ret_node = b.bad;
	}
	return e;
}

void program_deinit(struct program *p)
{
	for (uint32_t i = 0; i < p->count; i++) {
		const struct node *n = p->step[i].node;

		for (uint32_t k = 0; p->step[i].body && k < n->conditional.count; k++)
			program_deinit(&p->step[i].body[k]);
		free(p->step[i].body);
	}
	free(p->step);
	free(p->next);
	free((void *)p->pending);
	free(p->ready);
	free(p->held);
}
