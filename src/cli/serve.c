/*
 * serve.c: `mete serve`: lets programs on other machines use devices of this one, each client under a grant of its own.
 *
 * One loop: the relay's connections (src/remote/relay, a process for each program), the socket that `mete remote` asks,
 * signals, and grants that nobody uses any more. Who a client is, is proved by TLS; what it gets stands in the offers.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/notify.h"
#include "base/size.h"
#include "cli/grants.h"
#include "cli/guests.h"
#include "cli/keys.h"
#include "cli/offers.h"
#include "cli/serve_socket.h"
#include "cli/target.h"
#include "cli/verb.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define RATE_NS 1000000000u
#define LISTEN_MOST 16

/* What flowed in a session within the last second. */
struct rate {
	struct rate *next;
	uint64_t number;	      /* of the session */
	uint64_t bytes_in, bytes_out; /* at the last look */
	uint64_t in_s, out_s;
	bool seen;
};

struct serve {
	const struct command_line *line;
	bool json, verbose;
	struct offers offers;
	struct keys keys; /* dir "": none */
	struct guests guests;
	struct relay_server *server;
	struct rate *rates;
	uint64_t rated_ns;
	int signals; /* signalfd */
	int asks;    /* serve_socket */
	char socket[PATH_MAX];
	time_t began;
	json_t *document; /* while one is made */
};

/* What happens is said in lines on stdout: for people, or with --json an object each. */

static void put_json(json_t *take_event)
{
	json_dumpf(take_event, stdout, JSON_COMPACT | JSON_ENSURE_ASCII);
	putchar('\n');
	fflush(stdout);
	json_decref(take_event);
}

/* In the grants' names and the texts that a server writes. Without TLS a client is its address. */
static void client_name(const struct relay_peer *peer, char name[RELAY_NAME_BYTES])
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

/* Answers to the relay. */

static bool on_find_key(void *user, const char *name, uint8_t ret_key[RELAY_KEY_BYTES])
{
	struct serve *s = user;

	return keys_find(&s->keys, name, ret_key);
}

static void offered_name(const struct relay_session *session, char name[sizeof(session->hello.name) + 1])
{
	memcpy(name, session->hello.name, sizeof(session->hello.name));
	name[sizeof(session->hello.name)] = 0;
}

static void say_refused(struct serve *s, const char *address, const char *client, const char *text)
{
	if (s->json)
		put_json(json_pack("{s:s, s:s, s:s, s:s}", "event", "refused", "client", client, "address", address,
				   "text", text));
	else
		say_note("refused %s (%s): %s", client, address, text);
}

/* A program's guest has its grant: a worker. Value: as relay_server_ops.open. */
static int enter(struct serve *s, struct guest *guest, const char *address, uint64_t number,
		 enum wall_status *ret_status, struct fault *f)
{
	int fd = relay_wall_dial(guest->wall);

	if (fd < 0) {
		*ret_status = WALL_FULL;
		fault_set(f, fd, "grant %s: no worker could be reached on the server (%s); try again", guest->grant,
			  strerror(-fd));
		return -1;
	}
	if (s->json)
		put_json(json_pack("{s:s, s:s, s:s, s:s, s:I}", "event", "opened", "client", guest->client, "grant",
				   guest->grant, "address", address, "number", (json_int_t)number));
	else if (s->verbose)
		say_note("%s (%s) has come, grant %s", guest->client, address, guest->grant);
	return fd;
}

static int on_open(void *user, const struct relay_session *session, enum wall_status *ret_status,
		   char ret_text[RELAY_TEXT_BYTES])
{
	char client[RELAY_NAME_BYTES], offer[sizeof(session->hello.name) + 1];
	struct serve *s = user;
	struct fault f = { .text = "" };
	struct guest *guest = NULL;
	int fd = -1;

	client_name(&session->peer, client);
	offered_name(session, offer);
	*ret_status = WALL_REFUSED;
	if (!keys_check_name(client, &f))
		*ret_status = guests_enter(&s->guests, client, offer, session, &guest, &f);
	if (*ret_status == WALL_OK && !guest)
		return RELAY_LATER;
	if (guest)
		fd = enter(s, guest, session->peer.address, session->number, ret_status, &f);
	if (guest && fd < 0)
		guests_leave(&s->guests, guest);
	snprintf(ret_text, RELAY_TEXT_BYTES, "%.*s", (int)RELAY_TEXT_BYTES - 1, f.text);
	if (fd < 0)
		say_refused(s, session->peer.address, client, ret_text);
	return fd;
}

/* The same for a program that has waited for its grant. */
static void on_came(void *user, struct guest *guest, const struct guest_wait *wait, enum wall_status status,
		    const char *text)
{
	struct fault f = { .text = "" };
	struct serve *s = user;
	bool refused = status != WALL_OK, told;
	int fd = -1;

	if (refused)
		fault_set(&f, 0, "%.*s", (int)RELAY_TEXT_BYTES - 1, text);
	else
		fd = enter(s, guest, wait->address, wait->number, &status, &f);
	told = relay_server_answer(s->server, wait->number, fd, status, f.text);
	if (fd < 0 && told)
		say_refused(s, wait->address, guest->client, f.text);
	/* A guest that was refused has been left already. */
	if (!refused && (fd < 0 || !told))
		guests_leave(&s->guests, guest);
}

static void on_closed(void *user, const struct relay_session *session)
{
	char client[RELAY_NAME_BYTES], offer[sizeof(session->hello.name) + 1];
	char in[SIZE_TEXT_BYTES], out[SIZE_TEXT_BYTES];
	struct serve *s = user;

	client_name(&session->peer, client);
	offered_name(session, offer);
	guests_leave(&s->guests, guests_find(&s->guests, client, offer));
	if (s->json)
		put_json(json_pack("{s:s, s:s, s:s, s:I, s:I, s:I}", "event", "closed", "client", client, "address",
				   session->peer.address, "number", (json_int_t)session->number, "bytes_in",
				   (json_int_t)session->count.bytes_in, "bytes_out",
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

	client_name(peer, client);
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
		put_json(json_pack("{s:s, s:s}", "event", "note", "text", line));
	else
		say_note("%s", line);
}

/* The document that `mete remote` gets. */

static struct rate *rate_of(struct serve *s, uint64_t number)
{
	struct rate *rate = s->rates;

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
	struct rate *rate = rate_of(s, session->number);
	uint64_t ns = clock_now_ns() - s->rated_ns;

	if (!rate)
		return;
	rate->in_s = (uint64_t)((double)(session->count.bytes_in - rate->bytes_in) * 1e9 / (double)(ns ? ns : 1));
	rate->out_s = (uint64_t)((double)(session->count.bytes_out - rate->bytes_out) * 1e9 / (double)(ns ? ns : 1));
	rate->bytes_in = session->count.bytes_in;
	rate->bytes_out = session->count.bytes_out;
	rate->seen = true;
}

static void take_rates(struct serve *s)
{
	for (struct rate *rate = s->rates; rate; rate = rate->next)
		rate->seen = false;
	relay_server_each(s->server, rate_one, s);
	s->rated_ns = clock_now_ns();
	for (struct rate **p = &s->rates; *p;) {
		struct rate *rate = *p;

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
	struct rate *rate = rate_of(s, session->number);
	struct guest *guest;

	client_name(&session->peer, client);
	offered_name(session, offer);
	guest = guests_find(&s->guests, client, offer);
	memcpy(command, session->hello.command, sizeof(session->hello.command));
	command[sizeof(session->hello.command)] = 0;
	json_array_append_new(
		s->document,
		json_pack("{s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
			  "number", (json_int_t)session->number, "client", client, "trust",
			  session->peer.trust < 3 ? trusts[session->peer.trust] : "?", "address", session->peer.address,
			  "offer", guest ? guest->offer->name : offer, "grant", guest ? guest->grant : "", "command",
			  text_clean(command), "pid", (int)session->hello.pid, "relay_pid", (int)session->pid,
			  "since_s", (json_int_t)((clock_now_ns() - session->since_ns) / 1000000000u), "bytes_in",
			  (json_int_t)session->count.bytes_in, "bytes_out", (json_int_t)session->count.bytes_out,
			  "bytes_in_s", (json_int_t)(rate ? rate->in_s : 0), "bytes_out_s",
			  (json_int_t)(rate ? rate->out_s : 0), "messages_in", (json_int_t)session->count.messages_in,
			  "messages_out", (json_int_t)session->count.messages_out, "round_trip_ns",
			  (json_int_t)session->count.round_trip_ns));
}

static json_t *addresses(struct serve *s)
{
	json_t *list = json_array();
	const char *address;

	for (unsigned int i = 0; (address = relay_server_address(s->server, i)); i++)
		json_array_append_new(list, json_string(address));
	return list;
}

static json_t *describe(struct serve *s)
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

static json_t *tell(struct serve *s)
{
	json_t *whole = describe(s);

	s->document = json_array();
	relay_server_each(s->server, tell_one, s);
	json_object_set_new(whole, "sessions", s->document);
	return whole;
}

/* Start. */

static void count_key(void *user, const char *name, const char *path)
{
	++*(unsigned int *)user;
}

static int find_keys(struct serve *s, bool others, struct fault *f)
{
	const char *given = offers_value(&s->offers, s->line, "keys");
	unsigned int count = 0;
	int r = keys_open(&s->keys, given, false, f);

	if (!r)
		r = keys_each(&s->keys, count_key, &count, f) < 0 ? -EIO : 0;
	if (!r && (count || given || others))
		return 0;
	if (r && (r != -ENOENT || given))
		return r;
	if (!others)
		return fault_set(
			f, -ENOENT,
			"nobody could come: there is no key in %s; make one with `mete key new NAME`, or serve "
			"with --cert, --cert-key and --ca, or, where the network is trusted, with --plain",
			s->keys.dir);
	*s->keys.dir = 0;
	return 0;
}

static int check_cert(struct relay_cert *cert, struct fault *f)
{
	const char *const name[] = { "cert", "cert-key", "ca" };
	const char *const file[] = { cert->chain, cert->key, cert->authority };

	for (int i = 0; i < 3; i++) {
		if (!file[i])
			return fault_set(f, -EINVAL,
					 "--cert, --cert-key and --ca belong together: give --%s too (this side's "
					 "certificate, its key, the authority of the other side's)",
					 name[i]);
		if (access(file[i], R_OK))
			return fault_set(f, -errno, "--%s %s: %s; name a PEM file", name[i], file[i], strerror(errno));
	}
	return 0;
}

static size_t listen_list(const struct serve *s, const char *list[LISTEN_MOST + 1])
{
	const struct command_line *line = option_given(s->line, "listen") ? s->line : &s->offers.file;
	size_t n = 0;

	for (size_t i = 0; i < line->given_count && n < LISTEN_MOST; i++)
		if (!strcmp(line->given[i].option->name, "listen"))
			list[n++] = line->given[i].value;
	if (!n)
		list[n++] = ":" RELAY_PORT;
	list[n] = NULL;
	return n;
}

static int start_server(struct serve *s, struct fault *f)
{
	static const struct relay_server_ops ops = {
		.find_key = on_find_key,
		.open = on_open,
		.closed = on_closed,
		.about = on_about,
		.say = on_say,
	};
	const char *list[LISTEN_MOST + 1];
	struct relay_server_config config = {
		.listen = list,
		.cert = { .authority = offers_value(&s->offers, s->line, "ca"),
			  .chain = offers_value(&s->offers, s->line, "cert"),
			  .key = offers_value(&s->offers, s->line, "cert-key") },
		.plain = offers_given(&s->offers, s->line, "plain"),
		.ucx = offers_given(&s->offers, s->line, "ucx"),
	};
	char text[RELAY_TEXT_BYTES] = "";
	bool cert = config.cert.authority || config.cert.chain || config.cert.key;
	int r = cert ? check_cert(&config.cert, f) : 0;

	if (!r)
		r = patience_read(offers_value(&s->offers, s->line, "patience"), &config.patience_ms, f);

	if (!r)
		r = find_keys(s, cert || config.plain, f);
	if (r)
		return r;
	config.keys = *s->keys.dir;
	listen_list(s, list);
	r = relay_server_new(&s->server, &config, &ops, s, text);
	return r ? fault_set(f, r, "%s", text) : 0;
}

static int find_devices(struct serve *s, struct fault *f)
{
	json_t *answer;
	int r;

	r = control_ask_again(&s->guests.control, CONTROL_START, json_pack("{s:s}", "op", "devices"), &answer, NULL, f);
	return r ? r : offers_devices(&s->offers, answer, f);
}

static int take_signals(struct serve *s, struct fault *f)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signals < 0 ? fault_set(f, -errno, "signalfd: %s; raise the limit of open files (ulimit -n)",
					  strerror(errno))
			      : 0;
}

static void say_start(struct serve *s)
{
	const char *address;
	char text[512];

	notify_tell("READY=1");
	if (s->json) {
		json_t *event = describe(s);

		json_object_set_new(event, "event", json_string("listening"));
		put_json(event);
		return;
	}
	for (unsigned int i = 0; (address = relay_server_address(s->server, i)); i++)
		printf("listening on %s\n", address);
	if (*s->keys.dir)
		printf("clients: those with a key in %s\n", s->keys.dir);
	if (offers_value(&s->offers, s->line, "ca"))
		printf("clients: those with a certificate of %s\n", offers_value(&s->offers, s->line, "ca"));
	if (offers_given(&s->offers, s->line, "plain"))
		printf("clients: whoever can reach this machine; nothing is encrypted (--plain)\n");
	for (size_t i = 0; i < s->offers.count; i++) {
		const struct offer *o = &s->offers.offer[i];

		printf("offer %s: each client gets %s", o->name, offer_text(o, text, sizeof(text)));
		for (size_t k = 0; o->clients && o->clients[k]; k++)
			printf("%s%s", k ? ", " : "; for ", o->clients[k]);
		printf("\n");
	}
	fflush(stdout);
}

static int prepare(struct serve *s, struct fault *f)
{
	int r;

	r = offers_read(&s->offers, s->line, f);
	if (r)
		return r;
	r = take_signals(s, f);
	if (!r)
		r = find_devices(s, f);
	if (!r)
		r = start_server(s, f);
	if (!r)
		s->asks = serve_socket_open(s->socket, f);
	return s->asks < 0 && !r ? s->asks : r;
}

/* The loop. Value: false when it ends. */

static bool turn(struct serve *s)
{
	struct pollfd p[] = { { .fd = relay_server_fd(s->server), .events = POLLIN },
			      { .fd = s->asks, .events = POLLIN },
			      { .fd = s->signals, .events = POLLIN },
			      { .fd = -1, .events = POLLIN } };
	uint64_t now_ns = clock_now_ns();
	int wait_ms = guests_turn(&s->guests, now_ns);
	struct signalfd_siginfo info;

	if (now_ns - s->rated_ns >= RATE_NS)
		take_rates(s);
	if (s->rates && (wait_ms < 0 || wait_ms > 1000))
		wait_ms = 1000;
	p[3].fd = guests_fd(&s->guests);
	if (poll(p, 4, wait_ms < 0 || wait_ms > 5000 ? 5000 : wait_ms) < 0 && errno != EINTR)
		return false;
	if (relay_server_turn(s->server, 0) < 0)
		return false;
	if (p[1].revents)
		serve_socket_answer(s->asks, tell(s));
	return !(p[2].revents && read(s->signals, &info, sizeof(info)) == sizeof(info));
}

static void deinit(struct serve *s)
{
	relay_server_free(s->server);
	guests_deinit(&s->guests);
	offers_deinit(&s->offers);
	while (s->rates) {
		struct rate *rate = s->rates;

		s->rates = rate->next;
		free(rate);
	}
	if (s->asks >= 0) {
		close(s->asks);
		unlink(s->socket);
	}
	if (s->signals >= 0)
		close(s->signals);
}

int verb_serve(const struct command_line *line)
{
	struct serve s = {
		.line = line,
		.json = option_given(line, "json"),
		.verbose = option_given(line, "verbose"),
		.signals = -1,
		.asks = -1,
		.began = time(NULL),
		.rated_ns = clock_now_ns(),
	};
	struct fault f = { .text = "" };
	int r;

	guests_init(&s.guests, &s.offers);
	s.guests.came = on_came;
	s.guests.user = &s;
	r = prepare(&s, &f);
	if (r) {
		say_error("%s", f.text);
	} else {
		say_start(&s);
		while (turn(&s))
			;
	}
	deinit(&s);
	return r ? r == -EINVAL ? EXIT_USAGE : EXIT_FAILED : EXIT_DONE;
}
