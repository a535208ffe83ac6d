/* serve_document.c: who is here and what flows: the document that `mete remote` gets. See serve_state.h. */
#include "base/clock.h"
#include "base/clean_text.h"
#include "cli/serve_state.h"
#include "verb/verb.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What flowed in a session within the last second. */
struct serve_rate {
	struct serve_rate *next;
	uint64_t number;	      /* of the session */
	uint64_t bytes_in, bytes_out; /* at the last look */
	uint64_t in_s, out_s;
	bool seen;
};

static struct serve_rate *rate_of(struct serve *s, uint64_t number)
{
	struct serve_rate *rate = s->rates;

	while (rate && rate->number != number)
		rate = rate->next;
	if (!rate && (rate = calloc(1, sizeof(*rate)))) {
		rate->number = number;
		rate->next = s->rates;
		s->rates = rate;
	}
	return rate;
}

static void rate_one(void *user, const struct relay_session *session)
{
	struct serve *s = user;
	struct serve_rate *rate = rate_of(s, session->number);
	uint64_t ns = clock_now_ns() - s->rated_ns;

	if (!rate)
		return;
	rate->in_s = (uint64_t)((double)(session->count.bytes_in - rate->bytes_in) * 1e9 / (double)(ns ? ns : 1));
	rate->out_s = (uint64_t)((double)(session->count.bytes_out - rate->bytes_out) * 1e9 / (double)(ns ? ns : 1));
	rate->bytes_in = session->count.bytes_in;
	rate->bytes_out = session->count.bytes_out;
	rate->seen = true;
}

void serve_take_rates(struct serve *s)
{
	for (struct serve_rate *rate = s->rates; rate; rate = rate->next)
		rate->seen = false;
	relay_server_each(s->server, rate_one, s);
	s->rated_ns = clock_now_ns();
	for (struct serve_rate **p = &s->rates; *p;) {
		struct serve_rate *rate = *p;

		if (rate->seen) {
			p = &rate->next;
		} else {
			*p = rate->next;
			free(rate);
		}
	}
}

static void tell_one(void *user, const struct relay_session *session)
{
	static const char *const trusts[] = { "plain", "key", "certificate" };
	char client[RELAY_NAME_BYTES], offer[sizeof(session->hello.name) + 1],
		command[sizeof(session->hello.command) + 1];
	struct serve *s = user;
	struct serve_rate *rate = rate_of(s, session->number);
	struct guest *guest;

	serve_client_name(&session->peer, client);
	serve_offered_name(session, offer, sizeof(offer));
	guest = guests_find(&s->guests, client, offer);
	memcpy(command, session->hello.command, sizeof(session->hello.command));
	command[sizeof(session->hello.command)] = 0;
	json_array_append_new(
		s->document,
		json_pack("{s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
			  "number", (json_int_t)session->number, "client", client, "trust",
			  session->peer.trust < 3 ? trusts[session->peer.trust] : "?", "address", session->peer.address,
			  "offer", guest ? guest->offer->name : offer, "grant", guest ? guest->grant : "", "command",
			  clean_text_line(command), "pid", (int)session->hello.pid, "relay_pid", (int)session->pid,
			  "since_s", (json_int_t)((clock_now_ns() - session->since_ns) / 1000000000u), "bytes_in",
			  (json_int_t)session->count.bytes_in, "bytes_out", (json_int_t)session->count.bytes_out,
			  "bytes_in_s", (json_int_t)(rate ? rate->in_s : 0), "bytes_out_s",
			  (json_int_t)(rate ? rate->out_s : 0), "messages_in", (json_int_t)session->count.messages_in,
			  "messages_out", (json_int_t)session->count.messages_out, "round_trip_ns",
			  (json_int_t)session->count.round_trip_ns));
}

static json_t *addresses(const struct serve *s)
{
	json_t *list = json_array();
	const char *address;

	for (unsigned int i = 0; (address = relay_server_address(s->server, i)); i++)
		json_array_append_new(list, json_string(address));
	return list;
}

json_t *serve_describe(const struct serve *s)
{
	json_t *offers = json_array();

	for (size_t i = 0; i < s->offers.count; i++) {
		json_t *offer = offer_json(&s->offers.offer[i]), *clients = json_array();

		for (size_t k = 0; s->offers.offer[i].clients && s->offers.offer[i].clients[k]; k++)
			json_array_append_new(clients, json_string(s->offers.offer[i].clients[k]));
		json_object_set_new(offer, "clients", s->offers.offer[i].clients ? json_incref(clients) : json_null());
		json_decref(clients);
		json_array_append_new(offers, offer);
	}
	return json_pack("{s:i, s:I, s:o, s:s, s:o}", "pid", (int)getpid(), "began", (json_int_t)s->began, "listen",
			 addresses(s), "keys", s->keys.dir, "offers", offers);
}

json_t *serve_document(struct serve *s)
{
	json_t *whole = serve_describe(s);

	s->document = json_array();
	relay_server_each(s->server, tell_one, s);
	json_object_set_new(whole, "sessions", s->document);
	return whole;
}

void serve_drop_rates(struct serve *s)
{
	while (s->rates) {
		struct serve_rate *rate = s->rates;

		s->rates = rate->next;
		free(rate);
	}
}
