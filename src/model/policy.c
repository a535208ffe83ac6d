/*
 * policy.c: see policy.h.
 *
 * One row per policy says which words it takes and what it makes of them; everything else follows from the row. A word
 * that a policy has no use for is refused, not ignored: whoever writes it expects something of it.
 */
#include "model/policy.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_WEIGHT 100u
#define MAX_WEIGHT 10000u
/* Long enough that moving the working sets of two tenants to and fro (a second or two) costs little of it. */
#define DEFAULT_TURN_NS UINT64_C(10000000000)
#define MIN_TURN_NS UINT64_C(10000000)
#define MAX_TURN_NS UINT64_C(600000000000)
#define MIN_PCT 1.0

enum use {
	UNUSED,
	OPTIONAL,
	NEEDED,
};

struct row {
	const char *name;
	const char *describe;
	enum use cores, limit, weight, turn;
	bool gated;
	bool hard;	 /* the guarantee is the limit as well */
	bool shares;	 /* gets a part of what is left after the guarantees */
	bool always_low; /* of class low, whatever was asked for */
};

static const struct row rows[POLICIES] = {
	[POLICY_NATIVE] = { "native", "limits memory only, compute is not touched" },
	[POLICY_FAIR] = { "fair", "as much as each of the others that want it, and what is idle; --cores-limit caps it",
			  .limit = OPTIONAL, .gated = true, .shares = true },
	[POLICY_FIXED] = { "fixed", "the percentage of --cores, never more, also when the device is idle",
			   .cores = NEEDED, .gated = true, .hard = true },
	[POLICY_WEIGHTED] = { "weighted",
			      "in proportion to --weight (100 unless given), and what is idle; --cores-limit caps it",
			      .limit = OPTIONAL, .weight = OPTIONAL, .gated = true, .shares = true },
	[POLICY_BURST] = { "burst",
			   "the percentage of --cores is guaranteed, what is idle is borrowed; --cores-limit caps it",
			   .cores = NEEDED, .limit = OPTIONAL, .weight = OPTIONAL, .gated = true, .shares = true },
	[POLICY_BESTEFFORT] = { "besteffort", "what the others leave, which may be nothing; --cores-limit caps it",
				.limit = OPTIONAL, .weight = OPTIONAL, .gated = true, .shares = true,
				.always_low = true },
	[POLICY_ELASTIC] = { "elastic", "--cores is guaranteed, what is idle is borrowed up to --cores-limit",
			     .cores = NEEDED, .limit = NEEDED, .weight = OPTIONAL, .gated = true, .shares = true },
	[POLICY_EXCLUSIVE] = { "exclusive", "the whole device in long turns (--turn, 10 s unless given)",
			       .weight = OPTIONAL, .turn = OPTIONAL, .gated = true, .shares = true },
};

static const char *const class_names[ARBITER_CLASSES] = {
	[ARBITER_HIGH] = "high",
	[ARBITER_NORMAL] = "normal",
	[ARBITER_LOW] = "low",
};

const char *policy_name(enum policy policy)
{
	return (unsigned int)policy < POLICIES ? rows[policy].name : "unknown";
}

const char *policy_describe(enum policy policy)
{
	return (unsigned int)policy < POLICIES ? rows[policy].describe : "";
}

/* "Best-Effort" and "best_effort" are besteffort: the letters count. Value: their number, cut to fit. */
static size_t letters(const char *name, char *out, size_t size)
{
	size_t n = 0;

	for (; *name && n + 1 < size; name++)
		if (*name != '-' && *name != '_')
			out[n++] = (char)tolower((unsigned char)*name);
	out[n] = 0;
	return n;
}

#define WORD 24

/* How many letters have to be changed, added or dropped to make one word of the other. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[WORD + 1], columns = (unsigned int)strlen(b);

	for (unsigned int i = 0; i <= columns; i++)
		row[i] = i;
	for (unsigned int i = 1; a[i - 1]; i++) {
		unsigned int diagonal = row[0];

		row[0] = i;
		for (unsigned int j = 1; j <= columns; j++) {
			unsigned int above = row[j], best = diagonal + (a[i - 1] != b[j - 1]);

			best = above + 1 < best ? above + 1 : best;
			row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
			diagonal = above;
		}
	}
	return row[columns];
}

int policy_parse(const char *name, const char **ret_nearest)
{
	char word[WORD];
	size_t length = letters(name, word, sizeof(word));
	unsigned int best = 4; /* more letters than this apart is another word */
	const char *nearest = NULL;

	for (int i = 0; i < POLICIES; i++) {
		unsigned int d = distance(word, rows[i].name);

		if (!d)
			return i;
		if (length >= 2 && !strncmp(word, rows[i].name, length))
			d = 1;
		if (d < best && d < strlen(rows[i].name) - 1) {
			best = d;
			nearest = rows[i].name;
		}
	}
	if (ret_nearest)
		*ret_nearest = nearest;
	return -1;
}

const char *policy_class_name(enum arbiter_class class)
{
	return (unsigned int)class < ARBITER_CLASSES ? class_names[class] : "unknown";
}

int policy_class_parse(const char *name)
{
	char word[WORD];

	letters(name, word, sizeof(word));
	for (int i = 0; i < ARBITER_CLASSES; i++)
		if (!strcmp(word, class_names[i]))
			return i;
	return -1;
}

__attribute__((format(printf, 3, 4))) static int fault(char *error, size_t size, const char *format, ...)
{
	va_list ap;

	if (error && size) {
		va_start(ap, format);
		vsnprintf(error, size, format, ap);
		va_end(ap);
	}
	return -1;
}

static enum policy implied(const struct policy_wish *w)
{
	if (w->policy >= 0)
		return (enum policy)w->policy;
	if (w->cores_pct != 0)
		return w->limit_pct != 0 ? POLICY_ELASTIC : POLICY_FIXED;
	if (w->turn_ns)
		return POLICY_EXCLUSIVE;
	if (w->weight)
		return POLICY_WEIGHTED;
	return w->limit_pct != 0 || w->class >= 0 ? POLICY_FAIR : POLICY_NATIVE;
}

static int check_percent(double pct, const char *option, char *error, size_t size)
{
	if (pct == 0 || (isfinite(pct) && pct >= MIN_PCT && pct <= 100))
		return 0;
	return fault(error, size, "%s is %g; it takes a percentage from 1 to 100", option, pct);
}

/* A word that is missing though needed, or given though of no use. */
static int check_use(const struct row *row, enum use use, bool given, const char *option, const char *hint, char *error,
		     size_t size)
{
	if (use == NEEDED && !given)
		return fault(error, size, "policy %s needs %s", row->name, option);
	if (use == UNUSED && given)
		return fault(error, size, "policy %s has no use for %s; %s", row->name, option, hint);
	return 0;
}

static int check_words(const struct policy_wish *w, const struct row *row, char *error, size_t size)
{
	if (check_percent(w->cores_pct, "--cores", error, size) ||
	    check_percent(w->limit_pct, "--cores-limit", error, size) ||
	    check_use(row, row->cores, w->cores_pct != 0, "--cores", "burst, elastic and fixed have", error, size) ||
	    check_use(row, row->limit, w->limit_pct != 0, "--cores-limit",
		      row->hard ? "its limit is --cores, and elastic takes both" : "elastic and fair have", error,
		      size) ||
	    check_use(row, row->weight, w->weight != 0, "--weight", "weighted and burst have", error, size) ||
	    check_use(row, row->turn, w->turn_ns != 0, "--turn", "exclusive has", error, size))
		return -1;
	if (w->limit_pct != 0 && w->limit_pct < w->cores_pct)
		return fault(error, size, "--cores-limit %g is below --cores %g; it takes at least as much",
			     w->limit_pct, w->cores_pct);
	if (w->weight > MAX_WEIGHT)
		return fault(error, size, "--weight is %u; it takes 1 to %u", w->weight, MAX_WEIGHT);
	if (w->turn_ns && (w->turn_ns < MIN_TURN_NS || w->turn_ns > MAX_TURN_NS))
		return fault(error, size, "--turn is %.3g ms; it takes 10 ms to 10 minutes", (double)w->turn_ns / 1e6);
	return 0;
}

static int check_class(const struct policy_wish *w, const struct row *row, char *error, size_t size)
{
	if (w->class >= ARBITER_CLASSES)
		return fault(error, size, "class %d is unknown; there are high, normal and low", w->class);
	if (w->class >= 0 && !row->gated)
		return fault(error, size, "policy %s has no use for --class; fair, burst and fixed have", row->name);
	if (w->class >= 0 && w->class != ARBITER_LOW && row->always_low)
		return fault(error, size, "policy %s is of class low; fair and burst can be of class %s", row->name,
			     class_names[w->class]);
	return 0;
}

/* A tenth of a percent is the finest that is kept. */
static uint32_t ppm_of(double pct)
{
	return (uint32_t)(pct * 10 + 0.5) * (ARBITER_WHOLE / 1000);
}

int policy_terms(const struct policy_wish *w, enum policy *ret_policy, struct arbiter_terms *ret, char *error,
		 size_t error_size)
{
	enum policy policy = implied(w);
	const struct row *row;
	struct arbiter_terms t = { .class = ARBITER_NORMAL, .limit_ppm = ARBITER_WHOLE };

	if ((unsigned int)policy >= POLICIES)
		return fault(error, error_size, "policy %d is unknown; `mete policy` lists them", w->policy);
	row = &rows[policy];
	if (check_words(w, row, error, error_size) || check_class(w, row, error, error_size))
		return -1;
	t.gated = row->gated;
	t.guarantee_ppm = ppm_of(w->cores_pct);
	if (row->hard)
		t.limit_ppm = t.guarantee_ppm;
	else if (w->limit_pct != 0)
		t.limit_ppm = ppm_of(w->limit_pct);
	if (row->shares)
		t.weight = w->weight ? w->weight : DEFAULT_WEIGHT;
	if (row->turn != UNUSED)
		t.turn_ns = w->turn_ns ? w->turn_ns : DEFAULT_TURN_NS;
	if (w->class >= 0)
		t.class = (enum arbiter_class)w->class;
	if (row->always_low)
		t.class = ARBITER_LOW;
	if (ret_policy)
		*ret_policy = policy;
	*ret = t;
	return 0;
}

bool policy_fits(uint32_t others_ppm, uint32_t ppm, bool overcommit, uint32_t *ret_left_ppm)
{
	uint32_t left = others_ppm < ARBITER_WHOLE ? ARBITER_WHOLE - others_ppm : 0;

	if (ret_left_ppm)
		*ret_left_ppm = left;
	return overcommit || ppm <= left;
}
