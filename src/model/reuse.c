/* reuse.c: see reuse.h. */
#include "model/reuse.h"

#include <stddef.h>
#include <string.h>

static uint64_t size(const struct reuse_kind *k)
{
	return (k->bytes + REUSE_UNIT_BYTES - 1) / REUSE_UNIT_BYTES * REUSE_UNIT_BYTES;
}

static bool same_stream(const struct reuse_kind *a, const struct reuse_kind *b)
{
	return a->device == b->device && a->pool == b->pool && a->context == b->context && a->stream == b->stream;
}

static bool same(const struct reuse_kind *a, const struct reuse_kind *b)
{
	return a->bytes == b->bytes && same_stream(a, b);
}

static void less(uint64_t *from, uint64_t bytes)
{
	*from -= *from < bytes ? *from : bytes;
}

static struct reuse_pool *pool_find(struct reuse *r, const struct reuse_kind *k)
{
	for (uint32_t i = 0; i < r->pool_count; i++)
		if (r->pools[i].device == k->device && r->pools[i].pool == k->pool)
			return &r->pools[i];
	return NULL;
}

static struct reuse_pool *pool_get(struct reuse *r, const struct reuse_kind *k)
{
	struct reuse_pool *p = pool_find(r, k);

	if (p || r->pool_count == REUSE_POOLS)
		return p;
	p = &r->pools[r->pool_count++];
	*p = (struct reuse_pool){ .device = k->device, .pool = k->pool };
	return p;
}

static struct reuse_block block_remove(struct reuse *r, uint32_t i)
{
	struct reuse_block b = r->blocks[i];
	struct reuse_pool *p = pool_find(r, &b.kind);

	memmove(&r->blocks[i], &r->blocks[i + 1], (--r->count - i) * sizeof b);
	if (p)
		less(&p->kept, size(&b.kind));
	return b;
}

static void block_add(struct reuse *r, struct reuse_pool *p, const struct reuse_block *b)
{
	r->blocks[r->count++] = *b;
	p->kept += size(&b->kind);
}

/* ---- wishes ---- */

static struct reuse_wish *wish_find(struct reuse *r, const struct reuse_kind *k, bool met)
{
	for (struct reuse_wish *w = r->wishes; w < r->wishes + REUSE_WISHES; w++)
		if (w->periods && w->met == met && same(&w->kind, k))
			return w;
	return NULL;
}

/* It went to the pool at the end of a period. */
static void wish_note(struct reuse *r, const struct reuse_block *b)
{
	struct reuse_wish *w = wish_find(r, &b->kind, true);

	if (!b->used) {
		if (w)
			*w = (struct reuse_wish){ 0 };
		return;
	}
	if (!w) {
		w = &r->wishes[r->next_wish++ % REUSE_WISHES];
		*w = (struct reuse_wish){ .kind = b->kind };
	}
	w->periods++;
	w->met = false;
}

/* ---- what the program does ---- */

bool reuse_free(struct reuse *r, const struct reuse_kind *kind, uint64_t at)
{
	struct reuse_pool *p = pool_find(r, kind);

	if (!p)
		return false;
	less(&p->live, size(kind));
	if (r->count + r->coming >= REUSE_BLOCKS)
		return false;
	block_add(r, p, &(struct reuse_block){ *kind, at, true });
	return true;
}

void reuse_gone(struct reuse *r, const struct reuse_kind *kind)
{
	struct reuse_pool *p = pool_find(r, kind);

	if (p)
		less(&p->live, size(kind));
}

static void live_more(struct reuse_pool *p, const struct reuse_kind *kind)
{
	p->live += size(kind);
	if (p->high < p->live)
		p->high = p->live;
}

uint64_t reuse_take(struct reuse *r, const struct reuse_kind *kind)
{
	for (uint32_t i = r->count; i--;)
		if (same(&r->blocks[i].kind, kind)) {
			struct reuse_pool *p = pool_find(r, kind);

			if (p)
				live_more(p, kind);
			return block_remove(r, i).at;
		}
	return 0;
}

bool reuse_ask(struct reuse *r, const struct reuse_kind *kind)
{
	struct reuse_pool *p = pool_get(r, kind);

	if (p)
		p->asked += size(kind);
	return p;
}

void reuse_answered(struct reuse *r, const struct reuse_kind *kind, bool good)
{
	struct reuse_pool *p = pool_find(r, kind);

	if (!p)
		return;
	less(&p->asked, size(kind));
	if (good)
		live_more(p, kind);
}

/* What may be held: no more than ever was, or than the program would have with what it asks for. */
static uint64_t most_of(const struct reuse_pool *p, const struct reuse_kind *kind)
{
	uint64_t wanted = p->live + size(kind);

	return p->high > wanted ? p->high : wanted;
}

bool reuse_excess(struct reuse *r, const struct reuse_kind *kind, struct reuse_block *ret)
{
	struct reuse_pool *p = pool_find(r, kind);

	if (!p || p->live + p->kept + p->asked <= most_of(p, kind))
		return false;
	for (uint32_t i = 0; i < r->count; i++)
		if (pool_find(r, &r->blocks[i].kind) == p) {
			*ret = block_remove(r, i);
			return true;
		}
	return false;
}

static bool has_room(const struct reuse *r, const struct reuse_pool *p, const struct reuse_kind *own,
		     const struct reuse_kind *more)
{
	return r->count + r->coming < REUSE_BLOCKS && p->live + p->kept + p->asked + size(more) <= most_of(p, own);
}

unsigned int reuse_foresee(struct reuse *r, const struct reuse_kind *kind, struct reuse_kind *ret, unsigned int most)
{
	struct reuse_pool *p = pool_find(r, kind);
	struct reuse_wish *own = wish_find(r, kind, false);
	unsigned int count = 0;

	if (!p || !own)
		return 0;
	own->met = true;
	if (own->periods < 2 || p->doubted)
		return 0;
	for (struct reuse_wish *w = r->wishes; w < r->wishes + REUSE_WISHES && count < most; w++) {
		if (w->periods < 2 || w->met || !same_stream(&w->kind, kind) || !has_room(r, p, kind, &w->kind))
			continue;
		w->met = true;
		p->asked += size(&w->kind);
		r->coming++;
		ret[count++] = w->kind;
	}
	return count;
}

bool reuse_arrived(struct reuse *r, const struct reuse_kind *kind, uint64_t at)
{
	struct reuse_pool *p = pool_find(r, kind);

	if (r->coming)
		r->coming--;
	if (p)
		less(&p->asked, size(kind));
	if (!at)
		return true;
	if (!p || r->count == REUSE_BLOCKS)
		return false;
	block_add(r, p, &(struct reuse_block){ *kind, at, false });
	return true;
}

/* ---- what goes to the pool ---- */

bool reuse_pop(struct reuse *r, bool looks, struct reuse_block *ret)
{
	struct reuse_pool *p;

	if (!r->count)
		return false;
	*ret = block_remove(r, 0);
	wish_note(r, ret);
	p = pool_find(r, &ret->kind);
	if (p && looks && !ret->used)
		p->doubted = true;
	return true;
}

bool reuse_has(const struct reuse *r, uint64_t at)
{
	for (uint32_t i = 0; i < r->count; i++)
		if (at - r->blocks[i].at < r->blocks[i].kind.bytes)
			return true;
	return false;
}

void reuse_mark(struct reuse *r)
{
	for (uint32_t i = 0; i < r->pool_count; i++)
		r->pools[i].high = r->pools[i].live;
}

void reuse_forget(struct reuse *r)
{
	memset(r, 0, sizeof *r);
}
