/*
 * serial.c: a plan as text, and a plan from it: CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION.
 *
 * The text is a JSON object whose only member is a string of hexadecimal digits: the operations with all that they
 * refer to. What is read goes through the calls by which a program makes descriptors, so that text from anywhere makes
 * no descriptor that a program could not make.
 */
#include "libs/cudnn/backend.h"

#include <stdlib.h>
#include <string.h>

#define BEGIN "{\"mete_cudnn_1\":\""
#define END "\"}"
#define DEPTH_MOST 8
#define COUNT_MOST 4096

struct text {
	char *at; /* NULL: only counted */
	size_t used, room;
};

static void put(struct text *t, const void *from, size_t bytes)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *b = from;

	for (size_t i = 0; i < bytes; i++) {
		if (t->at && t->used + 2 <= t->room) {
			t->at[t->used] = digits[b[i] >> 4];
			t->at[t->used + 1] = digits[b[i] & 15];
		}
		t->used += 2;
	}
}

static void put_number(struct text *t, int64_t number)
{
	put(t, &number, sizeof(number));
}

static void put_word(struct text *t, const char *word)
{
	size_t n = strlen(word);

	if (t->at && t->used + n <= t->room)
		memcpy(t->at + t->used, word, n);
	t->used += n;
}

static bool is_carried(const struct attribute *a)
{
	return a->type != CUDNN_TYPE_HANDLE && a->type != CUDNN_TYPE_VOID_PTR;
}

static void put_descriptor(struct text *t, const struct descriptor *d)
{
	int64_t count = 0;

	for (const struct attribute *a = d->attributes; a; a = a->next)
		count += is_carried(a);
	put_number(t, d->type);
	put_number(t, count);
	for (const struct attribute *a = d->attributes; a; a = a->next) {
		if (!is_carried(a))
			continue;
		put_number(t, a->name);
		put_number(t, a->type);
		put_number(t, a->count);
		if (a->type != CUDNN_TYPE_BACKEND_DESCRIPTOR)
			put(t, a->data, (size_t)a->count * attribute_type_bytes(a->type));
		for (int64_t i = 0; a->type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < a->count; i++)
			put_descriptor(t, attribute_descriptor(d, (int)a->name, i));
	}
}

int64_t serial_write(const struct graph *g, char *to, int64_t room)
{
	struct text t = { .at = to, .room = to && room > 0 ? (size_t)room : 0 };
	struct descriptor *step;
	int64_t count = 0;

	while (graph_step(g, count))
		count++;
	put_word(&t, BEGIN);
	put_number(&t, count);
	for (int64_t i = 0; (step = graph_step(g, i)); i++)
		put_descriptor(&t, step);
	put_word(&t, END);
	if (t.used < t.room)
		t.at[t.used] = 0;
	return (int64_t)t.used + 1;
}

/* ---- reading ---- */

struct source {
	const char *at;
	size_t left;
	bool bad;
};

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void take(struct source *s, void *to, size_t bytes)
{
	unsigned char *b = to;

	if (s->bad || s->left / 2 < bytes) {
		s->bad = true;
		memset(to, 0, bytes);
		return;
	}
	for (size_t i = 0; i < bytes; i++) {
		int high = digit(s->at[2 * i]), low = digit(s->at[2 * i + 1]);

		s->bad = s->bad || high < 0 || low < 0;
		b[i] = (unsigned char)((high & 15) << 4 | (low & 15));
	}
	s->at += 2 * bytes;
	s->left -= 2 * bytes;
}

static int64_t take_number(struct source *s)
{
	int64_t number;

	take(s, &number, sizeof(number));
	return number;
}

static void *take_descriptor(struct source *s, int depth);

/* An attribute of d. */
static void take_attribute(struct source *s, void *d, int depth)
{
	int64_t name = take_number(s), type = take_number(s), count = take_number(s);
	bool refers = type == CUDNN_TYPE_BACKEND_DESCRIPTOR;
	size_t each = attribute_type_bytes((cudnnBackendAttributeType_t)type);
	char *elements;

	if (s->bad || !each || count < 0 || count > COUNT_MOST || (size_t)count > s->left || name != (int)name ||
	    type != (int)type) {
		s->bad = true;
		return;
	}
	elements = calloc((size_t)count + 1, each);
	for (int64_t i = 0; elements && refers && i < count; i++)
		((void **)(void *)elements)[i] = take_descriptor(s, depth + 1);
	if (elements && !refers)
		take(s, elements, (size_t)count * each);
	s->bad = s->bad || !elements ||
		 soft_cudnnBackendSetAttribute(d, (cudnnBackendAttributeName_t)name, (cudnnBackendAttributeType_t)type,
					       count, elements);
	for (int64_t i = 0; elements && refers && i < count; i++)
		soft_cudnnBackendDestroyDescriptor(((void **)(void *)elements)[i]);
	free(elements);
}

/* A finalized descriptor, or NULL: the source is bad. */
static void *take_descriptor(struct source *s, int depth)
{
	int64_t type = take_number(s), count = take_number(s);
	void *d = NULL;

	if (s->bad || depth > DEPTH_MOST || count < 0 || count > COUNT_MOST || type != (int)type ||
	    soft_cudnnBackendCreateDescriptor((cudnnBackendDescriptorType_t)type, &d)) {
		s->bad = true;
		return NULL;
	}
	for (int64_t i = 0; i < count && !s->bad; i++)
		take_attribute(s, d, depth);
	s->bad = s->bad || soft_cudnnBackendFinalize(d);
	if (!s->bad)
		return d;
	soft_cudnnBackendDestroyDescriptor(d);
	return NULL;
}

cudnnStatus_t serial_read(const char *from, int64_t bytes, struct graph **ret)
{
	struct source s = { .at = from + strlen(BEGIN), .left = (size_t)bytes - strlen(BEGIN) };
	struct descriptor **list;
	cudnnStatus_t status = CUDNN_STATUS_BAD_PARAM;
	int64_t count;

	if (bytes < (int64_t)strlen(BEGIN END) || memcmp(from, BEGIN, strlen(BEGIN)) != 0)
		return dnn_fail(CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH,
				"the text of a plan is not this library's");
	count = take_number(&s);
	if (s.bad || count < 1 || count > COUNT_MOST)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM, "the text of a plan is cut off");
	list = calloc((size_t)count, sizeof(*list));
	if (!list)
		return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
	for (int64_t i = 0; i < count && !s.bad; i++)
		list[i] = take_descriptor(&s, 0);
	if (s.bad || s.left < strlen(END) || memcmp(s.at, END, strlen(END)) != 0)
		dnn_fail(status, "the text of a plan is damaged");
	else
		status = graph_make(list, count, ret);
	for (int64_t i = 0; i < count; i++)
		if (list[i])
			descriptor_let(list[i]);
	free(list);
	return status;
}
