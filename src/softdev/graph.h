/*
 * graph.h: graphs: work with dependencies, made by hand or captured from streams, launched as a whole.
 *
 * A graph is a list of nodes with edges. Instantiating one copies it (the mirror) and compiles the copy: child graphs
 * are unfolded into one list of steps, bodies of conditional nodes become lists of their own. A launch is one operation
 * on a stream. Steps whose predecessors are done may run at the same time on several threads. Launches of one
 * instantiated graph run one after the other. What a launch runs is fixed when it is queued (struct plan): later
 * changes are for later launches.
 *
 * Events that a graph records are reached when their node has run, events that it waits for are those of the moment of
 * the launch.
 *
 * Memory nodes: the address is fixed when the node is made; memory that a graph frees serves again in allocations that
 * come after the free in every order. The memory is taken from the device by cuGraphLaunch, before anything runs: it
 * fails with CUDA_ERROR_OUT_OF_MEMORY and changes nothing where there is not enough. It stays reserved for the next
 * launch until cuDeviceGraphMemTrim, until another graph needs it, or until the graph and what was instantiated from it
 * are gone.
 */
#pragma once

#include "softdev/event.h"
#include "softdev/mempool.h"
#include "softdev/stream.h"

/* The memory of an allocation node, and of later nodes that reuse it. */
struct graph_memory {
	struct graph_memory *next; /* of the device's */
	struct device *device;
	struct range *range; /* the address; charged while `reserved` */
	size_t bytes;
	uint32_t references; /* nodes and plans that name it */
	bool reserved;	     /* taken from the device */
	bool used;	  /* allocated, once all earlier launches have run: until a launch or the program frees it */
	bool mark;	  /* while the order of a launch is checked */
	uint32_t running; /* queued launches that allocate or free it */
};

struct edge {
	struct node *from;
	CUgraphEdgeData data;
};

/* The dependencies of a new node, as given by the program. `data` may be NULL. */
struct needs {
	const CUgraphNode *node;
	const CUgraphEdgeData *data;
	size_t count;
};

struct kernel_attributes {
	uint32_t set; /* bit per CUlaunchAttributeID */
	CUlaunchAttributeValue value[CU_LAUNCH_ATTRIBUTE_MAX];
};

struct node {
	struct handle head;
	struct graph *graph;
	struct node *next;
	CUgraphNodeType type;
	uint32_t serial;   /* in its graph */
	struct edge *need; /* what it depends on; owned */
	size_t need_count;
	struct work work; /* owned */
	union {
		CUDA_MEMCPY3D copy; /* as given */
		CUDA_MEMSET_NODE_PARAMS fill;
		struct graph *child; /* owned */
		struct {
			struct graph_memory *memory; /* a reference */
			CUDA_MEM_ALLOC_NODE_PARAMS params;
			CUmemAccessDesc *access; /* owned */
		} alloc;
		struct {
			CUgraphConditionalHandle handle;
			CUgraphConditionalNodeType type;
			uint32_t count;
			CUgraph *body; /* owned, and the graphs too */
		} conditional;
	};
	struct kernel_attributes *attributes; /* of a kernel; owned, or NULL */
	void **param;			      /* of a kernel: pointers into the packed buffer; owned */
	struct node *origin;		      /* of a copy */
	uint64_t origin_generation;
	struct node *copied_to; /* while a graph is cloned, or paired with another */
	uint32_t mark;		/* while an order is made */
	uint32_t step;		/* in a mirror: its number among the steps of the executable */
};

/* A value that kernels set and conditional nodes read. */
struct condition {
	CUgraphConditionalHandle handle;
	unsigned initial;
	bool assign; /* at the start of each launch */
};

/* An object of the program that lives as long as some graph refers to it. */
struct user_object {
	struct handle head;
	uint64_t references; /* object_mutex (graph_object.c) guards both */
	uint64_t held;	     /* of these, by graphs; the others are the program's */
	CUhostFn destroy;
	void *data;
	struct user_object *next; /* to be destroyed */
};

struct object_use {
	struct object_use *next;
	struct user_object *object;
	uint64_t count;
};

struct graph {
	struct handle head;
	struct node *first, *last;
	size_t count;
	uint32_t next_serial;
	uint32_t id;	    /* of graphs and executables of this process, from 1 */
	struct node *owner; /* of a child graph or a body */
	bool capturing;
	bool has_memory; /* nodes that allocate or free */
	struct exec *exec; /* of a graph with memory nodes: the one that exists */
	uint64_t exec_generation;
	struct condition *condition; /* owned; of the outermost graph */
	uint32_t condition_count;
	struct object_use *objects; /* owned references */
};

/* ---- instantiated graphs ---- */

/* One piece of work, shared by the plans that contain it unchanged. */
struct task {
	atomic_uint references;
	struct work work; /* owned */
	int priority;
};

struct memory_use {
	struct graph_memory *memory; /* a reference */
	bool allocates;
	bool fresh; /* while memory is taken: reserved by this launch */
};

/* What a launch does at each step. Immutable once a launch has it. */
struct plan {
	atomic_uint references;
	uint32_t count;
	struct {
		struct task *task; /* a reference */
		bool enabled;
	} *at; /* owned */
	struct memory_use *memory; /* owned; in an order that the edges allow */
	uint32_t memory_count;
	struct condition *condition; /* owned */
	uint32_t condition_count;
};

struct step {
	struct node *node; /* of the mirror; NULL: the end of a child graph */
	uint32_t number;   /* in the plan */
	uint32_t need;	   /* steps before it */
	uint32_t next, next_count;
	uint32_t slot; /* which of the launch's waits or records, or of the conditions */
	uint32_t at;   /* how far a batch of values is */
	_Atomic uint32_t ns; /* its last duration; 0: not known */
	struct program *body; /* owned; one per branch of a conditional node */
};

/* Steps in an order that the edges permit, and the state of the only run at a time. */
struct program {
	struct step *step;
	uint32_t count;
	uint32_t *next; /* the steps that come after each */
	bool narrow;	/* never more than one step at a time */
	_Atomic uint32_t *pending;
	uint32_t *ready, *held; /* each with room for all */
};

struct exec {
	struct handle head;
	atomic_uint references; /* the handle's and one per queued launch */
	uint64_t flags;
	uint32_t id;
	struct graph *mirror;
	struct program program;
	struct step_name {
		struct node *origin;
		uint64_t generation;
		struct node *node; /* of the mirror */
	} *name; /* sorted by origin */
	uint32_t name_count;
	uint32_t step_count; /* over all programs */
	uint32_t wait_count, record_count;
	struct stream **gate;	 /* one per event record */
	uint32_t *wait, *record; /* the steps */
	_Atomic uint32_t *value; /* of the conditions */
	struct plan *plan;	 /* of the next launch; launch_mutex guards it */
	struct point last;	 /* of the launch before; likewise */
	struct object_use *displaced; /* by updates, while launches from before them are queued; likewise */
};

struct launch_wait {
	struct point point;
	struct shared_event *shared; /* owned: a record that was made elsewhere */
	struct shared_record record;
};

struct launch_record {
	struct work work;
	uint64_t sequence; /* of the gate */
	bool done;
};

/* One queued or running launch. */
struct graph_launch {
	struct exec *exec; /* a reference */
	struct plan *plan; /* a reference */
	struct launch_wait *wait;
	struct launch_record *record;
	pthread_mutex_t host_mutex; /* host functions of one launch run one at a time */
	struct flight flight;	    /* the kernels of a graph that is a chain */
};

/* ---- graphs (graph.c, graph_edges.c) ---- */

CUresult graph_find(CUgraph h, struct graph **ret);
CUresult node_find(CUgraphNode h, struct node **ret);
/* The node, if it has this type. */
CUresult node_of(CUgraphNode h, CUgraphNodeType type, struct node **ret);
struct graph *graph_new(void);
/* The next id of a graph or executable. */
uint32_t graph_id(void);
/* Frees the graph with all nodes, and child graphs. */
void graph_free(struct graph *g);
/* Creates a node without work. Errors: dependencies that are not nodes of this graph. */
CUresult node_new(struct graph *g, CUgraphNodeType type, const struct needs *needs, struct node **ret);
void node_free(struct node *n);
/* Removes a node on which no other depends from its graph, and frees it. */
void node_remove(struct node *n);
bool node_need(struct node *n, struct node *on, const CUgraphEdgeData *data);
const struct edge *node_edge(const struct node *n, const struct node *from);
CUresult edge_check(const struct node *from, const struct node *to, const CUgraphEdgeData *data);
enum clone_kind { CLONE_PLAIN, CLONE_MIRROR };
/* A plain clone has no memory nodes; the mirror of an executable shares their memory. */
CUresult graph_clone(const struct graph *g, enum clone_kind kind, struct graph **ret);
/* The outermost graph around it. */
struct graph *graph_outermost(struct graph *g);
/* True if there are nodes of the type, including those in child graphs and bodies. */
bool graph_contains(const struct graph *g, CUgraphNodeType type);
/* Creates a node with this work, which it takes over, also on failure. */
CUresult node_work(struct graph *g, const struct needs *needs, struct work *w, struct node **ret);
/* Describes the node's copy or fill from its work. */
void node_describe(struct node *n);
/* An allocation node; its address is in alloc.params.dptr. */
CUresult node_allocation(struct graph *g, const struct needs *needs, struct device *d, size_t bytes, struct node **ret);
/* A node that frees what an allocation node of some graph allocates. */
CUresult node_deallocation(struct graph *g, const struct needs *needs, CUdeviceptr address, struct node **ret);
/* A node with a clone of the graph, or with the graph itself. */
CUresult node_child(struct graph *g, const struct needs *needs, struct graph *child, bool move, struct node **ret);
/* Attributes (graph_kernel.c). */
int kernel_priority(const struct node *n);
CUresult kernel_attribute_set(struct node *n, CUlaunchAttributeID id, const CUlaunchAttributeValue *value);

/* ---- user objects (graph_object.c) ---- */

CUresult object_use_copy(const struct object_use *from, struct object_use **ret);
void object_use_free(struct object_use *u);
/* Moves all of `more` to the list. */
void object_use_append(struct object_use **list, struct object_use *more);
/* Frees what updates displaced if there are exactly so many references: no queued launch may need it. */
void exec_settle(struct exec *x, unsigned int references);

/* ---- memory (graph_memory.c) ---- */

CUresult graph_memory_new(struct device *d, size_t bytes, struct graph_memory **ret);
struct graph_memory *graph_memory_ref(struct graph_memory *m);
void graph_memory_unref(struct graph_memory *m);
struct graph_memory *graph_memory_find(CUdeviceptr address);
/*
 * Takes all memory that the steps allocate, or none; memory that they free is available to the next launch. `again`:
 * memory that is still allocated is freed first. CUDA_ERROR_INVALID_VALUE: still allocated, or freed twice.
 */
CUresult graph_memory_take(struct memory_use *use, size_t count, bool again);
/* The launch for which it was taken is over. */
void graph_memory_settle(struct memory_use *use, size_t count);
/* cuMemFree and cuMemFreeAsync of memory that a graph has left allocated. */
CUresult graph_memory_free(CUdeviceptr address, struct stream *s);

/* ---- instantiated graphs (graph_exec.c, graph_program.c, graph_run.c, graph_update.c) ---- */

extern pthread_mutex_t graph_launch_mutex;

CUresult exec_find(CUgraphExec h, struct exec **ret);
/* Compiles the steps of the mirror. On failure ret_node is the node of the mirror that causes it, or NULL. */
CUresult exec_compile(struct exec *x, CUgraphInstantiateResult *ret_result, struct node **ret_node);
void program_deinit(struct program *p);
struct plan *plan_ref(struct plan *p);
void plan_unref(struct plan *p);
struct task *task_new(const struct node *n);
void task_unref(struct task *t);
/* A plan that may be changed: the executable's own if no launch has it, otherwise a copy. NULL: no memory. */
struct plan *exec_plan_locked(struct exec *x);
/* Sets the memory of a plan: what the mirror allocates and frees. */
CUresult plan_memory(struct plan *p, const struct exec *x);
/* The mirror's node for a node of the original graph. */
CUresult exec_node(CUgraphExec h, CUgraphNode node, struct exec **ret_exec, struct node **ret);
/* Runs all steps. */
void graph_launch_run(struct graph_launch *l, struct stream *s, struct pace_kernel *after);
/* True if it is one chain of steps: it may be executed before `after` has ended, and leaves kernels in flight. */
bool graph_launch_chain(const struct graph_launch *l);
/* Transfers them to the caller. */
struct flight graph_launch_flight(struct graph_launch *l);
/* Ends a launch, run or not. */
void graph_launch_done(struct graph_launch *l);
/*
 * A kernel sets the value of a condition. `launch`: the value of graph_launch_of_thread() when the kernel began; NULL:
 * no graph launched the kernel.
 */
void graph_condition_set(void *launch, uint64_t handle, uint32_t value);
struct graph_launch *graph_launch_of_thread(void);
/*
 * Gives the node this work, copy and fill in later launches. `like`: a node of the same type that need not be in a
 * graph; its work is taken.
 */
CUresult exec_node_set(CUgraphExec h, CUgraphNode node, struct node *like);

/* ---- capture, as streams see it ---- */

/* The capture that the stream takes part in, or NULL. */
struct capture *capture_of(struct stream *s);
/* The work becomes a node of the capture's graph. Takes what the work owns. */
CUresult capture_submit(struct stream *s, struct work *w);
/* A launch of a graph becomes a child graph node. */
CUresult capture_graph(struct stream *s, struct graph *g);
/* For a call that a capture does not permit: invalidates the capture. Value: the error for the caller. */
CUresult capture_forbidden(struct stream *s);
/*
 * For a call that may wait for streams, or do anything else that captures forbid in this thread: invalidates them.
 * Value: CUDA_SUCCESS, or the error for the caller.
 */
CUresult capture_unsafe(void);
/* For work that waits, or goes to the default stream, while there are captures. Value: as above. */
CUresult capture_clash(struct stream *s, bool wait);
/* A call that waits for the whole context. */
CUresult capture_context(struct context *c);
/* True if the event was last recorded in a capture. */
bool event_captured(struct event *e);
/* For a query of, or wait for, an event that is in capture. Value: the error. */
CUresult capture_event_forbidden(struct event *e);
/* The event was recorded outside captures. */
void capture_event_recorded(struct event *e);
/* cuEventRecord and cuStreamWaitEvent with a capture on either side. */
CUresult capture_record(struct stream *s, struct event *e, unsigned flags);
CUresult capture_wait(struct stream *s, struct event *e, unsigned flags);
/*
 * The stream ends, and the capture that began on it. A stream that only joined leaves its tail behind: the capture must
 * still join its work.
 */
void capture_abandon(struct stream *s);
/* cuMemAllocAsync and cuMemFreeAsync in a capture: memory of the graph. */
CUresult capture_alloc(struct stream *s, struct mempool *p, size_t bytes, CUdeviceptr *ret);
CUresult capture_free(struct stream *s, CUdeviceptr address);
