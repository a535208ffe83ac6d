/*
 * false_guest_test.c: what the server's own process believes of a session's process that has been taken over before the
 * peer proved anything. The real server; in place of guest_run() (--wrap) one that says what the test wants.
 */
#include "base/send_fds.h"
#include "base/tap.h"
#include "remote/relay/broker.h"
#include "remote/relay/guest.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_MS 3000

_Noreturn void __wrap_guest_run(const struct guest_config *config);

/* What the taken process claims; its copy is made by fork(). */
static struct claim {
	const char *name;
	enum relay_trust said, trust; /* in the preface, to the server */
	const char *peer, *key;	      /* the name that it claims, the key that it asks for first */
	bool good;
	bool floods;	   /* asks without end, and reads no answer */
	const char *again; /* the key that it asks for next */
	bool twice;	   /* asks for a worker twice */
	bool brings;	   /* says what it says only where it can send a descriptor along */
} claim;

static unsigned int opened, asked;
static struct relay_peer seen;

static void ask_key(int broker, const char *name)
{
	struct broker_message m = { .kind = BROKER_KEY };
	int fd;

	if (!name)
		return;
	snprintf(m.peer.name, sizeof(m.peer.name), "%s", name);
	broker_send(broker, &m, -1);
	broker_receive(broker, &m, &fd, PATIENCE_MS);
}

_Noreturn void __wrap_guest_run(const struct guest_config *config)
{
	struct broker_message m = { .kind = BROKER_KEY };
	int fd;

	alarm(claim.floods ? 60 : 0); /* where the server hangs */
	while (claim.floods)
		if (broker_send(config->broker, &m, -1))
			_exit(0);
	ask_key(config->broker, claim.key);
	ask_key(config->broker, claim.again);
	m = (struct broker_message){ .kind = BROKER_OPEN, .peer = { .trust = claim.trust } };
	snprintf(m.peer.name, sizeof(m.peer.name), "%s", claim.peer);
	snprintf(m.peer.address, sizeof(m.peer.address), "192.0.2.9:1");
	if (broker_send(config->broker, &m, claim.brings ? config->connection : -1))
		_exit(0);
	if (claim.twice)
		broker_send(config->broker, &m, -1);
	broker_receive(config->broker, &m, &fd, PATIENCE_MS);
	_exit(0);
}

static bool find_key(void *user, const char *name, uint8_t ret_key[RELAY_KEY_BYTES])
{
	(void)user;
	(void)name;
	asked++;
	memset(ret_key, 7, RELAY_KEY_BYTES);
	return true;
}

static int open_one(void *user, const struct relay_session *session, enum wall_status *ret_status,
		    char ret_text[RELAY_TEXT_BYTES])
{
	(void)user;
	opened++;
	seen = session->peer;
	*ret_status = WALL_REFUSED;
	snprintf(ret_text, RELAY_TEXT_BYTES, "not today");
	return -1;
}

static int connect_to(struct relay_server *server)
{
	struct frame_preface p = {
		.magic = FRAME_MAGIC, .version = FRAME_VERSION, .purpose = FRAME_SESSION, .trust = (uint8_t)claim.said
	};
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	a.sin_port = htons((uint16_t)atoi(strrchr(relay_server_address(server, 0), ':') + 1));
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) || send(fd, &p, sizeof(p), 0) != sizeof(p) ||
	    send(fd, "\x16", 1, 0) != 1)
		return -1;
	return fd;
}

/* Until the claim has been heard: by its session, or by its key and some time in which it is not believed. */
static void hear(struct relay_server *server, const struct claim *c, unsigned int asked_before)
{
	bool asks = c->said == RELAY_KEY && c->key;

	for (unsigned int i = 0; i < 3000 && (c->good ? !opened : asks && asked == asked_before); i++)
		relay_server_turn(server, 10);
	for (unsigned int i = 0; i < 60 && (!opened || c->twice); i++)
		relay_server_turn(server, 10);
}

static void try_claim(const struct claim *c)
{
	static const char *const listen[] = { "127.0.0.1:0", NULL };
	struct relay_server_config config = { .listen = listen, .keys = c->said == RELAY_KEY };
	static const struct relay_server_ops ops = { .find_key = find_key, .open = open_one };
	char text[RELAY_TEXT_BYTES];
	unsigned int asked_before = asked;
	struct relay_server *server;
	int fd;

	claim = *c;
	opened = 0;
	if (relay_server_new(&server, &config, &ops, NULL, text)) {
		tap_ok(false, "%s", text);
		return;
	}
	fd = connect_to(server);
	ok(fd >= 0);
	hear(server, c, asked_before);
	tap_ok(opened == c->good, "%s: %s", c->name, c->good ? "believed" : "not believed");
	if (opened)
		ok(!strncmp(seen.address, "127.0.0.1:", 10));
	close(fd);
	relay_server_free(server);
}

/* Linux 6.16. */
static bool can_refuse_descriptors(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	bool can = !setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &(int){ 0 }, sizeof(int));

	close(fd);
	return can;
}

static void test_flood(void)
{
	static const char *const listen[] = { "127.0.0.1:0", NULL };
	struct relay_server_config config = { .listen = listen, .keys = true };
	static const struct relay_server_ops ops = { .find_key = find_key, .open = open_one };
	char text[RELAY_TEXT_BYTES];
	struct relay_server *server;
	int bad, good;

	opened = 0;
	if (relay_server_new(&server, &config, &ops, NULL, text)) {
		tap_ok(false, "%s", text);
		return;
	}
	claim = (struct claim){ .said = RELAY_KEY, .floods = true };
	bad = connect_to(server);
	alarm(60); /* for a server that hangs */
	for (unsigned int i = 0; i < 3000; i++)
		relay_server_turn(server, 1);
	claim = (struct claim){ .said = RELAY_KEY, .trust = RELAY_KEY, .peer = "alice", .key = "alice" };
	good = connect_to(server);
	for (unsigned int i = 0; i < 30000 && !opened; i++)
		relay_server_turn(server, 1);
	alarm(0);
	tap_ok(opened == 1, "one that asks without end and reads nothing holds nobody up");
	close(bad);
	close(good);
	relay_server_free(server);
}

int main(void)
{
	static const struct claim claims[] = {
		{ "the key that it was given", RELAY_KEY, RELAY_KEY, "alice", "alice", true, false, NULL, false },
		{ "a key that it was not given", RELAY_KEY, RELAY_KEY, "root", "alice", false, false, NULL, false },
		{ "a key without asking", RELAY_KEY, RELAY_KEY, "alice", NULL, false, false, NULL, false },
		{ "a certificate, where it was to show a key", RELAY_KEY, RELAY_CERT, "alice", NULL, false, false, NULL,
		  false },
		{ "a certificate of the key's name", RELAY_KEY, RELAY_CERT, "alice", "alice", false, false, NULL,
		  false },
		{ "nothing, where it was to show a key", RELAY_KEY, RELAY_PLAIN, "", NULL, false, false, NULL, false },
		{ .name = "another's key after its own",
		  .said = RELAY_KEY,
		  .trust = RELAY_KEY,
		  .peer = "bob",
		  .key = "alice",
		  .again = "bob" },
		{ .name = "the key that it was given, for one worker",
		  .said = RELAY_KEY,
		  .trust = RELAY_KEY,
		  .peer = "alice",
		  .key = "alice",
		  .good = true,
		  .twice = true },
		{ "nothing, as it was said", RELAY_PLAIN, RELAY_PLAIN, "", NULL, true, false, NULL, false },
		{ "a name, where nobody proves one", RELAY_PLAIN, RELAY_PLAIN, "alice", NULL, false, false, NULL,
		  false },
		{ "a key, where nobody proves one", RELAY_PLAIN, RELAY_KEY, "alice", "alice", false, false, NULL,
		  false },
	};

	static const struct claim brings = { .name = "what comes with a descriptor",
					     .said = RELAY_PLAIN,
					     .trust = RELAY_PLAIN,
					     .peer = "",
					     .brings = true };

	tap_begin();
	for (size_t i = 0; i < sizeof(claims) / sizeof(*claims); i++)
		try_claim(&claims[i]);
	is(asked, 5);
	if (can_refuse_descriptors())
		try_claim(&brings);
	else
		tap_ok(true, "%s # SKIP this kernel lets no socket refuse it", brings.name);
	test_flood();
	return tap_end();
}
