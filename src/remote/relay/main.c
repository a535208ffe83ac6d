/*
 * main.c: mete-relay, for those who want one end without the rest of mete around it.
 *
 *	mete-relay connect HOST[:PORT] --socket PATH	programs that use PATH run on HOST's worker
 *	mete-relay serve --listen ADDRESS:PORT --wall [OFFER=]PATH	offers the workers behind wall sockets
 *	mete-relay probe HOST[:PORT]			who is there, how far, how fast
 *
 * Exit status: 0; 1 it cannot be done (one line says why); 2 the command line is wrong.
 */
#include "base/cleanup.h"
#include "base/option_table.h"
#include "remote/relay/line.h"
#include "remote/relay/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>

#define LIST_MOST 64u
#define SESSIONS_MOST 65536u

struct options {
	const char *verb, *where, *socket, *server_name, *offer;
	struct relay_cert cert;
	const char *keys[LIST_MOST + 1], *listen[LIST_MOST + 1], *walls[LIST_MOST + 1];
	unsigned int key_count, listen_count, wall_count;
	unsigned int lanes, patience_ms, connect_ms, sessions, measure_ms;
	bool plain, ucx, no_probe;
};

static int usage(FILE *to)
{
	fprintf(to,
		"usage: mete-relay connect HOST[:PORT] --socket PATH [AUTH] [--offer NAME]\n"
		"                  [--lanes N] [--ucx] [--no-probe]\n"
		"       mete-relay serve --listen ADDRESS[:PORT] --wall [OFFER=]PATH [AUTH]\n"
		"                  [--sessions N] [--ucx]\n"
		"       mete-relay probe HOST[:PORT] [AUTH] [--measure SECONDS]\n"
		"AUTH:  --key FILE | --cert FILE --cert-key FILE --ca FILE [--server-name NAME]\n"
		"       | --plain\n"
		"       --patience SECONDS: a line without a word for so long is lost (10)\n"
		"       --connect-timeout SECONDS (10)\n");
	return to == stderr ? 2 : 0;
}

static int wrong(const char *what, const char *value)
{
	fprintf(stderr, "mete-relay: %s %s; see mete-relay --help\n", what, value);
	return 2;
}

/* Seconds, with a fraction. False: not such a number, or not in 0.001 to 86400. */
static bool read_ms(const char *text, unsigned int *ret)
{
	char *end;
	double s = strtod(text, &end);

	if (end == text || *end || !(s >= 0.001 && s <= 86400))
		return false;
	*ret = (unsigned int)(s * 1000);
	return true;
}

static bool read_count(const char *text, unsigned int most, unsigned int *ret)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (end == text || *end || *text == '-' || !n || n > most)
		return false;
	*ret = (unsigned int)n;
	return true;
}

static bool add(const char **list, unsigned int *count, const char *value)
{
	if (*count == LIST_MOST)
		return false;
	list[(*count)++] = value;
	return true;
}

static bool take_key(void *options, const char *value)
{
	struct options *o = options;

	return add(o->keys, &o->key_count, value);
}

static bool take_listen(void *options, const char *value)
{
	struct options *o = options;

	return add(o->listen, &o->listen_count, value);
}

static bool take_wall(void *options, const char *value)
{
	struct options *o = options;

	return add(o->walls, &o->wall_count, value);
}

static bool take_lanes(void *options, const char *value)
{
	return read_count(value, RELAY_LANES_MOST, &((struct options *)options)->lanes);
}

static bool take_sessions(void *options, const char *value)
{
	return read_count(value, SESSIONS_MOST, &((struct options *)options)->sessions);
}

static bool take_patience(void *options, const char *value)
{
	return read_ms(value, &((struct options *)options)->patience_ms);
}

static bool take_connect(void *options, const char *value)
{
	return read_ms(value, &((struct options *)options)->connect_ms);
}

static bool take_measure(void *options, const char *value)
{
	return read_ms(value, &((struct options *)options)->measure_ms);
}

#define AT(member) offsetof(struct options, member)
#define SECONDS "give seconds, 0.001 to 86400"

/* clang-format off: a row is a line */
static const struct option_row option_rows[] = {
	{ "socket", OPTION_TEXT, AT(socket), NULL, NULL, NULL },
	{ "key", OPTION_READ, 0, "that is more than 64 of them", NULL, take_key },
	{ "cert", OPTION_TEXT, AT(cert.chain), NULL, NULL, NULL },
	{ "cert-key", OPTION_TEXT, AT(cert.key), NULL, NULL, NULL },
	{ "ca", OPTION_TEXT, AT(cert.authority), NULL, NULL, NULL },
	{ "server-name", OPTION_TEXT, AT(server_name), NULL, NULL, NULL },
	{ "offer", OPTION_TEXT, AT(offer), NULL, NULL, NULL },
	{ "plain", OPTION_FLAG, AT(plain), NULL, NULL, NULL },
	{ "ucx", OPTION_FLAG, AT(ucx), NULL, NULL, NULL },
	{ "lanes", OPTION_READ, 0, "give a number, 1 to 8", NULL, take_lanes },
	{ "patience", OPTION_READ, 0, SECONDS, NULL, take_patience },
	{ "connect-timeout", OPTION_READ, 0, SECONDS, NULL, take_connect },
	{ "no-probe", OPTION_FLAG, AT(no_probe), NULL, NULL, NULL },
	{ "listen", OPTION_READ, 0, "that is more than 64 of them", NULL, take_listen },
	{ "wall", OPTION_READ, 0, "that is more than 64 of them", NULL, take_wall },
	{ "sessions", OPTION_READ, 0, "give a number, 1 to 65536", NULL, take_sessions },
	{ "measure", OPTION_READ, 0, SECONDS, NULL, take_measure },
	{ "help", OPTION_HELP, 0, NULL, NULL, NULL },
	{ 0 },
};
/* clang-format on */

/* 0; else the exit status, plus 1. */
static int read_options(struct options *o, int argc, char **argv)
{
	char line[OPTION_LINE_BYTES];

	switch (option_table_read(option_rows, o, argc, argv, 2, line)) {
	case OPTIONS_HELP:
		return usage(stdout) + 1;
	case OPTIONS_WRONG:
		fprintf(stderr, "mete-relay: %s\n", line);
		return 2 + 1;
	default:
		break;
	}
	if (optind >= argc)
		return usage(stderr) + 1;
	o->verb = argv[optind++];
	if (optind < argc)
		o->where = argv[optind++];
	if (o->cert.chain || o->cert.key || o->cert.authority) {
		if (!o->cert.chain || !o->cert.key || !o->cert.authority)
			return wrong("a certificate needs all of", "--cert, --cert-key and --ca") + 1;
	}
	return 0;
}

/* ----------------------------------------------------------------------------------------------------- the client ---
 */

/* 0, else the exit status. */
static int make_target(const struct options *o, char *where, struct relay_target *t)
{
	char text[RELAY_TEXT_BYTES];

	relay_split_where(where, t);
	t->cert = o->cert;
	t->trust = o->cert.chain ? RELAY_CERT : RELAY_PLAIN;
	t->server_name = o->server_name;
	t->offer = o->offer;
	t->plain = o->plain;
	t->ucx = o->ucx;
	t->lanes = o->lanes;
	t->patience_ms = o->patience_ms;
	t->connect_ms = o->connect_ms;
	if (o->key_count > 1 || (o->key_count && o->cert.chain))
		return wrong("a client proves itself in one way, by one", "--key or by --cert");
	if (!o->key_count)
		return 0;
	t->trust = RELAY_KEY;
	if (relay_key_read(o->keys[0], &t->key, text) < 0) {
		fprintf(stderr, "mete-relay: %s\n", text);
		return 1;
	}
	return 0;
}

static int signals_as_fd(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static int run_connect(const struct options *o, struct relay_target *t)
{
	char text[RELAY_TEXT_BYTES];
	struct relay_probe probe;
	int listener, signals, stop[2], r;
	struct pollfd p;
	pid_t child;

	if (!o->socket)
		return wrong("connect needs", "--socket PATH");
	if (!o->no_probe && relay_probe(t, 0, &probe, text)) {
		fprintf(stderr, "mete-relay: %s\n", text);
		return 1;
	}
	listener = relay_connect_listen(o->socket, text);
	if (listener < 0) {
		fprintf(stderr, "mete-relay: %s\n", text);
		return 1;
	}
	signals = signals_as_fd();
	if (pipe2(stop, O_CLOEXEC) < 0 || signals < 0)
		return 1;
	printf("mete-relay: programs with METE_REMOTE=%s run on %s\n", o->socket, t->host);
	fflush(stdout);
	/* Signals in one process, programs in another: the end of this one, however, is the end of that one's pipe. */
	child = fork();
	if (!child) {
		close(stop[1]);
		close(signals);
		r = relay_connect_run(t, listener, stop[0]);
		_exit(r < 0 ? 1 : 0);
	}
	close(listener);
	p = (struct pollfd){ .fd = signals, .events = POLLIN };
	poll(&p, 1, -1);
	unlink(o->socket);
	return 0;
}

static int run_probe(const struct options *o, const struct relay_target *t)
{
	char text[RELAY_TEXT_BYTES];
	struct relay_probe probe;

	if (relay_probe(t, o->measure_ms, &probe, text)) {
		fprintf(stderr, "mete-relay: %s\n", text);
		return 1;
	}
	printf("server      %s\nround trip  %.1f us\n", probe.server, (double)probe.round_trip_ns / 1e3);
	if (o->measure_ms)
		printf("up          %.1f MB/s\ndown        %.1f MB/s\n", (double)probe.up_bytes_s / 1e6,
		       (double)probe.down_bytes_s / 1e6);
	if (probe.about[0])
		printf("%s\n", probe.about);
	return 0;
}

/* ----------------------------------------------------------------------------------------------------- the server ---
 */

struct served {
	const struct options *options;
	struct relay_key keys[LIST_MOST];
};

static bool find_key(void *served, const char *name, uint8_t ret_key[RELAY_KEY_BYTES])
{
	const struct served *s = served;

	for (unsigned int i = 0; i < s->options->key_count; i++)
		if (!strcmp(s->keys[i].name, name)) {
			memcpy(ret_key, s->keys[i].bytes, RELAY_KEY_BYTES);
			return true;
		}
	return false;
}

/* "OFFER=PATH", or "PATH" for the default one. NULL: not this offer. */
static const char *wall_of(const char *wall, const char *offer)
{
	size_t n = strlen(offer);

	if (!n)
		return strchr(wall, '=') ? NULL : wall;
	return !strncmp(wall, offer, n) && wall[n] == '=' ? wall + n + 1 : NULL;
}

static int open_wall(void *served, const struct relay_session *session, enum wall_status *ret_status,
		     char ret_text[RELAY_TEXT_BYTES])
{
	const struct options *o = ((const struct served *)served)->options;
	const char *path = NULL;
	int fd;

	for (unsigned int i = 0; i < o->wall_count && !path; i++)
		path = wall_of(o->walls[i], session->hello.name);
	if (!path) {
		*ret_status = WALL_REFUSED;
		snprintf(ret_text, RELAY_TEXT_BYTES, "this server has no offer \"%s\"; ask what it offers: mete remote",
			 session->hello.name);
		return -1;
	}
	fd = relay_wall_dial(path);
	if (fd < 0) {
		*ret_status = WALL_NO_DEVICE;
		snprintf(ret_text, RELAY_TEXT_BYTES, "no worker listens on the server: %s; see the server's log",
			 strerror(-fd));
		return -1;
	}
	return fd;
}

static void say(void *served, const char *line)
{
	fprintf(stderr, "mete-relay: %s\n", line);
}

static int run_serve(const struct options *o)
{
	static const struct relay_server_ops ops = { .find_key = find_key, .open = open_wall, .say = say };
	struct relay_server_config config = {
		.listen = o->listen,
		.keys = o->key_count > 0,
		.cert = o->cert,
		.plain = o->plain,
		.ucx = o->ucx,
		.sessions_most = o->sessions,
		.patience_ms = o->patience_ms,
	};
	struct served *served = calloc(1, sizeof(*served));
	struct relay_server *server;
	char text[RELAY_TEXT_BYTES];
	struct pollfd p[2] = { { .events = POLLIN }, { .events = POLLIN } };

	if (!served)
		return 1;
	served->options = o;
	if (!o->listen_count || !o->wall_count) {
		free(served);
		return wrong("serve needs", "--listen ADDRESS:PORT and --wall PATH");
	}
	for (unsigned int i = 0; i < o->key_count; i++)
		if (relay_key_read(o->keys[i], &served->keys[i], text) < 0) {
			fprintf(stderr, "mete-relay: %s\n", text);
			free(served);
			return 1;
		}
	if (relay_server_new(&server, &config, &ops, served, text) < 0) {
		fprintf(stderr, "mete-relay: %s\n", text);
		free(served);
		return 1;
	}
	p[0].fd = signals_as_fd();
	p[1].fd = relay_server_fd(server);
	for (unsigned int i = 0; relay_server_address(server, i); i++)
		printf("mete-relay: serving on %s\n", relay_server_address(server, i));
	fflush(stdout);
	while (poll(p, 2, 500) >= 0 && !p[0].revents)
		relay_server_turn(server, 0);
	relay_server_free(server);
	free(served);
	return 0;
}

int main(int argc, char **argv)
{
	struct options o = { 0 };
	struct relay_target target = { 0 };
	_cleanup_free_ char *where = NULL;
	int r = read_options(&o, argc, argv);

	if (r)
		return r - 1;
	if (!strcmp(o.verb, "serve"))
		return o.where ? wrong("what is", o.where) : run_serve(&o);
	if (strcmp(o.verb, "connect") && strcmp(o.verb, "probe"))
		return usage(stderr);
	if (!o.where)
		return wrong(o.verb, "needs HOST[:PORT]");
	where = strdup(o.where);
	r = where ? make_target(&o, where, &target) : 1;
	if (r)
		return r;
	return strcmp(o.verb, "probe") ? run_connect(&o, &target) : run_probe(&o, &target);
}
