/*
 * serve.c: `mete serve`: lets programs on other machines use devices of this one, each client under a grant of its own.
 *
 * One loop: the relay's connections (src/remote/relay, a process for each program), the socket that `mete remote` asks,
 * signals, and grants that nobody uses any more. Who a client is, is proved by TLS; what it gets stands in the offers.
 */
#include "base/clock.h"
#include "base/notify.h"
#include "client/grants.h"
#include "client/requests.h"
#include "verb/say.h"
#include "cli/serve_socket.h"
#include "cli/serve_state.h"
#include "cli/target.h"
#include "verb/verb.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define RATE_NS 1000000000u
#define LISTEN_MOST 16

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
	int r = cert ? target_check_cert(&config.cert, f) : 0;

	if (!r)
		r = patience_read(offers_value(&s->offers, s->line, "patience"), &config.patience_ms, f);
	if (!r)
		r = find_keys(s, cert || config.plain, f);
	if (r)
		return r;
	config.keys = *s->keys.dir;
	listen_list(s, list);
	r = relay_server_new(&s->server, &config, &serve_ops, s, text);
	return r ? fault_set(f, r, "%s", text) : 0;
}

static int find_devices(struct serve *s, struct fault *f)
{
	json_t *answer;
	int r;

	r = control_ask_again(&s->guests.control, CONTROL_START, request_plain("devices"), &answer, NULL, f);
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
		json_t *event = serve_describe(s);

		json_object_set_new(event, "event", json_string("listening"));
		serve_put_json(event);
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
		serve_take_rates(s);
	if (s->rates && (wait_ms < 0 || wait_ms > 1000))
		wait_ms = 1000;
	p[3].fd = guests_fd(&s->guests);
	if (poll(p, 4, wait_ms < 0 || wait_ms > 5000 ? 5000 : wait_ms) < 0 && errno != EINTR)
		return false;
	if (relay_server_turn(s->server, 0) < 0)
		return false;
	if (p[1].revents)
		serve_socket_answer(s->asks, serve_document(s));
	return !(p[2].revents && read(s->signals, &info, sizeof(info)) == sizeof(info));
}

static void deinit(struct serve *s)
{
	relay_server_free(s->server);
	guests_deinit(&s->guests);
	offers_deinit(&s->offers);
	serve_drop_rates(s);
	if (s->asks >= 0) {
		close(s->asks);
		unlink(s->socket);
	}
	if (s->signals >= 0)
		close(s->signals);
}

VERB(serve)
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
	s.guests.came = serve_came;
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
