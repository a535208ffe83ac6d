/*
 * relay.h: a ring that extends over a network, from a program's machine to a worker's.
 *
 * 	program == wall == relay (client)  -- TCP, TLS 1.3, UCX --  relay (server) == wall == worker
 *
 * For the program, the client's relay is a worker (ring/wall.h); for the worker, the server's relay is a program. Both
 * take messages from one ring and put them into the other, in order and unchanged. Payload bytes travel on separate
 * lanes to the same places of the other arena. Each session has one process on either side, so a peer can harm only
 * its own session, whatever it sends. Nothing is repeated: a lost line ends the session, with one line of text.
 *
 * TLS 1.3 authenticates the peer: by a key that both sides have (a name and 32 bytes), or by certificates of one
 * authority on both sides. TLS is omitted only on loopback, or where the user requested that explicitly.
 *
 * A text is one line for the user, without a full stop or newline: what went wrong, and the remedy.
 */
#pragma once

#include "ring/wall.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RELAY_PORT "7433"
#define RELAY_NAME_BYTES 64u
#define RELAY_KEY_BYTES 32u
#define RELAY_TEXT_BYTES 256u
#define RELAY_LANES_MOST 8u
#define RELAY_PATIENCE_MS 10000u

enum relay_trust {
	RELAY_PLAIN, /* without authentication */
	RELAY_KEY,
	RELAY_CERT,
};

struct relay_key {
	char name[RELAY_NAME_BYTES];
	uint8_t bytes[RELAY_KEY_BYTES];
};

/* PEM files; of a client or of a server. */
struct relay_cert {
	const char *authority, *chain, *key;
};

/*
 * Reads a key from a file: one line "mete-key 1 NAME 64-HEX-DIGITS". Only its owner may be able to read it. NAME:
 * letters, digits, ".", "_", "-", "@"; begins with neither "." nor "-". Value: 0, or -errno with the text.
 */
int relay_key_read(const char *path, struct relay_key *ret, char ret_text[RELAY_TEXT_BYTES]);
/* Writes a new file with mode 0600. Value: as above; -EEXIST: the file exists. */
int relay_key_write(const char *path, const struct relay_key *key, char ret_text[RELAY_TEXT_BYTES]);
/* Generates a random key. Value: 0 or -errno. */
int relay_key_make(const char *name, struct relay_key *ret);
bool relay_name_good(const char *name);

/* Client
 * -------------------------------------------------------------------------------------------------------------- */

struct relay_target {
	const char *host, *port; /* NULL port: RELAY_PORT */
	enum relay_trust trust;
	struct relay_key key;	  /* RELAY_KEY */
	struct relay_cert cert;	  /* RELAY_CERT */
	const char *server_name;  /* RELAY_CERT: the name or address in the server's certificate; NULL: host */
	const char *offer;	  /* one of the server's offers; NULL: as in the program's hello */
	bool plain;		  /* permits RELAY_PLAIN beyond loopback, and UCX, which encrypts nothing: the user
				   * requested it explicitly */
	bool ucx;		  /* messages and payloads use UCX */
	unsigned int lanes;	  /* for payloads, per direction; 0: according to the number of cores */
	unsigned int patience_ms; /* silence after which the connection is lost; 0: RELAY_PATIENCE_MS */
	unsigned int connect_ms;  /* time limit for a server's answer; 0: 10 s */
};

/* Splits "HOST[:PORT][/OFFER]" or "[v6]:PORT" in place; the target's texts point into it. */
void relay_split_where(char *where, struct relay_target *ret);

/* What a server reports about itself to an authenticated peer. */
struct relay_probe {
	char server[64];
	char about[4096];		   /* the text from relay_server_ops.about, for example the offers as JSON */
	uint64_t round_trip_ns;		   /* the minimum of several */
	uint64_t up_bytes_s, down_bytes_s; /* payload per second, measured for `measure_ms` in each direction; 0: not
					    * measured */
};

/* Authenticates and queries the server without a session. Value: 0; above 0 an enum wall_status, with the text. */
int relay_probe(const struct relay_target *target, unsigned int measure_ms, struct relay_probe *ret,
		char ret_text[RELAY_TEXT_BYTES]);

/*
 * `mete-relay connect`: accepts clients from a listening SOCK_SEQPACKET socket, with a process for each, until `stop`
 * (a descriptor, or -1) is readable or closed; the sessions then end too. Only for single-threaded callers. Value: 0 or
 * -errno.
 */
int relay_connect_run(const struct relay_target *target, int listener, int stop);
/* The same without `stop`: returns when there has been no program for `idle_ms`. */
int relay_connect_rest(const struct relay_target *target, int listener, unsigned int idle_ms);
/* Creates such a socket with mode 0600 and replaces a stale one. Value: a descriptor, or -errno with the text. */
int relay_connect_listen(const char *path, char ret_text[RELAY_TEXT_BYTES]);

/* Server
 * -------------------------------------------------------------------------------------------------------------- */

struct relay_peer {
	enum relay_trust trust;
	char name[RELAY_NAME_BYTES]; /* of the key, or of the certificate's subject (CN); "": not authenticated */
	char address[64];	     /* "192.0.2.1:4711", for people to read */
};

/* The traffic of a session; written by its process, read at any time. */
struct relay_count {
	uint64_t bytes_in, bytes_out; /* payload and messages, from the server's side */
	uint64_t messages_in, messages_out;
	uint64_t round_trip_ns; /* as TCP sees it; 0: not known */
};

struct relay_session {
	uint64_t number; /* 1, 2, ... */
	int32_t pid;
	uint64_t since_ns; /* CLOCK_MONOTONIC */
	struct relay_peer peer;
	struct wall_hello hello;
	struct relay_count count;
};

#define RELAY_LATER (-2) /* a value of relay_server_ops.open */

/*
 * Called in the server's own process, from relay_server_turn(). The process that talks to the peer has no access to
 * files and to no key except the one that the peer named; it requests what these functions return. Each should return
 * within milliseconds: others wait meanwhile.
 */
struct relay_server_ops {
	/* False: there is no such name. The peer cannot distinguish that from a wrong key. */
	bool (*find_key)(void *user, const char *name, uint8_t ret_key[RELAY_KEY_BYTES]);
	/*
	 * An authenticated peer requests a session; session->hello.name is the offer that it asks for. Value: a
	 * connected socket of a wall (relay_wall_dial()), taken over; or -1 with the reason, which the program's user
	 * reads; or RELAY_LATER: relay_server_answer() will be called, within half a minute, with either.
	 */
	int (*open)(void *user, const struct relay_session *session, enum wall_status *ret_status,
		    char ret_text[RELAY_TEXT_BYTES]);
	/* Optional. Follows once for every open() that succeeded, at once or later. */
	void (*closed)(void *user, const struct relay_session *session);
	/* Optional: the text that `mete remote HOST` shows to this peer. */
	void (*about)(void *user, const struct relay_peer *peer, char *ret, size_t size);
	/* Optional: writes a line to the log. */
	void (*say)(void *user, const char *line);
};

struct relay_server_config {
	const char *const *listen; /* "ADDRESS[:PORT]", "[v6]:PORT", ":PORT"; NULL: end of the list */
	bool keys;		   /* accepts RELAY_KEY: calls find_key */
	struct relay_cert cert;	   /* accepts RELAY_CERT if cert.chain is set */
	bool plain;		   /* accepts RELAY_PLAIN from anywhere; if TLS is not configured, only from loopback */
	bool ucx;
	unsigned int sessions_most; /* 0: 256 */
	unsigned int patience_ms;
	uint32_t uid, gid; /* the user of a session's process if the server is root; 0: nobody */
};

struct relay_server;

/*
 * Starts to listen. The process must be single-threaded: sessions are forked from it. Value: 0, or -errno with the
 * text.
 */
int relay_server_new(struct relay_server **ret, const struct relay_server_config *config,
		     const struct relay_server_ops *ops, void *user, char ret_text[RELAY_TEXT_BYTES]);
/* A descriptor to poll for reading; then call relay_server_turn(). */
int relay_server_fd(const struct relay_server *server);
/* Handles pending events, and waits for one for at most timeout_ms (-1: for ever). Value: 0 or -errno. */
int relay_server_turn(struct relay_server *server, int timeout_ms);
/* "ADDRESS:PORT" of the i-th listening socket; NULL behind the last. */
const char *relay_server_address(const struct relay_server *server, unsigned int i);
/* Calls `each` for every open session. */
void relay_server_each(struct relay_server *server, void (*each)(void *user, const struct relay_session *session),
		       void *user);
/*
 * Answers for a session whose open() returned RELAY_LATER; fd, status and text as there. False: the session has ended
 * meanwhile.
 */
bool relay_server_answer(struct relay_server *server, uint64_t number, int take_fd, enum wall_status status,
			 const char *text);
/* Ends all sessions and frees the server. */
void relay_server_free(struct relay_server *server);

/* Connects to a wall's socket, for relay_server_ops.open. Value: a descriptor or -errno. */
int relay_wall_dial(const char *path);
