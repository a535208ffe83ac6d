/*
 * webhook_words.h: the words by which pods request a part of a GPU from other systems, and the named share that each
 * becomes. Pure: a pod in, changes out.
 *
 * The words are resources in a container's limits, or annotations of the pod; a row of the table in webhook_table.c
 * gives the meaning of one. A container gets the smallest share that contains all that it requests; nothing is rounded
 * down. A request that cannot be fulfilled is refused with a line that names the field. A pod without requests is not
 * changed.
 */
#pragma once

#include "client/fault.h"

#include "connect/kubernetes/webhook_claims.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define WORDS_SHARES 256u /* the limit of a file (connect/cdi/shares.h) */
#define WORDS_NAME 32u
#define WORDS_LINE 512u
#define WORDS_ASKED "mete.io/asked" /* annotation: what the pod had requested */

/* The vendor of the cards: 0 is those used by CUDA. */
enum words_vendor { WORDS_CUDA, WORDS_HIP, WORDS_ASCEND, WORDS_CAMBRICON, WORDS_MUSA, WORDS_MACA, WORDS_COREX };

struct words_share {
	char name[WORDS_NAME];
	unsigned int cards;
	uint64_t bytes;	   /* of each card */
	double memory_pct; /* if bytes is 0; 100: also stands for all that is left */
	double cores_pct;  /* guaranteed; 0: none */
	bool low;	   /* of class low */
	bool lent;	   /* its memory may be away, or is also promised to others */
	enum words_vendor vendor;
	bool claimable;	   /* a claim can express all of it */
	char parameters[CLAIMS_PARAMETERS]; /* of the claim, as JSON */
};

/*
 * The treatment of a pod that requests whole GPUs by another system's name, which that system's device plugin may
 * serve.
 */
enum words_whole { WORDS_WHOLE_PASS, WORDS_WHOLE_SHARE, WORDS_WHOLE_REFUSE };

struct words_options {
	struct words_share share[WORDS_SHARES];
	unsigned int count;
	unsigned int vendors; /* a bit 1 << enum words_vendor for each vendor of the shares */
	uint64_t card_bytes; /* memory of every card of the cluster; 0: not known, then parts and bytes are not
			      * compared */
	enum words_whole whole;
	bool memory_alone;     /* memory without a number of devices means one device */
	const char *scheduler; /* for changed pods; NULL: unchanged */
	bool claims;	       /* uses a claim instead of a share: exactly what was requested; also for named shares */
};

enum words_result { WORDS_NOTHING, WORDS_CHANGED, WORDS_REFUSED };

struct words_answer {
	json_t *patch;	   /* a JSON patch; owned; NULL unless it is changed */
	json_t *warnings;  /* lines; owned; NULL: none */
	json_t *templates; /* ResourceClaimTemplates that the pod's namespace must have, by name; owned; NULL: none */
	char line[WORDS_LINE]; /* the reason of a refusal */
};

/* Reads the words of shares.json (connect/cdi/shares.h). Value: 0, or a negative errno and a fault. */
int words_read_shares(struct words_options *o, json_t *shares, struct fault *f);

/* `pod`: borrowed. words_answer_free() must follow in every case. */
enum words_result words_pod(const struct words_options *o, json_t *pod, struct words_answer *ret);
void words_answer_free(struct words_answer *a);
