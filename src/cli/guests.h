/*
 * guests.h: the clients of a server, and their grants in meted.
 *
 * Each client has one grant for each offer that it uses, named after the client: NAME where the server has one offer,
 * NAME.OFFER where it has several. The grant is created when the client's first program arrives. It is deleted some
 * seconds after the last one has left, or when the server ends, for whatever reason. Until then `mete ps`, `mete top`
 * and `mete set` treat it like any other. An existing grant of that name that belongs to the server's user or root is
 * used as it is, and remains.
 *
 * The server does not wait for meted's answers, so other clients are served meanwhile. A client whose grant is being
 * created waits, and is told by `came`.
 */
#pragma once

#include "client/control.h"
#include "cli/image_owner.h"
#include "cli/offers.h"
#include "remote/relay/relay.h"

enum guest_state {
	GUEST_MAKING,
	GUEST_HERE, /* the grant exists */
	GUEST_DELETING,
};

#define GUEST_GRANT_BYTES (RELAY_NAME_BYTES + OFFER_NAME_MOST + 2)

/* A program whose guest's grant does not exist yet. */
struct guest_wait {
	struct guest_wait *next;
	uint64_t number; /* of the session */
	char address[64];
	unsigned int tries; /* number of times that its wall did not answer */
};

struct guest {
	struct guest *next;
	enum guest_state state;
	struct guest_wait *waits;
	struct offer *offer;
	char client[RELAY_NAME_BYTES];
	char grant[GUEST_GRANT_BYTES];
	char images[IMAGE_OWNER_BYTES]; /* the name under which its images are kept; "": as long as the grant */
	char wall[PATH_MAX];		/* the socket of the wall from which it gets its workers */
	unsigned int programs;		/* including waiting ones */
	bool made;			/* created by this server, which deletes it */
	uint64_t delete_at_ns;		/* 0: not scheduled */
	uint64_t give_up_ns;		/* when a grant that cannot be deleted is left to meted */
};

struct guest_ask; /* a request to meted without an answer yet */

struct guests {
	struct control control;
	struct offers *offers;
	struct guest *list;
	struct guest_ask *asks, **last_ask; /* in the order sent */
	/*
	 * Called for a program that has waited: with its guest, counted; or with `status` and the reason, and the guest
	 * is freed afterwards.
	 */
	void (*came)(void *user, struct guest *guest, const struct guest_wait *wait, enum wall_status status,
		     const char *text);
	void *user;
};

void guests_init(struct guests *g, struct offers *offers);
/*
 * A program of this client has come; its images are kept under `images`. Value: WALL_OK with its guest, counted;
 * WALL_OK with NULL: it waits for `came`; otherwise the refusal, and the fault has the line that the program's user
 * reads.
 */
enum wall_status guests_enter(struct guests *g, const char *client, const char *images, const char *offer,
			      const struct relay_session *session, struct guest **ret, struct fault *f);
void guests_leave(struct guests *g, struct guest *guest);
/*
 * The wall of a counted program's guest does not answer: meted is away, or was replaced. The program waits for `came`
 * until meted confirms the grant. `wait`: copied. False: it has waited often enough, or no memory.
 */
bool guests_wait_again(struct guests *g, struct guest *guest, const struct guest_wait *wait);
/* By the client and the requested offer; NULL: there is none. */
struct guest *guests_find(struct guests *g, const char *client, const char *offer);

/* A descriptor to poll for reading, then call guests_turn(); -1: no request is pending. */
int guests_fd(const struct guests *g);
/* Reads meted's answers, and deletes unused grants. Value: the milliseconds until the next call; -1: none is needed. */
int guests_turn(struct guests *g, uint64_t now_ns);
/* Deletes all grants that this server has created. */
void guests_deinit(struct guests *g);
