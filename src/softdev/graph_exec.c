/* graph_exec.c: instantiated graphs and their launches. See graph.h. */
#include "softdev/graph.h"

#include <stdlib.h>
#include <string.h>

static CUresult exec_find(CUgraphExec h, struct exec **ret)
{
	CUresult e = driver_ready();

	if (e)
		return e;
	*ret = handle_find(HANDLE_EXEC, h);
	return *ret ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- life ---- */

static void exec_unref(struct exec *x)
{
	if (atomic_fetch_sub(&x->references, 1) != 1)
		return;
	for (size_t i = 0; i < x->step_count; i++) {
		work_deinit(&x->step[i].work);
		graph_memory_unref(x->step[i].memory);
	}
	free(x->step);
	handle_free(x);
}

void exec_done(struct exec *x)
{
	graph_memory_settle(x->step, x->step_count);
	exec_unref(x);
}

/* ---- order ---- */

static bool node_ready(const struct node *n)
{
	for (size_t i = 0; i < n->need_count; i++)
		if (!n->need[i]->mark)
			return false;
	return true;
}

static CUresult step_add(struct exec *x, struct node *n)
{
	struct step *step = reallocarray(x->step, x->step_count + 1, sizeof(*step));

	if (!step)
		return CUDA_ERROR_OUT_OF_MEMORY;
	x->step = step;
	step += x->step_count;
	memset(step, 0, sizeof(*step));
	if (!work_clone(&n->work, &step->work))
		return CUDA_ERROR_OUT_OF_MEMORY;
	step->type = n->type;
	step->origin = n;
	step->origin_generation = n->head.generation;
	step->enabled = true;
	if (n->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || n->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
		step->memory = graph_memory_ref(n->alloc.memory);
	x->step_count++;
	return CUDA_SUCCESS;
}

/*
 * Adds the graph's nodes in an order that the edges allow, in passes over the list: nodes are nearly always made after
 * what they depend on, so one pass does. Value: CUDA_ERROR_INVALID_VALUE for a circle.
 */
static CUresult steps_add(struct exec *x, const struct graph *g)
{
	size_t left = g->count, before = 0;
	CUresult e;

	for (struct node *n = g->first; n; n = n->next)
		n->mark = 0;
	while (left && left != before) {
		before = left;
		for (struct node *n = g->first; n; n = n->next) {
			if (n->mark || !node_ready(n))
				continue;
			e = n->type == CU_GRAPH_NODE_TYPE_GRAPH ? steps_add(x, n->child) : step_add(x, n);
			if (e)
				return e;
			n->mark = 1;
			left--;
		}
	}
	return left ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult exec_new(const struct graph *g, uint64_t flags, struct exec **ret)
{
	struct exec *x = handle_new(HANDLE_EXEC);
	CUresult e;

	if (!x)
		return CUDA_ERROR_OUT_OF_MEMORY;
	x->references = 1;
	x->flags = flags;
	e = steps_add(x, g);
	if (e)
		exec_unref(x);
	else
		*ret = x;
	return e;
}

/* ---- instantiation ---- */

#define FLAGS_KNOWN                                                                                                    \
	(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |                        \
	 CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)

CUresult soft_cuGraphInstantiateWithFlags(CUgraphExec *ret, CUgraph h, unsigned long long flags)
{
	struct graph *g;
	struct exec *x;
	CUresult e = graph_find(h, &g);

	if (e)
		return e;
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!ret || g->capturing || flags & ~(unsigned long long)FLAGS_KNOWN)
		return CUDA_ERROR_INVALID_VALUE;
	e = exec_new(g, flags, &x);
	if (!e)
		*ret = (CUgraphExec)x;
	return e;
}

CUresult soft_cuGraphInstantiate_v2(CUgraphExec *ret, CUgraph h, CUgraphNode *ret_node, char *log, size_t bytes)
{
	if (ret_node)
		*ret_node = NULL;
	if (log && bytes)
		log[0] = 0;
	return soft_cuGraphInstantiateWithFlags(ret, h, 0);
}

CUresult soft_cuGraphInstantiate(CUgraphExec *ret, CUgraph h, CUgraphNode *ret_node, char *log, size_t bytes)
{
	return soft_cuGraphInstantiate_v2(ret, h, ret_node, log, bytes);
}

CUresult soft_cuGraphInstantiateWithParams(CUgraphExec *ret, CUgraph h, CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	CUresult e;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	params->hErrNode_out = NULL;
	e = soft_cuGraphInstantiateWithFlags(ret, h, params->flags);
	params->result_out = e ? CUDA_GRAPH_INSTANTIATE_ERROR : CUDA_GRAPH_INSTANTIATE_SUCCESS;
	return e;
}

CUresult soft_cuGraphExecGetFlags(CUgraphExec h, cuuint64_t *ret)
{
	struct exec *x;
	CUresult e = exec_find(h, &x);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = x->flags;
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphExecDestroy(CUgraphExec h)
{
	struct exec *x;
	CUresult e = exec_find(h, &x);

	if (e)
		return e;
	if (!handle_retire(x))
		return CUDA_ERROR_INVALID_VALUE;
	exec_unref(x);
	return CUDA_SUCCESS;
}

/* ---- launch ---- */

void exec_run(struct exec *x, struct stream *s)
{
	for (size_t i = 0; i < x->step_count; i++) {
		struct step *step = &x->step[i];

		if (!step->enabled)
			continue;
		if (!step->work.context)
			step->work.context = s->context;
		if (step->work.kind == WORK_RECORD)
			event_reached(step->work.record.event, step->work.record.event_generation,
				      step->work.record.event->version);
		else
			work_run(&step->work, s);
	}
}

/* The points that must have been reached before: the launch before, and the events that the graph waits for. */
static CUresult launch_points(const struct exec *x, struct point **ret, uint32_t *ret_count)
{
	*ret = calloc(x->step_count + 1, sizeof(**ret));
	if (!*ret)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret_count = 0;
	pthread_mutex_lock(&stream_mutex);
	(*ret)[(*ret_count)++] = x->last;
	for (size_t i = 0; i < x->step_count; i++) {
		const struct work *w = &x->step[i].work;

		if (w->kind == WORK_WAIT && w->record.event->head.generation == w->record.event_generation)
			(*ret)[(*ret_count)++] = w->record.event->point;
	}
	pthread_mutex_unlock(&stream_mutex);
	return CUDA_SUCCESS;
}

/* The events that the graph records are reached with it. */
static void launch_events(struct exec *x, struct stream *s)
{
	struct point p = stream_point(s);

	pthread_mutex_lock(&stream_mutex);
	x->last = p;
	for (size_t i = 0; i < x->step_count; i++) {
		const struct work *w = &x->step[i].work;

		if (w->kind != WORK_RECORD || w->record.event->head.generation != w->record.event_generation)
			continue;
		w->record.event->point = p;
		w->record.event->version++;
	}
	pthread_mutex_unlock(&stream_mutex);
}

static CUresult exec_launch(struct exec *x, struct stream *s)
{
	struct work w = { .kind = WORK_GRAPH, .graph = { x } };
	struct point *point;
	uint32_t count;
	CUresult e = launch_points(x, &point, &count);

	if (e)
		return e;
	e = graph_memory_take(x->step, x->step_count, x->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
	if (!e) {
		atomic_fetch_add(&x->references, 1);
		e = stream_submit_after(s, &w, point, count);
		if (!e)
			launch_events(x, s);
	}
	free(point);
	return e;
}

CUresult soft_cuGraphLaunch(CUgraphExec h, CUstream stream)
{
	struct stream *s;
	struct exec *x;
	CUresult e = stream_find(stream, &s);

	if (!e)
		e = exec_find(h, &x);
	if (e)
		return e;
	return capture_of(s) ? capture_forbidden(s) : exec_launch(x, s);
}

CUresult soft_cuGraphUpload(CUgraphExec h, CUstream stream)
{
	struct stream *s;
	struct exec *x;
	CUresult e = stream_find(stream, &s);

	return e ? e : exec_find(h, &x);
}

/* ---- changing an instantiated graph: for the launches to come ---- */

/* The step of a node, when no launch runs. */
static CUresult step_find(CUgraphExec h, CUgraphNode node, CUgraphNodeType type, struct step **ret)
{
	struct exec *x;
	struct node *n;
	CUresult e = exec_find(h, &x);

	if (!e)
		e = node_find(node, &n);
	if (e)
		return e;
	for (size_t i = 0; i < x->step_count; i++)
		if (x->step[i].origin == n && x->step[i].origin_generation == n->head.generation) {
			if (type != CU_GRAPH_NODE_TYPE_EMPTY && x->step[i].type != type)
				return CUDA_ERROR_INVALID_VALUE;
			point_wait(&x->last);
			*ret = &x->step[i];
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult exec_step_set(CUgraphExec h, CUgraphNode node, CUgraphNodeType type, struct work *w)
{
	struct step *step;
	CUresult e = step_find(h, node, type, &step);

	if (e) {
		work_deinit(w);
		return e;
	}
	work_deinit(&step->work);
	step->work = *w;
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphNodeSetEnabled(CUgraphExec h, CUgraphNode node, unsigned enabled)
{
	struct step *step;
	CUresult e = step_find(h, node, CU_GRAPH_NODE_TYPE_EMPTY, &step);

	if (e)
		return e;
	if (step->type != CU_GRAPH_NODE_TYPE_KERNEL && step->type != CU_GRAPH_NODE_TYPE_MEMCPY &&
	    step->type != CU_GRAPH_NODE_TYPE_MEMSET)
		return CUDA_ERROR_INVALID_VALUE;
	step->enabled = enabled;
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphNodeGetEnabled(CUgraphExec h, CUgraphNode node, unsigned *ret)
{
	struct step *step;
	CUresult e = step_find(h, node, CU_GRAPH_NODE_TYPE_EMPTY, &step);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = step->enabled;
	return CUDA_SUCCESS;
}

/* A graph of the same shape takes the place of the one that was instantiated. */
static CUgraphExecUpdateResult exec_update(struct exec *x, const struct graph *g)
{
	struct exec *new;

	if (exec_new(g, x->flags, &new))
		return CU_GRAPH_EXEC_UPDATE_ERROR;
	if (new->step_count != x->step_count) {
		exec_unref(new);
		return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	}
	for (size_t i = 0; i < x->step_count; i++)
		if (new->step[i].type != x->step[i].type || new->step[i].memory != x->step[i].memory) {
			exec_unref(new);
			return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
		}
	point_wait(&x->last);
	for (size_t i = 0; i < x->step_count; i++) {
		struct work old = x->step[i].work;

		x->step[i].work = new->step[i].work;
		new->step[i].work = old;
	}
	exec_unref(new);
	return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

CUresult soft_cuGraphExecUpdate_v2(CUgraphExec h, CUgraph graph, CUgraphExecUpdateResultInfo *ret)
{
	struct graph *g;
	struct exec *x;
	CUresult e = exec_find(h, &x);

	if (!e)
		e = graph_find(graph, &g);
	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	memset(ret, 0, sizeof(*ret));
	ret->result = exec_update(x, g);
	return ret->result ? CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE : CUDA_SUCCESS;
}

CUresult soft_cuGraphExecUpdate(CUgraphExec h, CUgraph graph, CUgraphNode *ret_node, CUgraphExecUpdateResult *ret)
{
	CUgraphExecUpdateResultInfo info;
	CUresult e = soft_cuGraphExecUpdate_v2(h, graph, &info);

	if (ret_node)
		*ret_node = NULL;
	if (ret && (!e || e == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE))
		*ret = info.result;
	return e;
}
