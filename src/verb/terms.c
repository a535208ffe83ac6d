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

static int read_policy(struct policy_wish *w, const char *value, struct fault *f)
{
	return terms_policy(value, "--policy", &w->policy, f);
}

static int read_class(struct policy_wish *w, const char *value, struct fault *f)
{
	w->class = policy_class_parse(value);
	return w->class >= 0
		       ? 0
		       : fault_set(f, -EINVAL, "--class %s: no such class; there are high, normal and low", value);
}

/* "30", "30%" */
static int read_percent(const char *value, const char *option, double *ret, struct fault *f)
{
	char *end = NULL;

	*ret = *value == '-' || *value == '+' || *value == ' ' ? NAN : strtod(value, &end);
	if (end && end != value && *end == '%')
		end++;
	if (end && end != value && !*end && *ret >= 1 && *ret <= 100)
		return 0;
	return fault_set(f, -EINVAL, "%s %s: not a percentage from 1 to 100; write one like 30 or 12.5", option, value);
}

static int read_cores(struct policy_wish *w, const char *value, struct fault *f)
{
	return read_percent(value, "--cores", &w->cores_pct, f);
}

static int read_limit(struct policy_wish *w, const char *value, struct fault *f)
{
	return read_percent(value, "--cores-limit", &w->limit_pct, f);
}

static bool read_whole(const char *value, unsigned long most, unsigned long *ret)
{
	char *end;

	errno = 0;
	*ret = strtoul(value, &end, 10);
	return *value >= '0' && *value <= '9' && !*end && !errno && *ret && *ret <= most;
}

static int read_weight(struct policy_wish *w, const char *value, struct fault *f)
{
	unsigned long n;

	if (!read_whole(value, 10000, &n))
		return fault_set(f, -EINVAL, "--weight %s: not a whole number from 1 to 10000; 100 is usual", value);
	w->weight = (uint32_t)n;
	return 0;
}

static int read_turn(struct policy_wish *w, const char *value, struct fault *f)
{
	unsigned long n;

	if (!read_whole(value, 600000, &n) || n < 10)
		return fault_set(f, -EINVAL, "--turn %s: not a whole number of milliseconds from 10 to 600000", value);
	w->turn_ns = n * 1000000u;
	return 0;
}

static const struct word {
	const char *option;
	int (*read)(struct policy_wish *w, const char *value, struct fault *f);
} words[] = {
	{ "policy", read_policy },     { "class", read_class },	  { "cores", read_cores },
	{ "cores-limit", read_limit }, { "weight", read_weight }, { "turn", read_turn },
};

static int read_word(struct choice *ch, const struct command_line *c, const struct word *word, struct fault *f)
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
		int r = word->read(&ch->share[i].wish, values[count > 1 ? i : 0], f);

		if (r)
			return r;
	}
	return 0;
}

int terms_parse(struct choice *ch, const struct command_line *c, struct fault *f)
{
	for (size_t i = 0; i < ch->count; i++)
		ch->share[i].wish = (struct policy_wish){ .policy = -1, .class = -1 };
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		int r = read_word(ch, c, &words[i], f);

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

bool terms_given(const struct policy_wish *w)
{
	return w->policy >= 0 || w->class >= 0 || w->cores_pct != 0 || w->limit_pct != 0 || w->weight || w->turn_ns;
}

void terms_request(const struct policy_wish *w, json_t *row)
{
	if (w->policy >= 0)
		json_object_set_new(row, "policy", json_string(policy_name((enum policy)w->policy)));
	if (w->class >= 0)
		json_object_set_new(row, "class", json_string(policy_class_name((enum arbiter_class)w->class)));
	if (w->cores_pct != 0)
		json_object_set_new(row, "cores", json_real(w->cores_pct));
	if (w->limit_pct != 0)
		json_object_set_new(row, "cores_limit", json_real(w->limit_pct));
	if (w->weight)
		json_object_set_new(row, "weight", json_integer(w->weight));
	if (w->turn_ns)
		json_object_set_new(row, "turn_ms", json_real((double)w->turn_ns / 1e6));
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
