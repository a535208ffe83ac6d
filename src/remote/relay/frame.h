/*
 * frame.h: what two relays say to each other, as bytes; and what may be in a message that they carry.
 *
 * Little-endian, every field aligned, nothing is a pointer; each structure goes as it lies in memory. A connection
 * begins with a preface that nothing hides, so that the server can bring it to the process of its session before any
 * key is used; then TLS, if there is any; then, on the first connection of a session, hello and welcome, and on the
 * others a lane's word. After that come frames, in one direction only: a connection has one writer and one reader, and
 * with them one thread at each end.
 *
 *	to the server:    messages (the first connection), payloads (lanes)
 *	to the client:    messages (a lane), payloads (lanes)
 *
 * All that is decided here is pure: bytes in, a verdict out. Nothing that the peer says is believed.
 */
#pragma once

#include "remote/relay/relay.h"
#include "ring/call.h"

#define FRAME_MAGIC 0x6c72746du /* "mtrl" */
#define FRAME_VERSION 1u
#define FRAME_TOKEN_BYTES 32u
#define FRAME_ROUTE_BYTES 16u
#define FRAME_BATCH_BYTES (64u << 10) /* of messages in one frame; a longer message has a frame of its own */
#define FRAME_PIECE_BYTES (1u << 20)  /* of a payload in one frame */
#define FRAME_INLINE_BYTES 4096u      /* a payload up to this size precedes its message on the same connection */

enum frame_purpose {
	FRAME_SESSION = 1,
	FRAME_LANE,
};

/* The first data of a connection, not encrypted. */
struct frame_preface {
	uint32_t magic;
	uint16_t version;
	uint8_t purpose;		  /* enum frame_purpose */
	uint8_t trust;			  /* enum relay_trust: what the client will use */
	uint8_t route[FRAME_ROUTE_BYTES]; /* lane: its session; not secret */
	uint64_t zero;
};

enum frame_hello_flag {
	FRAME_PROBE = 1 << 0, /* no session: only describe yourself */
	FRAME_UCX = 1 << 1,
};

struct frame_hello {
	uint32_t magic;
	uint16_t version;
	uint16_t flags; /* enum frame_hello_flag */
	uint32_t size;	/* of this structure */
	uint32_t lanes; /* for payloads, in each direction */
	uint32_t patience_ms;
	uint32_t zero;
	struct wall_hello wall;
};

/* The answer; also, not encrypted, to a preface that cannot be served: only status and text. */
struct frame_welcome {
	uint32_t magic;
	uint16_t version;
	uint16_t flags; /* as granted */
	uint32_t size;
	uint32_t status; /* enum wall_status */
	uint32_t lanes;	 /* as granted: neither end opens more */
	uint32_t patience_ms;
	uint8_t route[FRAME_ROUTE_BYTES];
	uint8_t token[FRAME_TOKEN_BYTES];
	uint32_t about_bytes; /* FRAME_PROBE: size of the description that follows */
	uint32_t zero;
	struct wall_welcome wall;
};

enum frame_role {
	FRAME_MESSAGES_DOWN = 1, /* to the client */
	FRAME_PAYLOADS_UP,	 /* to the server */
	FRAME_PAYLOADS_DOWN,
};

/* The first data on a lane, from the client, inside TLS. */
struct frame_lane {
	uint32_t magic;
	uint16_t role;	/* enum frame_role */
	uint16_t index; /* the index among lanes of this role, from 0 */
	uint8_t token[FRAME_TOKEN_BYTES];
};

enum frame_kind {
	FRAME_MESSAGES = 1, /* `bytes` of messages of ring/call.h, one after the other */
	FRAME_PIECE,	    /* struct frame_piece and its bytes */
	FRAME_BEAT,	    /* keeps the connection alive; `value`: enum frame_beat */
	FRAME_READY,	    /* the first frame to the client: all lanes are open */
	FRAME_BYE,	    /* the session ends; `bytes` of text give the reason, `value` an enum wall_status */
	FRAME_ECHO,	    /* probe: return it with its bytes */
	FRAME_FLOOD,	    /* probe: send `value` bytes of frames back */
	FRAME_SINK,	    /* probe: discard its bytes; `value` 1: and send READY */
};

enum frame_beat {
	FRAME_LIVES,
	FRAME_DUE, /* messages are expected here soon: their receiver should be awake. May be ignored */
	/* The wish of its worker (ring/wall.h), in the upper half of the value; `bytes` of text: its `where`. */
	FRAME_WISH,
};

struct frame_head {
	uint32_t kind;	/* enum frame_kind */
	uint32_t bytes; /* behind this head, including a piece's own head */
	uint64_t value;
};

/* A part of a payload. Payloads are numbered by the relay, from 1 without gaps; `serial` is the message's. */
struct frame_piece {
	uint64_t number, serial;
	uint64_t offset; /* of this piece, in the arena */
	uint64_t total;	 /* bytes of the whole payload */
};

#define FRAME_BROUGHT_BYTES 16u /* of a hello's name, with WALL_BASED: `brings`; the offer's name follows it */

/* With WALL_BASED: removes `brings` from the name, so that the name is the offer's; and restores it. */
void frame_take_brings(struct wall_hello *hello, uint8_t ret[FRAME_BROUGHT_BYTES]);
void frame_put_brings(struct wall_hello *hello, const uint8_t brings[FRAME_BROUGHT_BYTES]);

/* Checks a wish's `where` from a server: the name of a server, on one line; "" is valid. */
bool frame_check_where(const char *where);

/* Value: 0; or the enum wall_status for the answer, and the text. */
int frame_check_preface(const struct frame_preface *p, char ret_text[RELAY_TEXT_BYTES]);
int frame_check_hello(struct frame_hello *h, char ret_text[RELAY_TEXT_BYTES]);
/* Checks a welcome and terminates its texts. False: malformed. */
bool frame_check_welcome(struct frame_welcome *w);
/* True if the client's relay can recreate the memory that the server describes. */
bool frame_check_wall(const struct wall_welcome *w);

/*
 * Checks the destination of a piece: [offset, offset + bytes) of an arena, outside the board. `bytes`: the frame's less
 * this head.
 */
bool frame_check_piece(const struct frame_piece *p, uint32_t bytes, uint64_t arena_bytes);

/* A message as a relay sees it. */
struct frame_message {
	uint32_t size;
	uint32_t fence; /* reply: payloads up to this serial must come first; 0: none */
	bool has_payload;
	struct call_payload payload;
};

/*
 * Reads the message that begins at `at`, of which at most `bytes` are present. False: it cannot be passed on: a size
 * larger than `bytes`, not a multiple of CALL_ALIGN, longer than `longest`, or a payload outside the arena.
 */
bool frame_read_request(const void *at, size_t bytes, size_t longest, uint64_t arena_bytes, struct frame_message *ret);
bool frame_read_reply(const void *at, size_t bytes, size_t longest, uint64_t arena_bytes, struct frame_message *ret);
