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

struct tenant;
struct object;

struct client {
	struct tenant *tenant;
	struct client *next;
	struct process process;
	int pidfd;
	struct watch *death;   /* NULL once the process has ended */
	unsigned int sessions; /* sockets that said HELLO for this process */
	uint64_t parted_ns;    /* when the last of them closed; 0: not yet */
	uint64_t look_ns, look_every_ns; /* when to look whether it is another program by now */
	uint64_t ended_ns;     /* when the process was first seen to have ended; 0: it lives */
	struct page page;
	uint32_t granted_units[WIRE_MAX_DEVICES]; /* meted's own copy of the upper half of the account words */
	/* Of those of a grant whose memory moves: what the client says alone, and meted has not lent it. */
	uint32_t said_units;
	uint32_t waiting_all[WIRE_MAX_DEVICES]; /* its requests for everything that is left, which wait */
	struct book_entry *entry; /* the same, for the meted after this one; NULL: none */
	bool lost;		/* its page was; it counts what stood in the book until it says HELLO */
	struct object **object; /* by place on the page, WIRE_MAX_OBJECTS of them; NULL until the first */
	struct traced *traced;	/* recorder.h: the traces that follow it */
	struct seats seats;	/* its turns; guarded by arbitrate_lock(), and the next */
	bool process_lives;	/* its turns may be open */
	struct residing residing; /* where its memory is */
	bool reported;		/* a page that was tampered with is reported once */
};

/* Finds the client of a process, or makes it with a fresh page. ret_fd is the page's descriptor, for the client. */
int client_attach(struct tenant *tenant, const struct process *process, int *take_pidfd, const struct wire_hello *hello,
		  struct client **ret, int *ret_fd, bool *ret_resumed);

/* After a restart: the client of a page that was found, sealed or (-1) a file. `take_pidfd` is of the process. */
int client_recover(struct tenant *tenant, const struct process *process, int *take_pidfd, const char *name,
		   int take_sealed, struct client **ret);

/*
 * After a restart: the client of an entry in the book whose page is lost. It gets another page with everything held
 * that it may hold.
 */
int client_recover_lost(struct tenant *tenant, const struct process *process, int *take_pidfd,
			struct book_entry *entry);

/*
 * Closes the accounts of processes that have become other programs (execve()), which do not use the devices: what they
 * held went with what they were. Value: how many have no connection and are to be looked at again.
 */
unsigned int client_sweep(struct tenant *tenant, uint64_t now_ns);

struct client *client_find(struct tenant *tenant, const struct process *process);

/* A session of the client began or ended. The client may be gone after client_part(). */
void client_join(struct client *client);
void client_part(struct client *client);

/* Ends the client and closes its account; the page's file is removed unless meted is leaving. */
void client_free(struct client *client, bool leaving);

/* Makes sure that the page has room for one more object at this place, and says so on it. Value: 0 or -errno. */
int client_reserve_place(struct client *client, unsigned int place);

/* Makes sure that the page has room for records of launches. Value: 0 or -errno. */
int client_reserve_trace(struct client *client);

/* "pid 123 (python)", in a static buffer. */
const char *client_text(const struct client *client);
