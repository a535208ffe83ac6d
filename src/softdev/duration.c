/* duration.c: see duration.h. */
#include "softdev/duration.h"

#include "softdev/demangle.h"
#include "softdev/log.h"
#include "softdev/span.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define RULES_MOST 64u
#define REFERENCE_RATE 96e9	  /* warp instructions per second: 16 x 4 x 1.5 GHz */
#define REFERENCE_BANDWIDTH 500e9 /* bytes per second */
#define LATENCY_NS 3000.0
#define SECTOR_BYTES 32.0
#define LONGEST_NS 3600e9

/* Written once, inside cuInit. */
static struct rule {
	char pattern[128];
	uint64_t ns;
} rules[RULES_MOST];
static unsigned rule_count;
static double rate, bandwidth; /* 0: none */
static double copy_rate;

static CUresult bad(const char *name, const char *text, const char *remedy)
{
	log_line("%s=%s: %s", name, text, remedy);
	return CUDA_ERROR_INVALID_VALUE;
}

static bool rule_parse(const char *text, size_t n)
{
	const char *equals = memchr(text, '=', n);
	size_t name = equals ? (size_t)(equals - text) : 0;
	struct rule *r = &rules[rule_count];

	if (!name || name >= sizeof(r->pattern) || rule_count == RULES_MOST)
		return false;
	memcpy(r->pattern, text, name);
	r->pattern[name] = 0;
	if (span_parse(equals + 1, n - name - 1, &r->ns))
		return false;
	rule_count++;
	return true;
}

static CUresult rules_read(const char *text)
{
	const char *at = text;

	rule_count = 0;
	while (at && *at) {
		size_t n = strcspn(at, ",");

		if (!rule_parse(at, n))
			return bad("METE_SOFT_DURATION", text,
				   "give at most 64 names or patterns with times, such as scale=5ms,tiny*=200us,*=1ms");
		at += n;
		at += *at == ',';
	}
	return CUDA_SUCCESS;
}

CUresult duration_read(void)
{
	const char *text = getenv("METE_SOFT_RATE"), *time = getenv("METE_SOFT_TIME");
	CUresult e;

	rate = copy_rate = 0;
	rule_count = 0;
	if (time && !strcmp(time, "off"))
		return CUDA_SUCCESS;
	if (text && !strcmp(text, "reference"))
		rate = REFERENCE_RATE;
	else if (text && text[0] && rate_parse(text, &rate))
		return bad("METE_SOFT_RATE", text, "give warp instructions per second, such as 96G, or reference");
	bandwidth = rate * (REFERENCE_BANDWIDTH / REFERENCE_RATE);
	e = rules_read(getenv("METE_SOFT_DURATION"));
	text = getenv("METE_SOFT_COPY_RATE");
	if (!e && text && text[0] && rate_parse(text, &copy_rate))
		e = bad("METE_SOFT_COPY_RATE", text, "give bytes per second, such as 12G");
	return e;
}

/* A kernel goes by its symbol, and by its name as people wrote it, without parameters. */
static uint64_t rule_find(const char *symbol)
{
	char name[512] = "";

	if (demangle(symbol, name, sizeof(name)))
		name[strcspn(name, "(<")] = 0;
	for (unsigned i = 0; i < rule_count; i++)
		if (!fnmatch(rules[i].pattern, symbol, 0) || (name[0] && !fnmatch(rules[i].pattern, name, 0)))
			return rules[i].ns;
	return DURATION_OPEN;
}

uint64_t duration_declared(struct function *f)
{
	uint64_t known;

	if (!rule_count)
		return DURATION_OPEN;
	known = atomic_load_explicit(&f->declared, memory_order_relaxed);
	if (!known) {
		uint64_t ns = rule_find(f->kernel->name);

		known = ns == DURATION_OPEN ? ns : ns + 1;
		atomic_store_explicit(&f->declared, known, memory_order_relaxed);
	}
	return known == DURATION_OPEN ? known : known - 1;
}

/* The part of the multiprocessors that have a block of it. */
static double spread(const struct ptx_launch *l)
{
	double blocks = (double)l->grid[0] * l->grid[1] * l->grid[2];

	return blocks < l->sm_count ? blocks / l->sm_count : 1;
}

uint64_t duration_executed(const struct ptx_launch *l)
{
	double issue, memory, ns;

	if (rate <= 0)
		return DURATION_OPEN;
	issue = (double)l->stats.warp_instructions / (rate * spread(l)) * 1e9;
	memory = (double)l->stats.sectors * SECTOR_BYTES / bandwidth * 1e9;
	ns = LATENCY_NS + (issue > memory ? issue : memory);
	return ns < LONGEST_NS ? (uint64_t)ns : (uint64_t)LONGEST_NS;
}

uint32_t duration_demand(const struct ptx_launch *l)
{
	uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2], room = l->sm_count;

	if (rate <= 0)
		room *= (uint64_t)function_blocks_per_sm(l->kernel, l->block[0] * l->block[1] * l->block[2],
							 l->shared_bytes);
	if (!room || blocks >= room)
		return TIMELINE_WHOLE;
	return (uint32_t)((blocks * TIMELINE_WHOLE + room - 1) / room);
}

uint64_t duration_copy(uint64_t bytes)
{
	return copy_rate > 0 ? (uint64_t)((double)bytes / copy_rate * 1e9) : 0;
}
