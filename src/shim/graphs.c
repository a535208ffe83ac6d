/*
 * graphs.c: see graphs.h.
 *
 * An executable graph is looked through once, when it is made: the sizes of its allocation nodes are the most that a
 * launch can make the reservation grow by. That much is held while it is launched, and then the charge is settled at
 * what is reserved, like a pool's. Launches of graphs without such nodes are not touched, and when no graph of the
 * process has any, the launch is passed through.
 *
 * A graph that cannot be looked through is not made executable: nobody knows what its launches take. Not seen are
 * allocation nodes in the bodies of conditional nodes, which the driver does not let one ask for.
 */
#include "shim/graphs.h"
#include "cuda_shim.h"
#include "core/account.h"
#include "core/attach.h"
#include "core/capture.h"
#include "core/charge.h"
#include "shim/contexts.h"
#include "shim/devices.h"
#include "core/gate.h"
#include "shim/graph_devices.h"
#include "shim/launches.h"
#include "core/log.h"
#include "core/map.h"
#include "core/waits.h"
#include "shim/scratch.h"
#include "shim/start.h"

#include <pthread.h>
#include <stdatomic.h>

#define GRAPH_DEPTH_MAX 256 /* children in children */
#define DEVICES_OF_ENTRY 3u

struct exec_need {
	uint64_t units[WIRE_MAX_DEVICES];
	uint32_t devices; /* on which it has nodes; not what execs knows of it */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all three */
static struct map execs; /* exec, and the numbers behind it -> for three devices each units << 8 | 1 + device */
static uint32_t charged_units[WIRE_MAX_DEVICES];
static struct {
	uint64_t expected; /* the most that the launches under way take */
	uint64_t units;	   /* held for them and not yet needed */
} under_way[WIRE_MAX_DEVICES];
static _Atomic bool used; /* some graph of this process has allocation nodes */

static const enum cuda_call launch_calls[] = {
	CUDA_CALL_cuGraphUpload,       CUDA_CALL_cuGraphUpload_ptsz,
	CUDA_CALL_cuStreamSynchronize, CUDA_CALL_cuStreamSynchronize_ptsz,
	CUDA_CALL_cuCtxSynchronize,    CUDA_CALL_cuCtxSynchronize_v2,
	CUDA_CALL_cuEventSynchronize,
};

static bool add_node(CUgraphNode node, struct exec_need *need, int depth);

/* Adds up a graph's allocation nodes. False: it could not be looked through. */
static bool add_graph(CUgraph graph, struct exec_need *need, int depth)
{
	CUgraphNode *nodes;
	size_t count = 0;
	bool good = true;

	if (depth > GRAPH_DEPTH_MAX || shim_real.cuGraphGetNodes(graph, NULL, &count) != CUDA_SUCCESS)
		return false;
	if (!count)
		return true;
	nodes = scratch_new(count, sizeof *nodes);
	if (!nodes)
		return false;
	good = shim_real.cuGraphGetNodes(graph, nodes, &count) == CUDA_SUCCESS;
	for (size_t i = 0; good && i < count; i++)
		good = add_node(nodes[i], need, depth);
	scratch_free(nodes, count, sizeof *nodes);
	return good;
}

static bool add_node(CUgraphNode node, struct exec_need *need, int depth)
{
	CUDA_MEM_ALLOC_NODE_PARAMS params;
	CUgraphNodeType type;
	unsigned int device;
	CUgraph child;

	if (shim_real.cuGraphNodeGetType(node, &type) != CUDA_SUCCESS)
		return false;
	if (type == CU_GRAPH_NODE_TYPE_GRAPH)
		return shim_real.cuGraphChildGraphNodeGetGraph(node, &child) == CUDA_SUCCESS &&
		       add_graph(child, need, depth + 1);
	if (account_count > 1)
		need->devices |= graph_devices_of_node(node, type);
	if (type != CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		return true;
	if (shim_real.cuGraphMemAllocNodeGetParams(node, &params) != CUDA_SUCCESS)
		return false;
	if (location_is_device(params.poolProps.location) &&
	    devices_find(location_device(params.poolProps.location), &device))
		need->units[device] += charge_units(device, params.bytesize);
	return true;
}

static void forget_locked(CUgraphExec exec)
{
	for (uint64_t key = (uint64_t)(uintptr_t)exec; map_remove(&execs, key, NULL); key++)
		;
}

static bool remember_locked(CUgraphExec exec, const struct exec_need *need)
{
	struct map_entry e = { .key = (uint64_t)(uintptr_t)exec };
	unsigned int n = 0;

	for (unsigned int d = 0; d < account_count; d++) {
		if (!need->units[d])
			continue;
		e.value[n++] = need->units[d] << 8 | (d + 1);
		if (n < DEVICES_OF_ENTRY)
			continue;
		if (!map_add(&execs, &e))
			return false;
		e = (struct map_entry){ .key = e.key + 1 };
		n = 0;
	}
	return !n || map_add(&execs, &e);
}

static bool need_recall_locked(CUgraphExec exec, struct exec_need *ret)
{
	uint64_t key = (uint64_t)(uintptr_t)exec;
	const struct map_entry *e;

	*ret = (struct exec_need){ 0 };
	for (; (e = map_find(&execs, key)); key++)
		for (unsigned int i = 0; i < DEVICES_OF_ENTRY && e->value[i]; i++)
			ret->units[(e->value[i] & 0xff) - 1] = e->value[i] >> 8;
	return key != (uint64_t)(uintptr_t)exec;
}

static bool is_empty(const struct exec_need *need)
{
	for (unsigned int d = 0; d < WIRE_MAX_DEVICES; d++)
		if (need->units[d])
			return false;
	return true;
}

/* One that cannot be looked through may have nodes on every device. */
uint32_t graphs_devices(CUgraph graph)
{
	struct exec_need need = { 0 };

	return add_graph(graph, &need, 0) ? need.devices : contexts_devices();
}

/* `exec` was made from `graph`: remembers what a launch may take. False: it cannot be told. */
static bool remember(CUgraphExec exec, CUgraph graph)
{
	struct exec_need need = { 0 };
	bool good;

	if (!add_graph(graph, &need, 0))
		return false;
	if (account_count > 1)
		graph_devices_note(exec, need.devices, true);
	if (is_empty(&need) && !atomic_load_explicit(&used, memory_order_acquire))
		return true;
	pthread_mutex_lock(&lock);
	/* The handle may have been another's, which the driver ended by itself. */
	forget_locked(exec);
	good = remember_locked(exec, &need);
	if (!good)
		forget_locked(exec);
	pthread_mutex_unlock(&lock);
	if (good && !is_empty(&need) && !atomic_exchange_explicit(&used, true, memory_order_acq_rel))
		for (size_t i = 0; i < sizeof launch_calls / sizeof *launch_calls; i++)
			start_treat(launch_calls[i]);
	return good;
}

static void undo(CUgraphExec *exec)
{
	shim_real.cuGraphExecDestroy(*exec);
	*exec = NULL;
}

/* The driver has answered `r` to an instantiation. Value: what to answer. */
static CUresult made(CUresult r, CUgraphExec *exec, CUgraph graph)
{
	if (r != CUDA_SUCCESS || !start_is_metered() || remember(*exec, graph))
		return r;
	log_line("a graph cannot be looked through, so what its launches would take is not known: it is not made "
		 "executable; graphs may lie %u deep in each other",
		 GRAPH_DEPTH_MAX);
	undo(exec);
	return CUDA_ERROR_NOT_SUPPORTED;
}

/* A driver that only answers with an error of the device's still has what it had. */
static uint64_t reserved_units(unsigned int device)
{
	cuuint64_t bytes = 0;
	CUdevice real;

	if (!devices_real(device, &real) ||
	    shim_real.cuDeviceGetGraphMemAttribute(real, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &bytes) !=
		    CUDA_SUCCESS)
		return charged_units[device];
	return wire_units(bytes);
}

uint64_t graphs_reserved(unsigned int device)
{
	return atomic_load_explicit(&used, memory_order_acquire) ? reserved_units(device) : 0;
}

/*
 * As a pool's (pool.c): pays growth from what is held for launches, then from the credit at hand. Value: units that
 * are missing.
 */
static uint32_t settle_locked(unsigned int device)
{
	uint64_t units = reserved_units(device), *held = &under_way[device].units;
	uint32_t growth;

	if (units <= charged_units[device]) {
		account_give(device, charged_units[device] - (uint32_t)units);
		charged_units[device] = (uint32_t)units;
		return 0;
	}
	growth = (uint32_t)(units - charged_units[device]);
	if (growth > *held) {
		if (!account_take(device, growth - (uint32_t)*held, false))
			return growth - (uint32_t)*held;
		*held = growth;
	}
	*held -= growth;
	charged_units[device] += growth;
	return 0;
}

static void settle(unsigned int device)
{
	pthread_mutex_lock(&lock);
	settle_locked(device);
	pthread_mutex_unlock(&lock);
}

void graphs_settle(void)
{
	if (!atomic_load_explicit(&used, memory_order_acquire) || !gate_try()) /* see settled() in pools.c */
		return;
	for (unsigned int d = 0; d < account_count; d++)
		settle(d);
	gate_leave();
}

bool graphs_shrink(unsigned int device)
{
	uint32_t before;
	CUdevice real;
	bool shrunk;

	if (!atomic_load_explicit(&used, memory_order_acquire) || !devices_real(device, &real))
		return false;
	gate_enter();
	pthread_mutex_lock(&lock);
	before = charged_units[device];
	if (before)
		shim_real.cuDeviceGraphMemTrim(real);
	settle_locked(device);
	shrunk = charged_units[device] < before;
	pthread_mutex_unlock(&lock);
	gate_leave();
	return shrunk;
}

static CUresult ask_driver(enum cuda_call call, CUgraphExec exec, CUstream stream)
{
	switch (call) {
	case CUDA_CALL_cuGraphLaunch:
		return shim_real.cuGraphLaunch(exec, stream);
	case CUDA_CALL_cuGraphLaunch_ptsz:
		return shim_real.cuGraphLaunch_ptsz(exec, stream);
	case CUDA_CALL_cuGraphUpload:
		return shim_real.cuGraphUpload(exec, stream);
	case CUDA_CALL_cuGraphUpload_ptsz:
		return shim_real.cuGraphUpload_ptsz(exec, stream);
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

static bool per_thread(enum cuda_call call)
{
	return call == CUDA_CALL_cuGraphLaunch_ptsz || call == CUDA_CALL_cuGraphUpload_ptsz;
}

static void wait_for(enum cuda_call call, CUstream stream)
{
	if (per_thread(call))
		shim_real.cuStreamSynchronize_ptsz(stream);
	else
		shim_real.cuStreamSynchronize(stream);
}

static bool capturing(enum cuda_call call, CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUresult r = per_thread(call) ? shim_real.cuStreamIsCapturing_ptsz(stream, &status)
				      : shim_real.cuStreamIsCapturing(stream, &status);

	return r == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/*
 * A launch into a stream that is being captured takes nothing: it becomes a node of another graph. True: it is; *ret_r
 * is what the driver said.
 */
static bool captured(enum cuda_call call, CUgraphExec exec, CUstream stream, CUresult *ret_r)
{
	bool is;

	if (!capturing(call, stream))
		return false;
	capture_hold();
	is = capturing(call, stream);
	if (is)
		*ret_r = ask_driver(call, exec, stream);
	capture_release();
	return is;
}

/* What graphs have reserved and nobody uses. What a graph leaves allocated is in use until the program frees it. */
static uint64_t idle_units(unsigned int device)
{
	uint64_t reserved = reserved_units(device), used_units;
	cuuint64_t bytes = 0;
	CUdevice real;

	if (!devices_real(device, &real) ||
	    shim_real.cuDeviceGetGraphMemAttribute(real, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &bytes) != CUDA_SUCCESS)
		return 0;
	used_units = wire_units(bytes);
	return reserved > used_units ? reserved - used_units : 0;
}

/*
 * On one device of the launch: holds what it may grow by, or where the quota has no room for that, what is missing to
 * what graphs have reserved and do not use. The software device is never trusted to find room there: what is idle has
 * been trimmed by then. What earlier launches use is idle once the stream has come there.
 */
static bool hold(struct charge *c, unsigned int device, uint64_t units, enum cuda_call call, CUstream stream)
{
	for (int waited = 0; waited < 2; waited++) {
		uint64_t idle;

		if (waited)
			wait_for(call, stream);
		if (charge_begin_units(c, device, units) == CHARGE_HELD)
			return true;
		idle = accounts[device].soft ? 0 : idle_units(device);
		if (idle && charge_begin_units(c, device, units > idle ? units - idle : 0) == CHARGE_HELD)
			return true;
	}
	return false;
}

/*
 * What is held for the launches under way is one sum: the reservation says how far it has grown, not by which of them.
 * Inside the gate.
 */
static void expect(const struct charge *c)
{
	pthread_mutex_lock(&lock);
	under_way[c->device].expected += c->units;
	under_way[c->device].units += c->units;
	pthread_mutex_unlock(&lock);
}

/* Settles one device after a launch for which `units` were held. Value: units that are missing. */
static uint32_t settle_launched(unsigned int device, uint64_t units)
{
	uint64_t *held = &under_way[device].units, rest;
	uint32_t missing;

	pthread_mutex_lock(&lock);
	missing = settle_locked(device);
	under_way[device].expected -= units;
	rest = *held > under_way[device].expected ? *held - under_way[device].expected : 0;
	*held -= rest;
	pthread_mutex_unlock(&lock);
	account_give(device, (uint32_t)rest);
	return missing;
}

/* False: it grew beyond the quota. Inside the gate. */
static bool pay(struct charge *c)
{
	uint64_t units = c->units;
	uint32_t missing;

	while ((missing = settle_launched(c->device, units))) {
		c->units = 0;
		if (!charge_more(c, missing))
			return false;
		units = c->units;
		expect(c);
	}
	return true;
}

/* A launch cannot be taken back: it is waited for, and the driver returns the memory that no graph uses. */
static void withdraw(unsigned int device, enum cuda_call call, CUstream stream)
{
	CUdevice real;

	wait_for(call, stream);
	if (devices_real(device, &real))
		shim_real.cuDeviceGraphMemTrim(real);
	settle(device);
}

static CUresult launch_charged(enum cuda_call call, CUgraphExec exec, CUstream stream, const struct exec_need *need)
{
	struct charge charge[WIRE_MAX_DEVICES];
	unsigned int n = 0;
	bool paid = true, enough = true;
	CUresult r = CUDA_ERROR_OUT_OF_MEMORY;

	for (unsigned int d = 0; enough && d < account_count; d++) {
		if (!need->units[d])
			continue;
		enough = hold(&charge[n], d, need->units[d], call, stream);
		if (enough) {
			gate_leave();
			n++;
		}
	}
	gate_enter();
	for (unsigned int i = 0; i < n; i++)
		expect(&charge[i]);
	if (enough)
		r = ask_driver(call, exec, stream);
	for (unsigned int i = 0; i < n; i++)
		if (!pay(&charge[i])) {
			withdraw(charge[i].device, call, stream);
			paid = false;
		}
	gate_leave();
	if (r == CUDA_SUCCESS && !paid) {
		attach_event(charge[0].device,
			     "a graph's launch reserved memory beyond the quota; it was waited for and trimmed");
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return r;
}

static CUresult launch(enum cuda_call call, CUgraphExec exec, CUstream stream)
{
	struct exec_need need;
	bool allocates;
	CUresult r;

	if (!atomic_load_explicit(&used, memory_order_acquire))
		return ask_driver(call, exec, stream);
	pthread_mutex_lock(&lock);
	allocates = need_recall_locked(exec, &need);
	pthread_mutex_unlock(&lock);
	if (!allocates)
		return ask_driver(call, exec, stream);
	if (captured(call, exec, stream, &r))
		return r;
	return launch_charged(call, exec, stream, &need);
}

/* Not inlined: the parts of it need room, which a launch on one device does not. */
static __attribute__((noinline)) CUresult launch_spread(enum cuda_call call, CUgraphExec exec, CUstream stream)
{
	struct spread s;
	CUresult r;

	graph_begin_spread(&s, exec, stream, per_thread(call), graph_devices_of(exec));
	r = launch(call, exec, stream);
	spread_end(&s, r == CUDA_SUCCESS);
	return r;
}

static CUresult launch_gated(enum cuda_call call, CUgraphExec exec, CUstream stream)
{
	uint64_t ticket = waits_record_begin(NULL);
	struct launch l;
	CUresult r;

	if (__builtin_expect(graph_devices_several(), 0)) {
		r = launch_spread(call, exec, stream);
	} else {
		graph_begin(&l, exec, stream, per_thread(call));
		r = launch(call, exec, stream);
		pace_end(&l, r == CUDA_SUCCESS);
	}
	waits_record_end(ticket, NULL, NULL, false);
	return r;
}

CUresult shim_cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream)
{
	return launch_gated(CUDA_CALL_cuGraphLaunch, hGraphExec, hStream);
}

CUresult shim_cuGraphLaunch_ptsz(CUgraphExec hGraphExec, CUstream hStream)
{
	return launch_gated(CUDA_CALL_cuGraphLaunch_ptsz, hGraphExec, hStream);
}

CUresult shim_cuGraphUpload(CUgraphExec hGraphExec, CUstream hStream)
{
	return launch(CUDA_CALL_cuGraphUpload, hGraphExec, hStream);
}

CUresult shim_cuGraphUpload_ptsz(CUgraphExec hGraphExec, CUstream hStream)
{
	return launch(CUDA_CALL_cuGraphUpload_ptsz, hGraphExec, hStream);
}

CUresult shim_cuGraphInstantiate(CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode, char *logBuffer,
				 size_t bufferSize)
{
	return made(shim_real.cuGraphInstantiate(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize), phGraphExec,
		    hGraph);
}

CUresult shim_cuGraphInstantiate_v2(CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode, char *logBuffer,
				    size_t bufferSize)
{
	return made(shim_real.cuGraphInstantiate_v2(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize),
		    phGraphExec, hGraph);
}

CUresult shim_cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph, unsigned long long flags)
{
	return made(shim_real.cuGraphInstantiateWithFlags(phGraphExec, hGraph, flags), phGraphExec, hGraph);
}

/*
 * An upload along with it takes what a launch takes, so it is a call of its own, after what it takes is known; the
 * driver is not told of it. (The flag is documented for these calls alone.)
 */
static CUresult instantiate_params(CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params,
				   bool per_thread)
{
	bool upload = params && params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD && start_is_metered();
	CUDA_GRAPH_INSTANTIATE_PARAMS given = { 0 };
	CUresult r;

	if (params)
		given = *params;
	if (upload)
		given.flags &= ~(cuuint64_t)CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
	r = per_thread ? shim_real.cuGraphInstantiateWithParams_ptsz(exec, graph, params ? &given : NULL)
		       : shim_real.cuGraphInstantiateWithParams(exec, graph, params ? &given : NULL);
	r = made(r, exec, graph);
	if (r == CUDA_SUCCESS && upload) {
		r = launch(per_thread ? CUDA_CALL_cuGraphUpload_ptsz : CUDA_CALL_cuGraphUpload, *exec,
			   given.hUploadStream);
		if (r != CUDA_SUCCESS) {
			shim_cuGraphExecDestroy(*exec);
			given.result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
		}
	}
	if (params) {
		params->hErrNode_out = given.hErrNode_out;
		params->result_out = given.result_out;
	}
	return r;
}

CUresult shim_cuGraphInstantiateWithParams(CUgraphExec *phGraphExec, CUgraph hGraph,
					   CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
	return instantiate_params(phGraphExec, hGraph, instantiateParams, false);
}

CUresult shim_cuGraphInstantiateWithParams_ptsz(CUgraphExec *phGraphExec, CUgraph hGraph,
						CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
	return instantiate_params(phGraphExec, hGraph, instantiateParams, true);
}

/* Forgotten before the driver's call: another thread may get the same handle right after it. Kept if it fails. */
CUresult shim_cuGraphExecDestroy(CUgraphExec hGraphExec)
{
	struct exec_need need, other;
	bool known = false;
	CUresult r;

	if (atomic_load_explicit(&used, memory_order_acquire) && hGraphExec) {
		pthread_mutex_lock(&lock);
		known = need_recall_locked(hGraphExec, &need);
		forget_locked(hGraphExec);
		pthread_mutex_unlock(&lock);
	}
	if (account_count > 1 && hGraphExec)
		graph_devices_forget(hGraphExec); /* if it stays, every device counts */
	r = shim_real.cuGraphExecDestroy(hGraphExec);
	if (r != CUDA_SUCCESS && known) {
		pthread_mutex_lock(&lock);
		if (!need_recall_locked(hGraphExec, &other))
			remember_locked(hGraphExec, &need); /* into the place that it left just now */
		pthread_mutex_unlock(&lock);
	}
	graphs_settle();
	return r;
}

CUresult shim_cuDeviceGraphMemTrim(CUdevice device)
{
	CUresult r = shim_real.cuDeviceGraphMemTrim(devices_in(device));

	graphs_settle();
	return r;
}

void graphs_reset(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	map_clear(&execs);
	graph_devices_reset();
	memset(charged_units, 0, sizeof charged_units);
	memset(under_way, 0, sizeof under_way);
	atomic_store_explicit(&used, false, memory_order_relaxed);
}
