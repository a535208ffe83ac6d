/* chatter.c: see chatter.h. */
#include "model/chatter.h"

#include <stddef.h>
#include <string.h>

static bool over(const struct chatter_entry *e, const struct chatter_rule *rule, uint64_t now_ns)
{
	return e->since_ns && now_ns - e->since_ns >= rule->window_ns;
}

static void begin(struct chatter_entry *e, uint64_t now_ns)
{
	e->since_ns = now_ns ? now_ns : 1;
	e->lines = 0;
	e->hidden = 0;
}

/* The source's entry, or one that nobody needs any more; NULL: all are in use. */
static struct chatter_entry *entry_of(struct chatter *c, const struct chatter_rule *rule,
				      const struct unproven_source *source, uint64_t now_ns)
{
	struct chatter_entry *unused = NULL;

	for (unsigned int i = 0; i < CHATTER_SOURCES; i++) {
		struct chatter_entry *e = &c->entry[i];

		if (e->since_ns && unproven_same(&e->source, source))
			return e;
		if (!e->since_ns || (over(e, rule, now_ns) && !e->hidden))
			unused = e;
	}
	if (unused) {
		unused->source = *source;
		begin(unused, now_ns);
	}
	return unused;
}

bool chatter_may(struct chatter *c, const struct chatter_rule *rule, const struct unproven_source *source,
		 const char *name, uint64_t now_ns)
{
	struct chatter_entry *e = entry_of(c, rule, source, now_ns);

	if (e && over(e, rule, now_ns) && !e->hidden)
		begin(e, now_ns);
	if (!c->all.since_ns || (over(&c->all, rule, now_ns) && !c->all.hidden))
		begin(&c->all, now_ns);
	if (e && e->lines >= rule->lines) {
		e->hidden++;
		return false;
	}
	if (!e || c->all.lines >= rule->all) {
		c->all.hidden++;
		return false;
	}
	strncpy(e->name, name, sizeof(e->name) - 1);
	e->lines++;
	c->all.lines++;
	return true;
}

bool chatter_held(struct chatter *c, const struct chatter_rule *rule, uint64_t now_ns,
		  char ret_name[CHATTER_NAME_BYTES], uint64_t *ret_hidden)
{
	for (unsigned int i = 0; i <= CHATTER_SOURCES; i++) {
		struct chatter_entry *e = i < CHATTER_SOURCES ? &c->entry[i] : &c->all;

		if (!e->hidden || !over(e, rule, now_ns))
			continue;
		memcpy(ret_name, e->name, CHATTER_NAME_BYTES);
		*ret_hidden = e->hidden;
		e->hidden = 0;
		e->since_ns = 0;
		e->lines = 0;
		return true;
	}
	return false;
}
