/*
 * share_sim.c: a table of how well shares hold in virtual time: mete's turns beside two other ways (peers.c).
 *
 *   share-sim [--seconds N] [--seed N] [--json] [--quick]
 *
 * All figures are of the simulator (sim.h): they compare rules on the same workloads, and say nothing of a machine.
 */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct options {
	double seconds;
	uint64_t seed;
	bool json, quick;
};

static const char *const way_names[SIM_WAYS] = {
	[SIM_TURNS] = "turns",
	[SIM_NOTHING] = "nothing",
	[SIM_FEEDBACK] = "feedback",
	[SIM_QUOTA] = "quota",
};

static const struct {
	const char *what;
	double kernel_ms;
	unsigned int blocks, batch, processes;
	double pct[9];
} cases[] = {
	{ "alone", 0.2, 2000, 0, 1, { 20 } },
	{ "alone", 1, 10000, 0, 1, { 1 } },
	{ "alone", 1, 10000, 0, 1, { 20 } },
	{ "alone, small grid", 1, 132, 0, 1, { 20 } },
	{ "alone, synchronous", 1, 10000, 1, 1, { 20 } },
	{ "alone, synchronous", 0.2, 2000, 1, 1, { 80 } },
	{ "alone, 4 processes", 1, 10000, 0, 4, { 20 } },
	{ "alone", 1, 10000, 0, 1, { 50 } },
	{ "alone", 5, 10000, 0, 1, { 50 } },
	{ "alone", 1, 10000, 0, 1, { 80 } },
	{ "alone", 20, 10000, 0, 1, { 20 } },
	{ "alone", 60, 10000, 0, 1, { 20 } },
	{ "alone", 60, 10000, 0, 1, { 50 } },
	{ "30 and 70", 0.2, 2000, 0, 1, { 30, 70 } },
	{ "30 and 70", 1, 10000, 0, 1, { 30, 70 } },
	{ "30 and 70", 5, 10000, 0, 1, { 30, 70 } },
	{ "30 and 70, synchronous", 1, 10000, 1, 1, { 30, 70 } },
	{ "30 and 70, 4 processes", 1, 10000, 0, 4, { 30, 70 } },
	{ "10, 20 and 70", 1, 10000, 0, 1, { 10, 20, 70 } },
	{ "8 with 12.5", 1, 10000, 0, 1, { 12.5, 12.5, 12.5, 12.5, 12.5, 12.5, 12.5, 12.5 } },
	{ "30 and 70", 20, 10000, 0, 1, { 30, 70 } },
	{ "30 and 70", 60, 10000, 0, 1, { 30, 70 } },
};

struct row {
	double mean, max, bias, idle; /* the worst of its tenants; idle in percent */
	double lost[SIM_LOST_KINDS];  /* percent */
	double bias_of[9];
};

static struct row measure(const struct options *o, unsigned int n, enum sim_way way)
{
	struct sim *s = sim_new(&(struct sim_params){ .way = way, .seed = o->seed, .seconds = o->seconds });
	struct row row = { 0 };
	int tenants = 0;

	for (; tenants < 9 && cases[n].pct[tenants] > 0; tenants++) {
		uint32_t ppm = (uint32_t)(cases[n].pct[tenants] * 1e4);
		struct arbiter_terms t = {
			.gated = true, .class = ARBITER_NORMAL, .guarantee_ppm = ppm, .limit_ppm = ppm
		};
		struct sim_load l = { .kernel_ms = { cases[n].kernel_ms },
				      .spread = 0.02,
				      .misjudged = 0.05,
				      .batch = cases[n].batch,
				      .gap_us = { 10, 50 },
				      .blocks = cases[n].blocks,
				      .processes = cases[n].processes };

		sim_add(s, &t, &l);
	}
	sim_run(s);
	for (int i = 0; i < tenants; i++) {
		struct sim_error e = sim_error(s, i, cases[n].pct[i], 1, 1, o->seconds);

		row.mean = e.mean > row.mean ? e.mean : row.mean;
		row.max = e.max > row.max ? e.max : row.max;
		if ((e.bias < 0 ? -e.bias : e.bias) > (row.bias < 0 ? -row.bias : row.bias))
			row.bias = e.bias;
		row.bias_of[i] = e.bias;
	}
	for (int k = 0; k < SIM_LOST_KINDS; k++)
		row.lost[k] = sim_lost(s, k);
	row.idle = sim_idle(s, 1, o->seconds) / (o->seconds - 1) / 1e7;
	sim_free(s);
	return row;
}

static void print_table(const struct options *o)
{
	static const enum sim_way ways[] = { SIM_FEEDBACK, SIM_QUOTA, SIM_TURNS };
	unsigned int count = o->quick ? 3 : sizeof(cases) / sizeof(*cases);

	if (o->json)
		printf("{\"simulated\": true, \"window_s\": 1, \"seconds\": %g, \"seed\": %lu, \"rows\": [", o->seconds,
		       (unsigned long)o->seed);
	else
		printf("Error of the share over all windows of 1 s, in percentage points, of the tenant that fares "
		       "worst:\n"
		       "mean / maximum (in the long run). Simulated, %g s each, seed %lu.\n\n"
		       "| tenants | kernel | target | feedback on block tokens | quota of a 10 s window | turns |\n"
		       "|---|---|---|---|---|---|\n",
		       o->seconds, (unsigned long)o->seed);
	for (unsigned int n = 0; n < count; n++) {
		if (!o->json)
			printf("| %s | %g ms | %g %% |", cases[n].what, cases[n].kernel_ms, cases[n].pct[0]);
		for (unsigned int w = 0; w < 3; w++) {
			struct row r = measure(o, n, ways[w]);

			if (o->json)
				printf("%s\n{\"tenants\": \"%s\", \"kernel_ms\": %g, \"target_pct\": %g, \"way\": "
				       "\"%s\", "
				       "\"mean\": %.3f, \"max\": %.3f, \"bias\": %.3f, \"idle_pct\": %.2f}",
				       n || w ? "," : "", cases[n].what, cases[n].kernel_ms, cases[n].pct[0],
				       way_names[ways[w]], r.mean, r.max, r.bias, r.idle);
			else
				printf(" %.2f / %.2f (%+.2f) |", r.mean, r.max, r.bias);
		}
		if (!o->json)
			printf("\n");
	}
	if (o->json)
		printf("\n],\n");
}

/* Where the time goes that nobody has, of the rows whose targets fill the device. */
static void print_lost(const struct options *o)
{
	printf("\nOf the device's time under turns, in percent: what nobody has, by cause (sim.h), and how far each "
	       "tenant is off.\n\n"
	       "| tenants | kernel | used | switch | inside | end | closed | first | off |\n"
	       "|---|---|---|---|---|---|---|---|---|\n");
	for (unsigned int n = 0; n < sizeof(cases) / sizeof(*cases); n++) {
		double used = 100;
		struct row r;

		if (cases[n].pct[1] <= 0)
			continue;
		r = measure(o, n, SIM_TURNS);
		for (int k = 0; k < SIM_LOST_KINDS; k++)
			used -= r.lost[k];
		printf("| %s | %g ms | %.2f |", cases[n].what, cases[n].kernel_ms, used);
		for (int k = 0; k < SIM_LOST_KINDS; k++)
			printf(" %.2f |", r.lost[k]);
		for (int i = 0; i < 9 && cases[n].pct[i] > 0; i++)
			printf("%s%+.2f", i ? "/" : " ", r.bias_of[i]);
		printf(" |\n");
	}
}

/* How fast the simulator is: 8 tenants with kernels of 5 ms. */
static void print_speed(const struct options *o)
{
	unsigned int n = 0;
	double seconds;

	while (strcmp(cases[n].what, "30 and 70") || cases[n].kernel_ms < 5)
		n++;
	clock_t from = clock();
	measure(o, n, SIM_TURNS);
	seconds = (double)(clock() - from) / CLOCKS_PER_SEC;
	if (o->json)
		printf("\"simulated_s_per_cpu_s\": %.0f}\n", o->seconds / seconds);
	else
		printf("\nTwo tenants with kernels of 5 ms: %.0f simulated seconds per second of CPU.\n",
		       o->seconds / seconds);
}

int main(int argc, char **argv)
{
	struct options o = { .seconds = 60, .seed = 1 };

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--json")) {
			o.json = true;
		} else if (!strcmp(argv[i], "--quick")) {
			o.quick = true;
		} else if (!strcmp(argv[i], "--seconds") && i + 1 < argc) {
			o.seconds = atof(argv[++i]);
		} else if (!strcmp(argv[i], "--seed") && i + 1 < argc) {
			o.seed = strtoull(argv[++i], NULL, 0);
		} else {
			fprintf(stderr, "usage: share-sim [--seconds N] [--seed N] [--json] [--quick]\n");
			return 2;
		}
	}
	if (!(o.seconds >= 3 && o.seconds <= 36000)) {
		fprintf(stderr, "share-sim: --seconds takes 3 to 36000\n");
		return 2;
	}
	print_table(&o);
	if (!o.json && !o.quick)
		print_lost(&o);
	print_speed(&o);
	return 0;
}
