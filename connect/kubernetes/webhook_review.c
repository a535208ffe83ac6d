/* webhook_review.c: see webhook_review.h. */
#include "connect/kubernetes/webhook_review.h"

#include "base/clean_text.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static json_t *encoded(json_t *patch)
{
	char *text = json_dumps(patch, JSON_COMPACT);
	size_t size = text ? strlen(text) : 0;
	char *code = text ? malloc(size / 3 * 4 + 5) : NULL;
	json_t *value = NULL;

	if (code) {
		EVP_EncodeBlock((unsigned char *)code, (const unsigned char *)text, (int)size);
		value = json_string(code);
	}
	free(code);
	free(text);
	return value;
}

static bool is_new_pod(json_t *request)
{
	json_t *kind = json_object_get(request, "kind");

	return !*text_of(kind, "group") && !strcmp(text_of(kind, "kind"), "Pod") &&
	       !strcmp(text_of(request, "operation"), "CREATE") && !*text_of(request, "subResource");
}

/* Adds what was decided to the answer. */
static enum review_outcome decide(const struct words_options *o, json_t *request, review_make *make, void *owner,
				  json_t *response)
{
	struct words_answer answer;
	enum words_result r = words_pod(o, json_object_get(request, "object"), &answer);

	if (answer.templates && !json_is_true(json_object_get(request, "dryRun")) &&
	    (!make || !make(owner, text_of(request, "namespace"), answer.templates, answer.line)))
		r = WORDS_REFUSED;
	clean_text_line(answer.line);
	json_object_set_new(response, "allowed", json_boolean(r != WORDS_REFUSED));
	if (r == WORDS_REFUSED)
		json_object_set_new(response, "status",
				    json_pack("{s:s s:s s:i s:o}", "status", "Failure", "reason", "Invalid", "code",
					      422, "message", json_sprintf("mete: %s", answer.line)));
	if (r == WORDS_CHANGED) {
		json_object_set_new(response, "patchType", json_string("JSONPatch"));
		json_object_set_new(response, "patch", encoded(answer.patch));
	}
	if (answer.warnings)
		json_object_set(response, "warnings", answer.warnings);
	words_answer_free(&answer);
	return r == WORDS_REFUSED ? REVIEW_REFUSED : r == WORDS_CHANGED ? REVIEW_CHANGED : REVIEW_PASSED;
}

enum review_outcome review_answer(const struct words_options *o, const char *text, size_t size, review_make *make,
				  void *owner, char **ret)
{
	json_error_t why = { .text = "" };
	json_t *review = json_loadb(text, size, 0, &why), *request = json_object_get(review, "request"), *response;
	enum review_outcome outcome = REVIEW_PASSED;

	*ret = NULL;
	if (!*text_of(request, "uid") || strcmp(text_of(review, "kind"), "AdmissionReview") ||
	    strcmp(text_of(review, "apiVersion"), "admission.k8s.io/v1")) {
		if (asprintf(ret, "no AdmissionReview of admission.k8s.io/v1 with a request and its uid%s%.100s\n",
			     review ? "" : ": ", review ? "" : why.text) < 0)
			*ret = NULL;
		json_decref(review);
		return REVIEW_MALFORMED;
	}
	response = json_pack("{s:s s:b}", "uid", text_of(request, "uid"), "allowed", 1);
	if (is_new_pod(request))
		outcome = decide(o, request, make, owner, response);
	json_decref(review);
	review = json_pack("{s:s s:s s:o}", "apiVersion", "admission.k8s.io/v1", "kind", "AdmissionReview", "response",
			   response);
	*ret = json_dumps(review, JSON_COMPACT);
	json_decref(review);
	return outcome;
}
