/* server.h: meted's HTTP server and its connections, shared by serve.c, link.c and send.c. */
#pragma once

#include "daemon/http/http.h"
#include "model/rate.h"
#include "model/spent.h"
#include "model/unproven.h"

#include <microhttpd.h>
#include <netinet/in.h>
#include <stdint.h>

struct listener {
	struct http_server *server;
	struct MHD_Daemon *mhd;
	struct watch *watch;
	struct timer *timer;
	int fd; /* owned by libmicrohttpd */
	bool unix_socket, loopback, tls;
	bool closed; /* a connection was closed, and libmicrohttpd may not accept the next one yet */
};

/* A connection, with its current request if there is one. */
struct link {
	struct link *next, *prev;
	struct listener *listener;
	struct MHD_Connection *connection;
	uint64_t since_ns; /* when it was accepted, or its last reply was read; with a reply: when that was sent */
	struct unproven_source source;
	bool owner;  /* of root on this machine, or of the user that meted runs as */
	uid_t uid;   /* of the peer at the port, if it is on this machine; (uid_t)-1: not known */
	bool proven; /* with the token, or an owner's */
	bool gone;   /* closed: its place was given to another connection */
	bool asked;  /* the request line has arrived */
	bool begun, replied, too_large;
	bool cut; /* the request line contains %00: the text that libmicrohttpd passes on ends there */
	char *body;
	size_t bytes;
};

struct http_server {
	struct daemon *daemon;
	struct listener local, net;
	struct link *links;
	struct timer *sweep;
	struct unproven_known known; /* sources that have sent a valid token */
	struct rate rate; /* of requests without a valid token */
	struct rate greetings, all_greetings; /* TLS handshakes: of each source; of all without a valid token */
	struct spent time; /* time spent on answers to sources without a valid token */
	const char *listen; /* as in the settings; NULL: only http.sock */
	char address[INET6_ADDRSTRLEN + 16];
	time_t certificate_ends; /* of the certificate in use; 0: none, or not known */
};

#define LINKS_MOST 128u /* connections per listener */

/* link.c: callbacks for libmicrohttpd. `owner`: the listener. */
enum MHD_Result link_admit(void *owner, const struct sockaddr *peer, socklen_t size);
void *link_first_line(void *owner, const char *uri, struct MHD_Connection *connection);
enum MHD_Result link_request(void *owner, struct MHD_Connection *connection, const char *url, const char *method,
			     const char *version, const char *data, size_t *data_bytes, void **state);
void link_completed(void *owner, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode why);
void link_changed(void *owner, struct MHD_Connection *connection, void **socket_state,
		  enum MHD_ConnectionNotificationCode what);
/* The callback of a timer that runs while there are connections; `owner`: the server. */
void link_sweep(void *owner);

/* send.c: sends the reply and frees its body. */
enum MHD_Result send_reply(struct link *link, struct http_reply *reply);
