/*
 * serve_answers.c: what `mete serve` answers when the relay asks: keys, workers, what is offered; and what it says of
 * who comes and goes, in lines on stdout: for people, or with --json an object each.
 */
#include "base/connect_remedy.h"
#include "base/size.h"
#include "verb/say.h"
#include "cli/serve_state.h"
#include "verb/verb.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

/* Of a pipe there is room for a line when there is for a page of the machine's. */
static bool has_room(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&p, 1, 0) > 0;
}

/* Who reads the lines must not be able to hold the server up: what there is no room for is counted in the next one. */
void serve_put_json(json_t *take_event)
{
	static unsigned int lost;

	if (!has_room()) {
		lost++;
		json_decref(take_event);
		return;
	}
	if (lost)
		json_object_set_new(take_event, "lost", json_integer(lost));
	lost = 0;
	json_dumpf(take_event, stdout, JSON_COMPACT | JSON_ENSURE_ASCII);
	putchar('\n');
	fflush(stdout);
	json_decref(take_event);
}

void serve_client_name(const struct relay_peer *peer, char name[RELAY_NAME_BYTES])
{
	if (peer->trust != RELAY_PLAIN && *peer->name) {
		snprintf(name, RELAY_NAME_BYTES, "%s", peer->name);
		return;
	}
	snprintf(name, RELAY_NAME_BYTES, "at-%.48s", peer->address);
	if (strrchr(name, ':'))
		*strrchr(name, ':') = 0;
	for (char *p = name; *p; p++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_", *p))
			*p = '-';
}

static bool on_find_key(void *user, const char *name, uint8_t ret_key[RELAY_KEY_BYTES])
{
	struct serve *s = user;

	return keys_find(&s->keys, name, ret_key);
}

void serve_offered_name(const struct relay_session *session, char *name, size_t size)
{
	snprintf(name, size, "%.*s", (int)sizeof(session->hello.name), session->hello.name);
}

/* As an event; the session's own process has said it in the log. */
static void tell_refused(struct serve *s, const char *address, const char *client, const char *text)
{
	if (s->json)
		serve_put_json(json_pack("{s:s, s:s, s:s, s:s}", "event", "refused", "client", client, "address",
					 address, "text", text));
}

/* A program's guest has its grant: a worker. Value: as relay_server_ops.open. */
static int enter(struct serve *s, struct guest *guest, const struct guest_wait *wait, enum wall_status *ret_status,
		 struct fault *f)
{
	int fd = relay_wall_dial(guest->wall);

	if (connect_is_away(fd) && guests_wait_again(&s->guests, guest, wait))
		return RELAY_LATER;
	if (fd < 0) {
		*ret_status = WALL_FULL;
		fault_set(f, fd, "grant %s: no worker could be reached on the server (%s); try again", guest->grant,
			  strerror(-fd));
		return -1;
	}
	if (s->json)
		serve_put_json(json_pack("{s:s, s:s, s:s, s:s, s:I}", "event", "opened", "client", guest->client,
					 "grant", guest->grant, "address", wait->address, "number",
					 (json_int_t)wait->number));
	else if (s->verbose)
		say_note("%s (%s) has come, grant %s", guest->client, wait->address, guest->grant);
	return fd;
}

static int on_open(void *user, const struct relay_session *session, enum wall_status *ret_status,
		   char ret_text[RELAY_TEXT_BYTES])
{
	char client[RELAY_NAME_BYTES], offer[sizeof(session->hello.name) + 1], images[IMAGE_OWNER_BYTES];
	struct serve *s = user;
	struct guest_wait wait = { .number = session->number };
	struct fault f = { .text = "" };
	struct guest *guest = NULL;
	int fd = -1;

	snprintf(wait.address, sizeof(wait.address), "%s", session->peer.address);
	serve_client_name(&session->peer, client);
	serve_offered_name(session, offer, sizeof(offer));
	*ret_status = WALL_REFUSED;
	if (!keys_check_name(client, &f)) {
		image_owner(session->peer.trust, client, &s->keys, offers_value(&s->offers, s->line, "ca"), images);
		*ret_status = guests_enter(&s->guests, client, images, offer, session, &guest, &f);
	}
	if (*ret_status == WALL_OK && !guest)
		return RELAY_LATER;
	if (guest)
		fd = enter(s, guest, &wait, ret_status, &f);
	if (fd == RELAY_LATER)
		return fd;
	if (guest && fd < 0)
		guests_leave(&s->guests, guest);
	snprintf(ret_text, RELAY_TEXT_BYTES, "%.*s", (int)RELAY_TEXT_BYTES - 1, f.text);
	if (fd < 0)
		tell_refused(s, session->peer.address, client, ret_text);
	return fd;
}

/* The same for a program that has waited for its grant. */
void serve_came(void *user, struct guest *guest, const struct guest_wait *wait, enum wall_status status,
		const char *text)
{
	struct fault f = { .text = "" };
	struct serve *s = user;
	bool refused = status != WALL_OK, told;
	int fd = -1;

	if (refused)
		fault_set(&f, 0, "%.*s", (int)RELAY_TEXT_BYTES - 1, text);
	else
		fd = enter(s, guest, wait, &status, &f);
	if (fd == RELAY_LATER)
		return;
	told = relay_server_answer(s->server, wait->number, fd, status, f.text);
	if (fd < 0 && told)
		tell_refused(s, wait->address, guest->client, f.text);
	/* A guest that was refused has been left already. */
	if (!refused && (fd < 0 || !told))
		guests_leave(&s->guests, guest);
}

static void on_closed(void *user, const struct relay_session *session)
{
	char client[RELAY_NAME_BYTES], offer[sizeof(session->hello.name) + 1];
	char in[SIZE_TEXT_BYTES], out[SIZE_TEXT_BYTES];
	struct serve *s = user;

	serve_client_name(&session->peer, client);
	serve_offered_name(session, offer, sizeof(offer));
	guests_leave(&s->guests, guests_find(&s->guests, client, offer));
	if (s->json)
		serve_put_json(json_pack("{s:s, s:s, s:s, s:I, s:I, s:I}", "event", "closed", "client", client,
					 "address", session->peer.address, "number", (json_int_t)session->number,
					 "bytes_in", (json_int_t)session->count.bytes_in, "bytes_out",
					 (json_int_t)session->count.bytes_out));
	else if (s->verbose)
		say_note("%s (%s) has gone: %s in, %s out", client, session->peer.address,
			 size_format(session->count.bytes_in, in), size_format(session->count.bytes_out, out));
}

static void on_about(void *user, const struct relay_peer *peer, char *ret, size_t size)
{
	struct serve *s = user;
	char client[RELAY_NAME_BYTES];
	json_t *about, *list = json_array();

	serve_client_name(peer, client);
	for (size_t i = 0; i < s->offers.count; i++)
		if (offer_allows(&s->offers.offer[i], client))
			json_array_append_new(list, offer_json(&s->offers.offer[i]));
	about = json_pack("{s:s, s:s, s:o}", "version", help_version_line, "client", client, "offers", list);
	*ret = 0;
	if (!about)
		return;
	if (json_dumpb(about, NULL, 0, JSON_COMPACT | JSON_ENSURE_ASCII) >= size)
		json_array_clear(list); /* too many to tell */
	ret[json_dumpb(about, ret, size - 1, JSON_COMPACT | JSON_ENSURE_ASCII)] = 0;
	json_decref(about);
}

static void on_say(void *user, const char *line)
{
	struct serve *s = user;

	if (s->json)
		serve_put_json(json_pack("{s:s, s:s}", "event", "note", "text", line));
	else
		say_note("%s", line);
}

const struct relay_server_ops serve_ops = {
	.find_key = on_find_key,
	.open = on_open,
	.closed = on_closed,
	.about = on_about,
	.say = on_say,
};
