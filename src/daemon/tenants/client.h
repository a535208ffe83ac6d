/*
 * client.h: one process of a tenant, with its page and its account on every device of the grant.
 *
 * A client exists from its first HELLO until its process has ended and its sockets are closed: only then has the
 * driver freed its memory. In between, and while meted restarts, a client can be without a session; its account
 * remains.
 */
#pragma once

#include "daemon/turns/arbitrate.h"
#include "daemon/loop.h"
#include "daemon/tenants/book.h"
#include "daemon/tenants/page.h"
#include "daemon/tenants/process.h"
#include "daemon/tenants/residence.h"
#include "wire/message.h"

struct mapped;
struct tenant;
struct object;

struct client {
	struct tenant *tenant;
	struct client *next;
	struct process process;
	int pidfd;
	struct watch *death;		 /* NULL once the process has ended */
	unsigned int sessions;		 /* sockets that sent HELLO for this process */
	uint64_t parted_ns;		 /* when the last of them closed; 0: not yet */
	uint64_t look_ns, look_every_ns; /* when to check next whether the process has executed another program */
	struct mapped *look;		 /* that is being checked; NULL: it is not */
	uint64_t ended_ns;		 /* when the process was first seen to have ended; 0: it lives */
	struct page page;
	uint32_t granted_units[WIRE_MAX_DEVICES]; /* meted's own copy of the upper half of the account words */
	/* Of a grant whose memory moves: units that the client has reported and meted has not lent it. */
	uint32_t said_units;
	uint32_t waiting_all[WIRE_MAX_DEVICES]; /* its waiting requests for everything that is left */
	struct book_entry *entry; /* granted_units and said_units in the book, for the next meted; NULL: there is no
				   * entry */
	bool lost;		  /* its page was lost; the figures of the book count until it sends HELLO */
	struct object **object;	  /* by index on the page, WIRE_MAX_OBJECTS of them; NULL until the first */
	struct traced *traced;	  /* recorder.h: the traces that record it */
	struct seats seats;	  /* its turns; guarded by arbitrate_lock(), as is the next field */
	bool process_lives;	  /* the process exists, so its turns may be open */
	struct residing residing; /* the location of its memory */
	bool reported;		  /* a damaged page is reported once */
};

/* Finds the client of a process, or creates it with a new page. ret_fd: the page's descriptor, for the client. */
int client_attach(struct tenant *tenant, const struct process *process, int *take_pidfd, const struct wire_hello *hello,
		  struct client **ret, int *ret_fd, bool *ret_resumed);

/*
 * After a restart: creates the client of a page that was found, sealed memory or (take_sealed -1) a file. `take_pidfd`
 * is of the process.
 */
int client_recover(struct tenant *tenant, const struct process *process, int *take_pidfd, const char *name,
		   int take_sealed, struct client **ret);

/*
 * After a restart: creates the client of an entry in the book whose page is lost. It gets a new page on which
 * everything that it may hold counts as held.
 */
int client_recover_lost(struct tenant *tenant, const struct process *process, int *take_pidfd,
			struct book_entry *entry);

/*
 * Closes the accounts of processes that have executed another program (execve()) and do not use the devices: their
 * memory was freed with the old program. Each is checked beside the loop (mapped.h). Value: the number of clients
 * without a connection that must be checked again.
 */
unsigned int client_sweep(struct tenant *tenant, uint64_t now_ns);

struct client *client_find(struct tenant *tenant, const struct process *process);

/* Count the sessions of the client. The client may be freed by client_part(). */
void client_join(struct client *client);
void client_part(struct client *client);

/* Ends the client and closes its account; the page's file is removed unless meted is leaving. */
void client_free(struct client *client, bool leaving);

/* Makes sure that the page has room for one more object at this index, and notes it on the page. Value: 0 or -errno. */
int client_reserve_place(struct client *client, unsigned int place);

/* Makes sure that the page has room for records of launches. Value: 0 or -errno. */
int client_reserve_trace(struct client *client);

/* "pid 123 (python)", in a static buffer. */
const char *client_text(const struct client *client);
