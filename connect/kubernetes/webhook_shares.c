/* webhook_shares.c: the named shares among which a pod gets one, as the operator declared them. */
#include "connect/kubernetes/webhook_words.h"

#include "base/size.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static unsigned int count_devices(const char *text)
{
	unsigned int n = 1;

	if (!strcmp(text, "all"))
		return 0;
	for (; *text; text++)
		n += *text == ',';
	return n;
}

static int read_mem(const char *name, const char *value, struct words_share *s, struct fault *f)
{
	struct size size;

	if (size_parse(value, &size))
		return fault_set(f, -EINVAL, "share %s: mem %s is not a size", name, value);
	/* Of several sizes, the least: that is what each card has for certain. */
	if (size.bytes && (!s->bytes || size.bytes < s->bytes))
		s->bytes = size.bytes;
	if (size.pct > 0 && (s->memory_pct <= 0 || size.pct < s->memory_pct))
		s->memory_pct = size.pct;
	return 0;
}

/* 0: the word is no vendor's option. */
static enum words_vendor vendor_option(const char *word)
{
	static const char *const options[] = { "", "--hip", "--ascend", "--cambricon", "--musa", "--maca", "--corex" };

	for (unsigned int i = 1; i < sizeof(options) / sizeof(*options); i++)
		if (!strcmp(word, options[i]))
			return (enum words_vendor)i;
	return WORDS_CUDA;
}

static int read_share(const char *name, json_t *words, struct words_share *s, struct fault *f)
{
	unsigned int devices = 0;
	const char *word, *value;
	int r = 0;

	*s = (struct words_share){ .cards = 1 };
	snprintf(s->name, sizeof(s->name), "%s", name);
	for (size_t i = 0; !r && i < json_array_size(words); i++) {
		word = json_string_value(json_array_get(words, i));
		value = json_string_value(json_array_get(words, i + 1));
		value = value ? value : "";
		if (!strcmp(word, "--mem"))
			r = read_mem(name, value, s, f);
		else if (!strcmp(word, "--cores"))
			s->cores_pct = strtod(value, NULL);
		else if (!strcmp(word, "--class"))
			s->low = !strcmp(value, "low");
		else if (!strcmp(word, "--spill") || !strcmp(word, "--overcommit"))
			s->lent = true;
		else if (vendor_option(word))
			s->vendor = vendor_option(word);
		else if (!strcmp(word, "--device"))
			devices += count_devices(value);
	}
	s->cards = devices ? devices : 1;
	s->claimable = !s->vendor && claims_parameters(words, s->parameters);
	if (!s->bytes && s->memory_pct <= 0)
		s->memory_pct = 100;
	return r;
}

int words_read_shares(struct words_options *o, json_t *shares, struct fault *f)
{
	const char *name;
	json_t *words;
	int r = 0;

	o->count = 0;
	o->vendors = 0;
	json_object_foreach(shares, name, words)
	{
		if (o->count == WORDS_SHARES)
			return fault_set(f, -E2BIG, "more than %u shares", WORDS_SHARES);
		if (!r)
			r = read_share(name, words, &o->share[o->count], f);
		o->vendors |= 1u << o->share[o->count++].vendor;
	}
	return r;
}
