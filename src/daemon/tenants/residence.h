/*
 * residence.h: the memory of tenants that may leave a device (`--spill`): which of them is asked to leave and to
 * return, and how much of a shared device may be granted.
 *
 * src/model/residence.h decides. This part reads what clients write on their pages, and writes requests to them. The
 * sum of what clients are granted on such a device, held or credit, never exceeds the device: account.c calls
 * residence_room() before it grants. A client that finds no room waits while others leave.
 */
#pragma once

#include "model/grant.h"
#include "ring/wall.h"
#include "wire/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct client;
struct daemon;
struct tenant;

/* Settings. */
struct residence_options {
	bool spill;		  /* default for new grants */
	uint64_t pool_bytes;	  /* host memory for what leaves devices; 0: half of the machine's */
	const char *disk;	  /* a folder for what does not fit there; NULL: none */
	uint64_t disk_bytes;	  /* that may be used there */
	uint64_t disk_user_bytes; /* of one user who is not an owner; 0: half of disk_bytes */
	uint64_t turn_ns;
	uint64_t turn_most_ns; /* to which turns grow where moving takes long */
	uint64_t yield_ns;     /* time limit to give up lent memory */
	bool yield_end;	       /* ends programs that exceed it */
};

#define RESIDENCE_OPTIONS                                                                                              \
	((struct residence_options){ .turn_ns = 2000000000u,                                                           \
				     .turn_most_ns = UINT64_C(30000000000),                                            \
				     .yield_ns = UINT64_C(10000000000),                                                \
				     .disk_bytes = UINT64_C(16) << 30 })

/* What meted knows of a client's memory; zero at first. */
struct residing {
	uint32_t wish;		/* the request on the page */
	uint32_t place;		/* the client's last report */
	uint64_t since_ns;	/* since when it has been at its place */
	uint64_t arrived_ns;	/* since when all of it has been back on the device */
	uint64_t idle_since_ns; /* 0: the memory is in use */
	uint64_t waits_since_ns;
	uint64_t want_units, want_ns; /* the size and time of a request that was told to wait */
	uint64_t hopeless_ns;	      /* since then others cannot make that much room; 0: they can */
	uint64_t stay_units, stay_ns; /* the size and time of memory that cannot leave and was permitted */
	uint64_t short_ns;	      /* since then it may hold no more of that; 0: it may */
	uint64_t stays_until_ns;      /* it could not leave, and is not asked again before */
	uint64_t asked_ns;	      /* when the current wish was written */
	uint64_t came_ns;	      /* when it last made progress, or was asked */
	uint32_t came_percent;	      /* the highest progress */
	uint32_t silences;	      /* unanswered wishes since the last one that it fulfilled */
	uint32_t counted;	      /* the wish whose move is already counted */
	uint64_t moving_units;
	uint64_t swap_ns;	     /* the duration of the last leaving and the last returning together */
	uint64_t swap_before_ns;     /* the same of the previous swap */
	uint64_t leave_ns;	     /* without the time for its work to complete, during which the device was used */
	uint64_t works_ns;	     /* the last check at which its work had not completed */
	int disk_fd;		     /* the file that it was given; 0: none */
	uint64_t disk_units;	     /* the file's size, also while it is being created */
	struct disk_ask *disk_ask;   /* the pending request for the file; NULL: none */
	struct session *disk_asker;  /* the session that awaits the answer; NULL: closed */
	uint32_t disk_serial;	     /* the serial of that answer */
	uint32_t told;		     /* the wish of which an event has said that it cannot be fulfilled */
	uint64_t late_ns;	     /* yielding.h: since then it, or the client that blocks it, is late; 0: not late */
	char why[200];		     /* the reason that its memory fits nowhere, as reported; empty: none */
	bool urgent;		     /* the wish serves the grant to which the memory is promised */
	char whom[GRANT_NAME_BYTES]; /* the grant that needs the room; empty: none, the user asked */
	bool called;		     /* the user wants its memory back */
	bool saved;  /* the driver has taken the process off the device (checkpoint.h): it holds nothing there */
	bool doubt;  /* `saved` is not certain: a child was, or may have been, at work */
	bool astray; /* the device from which it was taken may be another one than the grant's */
};

/* Starts to look after a tenant when it is first served. */
void residence_begin(struct tenant *tenant);
/*
 * Writes the current requests to the page of a client before the client is told of it. `found`: this meted has found
 * the page.
 */
void residence_join(struct client *client, bool found);
/* Frees the timer. */
void residence_stop(struct daemon *daemon);

/*
 * The units that the client may be granted in addition on the device, credit included. UINT64_MAX: no tenant's memory
 * moves there, and the driver decides. Recalls the credit of others if less than `need` is free.
 */
uint64_t residence_room(struct client *client, unsigned int device, uint64_t need);
/*
 * Asks other clients to leave because so many more units do not fit. False: they never will, or the device is not a
 * shared one. `before_return`: the request was made before the client's own return began, and waits for that return.
 */
bool residence_wait(struct client *client, unsigned int device, uint64_t units, bool before_return);
void residence_has(struct client *client);
/*
 * Decides whether a client whose memory moves may hold so many more units that cannot leave the device. All such memory
 * must fit beside all promises, and beside the memory of each other client, which could not return otherwise. True for
 * every other client.
 */
bool residence_may_stay(struct client *client, unsigned int device, uint64_t units);
/* Called after such a refusal. True: try again in a moment, because other clients are taking or returning memory. */
bool residence_stay_waits(struct client *client);
/* The units of such memory that it may hold in addition; UINT64_MAX for every other client. */
uint64_t residence_stay_room(struct client *client, unsigned int device);
/*
 * Bytes of the device that are held without a promise and could not be returned to the grants that they are promised
 * to: memory that cannot leave. Where meted serves all users, also all memory of grants of other users, except owners'
 * grants, which alone are lent memory promised to others.
 */
uint64_t residence_occupied_bytes(const struct daemon *daemon, const uint8_t *uuid, uid_t uid);
/* The units that are away of a tenant's clients, except `except` (may be NULL): its quota is not free for others. */
uint64_t residence_away(const struct tenant *tenant, unsigned int device, const struct client *except);

/* True if the grant's programs move their memory themselves (`--spill`). */
bool residence_moves(const struct tenant *tenant);
/* The units of the host's memory (memory.pool) that the tenant may still use for memory that leaves. */
uint64_t residence_pool_room(const struct tenant *tenant);
/* The name of that limit, for a message. */
const char *residence_pool_bound(const struct tenant *tenant);
/* True if so many units of the tenant fit in memory.pool or memory.disk. */
bool residence_takes(const struct tenant *tenant, uint64_t units);
/* The units on the disk of a client, and of a tenant. */
uint64_t residence_client_disk(const struct client *client);
uint64_t residence_disk(const struct tenant *tenant);
/* The same of all clients that have left a device; ret_away: everything of them that is away, in units. */
uint64_t residence_disk_of_device(const struct daemon *daemon, const uint8_t *uuid, uint64_t *ret_away);
/* The bytes on the disk of all clients; ret_most_bytes: the limit, 0: there is no disk. */
uint64_t residence_disk_bytes(const struct daemon *daemon, uint64_t *ret_most_bytes);
/*
 * Answers a client that leaves and asks where to. WIRE_OK: to the host's memory, or to a file if ret_fd is a
 * descriptor, which meted keeps. WIRE_NO_ROOM: it stays. RESIDENCE_LATER: a file is being created; `asker` is answered
 * later with `serial` (session_answer_stored()).
 */
#define RESIDENCE_LATER (-1)
int residence_store(struct client *client, uint64_t units, struct session *asker, uint32_t serial, int *ret_fd);
/* True for grants of root and of meted's own user, where one meted serves all users. */
bool residence_is_owners(const struct tenant *tenant);
/* The place for so many units of a program behind a wall that leaves its worker. */
enum wall_stored_place residence_store_place(const struct tenant *tenant, uint64_t units);
/* Forgets a session that waits for a file and has closed. */
void residence_store_forget(struct client *client, const struct session *asker);
/*
 * Releases the file of a client that has ended or has its memory back. `leaving`: meted exits, and the client keeps the
 * file.
 */
void residence_unstore(struct client *client, bool leaving);
/* The units of the tenant's device that no client has. */
uint64_t residence_left(const struct tenant *tenant);
/* Poll the pages while there is something to follow; poll them at once. */
void residence_look_on(struct daemon *daemon);
void residence_look_now(struct daemon *daemon);
/* Polls them in a moment, if they are polled: something has happened that a client may wait for. */
void residence_look_soon(struct daemon *daemon);
