/* webhook_review.h: AdmissionReview (admission.k8s.io/v1): a review in, a review with the answer out. Pure. */
#pragma once

#include "connect/kubernetes/webhook_words.h"

#include <stddef.h>

enum review_outcome { REVIEW_MALFORMED, REVIEW_PASSED, REVIEW_CHANGED, REVIEW_REFUSED };

/*
 * *ret: the answer as JSON, or one line on why it is no review; owned, NULL: no memory. What is not a pod that is being
 * made passes as it is. `make`: makes the templates that a pod's claims need in its namespace, before it is answered,
 * unless the request is a dry run; value: false: that cannot be, and the line says why. NULL: nobody asks for claims.
 */
typedef bool review_make(void *owner, const char *name_space, json_t *templates, char line[WORDS_LINE]);
enum review_outcome review_answer(const struct words_options *o, const char *text, size_t size, review_make *make,
				  void *owner, char **ret);
