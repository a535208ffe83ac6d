/* policy_test.c: what people may ask for and what comes of it, by table. */
#include "model/policy.h"

#include "base/tap.h"

#define NONE -1

/* A wish; what is not named in a row is not given. */
static struct policy_wish wish(int policy, double cores, double limit, unsigned int weight, int class)
{
	return (struct policy_wish){
		.policy = policy, .cores_pct = cores, .limit_pct = limit, .weight = weight, .class = class
	};
}

static const struct {
	const char *what;
	struct policy_wish wish;
	enum policy policy;
	struct arbiter_terms terms;
} good[] = {
	{ "nothing is native",
	  { .policy = NONE, .class = NONE },
	  POLICY_NATIVE,
	  { .class = ARBITER_NORMAL, .limit_ppm = 1000000 } },
	{ "cores alone are fixed",
	  { .policy = NONE, .cores_pct = 30, .class = NONE },
	  POLICY_FIXED,
	  { true, false, ARBITER_NORMAL, 300000, 300000 } },
	{ "cores and a limit are elastic",
	  { .policy = NONE, .cores_pct = 30, .limit_pct = 60, .class = NONE },
	  POLICY_ELASTIC,
	  { true, false, ARBITER_NORMAL, 300000, 600000, 100 } },
	{ "a weight alone is weighted",
	  { .policy = NONE, .weight = 7, .class = NONE },
	  POLICY_WEIGHTED,
	  { true, false, ARBITER_NORMAL, 0, 1000000, 7 } },
	{ "a class alone is fair",
	  { .policy = NONE, .class = ARBITER_HIGH },
	  POLICY_FAIR,
	  { true, false, ARBITER_HIGH, 0, 1000000, 100 } },
	{ "burst keeps its limit and its class",
	  { .policy = POLICY_BURST, .cores_pct = 30, .limit_pct = 60, .weight = 0, .class = ARBITER_LOW },
	  POLICY_BURST,
	  { true, false, ARBITER_LOW, 300000, 600000, 100 } },
	{ "besteffort is low",
	  { .policy = POLICY_BESTEFFORT, .class = NONE },
	  POLICY_BESTEFFORT,
	  { true, false, ARBITER_LOW, 0, 1000000, 100 } },
	{ "exclusive has turns of 10 s",
	  { .policy = POLICY_EXCLUSIVE, .class = NONE },
	  POLICY_EXCLUSIVE,
	  { true, false, ARBITER_NORMAL, 0, 1000000, 100, 10000000000u } },
	{ "or as long as asked",
	  { .policy = POLICY_EXCLUSIVE, .class = NONE, .turn_ns = 500000000 },
	  POLICY_EXCLUSIVE,
	  { true, false, ARBITER_NORMAL, 0, 1000000, 100, 500000000 } },
	{ "fractions are kept to a tenth",
	  { .policy = POLICY_FIXED, .cores_pct = 12.54, .class = NONE },
	  POLICY_FIXED,
	  { true, false, ARBITER_NORMAL, 125000, 125000 } },
	{ "all of it",
	  { .policy = POLICY_FIXED, .cores_pct = 100, .class = NONE },
	  POLICY_FIXED,
	  { true, false, ARBITER_NORMAL, 1000000, 1000000 } },
	{ "the least of it",
	  { .policy = POLICY_FIXED, .cores_pct = 1, .class = NONE },
	  POLICY_FIXED,
	  { true, false, ARBITER_NORMAL, 10000, 10000 } },
};

static void test_good(void)
{
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		struct arbiter_terms t = { 0 };
		enum policy policy = POLICIES;
		char error[200] = "";
		bool same;

		if (policy_terms(&good[i].wish, &policy, &t, error, sizeof(error))) {
			tap_ok(0, "%s: %s", good[i].what, error);
			continue;
		}
		same = t.gated == good[i].terms.gated && t.frozen == good[i].terms.frozen &&
		       t.class == good[i].terms.class && t.guarantee_ppm == good[i].terms.guarantee_ppm &&
		       t.limit_ppm == good[i].terms.limit_ppm && t.weight == good[i].terms.weight &&
		       t.turn_ns == good[i].terms.turn_ns;
		tap_ok(policy == good[i].policy && same, "%s (%s, %u, %u)", good[i].what, policy_name(policy),
		       t.guarantee_ppm, t.limit_ppm);
	}
}

/* The error has to name the thing and the value. */
static void refused(struct policy_wish w, const char *names)
{
	struct arbiter_terms t = { .weight = 77 };
	char error[200] = "";

	tap_ok(policy_terms(&w, NULL, &t, error, sizeof(error)) && strstr(error, names) && t.weight == 77,
	       "refused with \"%s\": %s", names, error);
}

static void test_bad(void)
{
	struct policy_wish turn = wish(POLICY_FAIR, 0, 0, 0, NONE);

	refused(wish(POLICY_FIXED, 101, 0, 0, NONE), "--cores is 101");
	refused(wish(POLICY_FIXED, 0.5, 0, 0, NONE), "from 1 to 100");
	refused(wish(POLICY_FIXED, -3, 0, 0, NONE), "--cores is -3");
	refused(wish(POLICY_FIXED, 0.0 / 0.0, 0, 0, NONE), "--cores is");
	refused(wish(POLICY_ELASTIC, 30, 1000, 0, NONE), "--cores-limit is 1000");
	refused(wish(POLICY_FIXED, 0, 0, 0, NONE), "fixed needs --cores");
	refused(wish(POLICY_ELASTIC, 30, 0, 0, NONE), "elastic needs --cores-limit");
	refused(wish(POLICY_ELASTIC, 30, 20, 0, NONE), "--cores-limit 20 is below --cores 30");
	refused(wish(POLICY_FIXED, 30, 60, 0, NONE), "elastic takes both");
	refused(wish(POLICY_FAIR, 30, 0, 0, NONE), "fair has no use for --cores");
	refused(wish(POLICY_FAIR, 0, 0, 5, NONE), "no use for --weight");
	refused(wish(POLICY_WEIGHTED, 0, 0, 10001, NONE), "--weight is 10001");
	refused(wish(POLICY_NATIVE, 0, 0, 0, ARBITER_HIGH), "native has no use for --class");
	refused(wish(POLICY_BESTEFFORT, 0, 0, 0, ARBITER_HIGH), "besteffort is of class low");
	refused(wish(POLICY_FAIR, 0, 0, 0, 9), "class 9");
	refused(wish(99, 0, 0, 0, NONE), "policy 99");
	turn.turn_ns = 1000000000;
	refused(turn, "no use for --turn");
	turn.policy = POLICY_EXCLUSIVE;
	turn.turn_ns = 1000;
	refused(turn, "10 ms to 10 minutes");
}

static void test_names(void)
{
	const char *nearest;

	for (int i = 0; i < POLICIES; i++) {
		is(policy_parse(policy_name(i), &nearest), i);
		ok(strlen(policy_describe(i)) > 10);
	}
	is(policy_parse("Best-Effort", &nearest), POLICY_BESTEFFORT);
	is(policy_parse("brust", &nearest), -1);
	is_str(nearest, "burst");
	is(policy_parse("excl", &nearest), -1);
	is_str(nearest, "exclusive");
	is(policy_parse("proportional", &nearest), -1);
	ok(!nearest);
	is(policy_parse("", &nearest), -1);
	ok(!nearest);
	is(policy_parse("a name that is much too long to be the name of any policy", NULL), -1);
	for (int i = 0; i < ARBITER_CLASSES; i++)
		is(policy_class_parse(policy_class_name(i)), i);
	is(policy_class_parse("highest"), -1);
	is(policy_class_parse(""), -1);
}

static void test_fits(void)
{
	uint32_t left;

	ok(policy_fits(700000, 300000, false, &left));
	is(left, 300000);
	ok(!policy_fits(700000, 300001, false, &left));
	ok(policy_fits(700000, 900000, true, &left));
	ok(!policy_fits(1500000, 1, false, &left));
	is(left, 0);
	ok(policy_fits(1500000, 0, false, NULL));
}

int main(void)
{
	tap_begin();
	test_good();
	test_bad();
	test_names();
	test_fits();
	return tap_end();
}
