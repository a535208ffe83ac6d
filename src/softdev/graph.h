/*
 * graph.h: graphs: work with dependencies, made by hand or captured from streams, launched as a whole.
 *
 * A graph's nodes run one after the other in an order that its edges allow, on the stream of the launch. An
 * instantiated graph is a flat list of work; it runs once at a time. Events that it waits for hold up the whole launch,
 * events that it records count as reached when the launch is done.
 *
 * Memory nodes: the address is fixed when the node is made. The memory is taken from the device by cuGraphLaunch,
 * before anything runs: it fails with CUDA_ERROR_OUT_OF_MEMORY and changes nothing where there is not enough. It stays
 * reserved for the next launch until cuDeviceGraphMemTrim, or until the graph and what was instantiated from it are
 * gone.
 */
#pragma once

#include "softdev/event.h"
#include "softdev/mempool.h"
#include "softdev/stream.h"

/* Memory of one allocation node. */
struct graph_memory {
	struct graph_memory *next; /* of the device's */
	struct device *device;
	struct range *range; /* the address; charged while `reserved` */
	size_t bytes;
	uint32_t references; /* nodes and executables that name it */
	bool reserved;	     /* taken from the device */
	bool used;	  /* allocated, once all that was launched has run: until some launch or the program frees it */
	bool mark;	  /* while the order of a launch is checked */
	uint32_t running; /* queued launches that allocate or free it */
};

struct node {
	struct handle head;
	struct graph *graph;
	struct node *next;
	CUgraphNodeType type;
	struct node **need; /* the nodes that it depends on; owned */
	size_t need_count;
	struct work work; /* owned */
	union {
		CUDA_MEMCPY3D copy; /* as given */
		CUDA_MEMSET_NODE_PARAMS fill;
		struct graph *child; /* owned */
		struct {
			struct graph_memory *memory; /* a reference; of an allocation */
			CUDA_MEM_ALLOC_NODE_PARAMS params;
		} alloc;
	};
	void **param;		/* of a kernel: pointers into the packed buffer; owned */
	struct node *copied_to; /* while a graph is cloned */
	uint32_t mark;		/* while an order is made */
};

struct graph {
	struct handle head;
	struct node *first, *last;
	size_t count;
	struct node *owner; /* of a child graph */
	bool capturing;
};

struct step {
	struct work work; /* owned */
	CUgraphNodeType type;
	struct node *origin;
	uint64_t origin_generation;
	struct graph_memory *memory; /* a reference; allocated or freed here */
	bool enabled;
	bool fresh; /* while memory is taken: reserved by this launch */
};

struct exec {
	struct handle head;
	atomic_uint references; /* the handle's and one per queued launch */
	uint64_t flags;
	struct step *step;
	size_t step_count;
	struct point last; /* of the launch before */
};

/* ---- graphs ---- */

CUresult graph_find(CUgraph h, struct graph **ret);
CUresult node_find(CUgraphNode h, struct node **ret);
struct graph *graph_new(void);
/* With all nodes, and child graphs. */
void graph_free(struct graph *g);
/* A node without work. Errors: dependencies that are not nodes of this graph. */
CUresult node_new(struct graph *g, CUgraphNodeType type, struct node *const *need, size_t count, struct node **ret);
void node_free(struct node *n);
bool node_need(struct node *n, struct node *on);
CUresult graph_clone(const struct graph *g, struct graph **ret);
/* A node with this work, which it takes over, also on failure. */
CUresult node_work(struct graph *g, CUgraphNode const *need, size_t count, struct work *w, struct node **ret);
/* An allocation node; its address is in alloc.params.dptr. */
CUresult node_allocation(struct graph *g, CUgraphNode const *need, size_t count, struct device *d, size_t bytes,
			 struct node **ret);
/* A node that frees what an allocation node of some graph allocates. */
CUresult node_deallocation(struct graph *g, CUgraphNode const *need, size_t count, CUdeviceptr address,
			   struct node **ret);
/* From a stream's work to a node's type. */
CUgraphNodeType work_node_type(const struct work *w);

/* ---- memory ---- */

CUresult graph_memory_new(struct device *d, size_t bytes, struct graph_memory **ret);
struct graph_memory *graph_memory_ref(struct graph_memory *m);
void graph_memory_unref(struct graph_memory *m);
struct graph_memory *graph_memory_find(CUdeviceptr address);
/*
 * All memory that the steps allocate is taken, or none, and what they free is free for the next launch. `again`: what
 * is still allocated is freed first. CUDA_ERROR_INVALID_VALUE: still allocated, or freed twice.
 */
CUresult graph_memory_take(struct step *step, size_t count, bool again);
/* The launch for which it was taken is over. */
void graph_memory_settle(struct step *step, size_t count);
/* cuMemFree and cuMemFreeAsync of memory that a graph has left allocated. */
CUresult graph_memory_free(CUdeviceptr address, struct stream *s);

/* ---- instantiated graphs, as streams see them ---- */

/* Runs all steps. */
void exec_run(struct exec *x, struct stream *s);
/* The work of one step becomes another, for the launches to come. Takes what the work owns. */
CUresult exec_step_set(CUgraphExec h, CUgraphNode node, CUgraphNodeType type, struct work *w);
/* A launch is over, run or not; gives back its reference. */
void exec_done(struct exec *x);

/* ---- capture, as streams see it ---- */

/* The capture that the stream takes part in, or NULL. */
struct capture *capture_of(struct stream *s);
/* The work becomes a node of the capture's graph. Takes what the work owns. */
CUresult capture_submit(struct stream *s, struct work *w);
/* A call that a capture does not allow: the capture is spoilt. Value: the error for the caller. */
CUresult capture_forbidden(struct stream *s);
/* Whether a call that may wait for streams is forbidden in this thread because somebody captures. */
bool capture_unsafe(void);
/* Was the event last recorded in a capture? */
bool event_captured(struct event *e);
/* cuEventRecord and cuStreamWaitEvent with a capture on either side. */
CUresult capture_record(struct stream *s, struct event *e, unsigned flags);
CUresult capture_wait(struct stream *s, struct event *e, unsigned flags);
/* The stream goes; its capture with it. */
void capture_abandon(struct stream *s);
/* cuMemAllocAsync and cuMemFreeAsync in a capture: memory of the graph. */
CUresult capture_alloc(struct stream *s, struct mempool *p, size_t bytes, CUdeviceptr *ret);
CUresult capture_free(struct stream *s, CUdeviceptr address);
