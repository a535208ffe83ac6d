/* serve_caller.h: identifies a TLS client by its certificate (serve.h, client_ca). */
#pragma once

#include <stdbool.h>

struct MHD_Connection;

/* True if this build supports it. */
bool serve_caller_can(void);
/* True if the peer has proved to own a client's certificate issued by the connection's authorities. */
bool serve_caller_known(struct MHD_Connection *c);
