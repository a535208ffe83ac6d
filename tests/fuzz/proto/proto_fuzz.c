/*
 * proto_fuzz.c: fuzz target for kubelet's messages (connect/kubernetes/proto.c), each text as every message there is.
 *
 * What must hold: nothing outside the text is read, and what was understood is written in one way only: the message
 * that is written of it reads as the same again.
 */
#include "connect/kubernetes/dra_messages.h"
#include "connect/kubernetes/messages.h"
#include "text_fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define check(cond)                                                                                                    \
	do {                                                                                                           \
		if (!(cond)) {                                                                                         \
			fprintf(stderr, "proto_fuzz: message %zu: %s is false\n", i, #cond);                           \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

static const struct proto_field *const messages[] = {
	message_empty,
	message_register,
	message_options,
	message_list,
	message_preferred_request,
	message_preferred_answer,
	message_allocate_request,
	message_allocate_answer,
	message_pre_start_request,
	dra_message_info,
	dra_message_status,
	dra_message_claims,
	dra_message_prepared,
	dra_message_unprepared,
	dra_message_health,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
	/* A copy of just this size: whoever reads beyond it is seen. */
	uint8_t *exact = malloc(length + !length);

	memcpy(exact, data, length);
	for (size_t i = 0; i < sizeof(messages) / sizeof(*messages); i++) {
		struct bytes first = { 0 }, second = { 0 };
		json_t *once = proto_decode(messages[i], exact, length), *twice;

		if (!once)
			continue;
		proto_encode(messages[i], once, &first);
		twice = proto_decode(messages[i], first.data, first.size);
		check(twice);
		proto_encode(messages[i], twice, &second);
		check(!first.bad && !second.bad && first.size == second.size);
		check(!first.size || !memcmp(first.data, second.data, first.size));
		json_decref(once);
		json_decref(twice);
		bytes_free(&first);
		bytes_free(&second);
	}
	free(exact);
	return 0;
}

#ifndef FUZZ_ENGINE
static const char *const corpus[] = {
	"",
	"\x08\x01\x10\x01",
	"\x0a\x07v1beta1\x12\x09mete.sock\x1a\x0dmete.io/small\x22\x04\x08\x01\x10\x01",
	"\x0a\x16\x0a\x0bk8s-small-0\x12\x07Healthy",
	"\x0a\x0d\x0a\x0bk8s-small-0",
	"\x0a\x0b\x0a\x02ns\x12\x02u1\x1a\x01n",
	"\x0a\x16\x0a\x02u1\x12\x10\x0a\x0e\x0a\x01r\x12\x02n1\x1a\x01g\x22\x02id",
	"\x0a\x0f\x0a\x01"
	"a\x0a\x01"
	"b\x12\x01"
	"a\x12\x02"
	"bc\x18\x02",
	"\x0a\x10\x22\x0e\x0a\x04name\x12\x06"
	"a/b=c1",
	"\x0a\x07\x2a\x05\x0a\x03"
	"a=b",
};

int main(int argc, char **argv)
{
	struct text_fuzz f = { .name = "proto_fuzz",
			       .corpus = corpus,
			       .texts = sizeof(corpus) / sizeof(*corpus),
			       .likely = "\x01\x02\x08\x0a\x12\x1a\x22\x2a\x18\x10\x80\xff\x05",
			       .most = 200,
			       .rounds = 20000 };

	return text_fuzz_main(f, argc, argv);
}
#endif
