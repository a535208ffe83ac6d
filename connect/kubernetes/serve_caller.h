/* serve_caller.h: who asks over TLS, by the certificate that it has shown (serve.h, client_ca). */
#pragma once

#include <stdbool.h>

struct MHD_Connection;

/* Whether this build can tell. */
bool serve_caller_can(void);
/* Whether the other end has proved to own a certificate of a client, which the connection's authorities have given. */
bool serve_caller_known(struct MHD_Connection *c);
