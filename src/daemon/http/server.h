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
	int fd; /* libmicrohttpd's */
	bool unix_socket, loopback, tls;
	bool closed; /* a connection has gone, and libmicrohttpd may not be listening yet for the next */
};

/* A connection, and its request when there is one. */
struct link {
	struct link *next, *prev;
	struct listener *listener;
	struct MHD_Connection *connection;
	uint64_t since_ns; /* it was accepted, or the last reply was read; with a reply: since it is on its way */
	struct unproven_source source;
	bool owner;  /* of root on this machine, or of who meted runs as */
	uid_t uid;   /* of the peer at the port, where it is on this machine; (uid_t)-1: not known */
	bool proven; /* with the token, or an owner's */
	bool gone;   /* its place is another's */
	bool asked;  /* the request's first line has come */
	bool begun, replied, too_large;
	bool cut; /* its line has a %00: what libmicrohttpd hands on as a text ends there */
	char *body;
	size_t bytes;
};

struct http_server {
	struct daemon *daemon;
	struct listener local, net;
	struct link *links;
	struct timer *sweep;
	struct unproven_known known; /* sources that have shown the token */
	struct rate rate; /* of requests without the token */
	struct rate greetings, all_greetings; /* handshakes of TLS: of each source; of all without the token */
	struct spent time; /* what answers to sources without the token have taken */
	const char *listen; /* as the settings say it; NULL: http.sock alone */
	char address[INET6_ADDRSTRLEN + 16];
	time_t certificate_ends; /* of the one that is served; 0: none, or not known */
};

#define LINKS_MOST 128u /* connections of a listener */

/* link.c: what libmicrohttpd calls. `owner`: the listener. */
enum MHD_Result link_admit(void *owner, const struct sockaddr *peer, socklen_t size);
void *link_first_line(void *owner, const char *uri, struct MHD_Connection *connection);
enum MHD_Result link_request(void *owner, struct MHD_Connection *connection, const char *url, const char *method,
			     const char *version, const char *data, size_t *data_bytes, void **state);
void link_completed(void *owner, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode why);
void link_changed(void *owner, struct MHD_Connection *connection, void **socket_state,
		  enum MHD_ConnectionNotificationCode what);
/* Of a timer that runs while there are connections; `owner`: the server. */
void link_sweep(void *owner);

/* send.c: the reply goes on its way, and its body is freed. */
enum MHD_Result send_reply(struct link *link, struct http_reply *reply);
