/* terms.c: see terms.h. */
#include "verb/terms.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int terms_policy(const char *name, const char *option, int *ret, struct fault *f)
{
	const char *nearest = NULL;

	*ret = policy_parse(name, &nearest);
	if (*ret >= 0)
		return 0;
	return nearest ? fault_set(f, -EINVAL, "%s %s: no such policy; did you mean %s?", option, name, nearest)
		       : fault_set(f, -EINVAL, "%s %s: no such policy; `mete policy` lists them", option, name);
}

static int read_name(const struct share_word *word, struct policy_wish *w, const char *value, struct fault *f)
{
	char option[24];

	if (word->type == WORD_POLICY) {
		snprintf(option, sizeof(option), "--%s", word->option);
		return terms_policy(value, option, &w->policy, f);
	}
	return word_set_name(word, w, value, NULL)
		       ? 0
		       : fault_set(f, -EINVAL, "--%s %s: no such class; there are high, normal and low", word->option,
				   value);
}

/* "30", "30%" */
static bool read_percent(const char *value, double *ret)
{
	char *end = NULL;

	*ret = *value == '-' || *value == '+' || *value == ' ' ? NAN : strtod(value, &end);
	if (end && end != value && *end == '%')
		end++;
	return end && end != value && !*end;
}

static bool read_whole(const char *value, double *ret)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(value, &end, 10);
	*ret = (double)n;
	return *value >= '0' && *value <= '9' && !*end && !errno;
}

static int read_number(const struct share_word *word, struct policy_wish *w, const char *value, struct fault *f)
{
	bool part = word->type == WORD_PERCENT;
	double x;

	if ((part ? read_percent(value, &x) : read_whole(value, &x)) && x >= word->least && x <= word->most &&
	    word_set_number(word, w, x))
		return 0;
	return part ? fault_set(f, -EINVAL,
				"--%s %s: not a percentage from %g to %g; write one like 30 or 12.5", word->option,
				value, word->least, word->most)
		    : fault_set(f, -EINVAL, "--%s %s: not a whole number%s from %.0f to %.0f", word->option, value,
				word->type == WORD_MS ? " of milliseconds" : "", word->least, word->most);
}

static int read_word(struct choice *ch, const struct command_line *c, const struct share_word *word, struct fault *f)
{
	const char *values[CHOOSE_MAX_DEVICES];
	size_t count = 0;

	for (size_t i = 0; i < c->given_count; i++) {
		if (strcmp(c->given[i].option->name, word->option))
			continue;
		if (count == CHOOSE_MAX_DEVICES)
			return fault_set(f, -EINVAL, "--%s: given more than %d times; give one for each --device",
					 word->option, CHOOSE_MAX_DEVICES);
		values[count++] = c->given[i].value;
	}
	if (count > 1 && count != ch->count)
		return fault_set(
			f, -EINVAL,
			"--%s is given %zu times for %zu devices; give it once for all, or once for each --device",
			word->option, count, ch->count);
	for (size_t i = 0; i < ch->count && count; i++) {
		const char *value = values[count > 1 ? i : 0];
		struct policy_wish *w = &ch->share[i].wish;
		int r = word_is_name(word) ? read_name(word, w, value, f) : read_number(word, w, value, f);

		if (r)
			return r;
	}
	return 0;
}

int terms_parse(struct choice *ch, const struct command_line *c, struct fault *f)
{
	for (size_t i = 0; i < ch->count; i++)
		words_clear(&ch->share[i].wish);
	for (size_t i = 0; i < SHARE_WORD_COUNT; i++) {
		int r = read_word(ch, c, &word_table[i], f);

		if (r)
			return r;
	}
	for (size_t i = 0; i < ch->count; i++) {
		const struct policy_wish *w = &ch->share[i].wish;

		if (w->limit_pct != 0 && w->limit_pct < w->cores_pct)
			return fault_set(f, -EINVAL, "--cores-limit %g: below --cores %g; give at least as much",
					 w->limit_pct, w->cores_pct);
	}
	return 0;
}

bool terms_is_share(const char *option)
{
	static const char *const others[] = { "mem", "device", "overcommit", "spill", "resident" };

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(option, others[i]))
			return true;
	for (size_t i = 0; i < SHARE_WORD_COUNT; i++)
		if (!strcmp(option, word_table[i].option))
			return true;
	return false;
}

void terms_request(const struct policy_wish *w, json_t *row)
{
	for (size_t i = 0; i < SHARE_WORD_COUNT; i++) {
		const struct share_word *word = &word_table[i];

		if (!word_given(word, w))
			continue;
		if (word_is_name(word))
			json_object_set_new(row, word->key, json_string(word_name(word, w)));
		else if (word->type == WORD_COUNT)
			json_object_set_new(row, word->key, json_integer((json_int_t)word_number(word, w)));
		else
			json_object_set_new(row, word->key, json_real(word_number(word, w)));
	}
}

const char *terms_requested(json_t *share, char text[48])
{
	double cores = json_number_value(json_object_get(share, "cores"));
	double limit = json_number_value(json_object_get(share, "cores_limit"));
	json_int_t weight = device_number(share, "weight");
	const char *policy = device_text(share, "policy");

	if (!*policy || !strcmp(policy, "native"))
		snprintf(text, 48, "-");
	else if (cores > 0 && limit > cores)
		snprintf(text, 48, "%.4g-%.4g %%", cores, limit);
	else if (cores > 0)
		snprintf(text, 48, "%.4g %%", cores);
	else if (limit > 0 && limit < 100)
		snprintf(text, 48, "<= %.4g %%", limit);
	else
		snprintf(text, 48, "weight %lld", (long long)weight);
	return text;
}

const char *terms_percent(json_t *share, const char *key, char text[16])
{
	json_t *value = json_object_get(share, key);

	if (json_is_number(value))
		snprintf(text, 16, "%.1f %%", json_number_value(value));
	else
		snprintf(text, 16, "-");
	return text;
}
