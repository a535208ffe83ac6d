/*
 * line.h: a stream of bytes between two relays, over any transport.
 *
 * A line is written by one thread and read by one thread; after its start it is used in one direction only. While it
 * has a deadline (line_until), nothing on it blocks beyond that. cut() may be called by any thread and ends what the
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
	/* Value: at least 1 byte; 0: the other side has closed it; -errno; -ETIMEDOUT: the deadline. */
	ssize_t (*read)(struct line *line, void *at, size_t bytes);
	/* Writes all of it to the network. Value: 0 or -errno. */
	int (*write)(struct line *line, const struct iovec *parts, unsigned int n);
	/* Sets the deadline for all operations; 0: none. */
	int (*until)(struct line *line, uint64_t until_ns);
	void (*cut)(struct line *line);
	/* Returns what the other side has proved about itself. */
	void (*peer)(struct line *line, struct relay_peer *ret);
	uint64_t (*round_trip_ns)(struct line *line); /* 0: not known */
	/* The file descriptor that signals the line's end, for poll(). */
	int (*fd)(struct line *line);
	/* Called after a failed read or write: an enum wall_status with a line of text; 0: there is only -errno. */
	int (*explain)(struct line *line, char ret_text[RELAY_TEXT_BYTES]);
	void (*close)(struct line *line);
};

struct line {
	const struct line_ops *ops;
	/*
	 * A program waits for the data of this line: the reader polls when it is due. NULL: the reader sleeps until it
	 * arrives.
	 */
	struct await *await;
	uint64_t waits_since_ns; /* since then a thread waits for bytes; 0: none waits. Relaxed: only for the watch */
};

/* As ops->read, and records meanwhile that it waits. */
ssize_t line_read(struct line *line, void *at, size_t bytes);
/* Reads all of it. Value: 0; -EPIPE: it ended; -errno. */
int line_read_all(struct line *line, void *at, size_t bytes);
int line_write(struct line *line, const void *at, size_t bytes);
int line_write_two(struct line *line, const void *a, size_t a_bytes, const void *b, size_t b_bytes);
/* The time for which a thread has been waiting for bytes on it, at `now_ns`. */
uint64_t line_waited_ns(const struct line *line, uint64_t now_ns);
void line_close(struct line *line); /* accepts NULL */
void line_cleanup(struct line **line);
#define _cleanup_line_ __attribute__((cleanup(line_cleanup)))

/* TCP, tcp.c
 * ---------------------------------------------------------------------------------------------------------- */

/* Makes a line without protection from a connected socket, which it takes over. NULL: no memory. */
struct line *tcp_line(int take_fd);
/* Connects. Value: a descriptor; or -1 with the text. */
int tcp_dial(const char *host, const char *port, uint64_t until_ns, char ret_text[RELAY_TEXT_BYTES]);
/*
 * Listens on "ADDRESS[:PORT]"; ret_address: the resulting address, for people to read. Value: a descriptor; or -1 with
 * the text.
 */
int tcp_listen(const char *where, char ret_address[64], char ret_text[RELAY_TEXT_BYTES]);
/* Waits until the descriptor is ready for these events. until_ns 0: for ever. Value: 0, -ETIMEDOUT. */
int tcp_wait(int fd, short events, uint64_t until_ns);
int tcp_until(int fd, uint64_t until_ns);
bool tcp_is_loopback(int fd);
/*
 * Sets options of a connected socket: small packets are not held back. Within this machine, data in flight is bounded
 * too, so that it is read while it is in the processor's caches (a third faster with TLS, bench/relay); elsewhere the
 * kernel's own limits, which grow with the delay, are better.
 */
void tcp_tune(int fd);
void tcp_peer_address(int fd, char ret[64]);
/* The peer as a source by which its connections are counted; all peers that cannot be distinguished are one. */
struct unproven_source tcp_peer_source(int fd);
uint64_t tcp_round_trip_ns(int fd);
/* Writes all of it; deadline 0: blocks. */
int tcp_write(int fd, uint64_t until_ns, const struct iovec *parts, unsigned int n);
ssize_t tcp_read(int fd, uint64_t until_ns, void *at, size_t bytes);

/* TLS 1.3, tls.c
 * ------------------------------------------------------------------------------------------------------ */

/* The credentials of one side. */
struct tls;
/* Value: 0, or an enum wall_status with the text. */
int tls_client_new(struct tls **ret, const struct relay_target *target, char ret_text[RELAY_TEXT_BYTES]);
/* `keys`: accepts pre-shared keys; cert->chain NULL: does not accept certificates. */
int tls_server_new(struct tls **ret, bool keys, const struct relay_cert *cert, char ret_text[RELAY_TEXT_BYTES]);
/* Sets the function by which a server's process finds a key. */
void tls_server_keys(struct tls *tls, bool (*find)(void *user, const char *name, uint8_t ret_key[RELAY_KEY_BYTES]),
		     void *user);
void tls_free(struct tls *tls);
/*
 * Authenticates both sides over a connected socket, which it takes over, until the deadline. Value: a line with its
 * deadline set; or NULL, with *ret_status and the text.
 */
struct line *tls_line(struct tls *tls, int take_fd, bool server, uint64_t until_ns, enum wall_status *ret_status,
		      char ret_text[RELAY_TEXT_BYTES]);

/* UCX, ucx.c
 * ---------------------------------------------------------------------------------------------------------- */

/* True if UCX was built in. */
bool ucx_present(void);
/* True if this process's environment lets it share memory with other processes of its machine. */
bool ucx_shares_memory(void);
/*
 * Switches an existing line to UCX; `first` is true at one of its ends. Both sides exchange their addresses over the
 * line, which is taken over on success: its end ends the new one. NULL, with the text.
 */
struct line *ucx_line(struct line *take_base, bool first, char ret_text[RELAY_TEXT_BYTES]);
