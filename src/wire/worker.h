/*
 * worker.h: the messages between meted and a worker process.
 *
 * meted starts a worker with a connected SOCK_SEQPACKET socket (WORKER_CONTROL_FD) and one that is bound but does not
 * listen yet (WORKER_LISTEN_FD). The worker itself listens on it, so that the kernel reports the worker as the peer to
 * a process that connects. Each message is one struct worker_word; descriptors accompany it where stated:
 *
 *   worker: READY when its driver has started and its contexts are created, with the memory that they take; or the
 *           reason for a failure
 *   meted:  TAKE with a client's connection, and to a worker that supports it with its grant's cgroup, which the worker
 *           enters; from then on the worker runs under that grant. The grant has been charged for the contexts before
 *   meted:  ENTER with a cgroup to a waiting worker: that of the grant that will probably need it next
 *   worker: CONNECT whenever its shim needs a connection to the grant; a worker cannot create a socket itself
 *   meted:  CONNECTED with one
 *
 * Counts of a worker's traffic are in a file that both map (struct worker_traffic, WORKER_TRAFFIC_FD, beside the
 * worker's socket), so they outlive either side. A worker without such a file does not count.
 *
 * A restarted meted connects to the second socket, and that connection replaces the first one.
 *
 * Images of kernels have a separate connection (WORKER_IMAGES_FD, in a worker that was started with --images). Each
 * message is one struct worker_image; the descriptor that accompanies it is memory for the image, followed by at least
 * a page of zeros. Only meted sends descriptors: it creates the memory, because it must not have to close what a
 * compromised worker might send. Either side continues when the other exits:
 *
 *   meted:  HELD with the sealed memory of each image that is kept for the grant, before TAKE
 *   worker: USED when one of them was requested
 *   worker: ROOM for a new image, with the hash that its client named
 *   meted:  ROOM with memory of that size, or without where the image would not be kept
 *   worker: KEEP when the image is in place, its hash is verified, and the worker can no longer write to it. meted
 *           seals the memory
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifndef WORKER_VERSION /* a test builds a meted that speaks otherwise */
#define WORKER_VERSION 1u
#endif
#define WORKER_DEVICES 32u
#define WORKER_CONTROL_FD 3
#define WORKER_LISTEN_FD 4
#define WORKER_TRAFFIC_FD 5
#define WORKER_TRAFFIC_MAGIC 0x7466666172746d65u
#define WORKER_IMAGES_FD 6
#define WORKER_SOCKET "fd:3" /* METE_SOCKET of the shim in a worker: CONNECT over that descriptor */

enum worker_word_type {
	WORKER_READY = 1,
	WORKER_TAKE, /* the client's connection, with its hello unread; and a cgroup.procs to write "0" to, if any */
	WORKER_CONNECT,
	WORKER_CONNECTED, /* one descriptor when status is 0: a connection to the grant (message.h) */
	WORKER_ENTER,	  /* one descriptor, as the second one of TAKE; the worker continues to wait */
};

/* The measures that confine a worker besides its filter of system calls, as far as the machine has them. */
enum worker_fence {
	WORKER_FENCE_USER = 1,	   /* a user namespace: no privilege outside */
	WORKER_FENCE_NETWORK = 2,  /* a network namespace, empty */
	WORKER_FENCE_IPC = 4,	   /* System V objects and message queues of its own */
	WORKER_FENCE_MOUNTS = 8,   /* a mount namespace */
	WORKER_FENCE_FILES = 16,   /* an empty root */
	WORKER_FENCE_ID = 32,	   /* a user id that no other process has */
	WORKER_FENCE_SCOPE = 64,   /* Landlock: no signals to others, no abstract sockets, no TCP */
	WORKER_FENCE_RULES = 128,  /* Landlock: no files */
	WORKER_FENCE_CGROUP = 256, /* it would enter a cgroup that comes with TAKE */
};

struct worker_word {
	uint32_t type; /* enum worker_word_type */
	uint32_t version;
	int32_t status; /* 0, or the reason of a failure: -errno */
	uint32_t fence; /* READY: enum worker_fence */
	uint64_t grant_id;
	char grant[64];
	union {
		char text[256];				/* READY with a status: the error in one line */
		uint64_t context_bytes[WORKER_DEVICES]; /* READY without: per device, in the pool's order; 0: not
							 * known */
	};
};

/*
 * From the side of the worker: received is what its client has sent. Number of messages, and bytes of messages with
 * their payloads.
 */
enum worker_count {
	WORKER_RECEIVED_CALLS,
	WORKER_RECEIVED_BYTES,
	WORKER_SENT_BYTES,
	WORKER_COUNTS,
};

/*
 * The state of a client that its worker has been asked to let go (docs/memory.md), as the client reports it; it decides
 * nothing.
 */
enum worker_phase {
	WORKER_SETTLED,
	WORKER_LEAVING,
	WORKER_LEFT, /* the client has all data, and connects to the next worker */
	WORKER_RETURNING,
	WORKER_STAYS, /* it could not leave: enum worker_stay */
	WORKER_PHASES,
};

enum worker_stay {
	WORKER_STAY_NOTHING,
	WORKER_STAY_DRAIN,   /* work in flight, or a call, did not complete in time */
	WORKER_STAY_CAPTURE, /* a stream is in capture */
	WORKER_STAY_FAULT,   /* a kernel has faulted, or an error is not reported yet */
	WORKER_STAY_HOST,    /* no memory in the client */
	WORKER_STAY_CLOSED,  /* the program has closed a descriptor of the client */
	WORKER_STAY_IMAGE,   /* an image of kernels is in no memory any more */
	WORKER_STAY_PACKING, /* with its new placement it would not fit into the quota */
	WORKER_STAY_DEVICES, /* several devices or servers */
	WORKER_STAY_ARRAY,   /* from here on: the count is that of such objects, which cannot move */
	WORKER_STAY_VARIABLE,
	WORKER_STAY_GRAPH,
	WORKER_STAY_LIBRARY,
	WORKER_STAY_MAPPED,
	WORKER_STAY_MANAGED, /* only clients of earlier releases report it */
	WORKER_STAY_OTHER,
	WORKER_STAY_SHARED, /* pinned memory that kernels reach, with a copy on both sides of a relay */
	WORKER_STAY_SERVER, /* without a count: the other server refuses; see `why` */
	WORKER_STAY_HEAP,   /* kernels allocate memory; the count is that of their images */
	WORKER_STAY_DISK,   /* without a count: the disk returned an error */
	WORKER_STAY_ROOM,   /* without a count: neither meted nor its disk has room */
	WORKER_STAY_COUNT,
};

enum worker_begun {
	WORKER_BEGUN = 1,
	WORKER_BEGUN_BOUND, /* what it shares with the client lies where no other worker could have it */
};

enum worker_moves {
	WORKER_MOVES_NEAR = 1, /* to another worker of this meted */
	WORKER_MOVES_FAR,      /* also to one of the server `where` */
};

#define WORKER_WHERE_BYTES 256u

struct worker_traffic {
	uint64_t magic;		  /* written by meted before the worker is started */
	_Atomic uint32_t relayed; /* 1: the client is a relay; written by the worker */
	/* enum worker_begun: the session has begun, and `moves` is final; 0 before, and in an earlier release */
	_Atomic uint32_t begun;
	_Atomic uint64_t count[WORKER_COUNTS]; /* never fall; written by the worker, one thread at a time */
	uint64_t taken[WORKER_COUNTS];	       /* the part that is in the tenant's totals; only for meted */
	/* meted's request to the client, as WALL_WISH of ring/wall.h: a futex. */
	_Atomic uint32_t wish;
	_Atomic uint32_t phase; /* enum worker_phase, with the wish's number above it; stored last, with release */
	_Atomic uint32_t stay;	/* enum worker_stay, with the count above it */
	_Atomic uint32_t moves; /* the client has declared that it can be asked: enum worker_moves */
	_Atomic uint64_t move_done, move_total; /* bytes */
	/* From here on: WORKER_MOVES_FAR; the file of a worker of an earlier release ends before. */
	char where[WORKER_WHERE_BYTES]; /* meted writes it before `wish`: as the wall's `where` */
	char why[WORKER_WHERE_BYTES];	/* the client writes it before `phase`: the other server's answer, one line */
};

#define WORKER_TRAFFIC_LEAST offsetof(struct worker_traffic, where)

#define WORKER_IMAGE_VERSION 2u
#define WORKER_IMAGE_LEAST 16384u /* bytes; sending a smaller image again is as fast as finding it */

enum worker_image_type {
	WORKER_IMAGE_HELD = 1,
	WORKER_IMAGE_KEEP,
	WORKER_IMAGE_USED,
	WORKER_IMAGE_ROOM,
};

struct worker_image {
	uint32_t type; /* enum worker_image_type */
	uint32_t version;
	uint64_t bytes;
	uint8_t hash[32]; /* SHA-256 */
};

/* The size of the memory that holds an image. */
static inline uint64_t worker_image_room(uint64_t bytes)
{
	return (bytes + 4095) / 4096 * 4096 + 4096;
}
