/* webhook_review.h: AdmissionReview (admission.k8s.io/v1): a review in, a review with the answer out. Pure. */
#pragma once

#include "connect/kubernetes/webhook_words.h"

#include <stddef.h>

enum review_outcome { REVIEW_MALFORMED, REVIEW_PASSED, REVIEW_CHANGED, REVIEW_REFUSED };

/*
 * *ret: the answer as JSON, or one line on why it is no review; owned, NULL: no memory. What is not a pod that is being
 * made passes as it is.
 */
enum review_outcome review_answer(const struct words_options *o, const char *text, size_t size, char **ret);
