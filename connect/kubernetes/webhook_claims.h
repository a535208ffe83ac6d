/*
 * webhook_claims.h: expresses a container's request as a ResourceClaimTemplate of the driver gpu.mete.io, for clusters
 * with dynamic resource allocation. Pure.
 *
 * A template's name is derived from its contents, so pods with equal requests share one, and creating it twice gives
 * the same one.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define CLAIMS_NAME 64u
#define CLAIMS_PARAMETERS 256u

struct claims_ask {
	unsigned int cards;
	uint64_t bytes;	      /* of each card; 0: all of it */
	double cores_pct;     /* guaranteed; 0: none */
	const char *parameters; /* of the driver, as JSON: {"class":"low"}; "": none */
};

/* The template, without a namespace; owned. `name`: the template's. NULL: no memory. */
json_t *claims_template(const struct claims_ask *ask, char name[CLAIMS_NAME]);

/*
 * The words of a named share as parameters. Value: false: it contains something that a claim cannot express, a device
 * for example.
 */
bool claims_parameters(json_t *words, char text[CLAIMS_PARAMETERS]);
