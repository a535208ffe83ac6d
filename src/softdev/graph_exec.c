/* graph_exec.c: instantiated graphs and their launches. See graph.h. */
#include "softdev/graph.h"

#include "softdev/log.h"

#include <stdlib.h>
#include <string.h>

pthread_mutex_t graph_launch_mutex = PTHREAD_MUTEX_INITIALIZER;

CUresult exec_find(CUgraphExec h, struct exec **ret)
{
	CUresult e = driver_ready();

	if (e)
		return e;
	*ret = handle_find(HANDLE_EXEC, h);
	return *ret ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- plans ---- */

void task_unref(struct task *t)
{
	if (!t || atomic_fetch_sub(&t->references, 1) != 1)
		return;
	work_deinit(&t->work);
	free(t);
}

struct task *task_new(const struct node *n)
{
	struct task *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->references = 1;
	t->priority = n->type == CU_GRAPH_NODE_TYPE_KERNEL ? kernel_priority(n) : 0;
	if (!work_clone(&n->work, &t->work)) {
		free(t);
		return NULL;
	}
	return t;
}

struct plan *plan_ref(struct plan *p)
{
	atomic_fetch_add(&p->references, 1);
	return p;
}

void plan_unref(struct plan *p)
{
	if (!p || atomic_fetch_sub(&p->references, 1) != 1)
		return;
	for (uint32_t i = 0; i < p->count && p->at; i++)
		task_unref(p->at[i].task);
	for (uint32_t i = 0; i < p->memory_count; i++)
		graph_memory_unref(p->memory[i].memory);
	free(p->at);
	free(p->memory);
	free(p->condition);
	free(p);
}

static struct plan *plan_new(uint32_t count, uint32_t conditions)
{
	struct plan *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->references = 1;
	p->count = count;
	p->at = calloc(count + 1, sizeof(*p->at));
	p->condition = calloc(conditions + 1, sizeof(*p->condition));
	p->condition_count = conditions;
	if (p->at && p->condition)
		return p;
	plan_unref(p);
	return NULL;
}

static uint32_t memory_nodes(const struct program *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->count; i++)
		n += p->step[i].node && (p->step[i].node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
					 p->step[i].node->type == CU_GRAPH_NODE_TYPE_MEM_FREE);
	return n;
}

CUresult plan_memory(struct plan *p, const struct exec *x)
{
	struct memory_use *use = calloc(memory_nodes(&x->program) + 1, sizeof(*use));
	uint32_t n = 0;

	if (!use)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < x->program.count; i++) {
		const struct node *k = x->program.step[i].node;
		bool allocates = k && k->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC;

		if (allocates || (k && k->type == CU_GRAPH_NODE_TYPE_MEM_FREE))
			use[n++] = (struct memory_use){ graph_memory_ref(k->alloc.memory), allocates, false };
	}
	for (uint32_t i = 0; i < p->memory_count; i++)
		graph_memory_unref(p->memory[i].memory);
	free(p->memory);
	p->memory = use;
	p->memory_count = n;
	return CUDA_SUCCESS;
}

static struct plan *plan_copy(const struct plan *from)
{
	struct plan *p = plan_new(from->count, from->condition_count);

	if (!p)
		return NULL;
	p->memory = calloc(from->memory_count + 1, sizeof(*p->memory));
	if (!p->memory) {
		plan_unref(p);
		return NULL;
	}
	for (uint32_t i = 0; i < from->count; i++) {
		p->at[i] = from->at[i];
		if (p->at[i].task)
			atomic_fetch_add(&p->at[i].task->references, 1);
	}
	for (; p->memory_count < from->memory_count; p->memory_count++) {
		p->memory[p->memory_count] = from->memory[p->memory_count];
		graph_memory_ref(p->memory[p->memory_count].memory);
	}
	memcpy(p->condition, from->condition, from->condition_count * sizeof(*p->condition));
	return p;
}

struct plan *exec_plan_locked(struct exec *x)
{
	struct plan *copy;

	if (atomic_load(&x->plan->references) == 1)
		return x->plan;
	copy = plan_copy(x->plan);
	if (!copy)
		return NULL;
	plan_unref(x->plan);
	x->plan = copy;
	return copy;
}

/* ---- life ---- */

void exec_settle(struct exec *x, unsigned int references)
{
	struct object_use *gone = NULL;

	/* A launch that could not be submitted ends with the lock held: the next one that ends makes up for it. */
	if (pthread_mutex_trylock(&graph_launch_mutex))
		return;
	if (atomic_load(&x->references) == references) {
		gone = x->displaced;
		x->displaced = NULL;
	}
	pthread_mutex_unlock(&graph_launch_mutex);
	object_use_free(gone);
}

static void exec_unref(struct exec *x)
{
	if (atomic_fetch_sub(&x->references, 1) != 1)
		return;
	plan_unref(x->plan);
	object_use_free(x->displaced);
	program_deinit(&x->program);
	for (uint32_t i = 0; x->gate && i < x->record_count; i++)
		stream_gate_free(x->gate[i]);
	free(x->gate);
	free(x->wait);
	free(x->record);
	free((void *)x->value);
	free(x->name);
	if (x->mirror)
		graph_free(x->mirror);
	x->head.generation++;
	handle_free(x);
}

static int name_compare(const void *a, const void *b)
{
	const struct step_name *x = a, *y = b;

	return x->origin < y->origin ? -1 : x->origin > y->origin;
}

static uint32_t count_nodes(const struct graph *g)
{
	uint32_t n = 0;

	for (const struct node *k = g->first; k; k = k->next) {
		n += 1 + (k->type == CU_GRAPH_NODE_TYPE_GRAPH ? count_nodes(k->child) : 0);
		for (uint32_t i = 0; k->type == CU_GRAPH_NODE_TYPE_CONDITIONAL && i < k->conditional.count; i++)
			n += count_nodes((struct graph *)k->conditional.body[i]);
	}
	return n;
}

static void names_add(struct exec *x, const struct graph *g)
{
	for (struct node *n = g->first; n; n = n->next) {
		x->name[x->name_count++] = (struct step_name){ n->origin, n->origin_generation, n };
		if (n->type == CU_GRAPH_NODE_TYPE_GRAPH)
			names_add(x, n->child);
		for (uint32_t i = 0; n->type == CU_GRAPH_NODE_TYPE_CONDITIONAL && i < n->conditional.count; i++)
			names_add(x, (struct graph *)n->conditional.body[i]);
	}
}

static bool names_init(struct exec *x)
{
	x->name = malloc((count_nodes(x->mirror) + 1) * sizeof(*x->name));
	if (!x->name)
		return false;
	names_add(x, x->mirror);
	qsort(x->name, x->name_count, sizeof(*x->name), name_compare);
	return true;
}

CUresult exec_node(CUgraphExec h, CUgraphNode node, struct exec **ret_exec, struct node **ret)
{
	const struct step_name *found;
	struct step_name key;
	struct node *n;
	CUresult e = exec_find(h, ret_exec);

	if (!e)
		e = node_find(node, &n);
	if (e)
		return e;
	key.origin = n;
	found = bsearch(&key, (*ret_exec)->name, (*ret_exec)->name_count, sizeof(key), name_compare);
	if (!found || found->generation != n->head.generation)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = found->node;
	return CUDA_SUCCESS;
}

static CUresult tasks_init(struct exec *x, const struct program *p)
{
	for (uint32_t i = 0; i < p->count; i++) {
		const struct step *s = &p->step[i];
		CUresult e = CUDA_SUCCESS;

		x->plan->at[s->number].enabled = true;
		if (s->node && !(x->plan->at[s->number].task = task_new(s->node)))
			e = CUDA_ERROR_OUT_OF_MEMORY;
		for (uint32_t k = 0; !e && s->body && k < s->node->conditional.count; k++)
			e = tasks_init(x, &s->body[k]);
		if (e)
			return e;
		if (s->node && s->node->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT)
			x->wait[s->slot] = s->number;
		if (s->node && s->node->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
			x->record[s->slot] = s->number;
	}
	return CUDA_SUCCESS;
}

static CUresult exec_fill(struct exec *x)
{
	uint32_t conditions = x->mirror->condition_count;
	CUresult e;

	x->plan = plan_new(x->step_count, conditions);
	x->wait = calloc(x->wait_count + 1, sizeof(*x->wait));
	x->record = calloc(x->record_count + 1, sizeof(*x->record));
	x->gate = calloc(x->record_count + 1, sizeof(*x->gate));
	x->value = calloc(conditions + 1, sizeof(*x->value));
	if (!x->plan || !x->wait || !x->record || !x->gate || !x->value || !names_init(x))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (conditions)
		memcpy(x->plan->condition, x->mirror->condition, conditions * sizeof(*x->plan->condition));
	for (uint32_t i = 0; i < x->record_count; i++)
		if (!(x->gate[i] = stream_gate_new()))
			return CUDA_ERROR_OUT_OF_MEMORY;
	e = tasks_init(x, &x->program);
	return e ? e : plan_memory(x->plan, x);
}

static CUresult exec_new(const struct graph *g, uint64_t flags, struct exec **ret, CUgraphInstantiateResult *ret_result,
			 struct node **ret_node)
{
	struct exec *x = handle_new(HANDLE_EXEC);
	struct node *bad = NULL;
	CUresult e;

	*ret_result = CUDA_GRAPH_INSTANTIATE_ERROR;
	*ret_node = NULL;
	if (!x)
		return CUDA_ERROR_OUT_OF_MEMORY;
	x->references = 1;
	x->flags = flags;
	x->id = graph_id();
	e = graph_clone(g, CLONE_MIRROR, &x->mirror);
	if (!e)
		e = exec_compile(x, ret_result, &bad);
	if (!e)
		e = exec_fill(x);
	if (e) {
		*ret_node = bad ? bad->origin : NULL;
		handle_retire(x);
		exec_unref(x);
		return e;
	}
	*ret_result = CUDA_GRAPH_INSTANTIATE_SUCCESS;
	*ret = x;
	return CUDA_SUCCESS;
}

/* ---- instantiation ---- */

#define FLAGS_KNOWN                                                                                                    \
	(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |                        \
	 CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)

static bool exec_exists(const struct graph *g)
{
	return g->exec && g->exec->head.live && g->exec->head.generation == g->exec_generation;
}

static CUresult instantiate(CUgraphExec *ret, CUgraph h, uint64_t flags, CUgraphInstantiateResult *ret_result,
			    struct node **ret_node)
{
	struct graph *g;
	struct exec *x;
	CUresult e = graph_find(h, &g);

	*ret_result = CUDA_GRAPH_INSTANTIATE_ERROR;
	*ret_node = NULL;
	if (e)
		return e;
	if (!ret || g->owner || g->capturing || flags & ~(uint64_t)FLAGS_KNOWN)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) {
		log_line("a graph is instantiated for launches from the device: the software device has none");
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	if (g->has_memory && exec_exists(g))
		return CUDA_ERROR_NOT_SUPPORTED; /* as documented: one at a time */
	e = exec_new(g, flags, &x, ret_result, ret_node);
	if (e)
		return e;
	g->exec = x;
	g->exec_generation = x->head.generation;
	*ret = (CUgraphExec)x;
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphExecGetId(CUgraphExec h, unsigned *ret)
{
	struct exec *x;
	CUresult e = exec_find(h, &x);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = x->id;
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphInstantiateWithFlags(CUgraphExec *ret, CUgraph h, unsigned long long flags)
{
	CUgraphInstantiateResult result;
	struct node *n;

	return instantiate(ret, h, flags, &result, &n);
}

CUresult soft_cuGraphInstantiate_v2(CUgraphExec *ret, CUgraph h, CUgraphNode *ret_node, char *log, size_t bytes)
{
	static const char *const words[] = {
		[CUDA_GRAPH_INSTANTIATE_SUCCESS] = "",
		[CUDA_GRAPH_INSTANTIATE_ERROR] = "the graph cannot be instantiated",
		[CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE] = "the edges of the graph make a circle",
		[CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED] =
			"the body of a conditional node contains a node that is not allowed there",
		[CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED] = "a conditional handle has no node",
	};
	CUgraphInstantiateResult result;
	struct node *n;
	CUresult e = instantiate(ret, h, 0, &result, &n);

	if (ret_node)
		*ret_node = (CUgraphNode)n;
	if (log && bytes) {
		log[0] = 0;
		strncat(log, words[result], bytes - 1);
	}
	return e;
}

CUresult soft_cuGraphInstantiate(CUgraphExec *ret, CUgraph h, CUgraphNode *ret_node, char *log, size_t bytes)
{
	return soft_cuGraphInstantiate_v2(ret, h, ret_node, log, bytes);
}

CUresult soft_cuGraphInstantiateWithParams(CUgraphExec *ret, CUgraph h, CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	struct node *n;
	CUresult e;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	e = instantiate(ret, h, params->flags, &params->result_out, &n);
	params->hErrNode_out = (CUgraphNode)n;
	if (!e && params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) {
		e = soft_cuGraphUpload(*ret, params->hUploadStream);
		if (e) {
			soft_cuGraphExecDestroy(*ret);
			params->result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
		}
	}
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

static void launch_free(struct graph_launch *l)
{
	pthread_mutex_destroy(&l->host_mutex);
	for (uint32_t i = 0; l->wait && i < l->exec->wait_count; i++)
		shared_event_unref(l->wait[i].shared);
	plan_unref(l->plan);
	exec_unref(l->exec);
	free(l->wait);
	free(l->record);
	flight_deinit(&l->flight);
	free(l);
}

void graph_launch_done(struct graph_launch *l)
{
	for (uint32_t i = 0; i < l->exec->record_count; i++) {
		if (l->record[i].sequence && !l->record[i].done)
			stream_gate_reach(l->exec->gate[i], l->record[i].sequence);
		work_deinit(&l->record[i].work);
	}
	graph_memory_settle(l->plan->memory, l->plan->memory_count);
	exec_settle(l->exec, 2);
	launch_free(l);
}

static struct graph_launch *launch_new(struct exec *x)
{
	struct graph_launch *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	pthread_mutex_init(&l->host_mutex, NULL);
	atomic_fetch_add(&x->references, 1);
	l->exec = x;
	l->plan = plan_ref(x->plan);
	l->wait = calloc(x->wait_count + 1, sizeof(*l->wait));
	l->record = calloc(x->record_count + 1, sizeof(*l->record));
	if (l->wait && l->record)
		return l;
	launch_free(l);
	return NULL;
}

/* The events that the graph waits for, as they are now. */
static void launch_waits(struct graph_launch *l)
{
	const struct exec *x = l->exec;

	for (uint32_t i = 0; i < x->wait_count; i++) {
		const struct work *w = &l->plan->at[x->wait[i]].task->work;
		struct event *ev = w->record.event;

		if (ev->head.generation != w->record.event_generation)
			continue;
		if (event_foreign(ev, &l->wait[i].record)) {
			l->wait[i].shared = shared_event_ref(ev->shared);
			continue;
		}
		pthread_mutex_lock(&stream_mutex);
		l->wait[i].point = ev->point;
		pthread_mutex_unlock(&stream_mutex);
	}
}

/* The events that the graph records are reached when their nodes have run. */
static void launch_records(struct graph_launch *l)
{
	const struct exec *x = l->exec;

	pthread_mutex_lock(&stream_mutex);
	for (uint32_t i = 0; i < x->record_count; i++) {
		const struct work *w = &l->plan->at[x->record[i]].task->work;
		struct stream *gate = x->gate[i];

		if (w->record.event->head.generation != w->record.event_generation)
			continue;
		l->record[i].work = *w;
		l->record[i].sequence = ++gate->submitted;
		event_recorded_locked(w->record.event,
				      (struct point){ gate, gate->head.generation, l->record[i].sequence },
				      &l->record[i].work);
	}
	pthread_mutex_unlock(&stream_mutex);
}

static CUresult launch_locked(struct exec *x, struct stream *s)
{
	struct work w = { .kind = WORK_GRAPH };
	struct graph_launch *l = launch_new(x);
	bool again;
	CUresult e;

	if (!l)
		return CUDA_ERROR_OUT_OF_MEMORY;
	e = graph_memory_take(l->plan->memory, l->plan->memory_count,
			      x->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
	if (e) {
		launch_free(l);
		return e;
	}
	launch_waits(l);
	launch_records(l);
	w.graph.launch = l;
	/* on the same stream it comes after the launch before anyway */
	again = x->last.stream == s && x->last.generation == s->head.generation;
	e = stream_submit_after(s, &w, &x->last, again ? 0 : 1);
	if (!e)
		x->last = stream_point(s);
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
	if (capture_of(s))
		return capture_graph(s, x->mirror);
	e = capture_clash(s, false);
	if (e)
		return e;
	pthread_mutex_lock(&graph_launch_mutex);
	e = launch_locked(x, s);
	pthread_mutex_unlock(&graph_launch_mutex);
	return e;
}

/* Nothing is to be made ready ahead of a launch here. */
CUresult soft_cuGraphUpload(CUgraphExec h, CUstream stream)
{
	struct stream *s;
	struct exec *x;
	CUresult e = stream_find(stream, &s);

	if (!e)
		e = exec_find(h, &x);
	if (e)
		return e;
	return capture_of(s) ? capture_forbidden(s) : CUDA_SUCCESS;
}
