/* pack.c: see pack.h. */
#include "core/pack.h"

static bool is_set(const uint64_t *bits, uint32_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

static void set(uint64_t *bits, uint32_t from, uint32_t count, bool to)
{
	while (count) {
		uint32_t at = from % 64, n = 64 - at < count ? 64 - at : count;
		uint64_t mask = (n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1) << at;

		if (to)
			bits[from / 64] |= mask;
		else
			bits[from / 64] &= ~mask;
		from += n;
		count -= n;
	}
}

/* The first unit from `i` on that is taken, or is not; p->units: none. */
static uint32_t next(const struct pack *p, uint32_t i, bool taken)
{
	while (i < p->units) {
		uint64_t word = (taken ? p->taken[i / 64] : ~p->taken[i / 64]) >> i % 64;

		if (word) {
			i += (uint32_t)__builtin_ctzll(word);
			return i < p->units ? i : p->units;
		}
		i = (i / 64 + 1) * 64;
	}
	return p->units;
}

uint32_t pack_take(struct pack *p, uint32_t units)
{
	uint32_t at = next(p, p->hint, false), end;

	if (units > p->units - p->used)
		return PACK_NONE;
	p->hint = at;
	for (; at < p->units; at = next(p, end, false)) {
		end = next(p, at, true);
		if (end - at < units)
			continue;
		set(p->taken, at, units, true);
		set(p->begins, at, 1, true);
		p->used += units;
		return at;
	}
	return PACK_NONE;
}

void pack_give(struct pack *p, uint32_t at, uint32_t units)
{
	set(p->taken, at, units, false);
	set(p->begins, at, 1, false);
	p->used -= units;
	if (at < p->hint)
		p->hint = at;
}

void pack_end_at(struct pack *p, uint32_t units)
{
	p->units = units;
	if (p->hint > units)
		p->hint = units;
}

uint32_t pack_tail(const struct pack *p)
{
	uint32_t i = p->units;

	while (i && !(p->taken[(i - 1) / 64] << (63 - (i - 1) % 64)))
		i = (i - 1) / 64 * 64;
	return p->units - (i ? i - (uint32_t)__builtin_clzll(p->taken[(i - 1) / 64] << (63 - (i - 1) % 64)) : 0);
}

uint32_t pack_find(const struct pack *p, uint32_t unit)
{
	uint64_t word;
	uint32_t i = unit / 64;

	if (unit >= p->units || !is_set(p->taken, unit))
		return PACK_NONE;
	word = p->begins[i] & (UINT64_MAX >> (63 - unit % 64));
	while (!word && i)
		word = p->begins[--i];
	return word ? i * 64 + 63 - (uint32_t)__builtin_clzll(word) : PACK_NONE;
}
