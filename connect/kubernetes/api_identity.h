/*
 * api_identity.h: the address of the API server, and the credentials for it: from a kubeconfig, or the pod's service
 * account.
 */
#pragma once

#include "client/fault.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* The contents of a file, or of the kubeconfig itself. */
struct api_secret {
	char path[PATH_MAX]; /* "": in `data` */
	char *data;	     /* owned; NULL: none */
	size_t size;
};

struct api_identity {
	char url[512]; /* without a final slash */
	struct api_secret ca, certificate, key, token;
	char user[128], password[256];
	bool insecure;
};

/* Value: 0, or a negative errno and a fault. api_identity_free() must follow in every case. */
int api_identity_read(struct api_identity *i, const char *kubeconfig, const char *service_account, struct fault *f);
void api_identity_free(struct api_identity *i);
/* True if there is one: a path, or data. */
bool api_secret_given(const struct api_secret *s);
