/* api_identity.h: where the API server is, and who we are there: from a kubeconfig, or the pod's service account. */
#pragma once

#include "client/fault.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Bytes of a file, or of the kubeconfig itself. */
struct api_secret {
	char path[PATH_MAX]; /* "": `data` has it */
	char *data;	     /* owned; NULL: there is none */
	size_t size;
};

struct api_identity {
	char url[512]; /* without a slash at the end */
	struct api_secret ca, certificate, key, token;
	char user[128], password[256];
	bool insecure;
};

/* Value: 0 or a negative errno and a fault. Free in every case. */
int api_identity_read(struct api_identity *i, const char *kubeconfig, const char *service_account, struct fault *f);
void api_identity_free(struct api_identity *i);
/* There is one: a path, or data. */
bool api_secret_given(const struct api_secret *s);
