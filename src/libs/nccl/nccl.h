/*
 * nccl.h: NCCL over any driver: communicators, and how a call becomes an exchange.
 *
 * A rank has a thread and a line to each other rank (line.h). A call leaves four things in the program's stream: a copy
 * of what is to be sent, if that is little (stage.c); a function of the host, which gives the operation to the thread;
 * a wait for a word in the device's memory; and an event, which the next operation in another stream waits for, so that
 * all of a communicator's are in the order of the calls. The thread copies from the device what has not come with the
 * call, exchanges it, reduces in the order of the ranks, copies the result to the device and writes the word, in a
 * stream of its own. Calls of the driver are all that it needs: it works on the software device, behind a wall and over
 * the network, where it runs in the program.
 *
 * What goes wrong is the communicator's error from then on (ncclCommGetAsyncError()); words that streams wait for are
 * written all the same, so that nothing hangs.
 *
 * Source: NCCL documentation, "API"; nccl.h 2.28.
 */
#pragma once

#include "libs/nccl/line.h"
#include "nccl_soft.h"

#include "cuda_table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* What a rank says first to the one that is to give it a new unique id: eight bytes (shrink.c). */
#define NCCL_ASKS "mete-ask"

#define NCCL_VERSION_TOLD 22809
#define NCCL_RANKS_MOST 1024
#define NCCL_WORDS_BYTES 4096u
#define NCCL_MAGIC UINT64_C(0x6d6574652d6e6363)

/* The calls of the driver that are needed; what the program's libcuda.so.1 has of them. */
struct nccl_driver {
	__typeof__(((struct cuda_table *)0)->cuInit) init;
	__typeof__(((struct cuda_table *)0)->cuCtxGetCurrent) current;
	__typeof__(((struct cuda_table *)0)->cuCtxSetCurrent) set_current;
	__typeof__(((struct cuda_table *)0)->cuCtxPushCurrent_v2) push;
	__typeof__(((struct cuda_table *)0)->cuCtxPopCurrent_v2) pop;
	__typeof__(((struct cuda_table *)0)->cuCtxGetDevice) device;
	__typeof__(((struct cuda_table *)0)->cuDeviceGetCount) count;
	__typeof__(((struct cuda_table *)0)->cuDevicePrimaryCtxRetain) retain;
	__typeof__(((struct cuda_table *)0)->cuMemAlloc_v2) alloc;
	__typeof__(((struct cuda_table *)0)->cuMemFree_v2) free;
	__typeof__(((struct cuda_table *)0)->cuMemHostAlloc) host_alloc;
	__typeof__(((struct cuda_table *)0)->cuMemFreeHost) host_free;
	__typeof__(((struct cuda_table *)0)->cuDeviceGetAttribute) attribute;
	__typeof__(((struct cuda_table *)0)->cuMemcpyDtoHAsync_v2) read;
	__typeof__(((struct cuda_table *)0)->cuMemcpyHtoDAsync_v2) write;
	__typeof__(((struct cuda_table *)0)->cuStreamCreate) stream_create;
	__typeof__(((struct cuda_table *)0)->cuStreamDestroy_v2) stream_destroy;
	__typeof__(((struct cuda_table *)0)->cuStreamSynchronize) wait;
	__typeof__(((struct cuda_table *)0)->cuStreamIsCapturing) capturing;
	__typeof__(((struct cuda_table *)0)->cuStreamWaitEvent) wait_event;
	__typeof__(((struct cuda_table *)0)->cuStreamWaitValue32_v2) wait_value;
	__typeof__(((struct cuda_table *)0)->cuStreamWriteValue32_v2) write_value;
	__typeof__(((struct cuda_table *)0)->cuLaunchHostFunc) host;
	__typeof__(((struct cuda_table *)0)->cuEventCreate) event_create;
	__typeof__(((struct cuda_table *)0)->cuEventRecord) event_record;
	__typeof__(((struct cuda_table *)0)->cuEventDestroy_v2) event_destroy;
	__typeof__(((struct cuda_table *)0)->cuEventQuery) event_query;
};

/* NULL: there is none; said once in the log. */
const struct nccl_driver *nccl_driver(void);

enum nccl_kind {
	NCCL_ALL_REDUCE,
	NCCL_REDUCE,
	NCCL_BROADCAST,
	NCCL_ALL_GATHER,
	NCCL_REDUCE_SCATTER,
	NCCL_ALL_TO_ALL,
	NCCL_GATHER,
	NCCL_SCATTER,
	NCCL_PEERS, /* sends and receives of a group */
	NCCL_WORDS, /* of the host: each rank's to all */
	NCCL_NEWS,  /* of the host: the root's to some */
};

/* One send or receive of a group. */
struct nccl_part {
	bool out;
	int peer;
	CUdeviceptr at;
	uint64_t bytes;
	ncclDataType_t type;
	CUstream stream;
	const uint8_t *staged; /* what is sent; NULL: the thread reads it */
};

struct nccl_op {
	struct nccl_op *next, *kept;
	struct ncclComm *comm;
	enum nccl_kind kind;
	ncclDataType_t type;
	uint32_t reduction; /* ncclRedOp_t; of one with a scalar ncclSum, and `scaled` */
	bool scaled, captured;
	double scale;
	int64_t scale_whole;
	CUdeviceptr scale_at; /* where the scalar stands in the device's memory; 0: above */
	int root;
	uint64_t count; /* elements, as the call has it */
	CUdeviceptr from, to;
	const uint8_t *staged; /* what is sent from `from` on; NULL: the thread reads it */
	uint64_t staged_bytes;
	uint64_t stage_taken; /* of the communicator, behind this operation */
	CUstream stream;
	CUdeviceptr word;
	uint32_t value; /* that the stream waits for */
	/* of the host */
	const void *words;
	void *ret_words;
	const bool *to_whom; /* of news */
	bool *done;
	uint32_t parts_count;
	struct nccl_part *parts;
};

struct nccl_scalar {
	bool used, in_device;
	ncclDataType_t type;
	double value;
	int64_t whole;
	CUdeviceptr at;
};

struct ncclComm {
	uint64_t magic;
	const struct nccl_driver *driver;
	int rank, ranks;
	CUcontext context;
	CUdevice device;
	bool blocking;
	struct line **lines; /* by rank; this one's is NULL */
	CUstream stream;
	CUevent event;
	CUdeviceptr words;
	CUdeviceptr *captured_words;
	bool reads_late;		   /* the device copies from this process's memory itself, behind the call */
	uint8_t *stage;			   /* stage.c; NULL: none */
	uint64_t stage_taken, stage_given; /* bytes since the beginning; under `mutex` */
	uint32_t captured_count;
	uint32_t issued;  /* the last value that a stream waits for; under `mutex` */
	uint64_t counted; /* operations of the thread: the number in frames */
	uint8_t *room;	  /* what is exchanged, of the thread */
	size_t room_bytes;
	pthread_t thread, initialiser;
	bool has_thread, has_initialiser;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	/* mutex guards the following */
	struct nccl_op *first, **last;
	struct nccl_op *kept; /* captured ones: a graph may be launched as long as the process lives */
	uint32_t pending;     /* calls whose operation has not ended */
	uint32_t on_way;      /* of them, those that their streams have not come to */
	uint32_t callers;     /* threads that wait in nccl_words() */
	bool ending, finalized;
	struct nccl_scalar *scalars;
	uint32_t scalars_count;
	char error[256];
	_Atomic int state;  /* ncclResult_t */
	_Atomic bool abort; /* the thread ends at once */
	/* what it is made of, until it is */
	ncclUniqueId id;
	struct ncclComm *next_ended; /* comm.c: the next one that has ended while streams led to it */
};

/* The communicator, or NULL. */
struct ncclComm *nccl_comm_find(ncclComm_t comm);
/* The first error stays. */
void nccl_fail(struct ncclComm *c, ncclResult_t result, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* number.c: types and reductions. */
uint32_t nccl_bytes(ncclDataType_t type); /* 0: none */
/* to = the reduction of `count` elements of each of the `ranks` sources, in their order. */
void nccl_reduce(const struct nccl_op *op, int ranks, void *to, const void *const *from, uint64_t count);
/* A scalar of this type, as a number. */
void nccl_scalar_read(ncclDataType_t type, const void *at, double *ret, int64_t *ret_whole);

/* meet.c: ranks that find each other. */
ncclResult_t meet_id(ncclUniqueId *ret);
/* How long ranks are waited for. */
int64_t nccl_timeout_ms(void);
/* The lines of a communicator; its error says why not. */
ncclResult_t meet_all(struct ncclComm *c, const ncclUniqueId *id);

/* run.c: the thread. */
void *nccl_thread(void *comm);

/* stage.c */

/* With the communicator's context current. */
CUresult stage_begin(struct ncclComm *c);
void stage_end(struct ncclComm *c);
/* Leaves copies of what the operation sends in its stream, if there is room. */
CUresult stage_fill_locked(struct ncclComm *c, struct nccl_op *op);
/* The operation needs its piece no longer. In the order of the calls. */
void stage_give_locked(struct ncclComm *c, const struct nccl_op *op);
/* True if these bytes have come with the call; they are copied. */
bool stage_read(const struct nccl_op *op, void *to, CUdeviceptr from, uint64_t bytes);

/* op.c: calls and groups. */
ncclResult_t nccl_submit(struct nccl_op op, const struct nccl_part *part);
/* Frees one that no stream and no list leads to. */
void nccl_op_free(struct nccl_op *op);
/* An exchange of the host: `bytes` of each rank to all. */
ncclResult_t nccl_words(struct ncclComm *c, const void *words, void *ret, uint64_t bytes);
/* The same of the root alone, to the ranks that call this. */
ncclResult_t nccl_news(struct ncclComm *c, const bool *to_whom, int root, void *words, uint64_t bytes);
/* A communicator that is made in a group, or at once. */
ncclResult_t nccl_begin(struct ncclComm *c);

/* comm.c, for shrink.c */

/* Waits until the communicator is made, or has an error. */
void nccl_join(struct ncclComm *c);
/* Streams that wait for the communicator go on. */
void nccl_words_write(struct ncclComm *c);
/* A communicator on the parent's device; without a configuration it has the parent's. */
ncclResult_t nccl_create(ncclComm_t *ret, int ranks, const ncclUniqueId *id, int rank, const ncclConfig_t *config,
			 const struct ncclComm *parent);
