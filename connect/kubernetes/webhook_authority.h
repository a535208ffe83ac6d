/*
 * webhook_authority.h: where mete-webhook's certificate comes from, and that it never expires.
 *
 *	files of the operator's (--cert, --key): read again when they change;
 *	a folder (--cert-dir): an authority of our own is made there and kept (ca.crt, ca.key);
 *	a secret (--secret): the same, kept in the cluster, so that several webhooks have one authority. Its certificate
 *	is written into the MutatingWebhookConfiguration, without which no API server would believe it.
 *
 * A certificate is renewed when a third of its time is left; so is the authority, whose file then has the old one
 * behind the new.
 */
#pragma once

#include "client/fault.h"
#include "connect/kubernetes/api.h"
#include "connect/kubernetes/certificate.h"

#include <stdbool.h>

#define AUTHORITY_LIFE_S (INT64_C(3650) * 86400)
#define AUTHORITY_CERT_LIFE_S (INT64_C(90) * 86400)

struct authority_options {
	const char *cert, *key;	   /* files; NULL: created here */
	const char *dir;	   /* NULL: not in a folder */
	const char *secret;	   /* NULL: not in the cluster */
	const char *name_space;	   /* the secret's namespace */
	const char *configuration; /* MutatingWebhookConfiguration; NULL: none is written */
	const char *names;	   /* of this server, separated by commas */
	int64_t life_s, authority_life_s;
};

struct authority {
	struct authority_options options;
	struct api *api;	/* borrowed; NULL: no cluster */
	struct certificate own; /* the authority; empty if files are used */
	struct certificate serving;
	bool published; /* written to the configuration */
	char said[1024];
};

/* Provides the first certificate. Value: 0, or a negative errno and a fault. */
int authority_begin(struct authority *a, struct fault *f);
/* Renews what is due. *ret_new: the serving certificate has changed. Value: 0, or a negative errno and a fault. */
int authority_tend(struct authority *a, bool *ret_new, struct fault *f);
void authority_end(struct authority *a);
