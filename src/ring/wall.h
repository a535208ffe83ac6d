/*
 * wall.h: how a client begins a session with a worker, or with a relay that stands in for one: the handshake and the
 * memory that both share.
 *
 * The client connects to a SOCK_SEQPACKET unix socket and sends a struct wall_hello. The answer is a struct
 * wall_welcome with the descriptors of the shared memory. From then on all messages go through the rings. The socket
 * stays open for the whole session; its end means that the other side has died. Two virtual machines that share memory
 * have no socket and no descriptors between them: the same structures lie at the beginning of the shared area, and a
 * doorbell hook (ring.h) replaces the futex. Nothing here or in the area is a pointer, for this reason.
 *
 *   control area  struct wall_area: its header, then the two rings (requests, replies)
 *   arena         bytes that messages refer to by offset; the client alone allocates in it:
 *                   [0, 4096)                 the board: words that one side writes and the other reads
 *                   [in_offset, +in_bytes)    staging of data for the device; the worker registers it with the driver
 *                   [out_offset, +out_bytes)  staging of data from the device; likewise
 *                   [heap_offset, end)        pinned host memory of the program, by the page; sparse
 *
 * The worker (or the relay) makes both and seals their size, so neither side can make the other fault. The two ends of
 * a network connection have arenas of the same size. The relay copies the parts that the messages' payload words name.
 *
 * The worker calls wall_make(), wall_receive_hello(), and wall_welcome() or wall_refuse(). The client calls
 * wall_connect(). All functions for the client preserve errno.
 */
#pragma once

#include "ring/ring.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WALL_VERSION 1u
#define WALL_MAGIC 0x6d657465u /* "mete" */

enum wall_status {
	WALL_OK = 0,
	WALL_WRONG_VERSION, /* another version of this handshake, or another fingerprint of the API */
	WALL_BAD,	    /* malformed */
	WALL_FULL,	    /* no worker available: too many clients, or the quota leaves no room */
	WALL_REFUSED,	    /* not allowed, by name or by key */
	WALL_UNREACHABLE,   /* relay: no such server, or the line was lost */
	WALL_NO_DEVICE,	    /* the grant's device is gone, or the driver does not start */
	WALL_AWAY,	    /* relay: meted or the worker ended meanwhile; another attempt may reach its successor */
};

#define WALL_STATUS_MOST WALL_AWAY

enum wall_flag {
	/* both sides map the same arena: payloads are not copied, and host memory can be mapped */
	WALL_COHERENT = 1 << 0,
	WALL_NO_FUTEX = 1 << 1, /* the other side cannot be woken by futex */
	WALL_RELAYED = 1 << 2,	/* hello: of a relay, whose program does not see this arena: it is not coherent */
	/* hello: of a client that continues its session with another worker; it sends its arena after the welcome */
	WALL_BRINGS = 1 << 3,
	WALL_MOVES = 1 << 4, /* welcome: the worker may ask the client to move, by `wish` in the control area */
	/* hello: of a relay that continues its program's session; the worker's arena must lie at `brings.base` */
	WALL_BASED = 1 << 5,
	WALL_PASSES = 1 << 6, /* hello: of a relay that passes wishes on to its program */
};

struct wall_hello {
	uint32_t magic, version;
	uint32_t fingerprint; /* CUDA_REMOTE_FINGERPRINT of the client */
	uint32_t flags;
	int32_t pid;	  /* in the client's namespace; for display only */
	char command[32]; /* /proc/self/comm */
	union {
		/* relay only: the name of a server's offer; "": the default. With WALL_BASED it follows `brings` */
		char name[64];
		/* Packed, so that size and layout of a hello are those of earlier releases. */
		struct __attribute__((packed, aligned(4))) {
			uint64_t base;	/* where the previous worker had mapped the arena */
			uint64_t bytes; /* of device memory that the client keeps meanwhile; for display only */
		} brings;		/* WALL_BRINGS, WALL_BASED */
	};
};

struct wall_welcome { /* with WALL_OK it carries two descriptors: the control area, the arena */
	uint32_t magic, version;
	uint32_t status; /* enum wall_status */
	uint32_t fingerprint;
	uint32_t flags;	     /* enum wall_flag */
	uint32_t ring_bytes; /* capacity of each of the two rings, a power of two */
	uint64_t arena_bytes;
	uint64_t in_offset, in_bytes, out_offset, out_bytes, heap_offset;
	uint64_t base; /* where the worker has mapped the arena; the client maps it there too if it can */
	char grant[64];
	char server[64]; /* for display: the host's name; from a relay, the user's name of the server */
	char text[256];	 /* the error and its remedy: one line */
};

/* The packet that carries the descriptor of a client's arena, after the welcome. */
#define WALL_ARENA_MARK 'A'

/*
 * A message that meted alone understands, in place of a hello. A client that leaves its worker asks where to store the
 * memory that it keeps, or reports that it has a file for it, or that it needs none any more. A relay, and a meted of
 * an earlier release, refuse it.
 */
#define WALL_STORE_MAGIC 0x6574656du
#define WALL_STORE_VERSION 1u

enum wall_store_word {
	WALL_STORE_ASKS = 1,
	WALL_STORE_HAS,	 /* the client has a file already, perhaps from a previous meted */
	WALL_STORE_ENDS, /* not answered */
};

struct wall_store {
	uint32_t magic, version;
	uint32_t word; /* enum wall_store_word */
	uint32_t unused;
	uint64_t bytes; /* a multiple of 4096 */
};

enum wall_stored_place { WALL_STORED_HOST, WALL_STORED_DISK, WALL_STORED_NOWHERE };

struct wall_stored { /* with the file's descriptor if it is WALL_STORED_DISK and meted has the file */
	uint32_t magic, version;
	uint32_t place; /* enum wall_stored_place */
	uint32_t unused;
};

/* Words of the board, at these byte offsets of the arena. */
/* uint64_t: payloads up to this serial are in the worker's arena (not coherent only) */
#define WALL_BOARD_ARRIVED 0u
/*
 * uint32_t: the number of the worker's threads that sleep on the low half of ARRIVED by futex. A thread increments it,
 * then reads ARRIVED once more. The relay stores ARRIVED, then reads this word and wakes them all.
 */
#define WALL_BOARD_WAITERS 8u

#define WALL_AREA_BYTES 4096u /* the header of the control area; the rings follow */

#define WALL_WHERE_BYTES 256u

/* The head of the control area. Its maker writes it; the other side reads it if there is no welcome. */
struct wall_area {
	uint32_t magic, version, fingerprint, flags;
	uint32_t ring_bytes;
	uint32_t wish;				  /* a futex, atomic, written by the worker: see WALL_WISH */
	uint64_t requests_offset, replies_offset; /* of the struct ring_shared, in the control area */
	/*
	 * Written before `wish`: where the client must continue. "": on the same path as before; "/...": at that
	 * socket; else a server, "HOST[:PORT][/OFFER]", which the client's relay reaches on the same path.
	 */
	char where[WALL_WHERE_BYTES];
};

/*
 * The worker's wish that a client moves, if the welcome has WALL_MOVES. 0: no wish yet. Else the low half is the number
 * of the wish, and the high half the seconds that work in flight may take to end; 0 seconds: the last wish is
 * withdrawn.
 */
#define WALL_WISH(serial, drain_s) ((uint32_t)(drain_s) << 16 | ((serial)&0xffffu))
#define WALL_WISH_DRAIN(wish) ((wish) >> 16)
#define WALL_WISH_SERIAL(wish) ((wish)&0xffffu)

/* How a side wakes the other one and notices its end. */
struct wall_bell {
	struct ring_doorbell bell;
	int socket, pidfd;	/* -1: none */
	uint64_t device, inode; /* identity of `socket`: the program may have closed it */
	/* Another thread ends this process when the other side ends, so sleeps need no timer. */
	bool watched;
};

/* One side of a session. It must not be moved in memory, because its rings point to its bell. */
struct wall {
	struct wall_bell bell;
	uint8_t *control, *arena; /* NULL: not mapped */
	uint64_t control_bytes, arena_bytes;
	/* worker: until it has sent them; client: the arena's, for the next worker; else -1 */
	int control_fd, arena_fd;
	char refused[256];		    /* client: why wall_return() failed, or "" */
	uint64_t arena_device, arena_inode; /* client: identity of arena_fd, likewise */
	struct wall_welcome welcome;	    /* checked */
	struct ring_end requests, replies;
};

/* 0 in a member selects its default. */
struct wall_shape {
	uint32_t ring_bytes, flags;		  /* enum wall_flag */
	uint64_t in_bytes, out_bytes, heap_bytes; /* multiples of the page */
};

/* Client
 * -------------------------------------------------------------------------------------------------------------- */

/*
 * Connects, sends the hello and maps the memory; the arena at the worker's address if that is free here. Returns 0;
 * above 0: refused, an enum wall_status with ret->welcome.text; -errno: no such socket, no answer in time, malformed
 * answer.
 */
int wall_connect(struct wall *ret, const char *path, const struct wall_hello *hello, unsigned int timeout_ms);
/* The same over a connected socket, whose ownership passes: for a process that cannot open files. */
int wall_connect_socket(struct wall *ret, int take_socket, const struct wall_hello *hello, unsigned int timeout_ms);

/*
 * The client leaves the worker and continues to use its arena. Returns 0; -EBADF: the program has closed the arena's
 * descriptor, and the session is unchanged.
 */
int wall_leave(struct wall *wall);
/*
 * Connects to a second worker while the client still has the first one. Both use the same arena, which the first one's
 * `struct wall` keeps. `hello` has WALL_BRINGS. Returns as wall_connect() does. wall_part() ends the session.
 */
int wall_join(struct wall *ret, const struct wall *first, const char *path, const struct wall_hello *hello,
	      unsigned int timeout_ms);
/* The client leaves one of two workers. The arena's descriptor does not matter: the other one has the arena. */
void wall_part(struct wall *wall);
/* Exchanges the two. No thread may use either of them meanwhile. */
void wall_exchange(struct wall *a, struct wall *b);
/* Continues with another worker and the same arena. `hello` has WALL_BRINGS. As wall_connect(); can be repeated. */
int wall_return(struct wall *wall, const char *path, const struct wall_hello *hello, unsigned int timeout_ms);

/*
 * Sends a struct wall_store. Returns meted's answer, an enum wall_stored_place, with the file or -1; -errno: the other
 * side does not know the message. WALL_STORE_ENDS: 0, without an answer.
 */
int wall_ask_store(const char *path, enum wall_store_word word, uint64_t bytes, unsigned int timeout_ms, int *ret_fd);

/* Worker, relay
 * ------------------------------------------------------------------------------------------------------- */

/* Makes the shared memory; a client is not needed yet. 0 or -errno. */
int wall_make(struct wall *ret, const struct wall_shape *shape);
/*
 * Receives a client's hello. A client that brings its arena may send it after that. Returns 0; above 0: refuse the
 * client with this enum wall_status; -errno: it has gone, or sent nothing in time.
 */
int wall_receive_hello(int socket, uint32_t fingerprint, struct wall_hello *ret, unsigned int timeout_ms);
/*
 * Receives the descriptor of the arena that a client brings (WALL_BRINGS), after its welcome. It is not sent earlier,
 * because only the worker may get descriptors of a client. 0 or -errno.
 */
int wall_receive_arena(int socket, int *ret, unsigned int timeout_ms);
/*
 * Replaces the arena that was made by the client's, at the address that it had in the previous worker. Returns 0;
 * -EPROTO: it is not an arena as this side would have made it; -EEXIST: the address is in use here.
 */
int wall_bring(struct wall *wall, int take_arena, uint64_t base);
/* Moves the arena that was made to this address. Returns 0; -EPROTO, -EEXIST: as above. */
int wall_rebase(struct wall *wall, uint64_t base);
/*
 * Checks whether the message that has arrived looks like a hello, and leaves it for wall_receive_hello(). Returns 0;
 * above 0: refuse the client with this enum wall_status; -EAGAIN: none has arrived yet; another -errno: the client has
 * gone.
 */
int wall_peek_hello(int socket);
/* Receives the message if it is a struct wall_store. Returns 0; -EAGAIN: it is none; -EPROTO: it is malformed. */
int wall_take_store(int socket, struct wall_store *ret);
/*
 * Admits the client. On success the wall owns the socket. `more`: grant, server, base and flags of the welcome; the
 * rest is filled in here. 0 or -errno.
 */
int wall_welcome(struct wall *wall, int socket, const struct wall_welcome *more);
/* Sends a client the reason of its refusal, in one line. The caller closes the socket. */
__attribute__((format(printf, 3, 4))) void wall_refuse(int socket, enum wall_status status, const char *fmt, ...);
/* The same by a relay, about the server of this name. */
void wall_refuse_of(int socket, const char *server, enum wall_status status, const char *text);

/* Both
 * ---------------------------------------------------------------------------------------------------------------- */

/* Closes the rings; the other side notices at once. Keeps all resources: for a process that is about to end. */
void wall_hang_up(struct wall *wall);
/* Closes the rings and releases all resources. No other thread may use the wall any more. */
void wall_close(struct wall *wall);
/* In a child after fork(): releases the resources and does not close the rings. */
void wall_abandon(struct wall *wall);
/* Returns the address of [offset, offset + bytes) of the arena, or NULL if that exceeds it. */
void *wall_arena(const struct wall *wall, uint64_t offset, uint64_t bytes);
/* The futex of this machine, or naps where the flags have WALL_NO_FUTEX; `alive` looks at the socket and the pidfd. */
void wall_bell_init(struct wall_bell *bell, uint32_t flags);
