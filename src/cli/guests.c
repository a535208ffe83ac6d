/* guests.c: see guests.h. */
#include "cli/guests.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/keys.h"
#include "client/place.h"
#include "client/requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINGER_NS 2000000000u
#define AGAIN_NS 500000000u
#define GIVE_UP_NS 20000000000u
#define ANSWER_NS 20000000000u
#define ASK_TRIES 3
#define WALL_TRIES 8

enum ask_kind {
	ASK_MAKE,
	ASK_LOOK, /* a grant of that name exists: what is it? */
	ASK_DELETE,
};

struct guest_ask {
	struct guest_ask *next;
	enum ask_kind kind;
	struct guest *guest;
	uint64_t until_ns;
	int tries;
};

void guests_init(struct guests *g, struct offers *offers)
{
	*g = (struct guests){ .control = CONTROL_CLOSED, .offers = offers };
	g->last_ask = &g->asks;
}

static void name_grant(const struct guests *g, const char *client, const struct offer *offer,
		       char name[GUEST_GRANT_BYTES])
{
	if (g->offers->count > 1)
		snprintf(name, GUEST_GRANT_BYTES, "%s.%s", client, offer->name);
	else
		snprintf(name, GUEST_GRANT_BYTES, "%s", client);
}

static struct guest *find(struct guests *g, const char *client, const struct offer *offer)
{
	for (struct guest *guest = g->list; guest; guest = guest->next)
		if (guest->offer == offer && !strcmp(guest->client, client))
			return guest;
	return NULL;
}

/*
 * Whoever shares a grant shares its memory's limit, and learns which kernels the other has. Two may come to one name:
 * "a" with offer "b.c" and "a.b" with offer "c"; a key, a certificate and an earlier key of one name, which have images
 * of their own.
 */
static bool is_anothers(const struct guests *g, const char *client, const struct offer *offer, const char *images)
{
	char grant[GUEST_GRANT_BYTES];

	name_grant(g, client, offer, grant);
	for (const struct guest *guest = g->list; guest; guest = guest->next)
		if (!strcmp(guest->grant, grant) &&
		    (guest->offer != offer || strcmp(guest->client, client) || strcmp(guest->images, images)))
			return true;
	return false;
}

struct guest *guests_find(struct guests *g, const char *client, const char *name)
{
	struct offer *offer = offers_find(g->offers, name, client);

	return offer ? find(g, client, offer) : NULL;
}

/* "half, rest" */
static const char *names(struct guests *g, const char *client, char text[256])
{
	size_t used = 0;

	*text = 0;
	for (size_t i = 0; i < g->offers->count && used < 256; i++)
		if (offer_allows(&g->offers->offer[i], client))
			used += (size_t)snprintf(text + used, 256 - used, "%s%s", used ? ", " : "",
						 g->offers->offer[i].name);
	return text;
}

static int take_row(struct guest *guest, json_t *row, struct fault *f)
{
	const char *wall = device_text(row, "wall");

	if (!*wall || !path_join(guest->wall, "%s", wall) || access(guest->wall, F_OK))
		return fault_set(f, -EPROTO, "grant %s has no wall; on the server, delete it or make it with --wall",
				 guest->grant);
	return 0;
}

/* One that exists: whose it is decides, for whoever owns it could read what the client does. */
static int take_existing(struct guest *guest, json_t *answer, struct fault *f)
{
	json_t *row = json_array_get(json_object_get(answer, "grants"), 0);
	json_int_t uid = json_integer_value(json_object_get(row, "uid"));
	int r;

	if (!json_is_object(row) || (uid && uid != (json_int_t)geteuid()))
		return fault_set(f, CONTROL_REFUSED,
				 "a grant %s of somebody else is on the server already; there, delete it, or rename "
				 "the key",
				 guest->grant);
	if (device_number(row, "runner_pid") && device_number(row, "runner_pid") != getpid())
		return fault_set(f, CONTROL_REFUSED,
				 "a grant %s of a running command is on the server already; try again when that has "
				 "ended",
				 guest->grant);
	r = take_row(guest, row, f);
	if (!r)
		guest->made = device_number(row, "runner_pid") == getpid();
	return r;
}

static enum wall_status status_of(int r, const char *code)
{
	if (r == CONTROL_REFUSED &&
	    (!strcmp(code, "over-promised") || !strcmp(code, "over-device") || !strcmp(code, "out-of-service")))
		return WALL_FULL;
	if (r == CONTROL_REFUSED && (!strcmp(code, "no-driver") || !strcmp(code, "unknown-device")))
		return WALL_NO_DEVICE;
	return WALL_REFUSED;
}

/* How many clients have a guest of this offer with a program. */
static unsigned int present(const struct guests *g, const struct offer *offer)
{
	unsigned int n = 0;

	for (const struct guest *guest = g->list; guest; guest = guest->next)
		n += guest->offer == offer && guest->programs;
	return n;
}

static enum wall_status check_room(const struct guests *g, const struct offer *offer, const struct guest *guest,
				   const char *client, struct fault *f)
{
	if (offer->clients_most && (!guest || !guest->programs) && present(g, offer) >= offer->clients_most) {
		fault_set(f, 0, "offer %s: %u clients use it, which is the most; try again when one has ended",
			  offer->name, offer->clients_most);
		return WALL_FULL;
	}
	if (guest && guest->programs >= offer->programs_most) {
		fault_set(f, 0, "offer %s: %s runs %u programs, which is the most; end one first", offer->name, client,
			  guest->programs);
		return WALL_FULL;
	}
	return WALL_OK;
}

/* Asking meted. */

static json_t *request_of(const struct guest_ask *ask)
{
	const struct guest *guest = ask->guest;
	struct offer *offer = guest->offer;
	json_t *request;

	switch (ask->kind) {
	case ASK_MAKE:
		request =
			request_create(&(struct request_create){ .name = guest->grant,
								 .driver = offer->choice.driver,
								 .devices = choose_request(&offer->choice),
								 .overcommit = option_given(&offer->line, "overcommit"),
								 .wall = true,
								 .runner_pid = getpid() });
		if (*guest->images)
			json_object_set_new(request, "images", json_string(guest->images));
		return request;
	case ASK_LOOK:
		return request_grant("grants", guest->grant);
	default:
		return request_grant("grant_delete", guest->grant);
	}
}

/* Value: as control_begin() and control_send(). What a meted has no place for just now was not tried. */
static int ask_send(struct guests *g, struct guest_ask *ask, struct fault *f)
{
	int r = g->control.fd < 0 ? control_begin(&g->control, CONTROL_START, f) : 0;

	if (r != -EAGAIN)
		ask->tries++;
	return r ? r : control_send(&g->control, request_of(ask), f);
}

/* False: no memory. What cannot be sent is found out by guests_turn(). */
static bool ask(struct guests *g, struct guest *guest, enum ask_kind kind)
{
	struct guest_ask *new = calloc(1, sizeof(*new));
	struct fault f;

	if (!new)
		return false;
	new->guest = guest;
	new->kind = kind;
	new->until_ns = clock_now_ns() + ANSWER_NS;
	*g->last_ask = new;
	g->last_ask = &new->next;
	if (ask_send(g, new, &f))
		control_close(&g->control);
	return true;
}

/* The oldest. */
static struct guest_ask *ask_take(struct guests *g)
{
	struct guest_ask *first = g->asks;

	g->asks = first->next;
	if (!g->asks)
		g->last_ask = &g->asks;
	return first;
}

static void unlist(struct guests *g, struct guest *guest)
{
	for (struct guest **p = &g->list; *p; p = &(*p)->next)
		if (*p == guest) {
			*p = guest->next;
			break;
		}
	free(guest);
}

/* Those that wait for this guest's grant learn that it is there, or (status) why not. */
static void settle(struct guests *g, struct guest *guest, enum wall_status status, const char *text)
{
	struct guest_wait *list = guest->waits, *wait;

	guest->waits = NULL;
	guest->state = GUEST_HERE;
	while ((wait = list)) {
		list = wait->next;
		if (status)
			guest->programs--;
		g->came(g->user, guest, wait, status, text);
		free(wait);
	}
	if (status && !guest->programs) /* else those that have their workers go on */
		unlist(g, guest);
}

static void begin_making(struct guests *g, struct guest *guest)
{
	guest->state = GUEST_MAKING;
	guest->made = false;
	if (!ask(g, guest, ASK_MAKE))
		settle(g, guest, WALL_FULL, "the server has no memory for one more client; try again later");
}

static void made(struct guests *g, struct guest *guest, int r, json_t *answer, const char *code, struct fault *f)
{
	if (r == CONTROL_REFUSED && !strcmp(code, "name-taken") && ask(g, guest, ASK_LOOK))
		return;
	if (!r) {
		guest->made = true;
		r = take_row(guest, json_object_get(answer, "grant"), f);
	}
	settle(g, guest, r ? status_of(r, code) : WALL_OK, f->text);
}

static void looked(struct guests *g, struct guest *guest, int r, json_t *answer, const char *code, struct fault *f)
{
	if (!r)
		r = take_existing(guest, answer, f);
	settle(g, guest, r ? status_of(r, code) : WALL_OK, f->text);
}

static void deleted(struct guests *g, struct guest *guest, int r, const char *code)
{
	uint64_t now_ns = clock_now_ns();

	if (r == CONTROL_REFUSED && !strcmp(code, "busy")) {
		/* Its last worker is just ending; or another program has come, and can have the grant as it is. */
		settle(g, guest, WALL_OK, "");
		if (!guest->programs && guest->give_up_ns <= now_ns)
			unlist(g, guest);
		else if (!guest->programs)
			guest->delete_at_ns = now_ns + AGAIN_NS;
	} else if (guest->waits) {
		begin_making(g, guest);
	} else {
		unlist(g, guest);
	}
}

static void answered(struct guests *g, const struct guest_ask *ask, int r, json_t *answer, const char *code,
		     struct fault *f)
{
	if (ask->guest && ask->kind == ASK_MAKE)
		made(g, ask->guest, r, answer, code, f);
	else if (ask->guest && ask->kind == ASK_LOOK)
		looked(g, ask->guest, r, answer, code, f);
	else if (ask->guest)
		deleted(g, ask->guest, r, code);
}

static void answer_first(struct guests *g, int r, json_t *answer, const char *code, struct fault *f)
{
	_cleanup_free_ struct guest_ask *first = ask_take(g);

	answered(g, first, r, answer, code, f);
	json_decref(answer);
}

/*
 * Meted went away, or was never there: all is asked again, but for what was asked too often. False: not now, there is a
 * meted that takes no connection.
 */
static bool ask_again(struct guests *g, struct fault *f)
{
	int r = 0;

	control_close(&g->control);
	while (g->asks && (g->asks->tries >= ASK_TRIES || !g->asks->guest))
		answer_first(g, CONTROL_LOST, NULL, "", f);
	for (struct guest_ask *a = g->asks; a && !r; a = a->next)
		r = ask_send(g, a, f);
	if (!r)
		return true;
	control_close(&g->control);
	if (r == -EAGAIN)
		return false;
	for (struct guest_ask *a = g->asks; a; a = a->next)
		a->tries = ASK_TRIES;
	return true;
}

/* Who has waited for too long is told so; the answer may come all the same, and is then for nobody. */
static void give_up_late(struct guests *g)
{
	uint64_t now_ns = clock_now_ns();
	struct fault f;

	for (struct guest_ask *a = g->asks; a; a = a->next) {
		struct guest_ask late = *a;

		if (!a->guest || now_ns < a->until_ns)
			continue;
		a->guest = NULL;
		fault_set(&f, 0, "meted on the server does not answer; there, restart it");
		answered(g, &late, -ETIMEDOUT, NULL, "", &f);
	}
}

/* What meted has answered by now. */
static void take_answers(struct guests *g)
{
	struct fault f = { .text = "" };
	char code[64] = "";

	while (g->asks) {
		json_t *answer = NULL;
		int r = g->control.fd < 0 ? CONTROL_LOST : control_receive(&g->control, &answer, code, &f);

		if (r == -EAGAIN)
			break;
		if (r != CONTROL_LOST)
			answer_first(g, r, answer, code, &f);
		else if (!ask_again(g, &f))
			break;
	}
	give_up_late(g);
}

int guests_fd(const struct guests *g)
{
	return g->asks ? g->control.fd : -1;
}

/* Who comes and who goes. */

static struct guest *add(struct guests *g, struct offer *offer, const char *client)
{
	struct guest *guest = calloc(1, sizeof(*guest));

	if (!guest)
		return NULL;
	guest->offer = offer;
	snprintf(guest->client, sizeof(guest->client), "%s", client);
	name_grant(g, client, offer, guest->grant);
	guest->next = g->list;
	g->list = guest;
	return guest;
}

/* The grant may have ended behind our back: a meted that was replaced, or `mete delete`. */
static bool grant_gone(const struct guest *guest)
{
	return guest->state == GUEST_HERE && !guest->programs && access(guest->wall, F_OK);
}

enum wall_status guests_enter(struct guests *g, const char *client, const char *images, const char *name,
			      const struct relay_session *session, struct guest **ret, struct fault *f)
{
	struct offer *offer = offers_find(g->offers, name, client);
	struct guest_wait *wait = NULL;
	enum wall_status status;
	struct guest *guest;
	char list[256];
	bool gone;

	*ret = NULL;
	if (!offer) {
		if (*names(g, client, list))
			fault_set(f, 0, "no offer %.40s for %s; there are: %s", name, client, list);
		else
			fault_set(f, 0, "nothing is offered to %s; ask whoever runs the server", client);
		return WALL_REFUSED;
	}
	if (is_anothers(g, client, offer, images)) {
		fault_set(f, 0,
			  "another client has the name %.40s on the server: try again a moment after its programs have "
			  "ended; there, rename a key or an offer",
			  client);
		return WALL_REFUSED;
	}
	guest = find(g, client, offer);
	status = check_room(g, offer, guest, client, f);
	if (status)
		return status;
	gone = !guest || grant_gone(guest);
	if (!guest)
		guest = add(g, offer, client);
	if (guest && (gone || guest->state != GUEST_HERE))
		wait = calloc(1, sizeof(*wait));
	if (!guest || ((gone || guest->state != GUEST_HERE) && !wait)) {
		if (guest && gone)
			unlist(g, guest);
		fault_set(f, 0, "the server has no memory for one more client; try again later");
		return WALL_FULL;
	}
	guest->programs++;
	guest->delete_at_ns = 0;
	if (!wait) {
		*ret = guest;
		return WALL_OK;
	}
	wait->number = session->number;
	snprintf(wait->address, sizeof(wait->address), "%s", session->peer.address);
	wait->next = guest->waits;
	guest->waits = wait;
	snprintf(guest->images, sizeof(guest->images), "%s", images);
	if (gone)
		begin_making(g, guest);
	return WALL_OK;
}

bool guests_wait_again(struct guests *g, struct guest *guest, const struct guest_wait *wait)
{
	struct guest_wait *again = wait->tries < WALL_TRIES ? malloc(sizeof(*again)) : NULL;

	if (!again)
		return false;
	if (guest->state == GUEST_HERE && !ask(g, guest, ASK_LOOK)) {
		free(again);
		return false;
	}
	guest->state = GUEST_MAKING;
	*again = *wait;
	again->tries++;
	again->next = guest->waits;
	guest->waits = again;
	return true;
}

void guests_leave(struct guests *g, struct guest *guest)
{
	if (!guest || !guest->programs || --guest->programs)
		return;
	guest->delete_at_ns = clock_now_ns() + LINGER_NS;
	guest->give_up_ns = guest->delete_at_ns + GIVE_UP_NS;
}

/* Value: whether meted has answered. */
static bool delete_now(struct guests *g, struct guest *guest)
{
	json_t *answer = NULL;
	struct fault f;
	json_t *request = request_grant("grant_delete", guest->grant);
	int r = control_ask_again(&g->control, CONTROL_STORED, request, &answer, NULL, &f);

	json_decref(answer);
	return r == 0 || r == CONTROL_REFUSED;
}

/* Value: whether it is gone. */
static bool begin_deleting(struct guests *g, struct guest *guest)
{
	guest->delete_at_ns = 0;
	guest->state = GUEST_DELETING;
	if (guest->made && ask(g, guest, ASK_DELETE))
		return false;
	unlist(g, guest);
	return true;
}

int guests_turn(struct guests *g, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;

	take_answers(g);
	for (struct guest *guest = g->list, *next; guest; guest = next) {
		next = guest->next;
		if (guest->delete_at_ns && guest->delete_at_ns <= now_ns && begin_deleting(g, guest))
			continue;
		if (guest->delete_at_ns && guest->delete_at_ns < next_ns)
			next_ns = guest->delete_at_ns;
	}
	/* For the deadline, and for what could not be sent. */
	if (g->asks && next_ns > now_ns + AGAIN_NS)
		next_ns = now_ns + AGAIN_NS;
	return next_ns == UINT64_MAX ? -1 : (int)((next_ns - now_ns) / 1000000) + 1;
}

void guests_deinit(struct guests *g)
{
	bool there = true;

	if (g->asks)
		control_close(&g->control); /* answers to them are not ours any more */
	while (g->asks)
		free(ask_take(g));
	while (g->list) {
		struct guest *guest = g->list;
		struct guest_wait *wait;

		while ((wait = guest->waits)) {
			guest->waits = wait->next;
			free(wait);
		}
		/* One that does not answer is not asked for each: the grants end with this process as well. */
		if (guest->made && there)
			there = delete_now(g, guest);
		unlist(g, guest);
	}
	control_close(&g->control);
}
