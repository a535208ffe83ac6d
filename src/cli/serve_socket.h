/*
 * serve_socket.h: the socket at which `mete remote` asks a `mete serve` of this machine: a unix socket serve-PID.sock,
 * mode 0600, in the runtime directory (or in the private one where the system's may not be written). A client that
 * connects gets one JSON document, and the connection closes.
 */
#pragma once

#include "client/fault.h"

#include <jansson.h>
#include <limits.h>

/* Listens. Value: the descriptor or a negative errno. */
int serve_socket_open(char path[PATH_MAX], struct fault *f);

/* Sends the document to a client that has connected; takes the reference. Never waits for the client. */
void serve_socket_answer(int listener, json_t *document);

/* Queries all servers of this user on this machine. Value: an array of their documents, owned. */
json_t *serve_socket_ask_all(void);
