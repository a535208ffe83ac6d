/*
 * wall.h: how a client of a worker (or of a relay, which stands in for one) begins: the memory both share, the
 * handshake.
 *
 * One SOCK_SEQPACKET unix socket; a client connects, sends WALL_HELLO, gets WALL_WELCOME with the descriptors of the
 * shared memory, and from then on everything goes through the rings. The socket stays open for as long as the session:
 * its end is the death of the other side. Between two virtual machines that share memory there is no socket and no
 * descriptor: the same structures lie at the beginning of the shared area, and a doorbell hook (ring.h) takes the place
 * of the futex; that is why nothing here or in the area is a pointer.
 *
 *   control area  struct wall_area: its header, then the two rings (requests, replies)
 *   arena         bytes that messages refer to by offset; the client alone gives out its parts:
 *                   [0, 4096)                 the board: words that one side writes and the other reads
 *                   [in_offset, +in_bytes)    staging of what goes to the device; registered with the driver by the
 *                                             worker
 *                   [out_offset, +out_bytes)  staging of what comes back; the same
 *                   [heap_offset, end)        pinned host memory of the program, by the page; sparse
 *
 * Both are made by the worker (or relay) and sealed against any change of size, so neither side can be made to fault.
 * The two ends of a network connection have arenas of the same size, and the relay makes parts of one equal to the
 * other as the messages' payload words say.
 *
 * A side: wall_make(), wall_receive_hello(), wall_welcome() or wall_refuse() by the worker; wall_connect() by the
 * client. errno is left as it was by all that the client calls.
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
	WALL_WRONG_VERSION, /* of this handshake, or another fingerprint of the API */
	WALL_BAD,	    /* malformed */
	WALL_FULL,	    /* no worker to be had: too many clients, or the quota leaves no room */
	WALL_REFUSED,	    /* not allowed, by name or by key */
	WALL_UNREACHABLE,   /* relay: no such server, or the line was lost */
	WALL_NO_DEVICE,	    /* the grant's device is gone, or the driver does not start */
	WALL_AWAY,	    /* relay: meted or the worker went away meanwhile: another try may find the next one */
};

#define WALL_STATUS_MOST WALL_AWAY

enum wall_flag {
	/* the worker sees the arena itself: no payload has to travel, host memory can be mapped */
	WALL_COHERENT = 1 << 0,
	WALL_NO_FUTEX = 1 << 1, /* the other side cannot be woken by futex */
	WALL_RELAYED = 1 << 2,	/* hello: of a relay, whose program does not see this arena: it is not coherent */
	/* hello: of a client whose session goes on with another worker: its arena comes after the welcome */
	WALL_BRINGS = 1 << 3,
	WALL_MOVES = 1 << 4, /* welcome: the worker may ask the client to move, by `wish` in the control area */
	/* hello: of a relay, whose program's session goes on here: the worker's arena is to lie at `brings.base` */
	WALL_BASED = 1 << 5,
	WALL_PASSES = 1 << 6, /* hello: of a relay that passes wishes on to its program */
};

struct wall_hello {
	uint32_t magic, version;
	uint32_t fingerprint; /* CUDA_REMOTE_FINGERPRINT of the client */
	uint32_t flags;
	int32_t pid;	  /* as the client sees it; for people to read, decides nothing */
	char command[32]; /* /proc/self/comm */
	union {
		/* relay only: which of a server's offers; "" the default one. With WALL_BASED it follows `brings` */
		char name[64];
		/* Packed: a hello is as long, and its parts lie, as in releases before. */
		struct __attribute__((packed, aligned(4))) {
			uint64_t base;	/* where the worker before had mapped the arena */
			uint64_t bytes; /* of device memory that waits in the client; for people to read */
		} brings;		/* WALL_BRINGS, WALL_BASED */
	};
};

struct wall_welcome { /* with two descriptors when the status is WALL_OK: the control area, the arena */
	uint32_t magic, version;
	uint32_t status; /* enum wall_status */
	uint32_t fingerprint;
	uint32_t flags;	     /* enum wall_flag */
	uint32_t ring_bytes; /* capacity of each of the two rings, a power of two */
	uint64_t arena_bytes;
	uint64_t in_offset, in_bytes, out_offset, out_bytes, heap_offset;
	uint64_t base; /* where the worker has mapped the arena; the client maps it there too if it can */
	char grant[64];
	char server[64]; /* for people to read: the host's name; from a relay, what the user calls the server */
	char text[256];	 /* what went wrong and the remedy: one line */
};

/* The packet that carries the descriptor of a client's arena, after the welcome. */
#define WALL_ARENA_MARK 'A'

/*
 * Another first word than a hello, for meted alone: a client that leaves its worker asks where what it keeps goes, or
 * says that it has a file there, or needs none any more. A relay, and a meted of an earlier release, refuse it.
 */
#define WALL_STORE_MAGIC 0x6574656du
#define WALL_STORE_VERSION 1u

enum wall_store_word {
	WALL_STORE_ASKS = 1,
	WALL_STORE_HAS,	 /* it has been given one before: by a meted before this one, perhaps */
	WALL_STORE_ENDS, /* not answered */
};

struct wall_store {
	uint32_t magic, version;
	uint32_t word; /* enum wall_store_word */
	uint32_t unused;
	uint64_t bytes; /* a multiple of 4096 */
};

enum wall_stored_place { WALL_STORED_HOST, WALL_STORED_DISK, WALL_STORED_NOWHERE };

struct wall_stored { /* with a descriptor where it is WALL_STORED_DISK and meted has the file */
	uint32_t magic, version;
	uint32_t place; /* enum wall_stored_place */
	uint32_t unused;
};

/* Words of the board, at these byte offsets of the arena. */
/* uint64_t: payloads up to this serial are in the worker's arena (not coherent only) */
#define WALL_BOARD_ARRIVED 0u
/*
 * uint32_t: how many threads of the worker sleep on the low half of ARRIVED by futex. Raised before they look at
 * ARRIVED once more; the relay stores ARRIVED, then looks here, and wakes them all.
 */
#define WALL_BOARD_WAITERS 8u

#define WALL_AREA_BYTES 4096u /* the header of the control area; the rings follow */

#define WALL_WHERE_BYTES 256u

/* Begins the control area. Written by its maker; the other side looks at it where there is no welcome to look at. */
struct wall_area {
	uint32_t magic, version, fingerprint, flags;
	uint32_t ring_bytes;
	uint32_t wish;				  /* a futex, atomic, written by the worker: see WALL_WISH */
	uint64_t requests_offset, replies_offset; /* of the struct ring_shared, in the control area */
	/*
	 * Written before `wish`: where the client is to go on. "": by the way that it came; "/...": by that socket;
	 * else a server, "HOST[:PORT][/OFFER]", to which the client's relay leads by the way that it came.
	 */
	char where[WALL_WHERE_BYTES];
};

/*
 * What the worker asks of a client that it has told WALL_MOVES: 0: nothing yet; else the number of the wish, above it
 * the seconds that work in flight may take to end; 0 seconds: the last wish is taken back.
 */
#define WALL_WISH(serial, drain_s) ((uint32_t)(drain_s) << 16 | ((serial)&0xffffu))
#define WALL_WISH_DRAIN(wish) ((wish) >> 16)
#define WALL_WISH_SERIAL(wish) ((wish)&0xffffu)

/* The end of the other side, and how it is woken. */
struct wall_bell {
	struct ring_doorbell bell;
	int socket, pidfd;	/* -1: none */
	uint64_t device, inode; /* what `socket` is, unless the program closed it under us */
	/* Another thread ends this process when the other side ends: no sleep needs an end, nor a timer for it. */
	bool watched;
};

/* One side of a session. It is not moved: its rings know where its bell is. */
struct wall {
	struct wall_bell bell;
	uint8_t *control, *arena; /* NULL: not there */
	uint64_t control_bytes, arena_bytes;
	/* worker: until the client has them; the client keeps that of its arena, for the next worker; else -1 */
	int control_fd, arena_fd;
	char refused[256];		    /* client: why wall_return() has failed, or "" */
	uint64_t arena_device, arena_inode; /* client: what arena_fd is, unless the program closed it under us */
	struct wall_welcome welcome;	    /* checked */
	struct ring_end requests, replies;
};

/* Zero is a good value for each: the default. */
struct wall_shape {
	uint32_t ring_bytes, flags;		  /* enum wall_flag */
	uint64_t in_bytes, out_bytes, heap_bytes; /* multiples of the page */
};

/* Client
 * -------------------------------------------------------------------------------------------------------------- */

/*
 * Connects, says hello, takes the memory over: the arena at the worker's own address when that is free here. 0; above
 * 0: refused, an enum wall_status with ret->welcome.text; -errno: no such socket, nobody answers in time, malformed.
 */
int wall_connect(struct wall *ret, const char *path, const struct wall_hello *hello, unsigned int timeout_ms);
/* The same over a socket that is connected, taken over: for a process that has no files. */
int wall_connect_socket(struct wall *ret, int take_socket, const struct wall_hello *hello, unsigned int timeout_ms);

/*
 * The client leaves the worker, and keeps its arena, which it goes on to use. 0; -EBADF: the program has closed the
 * arena's descriptor: the session stays as it is.
 */
int wall_leave(struct wall *wall);
/*
 * A second worker beside the first one, by the same arena, which stays the first one's: before the client leaves that.
 * `hello` has WALL_BRINGS. As wall_connect(). wall_part() ends it.
 */
int wall_join(struct wall *ret, const struct wall *first, const char *path, const struct wall_hello *hello,
	      unsigned int timeout_ms);
/* The client leaves one of two workers, whatever has become of the arena's descriptor: the other one has the arena. */
void wall_part(struct wall *wall);
/* The two take each other's place. Nobody reads or writes meanwhile. */
void wall_exchange(struct wall *a, struct wall *b);
/* Goes on with another worker, by the same arena. `hello` has WALL_BRINGS. As wall_connect(); may be tried again. */
int wall_return(struct wall *wall, const char *path, const struct wall_hello *hello, unsigned int timeout_ms);

/*
 * What meted answers, an enum wall_stored_place, with the file or -1; -errno: there is nobody who knows the question.
 * WALL_STORE_ENDS: 0, without an answer.
 */
int wall_ask_store(const char *path, enum wall_store_word word, uint64_t bytes, unsigned int timeout_ms, int *ret_fd);

/* Worker, relay
 * ------------------------------------------------------------------------------------------------------- */

/* The shared memory; there may be no client yet. 0 or -errno. */
int wall_make(struct wall *ret, const struct wall_shape *shape);
/* What a connected client says; one that brings its arena may send it from then on. 0; above 0: refuse it so (enum
 * wall_status); -errno: it went away, or said nothing. */
int wall_receive_hello(int socket, uint32_t fingerprint, struct wall_hello *ret, unsigned int timeout_ms);
/*
 * After the welcome of a client that brings its arena (WALL_BRINGS): the descriptor. Not before, because nobody but the
 * worker is to get descriptors of a client's. 0 or -errno.
 */
int wall_receive_arena(int socket, int *ret, unsigned int timeout_ms);
/*
 * The client's arena takes the place of the one that was made, at the same address as at the worker before. 0; -EPROTO:
 * it is not what this side would have made; -EEXIST: the address is taken here.
 */
int wall_bring(struct wall *wall, int take_arena, uint64_t base);
/* The arena that was made lies there from now on. 0; -EPROTO, -EEXIST: as above. */
int wall_rebase(struct wall *wall, uint64_t base);
/*
 * Whether what has arrived looks like a hello; leaves it there for wall_receive_hello(). 0; above 0: refuse it so;
 * -EAGAIN: nothing is there yet; another -errno: it went away.
 */
int wall_peek_hello(int socket);
/* It is struct wall_store that has arrived: takes it out. 0; -EAGAIN: it is not; -EPROTO: it makes no sense. */
int wall_take_store(int socket, struct wall_store *ret);
/*
 * Lets the client in. Takes the socket over when this succeeds. `more`: grant, server, base and flags of the welcome;
 * the rest is filled in here. 0 or -errno.
 */
int wall_welcome(struct wall *wall, int socket, const struct wall_welcome *more);
/* Tells a client why not, in one line. The caller closes the socket. */
__attribute__((format(printf, 3, 4))) void wall_refuse(int socket, enum wall_status status, const char *fmt, ...);
/* The same by a relay: `server` is whose line it is. */
void wall_refuse_of(int socket, const char *server, enum wall_status status, const char *text);

/* Both
 * ---------------------------------------------------------------------------------------------------------------- */

/* Closes the rings, which the other side learns at once. What is held stays: for a process that is about to end. */
void wall_hang_up(struct wall *wall);
/* The same, and gives back what is held; no other thread may use it any more. */
void wall_close(struct wall *wall);
/* In a child after fork(): gives back what is held and says nothing. */
void wall_abandon(struct wall *wall);
/* [offset, offset + bytes) of the arena, or NULL when it is not all in it. */
void *wall_arena(const struct wall *wall, uint64_t offset, uint64_t bytes);
/* The futex of this machine, or naps where the flags have WALL_NO_FUTEX; `alive` looks at the socket and the pidfd. */
void wall_bell_init(struct wall_bell *bell, uint32_t flags);
