/* demangle.c: see demangle.h. Substitutions are remembered as texts, in the order in which the scheme numbers them. */
#include "softdev/demangle.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 512u
#define SEEN_MOST 32u
#define DEPTH_MOST 16u

struct text {
	size_t n;
	char t[TEXT_BYTES];
};

struct state {
	const char *p;
	bool failed;
	unsigned depth;
	unsigned seen_count, argument_count;
	unsigned argument_base; /* arguments of templates within arguments are put here */
	bool named;		/* the function's own template is over: T_ are its arguments from now on */
	struct text seen[SEEN_MOST];
	struct text argument[SEEN_MOST]; /* the first argument_count: for T_ */
};

static void add(struct text *t, const char *s, size_t n)
{
	if (n > TEXT_BYTES - 1 - t->n)
		n = TEXT_BYTES - 1 - t->n;
	memcpy(t->t + t->n, s, n);
	t->n += n;
	t->t[t->n] = 0;
}

static void adds(struct text *t, const char *s)
{
	add(t, s, strlen(s));
}

static void remember(struct state *s, const struct text *t)
{
	if (s->seen_count < SEEN_MOST)
		s->seen[s->seen_count++] = *t;
	else
		s->failed = true;
}

static bool take(struct state *s, char c)
{
	if (*s->p != c)
		return false;
	s->p++;
	return true;
}

static void type(struct state *s, struct text *to);

static void source_name(struct state *s, struct text *to)
{
	char *end;
	const unsigned long n = strtoul(s->p, &end, 10);

	if (!isdigit((unsigned char)*s->p) || n > strlen(end)) {
		s->failed = true;
		return;
	}
	if (n >= 10 && !memcmp(end, "_GLOBAL__N", 10))
		adds(to, "(anonymous namespace)");
	else
		add(to, end, n);
	s->p = end + n;
}

/* S_, S0_, ...; St is std:: */
static void substitution(struct state *s, struct text *to)
{
	unsigned i = 0;

	if (take(s, 't')) {
		adds(to, "std::");
		source_name(s, to);
		remember(s, to);
		return;
	}
	if (*s->p != '_') {
		for (; isdigit((unsigned char)*s->p) || isupper((unsigned char)*s->p); s->p++)
			i = i * 36 + (unsigned)(isdigit((unsigned char)*s->p) ? *s->p - '0' : *s->p - 'A' + 10);
		i++;
	}
	if (!take(s, '_') || i >= s->seen_count)
		s->failed = true;
	else
		add(to, s->seen[i].t, s->seen[i].n);
}

/* T_, T0_ */
static void template_parameter(struct state *s, struct text *to)
{
	unsigned i = 0;

	if (isdigit((unsigned char)*s->p))
		i = (unsigned)(*s->p++ - '0') + 1;
	if (!take(s, '_') || i >= s->argument_count)
		s->failed = true;
	else
		add(to, s->argument[i].t, s->argument[i].n);
}

static bool name(struct state *s, struct text *to, bool is_type);

/* Li4E, Lb1E, and L4kind1E for an enumeration */
static void literal(struct state *s, struct text *to)
{
	const char kind = *s->p;

	if (isdigit((unsigned char)kind) || kind == 'N' || kind == 'S') {
		adds(to, "(");
		name(s, to, true);
		adds(to, ")");
	} else if (kind) {
		s->p++;
	}
	if (kind == 'b')
		adds(to, take(s, '1') ? "true" : take(s, '0') ? "false" : "?");
	else if (!kind || !strchr("ijlmxyscahtnNS0123456789", kind))
		s->failed = true;
	else if (take(s, 'n'))
		adds(to, "-");
	while (isdigit((unsigned char)*s->p))
		add(to, s->p++, 1);
	adds(to, kind == 'j' ? "u" : kind == 'm' ? "ul" : kind == 'l' ? "l" : "");
	s->failed |= !take(s, 'E');
}

static void argument(struct state *s, struct text *to)
{
	if (take(s, 'L')) {
		literal(s, to);
	} else if (take(s, 'J')) {
		for (bool first = true; !s->failed && !take(s, 'E'); first = false) {
			adds(to, first ? "" : ", ");
			argument(s, to);
		}
	} else {
		type(s, to);
	}
}

static void arguments(struct state *s, struct text *to)
{
	const unsigned base = s->argument_base;
	unsigned count = 0;

	adds(to, "<");
	while (!s->failed && !take(s, 'E')) {
		struct text one = { 0 };

		s->argument_base = base + count;
		argument(s, &one);
		adds(to, count && one.n ? ", " : "");
		add(to, one.t, one.n);
		if (base + count < SEEN_MOST)
			s->argument[base + count++] = one;
		else
			s->failed = true;
	}
	adds(to, ">");
	s->argument_base = base;
	if (!s->named)
		s->argument_count = count;
}

/* Value: whether the name has template arguments (then a function's mangling begins with its result). */
static bool name(struct state *s, struct text *to, bool is_type)
{
	bool template = false, nested = take(s, 'N');

	if (nested)
		while (*s->p && strchr("KVr", *s->p))
			s->p++;
	for (bool first = true; !s->failed; first = false) {
		if (nested && take(s, 'E'))
			break;
		if (take(s, 'I')) {
			arguments(s, to);
			template = true;
			if (is_type || (nested && *s->p != 'E'))
				remember(s, to);
		} else if (take(s, 'S')) {
			substitution(s, to);
		} else {
			take(s, 'L'); /* of internal linkage */
			if (!first)
				adds(to, "::");
			source_name(s, to);
			template = false;
			if (nested ? *s->p != 'E' || is_type : is_type || *s->p == 'I')
				remember(s, to);
		}
		if (!nested && *s->p != 'I')
			break;
	}
	return template;
}

static void qualified(struct state *s, struct text *to, const char *behind)
{
	type(s, to);
	adds(to, behind);
	remember(s, to);
}

/* Behind PF: result and parameters of a function that is pointed to. */
static void function_pointer(struct state *s, struct text *to)
{
	type(s, to);
	adds(to, " (*)(");
	for (unsigned i = 0; !s->failed && !take(s, 'E'); i++) {
		struct text one = { 0 };

		type(s, &one);
		adds(to, i ? ", " : "");
		if (i || strcmp(one.t, "void"))
			add(to, one.t, one.n);
	}
	adds(to, ")");
	remember(s, to); /* stands for the function's type, which nobody repeats without the pointer */
	remember(s, to);
}

static void type(struct state *s, struct text *to)
{
	static const char *const builtin[128] = {
		['v'] = "void",		 ['b'] = "bool",	  ['c'] = "char",     ['a'] = "signed char",
		['h'] = "unsigned char", ['s'] = "short",	  ['t'] = "unsigned short", ['i'] = "int",
		['j'] = "unsigned int",	 ['l'] = "long",	  ['m'] = "unsigned long",  ['x'] = "long long",
		['f'] = "float",	 ['d'] = "double",	  ['e'] = "long double",    ['w'] = "wchar_t",
		['z'] = "...",		 ['y'] = "unsigned long long",
	};
	const unsigned char c = (unsigned char)*s->p;
	struct text own = { 0 };

	if (s->failed || ++s->depth > DEPTH_MOST) {
		s->failed = true;
		return;
	}
	if (c < 128 && builtin[c]) {
		s->p++;
		adds(to, builtin[c]);
	} else if (c == 'P' && s->p[1] == 'F') {
		s->p += 2;
		function_pointer(s, &own);
	} else if (take(s, 'P')) {
		qualified(s, &own, "*");
	} else if (take(s, 'R')) {
		qualified(s, &own, "&");
	} else if (c == 'D' && s->p[1] == 'p') { /* what a pack stands for is one text already */
		s->p += 2;
		type(s, &own);
	} else if (take(s, 'O')) {
		qualified(s, &own, "&&");
	} else if (c == 'r' || c == 'V' || c == 'K') {
		const bool restricted = take(s, 'r'), is_volatile = take(s, 'V'), constant = take(s, 'K');

		type(s, &own);
		adds(&own, constant ? " const" : "");
		adds(&own, is_volatile ? " volatile" : "");
		adds(&own, restricted ? " __restrict__" : "");
		remember(s, &own); /* one for all of them */
	} else if (take(s, 'T')) {
		template_parameter(s, &own);
		remember(s, &own);
	} else if (isdigit(c) || c == 'N' || c == 'S') {
		name(s, &own, true);
	} else {
		s->failed = true;
	}
	add(to, own.t, own.n);
	s->depth--;
}

bool demangle(const char *mangled, char *ret, size_t room)
{
	struct state *s = calloc(1, sizeof(*s));
	struct text whole = { 0 }, result = { 0 };
	bool good;

	if (!s || strncmp(mangled, "_Z", 2)) {
		free(s);
		return false;
	}
	s->p = mangled + 2;
	if (name(s, &whole, false))
		type(s, &result);
	s->named = true;
	s->argument_base = s->argument_count;
	adds(&whole, "(");
	for (unsigned i = 0; *s->p && !s->failed; i++) {
		struct text one = { 0 };

		type(s, &one);
		if (!strcmp(one.t, "void") && !i && !*s->p)
			break;
		if (i)
			adds(&whole, ", ");
		add(&whole, one.t, one.n);
	}
	adds(&whole, ")");
	good = !s->failed;
	if (good)
		snprintf(ret, room, "%s", whole.t);
	free(s);
	return good;
}
