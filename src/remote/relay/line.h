/*
 * line.h: a stream of bytes between two relays, whatever carries it.
 *
 * A line is written by one thread and read by one thread; after the beginning it is used in one direction only. While
 * it has a deadline (line_until) nothing on it blocks beyond that. cut() may come from any thread and ends what the
 * others wait for.
 */
#pragma once

#include "model/unproven.h"
#include "remote/relay/await.h"
#include "remote/relay/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct line;

struct line_ops {
	const char *name; /* "plain", "TLS 1.3", "UCX" */
	/* At least 1 byte; 0: the other side has ended it; -errno; -ETIMEDOUT: the deadline. */
	ssize_t (*read)(struct line *line, void *at, size_t bytes);
	/* All of it, handed to the network. 0 or -errno. */
	int (*write)(struct line *line, const struct iovec *parts, unsigned int n);
	/* From now on nothing blocks any more, or (0) everything does. */
	int (*until)(struct line *line, uint64_t until_ns);
	void (*cut)(struct line *line);
	/* Whoever the other side has proved to be. */
	void (*peer)(struct line *line, struct relay_peer *ret);
	uint64_t (*round_trip_ns)(struct line *line); /* 0: not known */
	/* Which file descriptor tells of the line's end, for poll(). */
	int (*fd)(struct line *line);
	/* After a read or write failed: an enum wall_status and the line of text for it; 0: nothing but -errno. */
	int (*explain)(struct line *line, char ret_text[RELAY_TEXT_BYTES]);
	void (*close)(struct line *line);
};

struct line {
	const struct line_ops *ops;
	/* A program waits for what comes on it: its reader looks for it when it is due. NULL: he sleeps until then. */
	struct await *await;
	uint64_t waits_since_ns; /* a thread waits for bytes since then; 0: nobody does. Relaxed: for the watch only */
};

/* As ops->read, and says meanwhile that it waits. */
ssize_t line_read(struct line *line, void *at, size_t bytes);
/* All of it. 0; -EPIPE: it ended; -errno. `moved`: told of what has come, or NULL. */
int line_read_all(struct line *line, void *at, size_t bytes);
int line_write(struct line *line, const void *at, size_t bytes);
int line_write_two(struct line *line, const void *a, size_t a_bytes, const void *b, size_t b_bytes);
/* For how long somebody has been waiting for bytes on it, at `now_ns`. */
uint64_t line_waited_ns(const struct line *line, uint64_t now_ns);
void line_close(struct line *line); /* NULL is good */
void line_cleanup(struct line **line);
#define _cleanup_line_ __attribute__((cleanup(line_cleanup)))

/* TCP, tcp.c
 * ---------------------------------------------------------------------------------------------------------- */

/* A connected socket, taken over, as a line that nothing protects. NULL: no memory. */
struct line *tcp_line(int take_fd);
/* Connects. A descriptor; or -1 with the text. */
int tcp_dial(const char *host, const char *port, uint64_t until_ns, char ret_text[RELAY_TEXT_BYTES]);
/* Listens on "ADDRESS[:PORT]"; ret_address: what it has become, for people to read. A descriptor; or -1 with the text.
 */
int tcp_listen(const char *where, char ret_address[64], char ret_text[RELAY_TEXT_BYTES]);
/* Waits until the descriptor is ready for these events. 0, -ETIMEDOUT. until_ns 0: for ever. */
int tcp_wait(int fd, short events, uint64_t until_ns);
int tcp_until(int fd, uint64_t until_ns);
bool tcp_is_loopback(int fd);
/*
 * A connected socket: nothing small is held back. Within this machine what is on its way is bounded too, so that it is
 * read while it is in the processor's caches (with TLS a third faster, bench/relay); elsewhere the kernel's own
 * bounds, which grow with the delay, are better.
 */
void tcp_tune(int fd);
void tcp_peer_address(int fd, char ret[64]);
/* The same as one that its connections are counted by; all that cannot be told apart are one. */
struct unproven_source tcp_peer_source(int fd);
uint64_t tcp_round_trip_ns(int fd);
/* Writes all; the deadline 0: blocks. */
int tcp_write(int fd, uint64_t until_ns, const struct iovec *parts, unsigned int n);
ssize_t tcp_read(int fd, uint64_t until_ns, void *at, size_t bytes);

/* TLS 1.3, tls.c
 * ------------------------------------------------------------------------------------------------------ */

/* What one side needs to prove itself. */
struct tls;
/* 0; an enum wall_status with the text. */
int tls_client_new(struct tls **ret, const struct relay_target *target, char ret_text[RELAY_TEXT_BYTES]);
/* `keys`: pre-shared keys are accepted; cert->chain NULL: certificates are not. */
int tls_server_new(struct tls **ret, bool keys, const struct relay_cert *cert, char ret_text[RELAY_TEXT_BYTES]);
/* Where a server's process finds a key. */
void tls_server_keys(struct tls *tls, bool (*find)(void *user, const char *name, uint8_t ret_key[RELAY_KEY_BYTES]),
		     void *user);
void tls_free(struct tls *tls);
/*
 * Proves both sides to each other over a connected socket, taken over, until then. A line whose deadline is set; or
 * NULL, with *ret_status and the text.
 */
struct line *tls_line(struct tls *tls, int take_fd, bool server, uint64_t until_ns, enum wall_status *ret_status,
		      char ret_text[RELAY_TEXT_BYTES]);

/* UCX, ucx.c
 * ---------------------------------------------------------------------------------------------------------- */

/* Whether it was built in. */
bool ucx_present(void);
/* Whether this process's environment lets it share memory with what else runs on its machine. */
bool ucx_shares_memory(void);
/*
 * Over a line that is there, `first` at one of its ends: both sides exchange their addresses on it, and go on by UCX.
 * The line is taken over when this succeeds: its end ends the new one. NULL, with the text.
 */
struct line *ucx_line(struct line *take_base, bool first, char ret_text[RELAY_TEXT_BYTES]);
