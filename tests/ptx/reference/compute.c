/*
 * compute.c: opcodes cut into words, and the integer, bit and selection instructions. See compute.h.
 */
#include "compute.h"

#include <stdlib.h>
#include <string.h>

bool ref_type_parse(const char *word, struct ref_type *ret)
{
	const char *digits = word + 1, *end;
	struct ref_type t = { word[0], 0, 1 };

	if (!strcmp(word, "pred")) {
		*ret = (struct ref_type){ 'p', 1, 1 };
		return true;
	}
	/* pairs of floats of 4 to 8 bits, each in 8 bits (4 for e2m1) */
	for (int i = 0; i < 5; i++)
		if (!strcmp(word, (const char *[]){ "e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2", "e2m1x2" }[i])) {
			*ret = (struct ref_type){ (char)('1' + i), i == 4 ? 4 : 8, 2 };
			return true;
		}
	if (!strncmp(word, "bf", 2)) {
		t.kind = 'B';
		digits = word + 2;
	} else if (!strncmp(word, "tf", 2)) {
		t.kind = 't';
		digits = word + 2;
	} else if (!strchr("usbf", word[0]) || !word[0]) {
		return false;
	}
	t.bits = (int)strtol(digits, (char **)&end, 10);
	if (t.kind == 't' && t.bits == 32 && !*end) {
		*ret = t;
		return true;
	}
	if (!strcmp(end, "x2"))
		t.lanes = 2;
	else if (!strcmp(end, "x4") && t.bits == 8)
		t.lanes = 4;
	else if (*end)
		return false;
	if ((t.bits == 2 || t.bits == 4) && (t.kind == 'u' || t.kind == 's') && t.lanes == 1) {
		*ret = t;
		return true;
	}
	if (t.bits != 8 && t.bits != 16 && t.bits != 32 && t.bits != 64 && t.bits != 128)
		return false;
	*ret = t;
	return true;
}

void ref_op_parse(const char *opcode, struct ref_op *ret)
{
	struct ref_type t;

	*ret = (struct ref_op){ 0 };
	for (const char *p = opcode; *p && ret->words < REF_WORDS; ret->words++) {
		const size_t n = strcspn(p, ".");

		memcpy(ret->word[ret->words], p, n < 23 ? n : 23);
		p += n + (p[n] == '.');
		if (ret->words && ret->types < REF_TYPES && ref_type_parse(ret->word[ret->words], &t))
			ret->type[ret->types++] = t;
	}
}

bool ref_has(const struct ref_op *op, const char *word)
{
	for (int i = 1; i < op->words; i++)
		if (!strcmp(op->word[i], word))
			return true;
	return false;
}

static bool is(const struct ref_op *op, const char *name)
{
	return !strcmp(op->word[0], name);
}

static swide saturated(const struct ref_type *t, swide v)
{
	const swide least = t->kind == 's' ? -((swide)1 << (t->bits - 1)) : 0;
	const swide most = t->kind == 's' ? ((swide)1 << (t->bits - 1)) - 1 : ((swide)1 << t->bits) - 1;

	return v < least ? least : v > most ? most : v;
}

/* Both halves of a pair, or all four bytes, each as the same instruction on one element. */
static enum ref_answer each_half(const struct ref_op *op, const wide *src, int count, struct ref_result *ret)
{
	struct ref_result part[4] = { 0 };
	struct ref_op one = *op;
	const int bits = op->type[op->types - 1].bits, lanes = op->type[op->types - 1].lanes == 4 ? 4 : 2;
	wide half[4];

	for (int k = 0; k < lanes; k++) {
		for (int i = 0; i < one.types; i++) {
			one.type[i].lanes = 1;
			if (one.type[i].bits > bits) /* set.lt.u32.f16x2: half of the result */
				one.type[i].bits = bits;
		}
		for (int i = 0; i < count && i < 4; i++)
			half[i] = src[i] >> k * bits & ref_mask(bits);
		enum ref_answer r = ref_compute(&one, half, count, NULL, &part[k]);

		if (r != REF_DONE)
			return r;
	}
	for (int k = 0; k < lanes; k++)
		ret->d |= part[k].d << k * bits;
	ret->is_float = part[0].is_float;
	ret->approximate = part[0].approximate; /* compared half by half, see ref_same() */
	ret->relative = part[0].relative;
	ret->absolute = part[0].absolute;
	return REF_DONE;
}

/* add, sub, mad and the like with the carry flag. */
static enum ref_answer with_carry(const struct ref_op *op, const wide *src, bool *carry, struct ref_result *ret)
{
	const struct ref_type *t = &op->type[0];
	const char *name = op->word[0];
	const bool in = name[strlen(name) - 1] == 'c' && *carry, out = ref_has(op, "cc");
	const wide mask = ref_mask(t->bits), a = src[0] & mask, b = src[1] & mask;
	wide sum;

	if (!strncmp(name, "add", 3)) {
		sum = a + b + in;
	} else if (!strncmp(name, "sub", 3)) {
		sum = a - b - in; /* a borrow is a carry */
	} else {
		wide product = (wide)ref_int(t, a) * (wide)ref_int(t, b);

		if (ref_has(op, "hi"))
			product >>= t->bits;
		sum = (product & mask) + (src[2] & mask) + in;
	}
	ret->d = sum & mask;
	if (out)
		*carry = sum >> t->bits & 1;
	return REF_DONE;
}

/* clmad: a product whose bits are added without carries. */
static wide without_carries(const struct ref_op *op, const wide *src)
{
	wide product[2] = { 0 };

	for (int i = 0; i < 64; i++)
		for (int j = 0; j < 64; j++)
			if (src[0] >> i & 1 && src[1] >> j & 1)
				product[(i + j) / 64] ^= (wide)1 << (i + j) % 64;
	return (product[ref_has(op, "hi")] ^ src[2]) & ref_mask(64);
}

/* The product of mul, mad, mul24, mad24: its .lo, .hi or .wide part. */
static swide product_part(const struct ref_op *op, wide x, wide y)
{
	struct ref_type t = op->type[0];
	const bool is24 = strstr(op->word[0], "24") != NULL;
	swide p;

	if (is24)
		t.bits = 24;
	/* 64 x 64 unsigned bits need all 128 of an unsigned product: shift as unsigned */
	if (t.bits == 64 && t.kind != 's') {
		wide w = (x & ref_mask(64)) * (y & ref_mask(64));

		return (swide)(ref_has(op, "hi") ? w >> 64 : w);
	}
	p = ref_int(&t, x) * ref_int(&t, y);
	if (!ref_has(op, "hi"))
		return p;
	return is24 ? p >> 16 : p >> t.bits;
}

static wide product(const struct ref_op *op, const wide *src, bool add)
{
	struct ref_type to = op->type[0];
	swide r = product_part(op, src[0], src[1]);

	if (ref_has(op, "wide"))
		to.bits *= 2;
	if (add && ref_has(op, "sat"))
		return (wide)saturated(&to, r + ref_int(&to, src[2])) & ref_mask(to.bits);
	if (add)
		r = (swide)((wide)r + src[2]);
	return (wide)r & ref_mask(to.bits);
}

static enum ref_answer divide(const struct ref_op *op, const wide *src, struct ref_result *ret)
{
	const struct ref_type *t = &op->type[0];
	const swide a = ref_int(t, src[0]), b = ref_int(t, src[1]);

	/* The language leaves division by zero to the machine: all ones, and the dividend as the remainder. */
	if (is(op, "div"))
		ret->d = (wide)(b ? a / b : -1);
	else
		ret->d = (wide)(b ? a % b : a);
	ret->d &= ref_mask(t->bits);
	return REF_DONE;
}

static int bit(wide v, int i)
{
	return (int)(v >> i & 1);
}

static wide shifted(const struct ref_op *op, wide v, uint32_t by)
{
	const struct ref_type *t = &op->type[0];
	const int n = t->bits;
	wide r = 0;

	for (int i = 0; i < n; i++) {
		const int64_t from = is(op, "shl") ? i - (int64_t)by : i + (int64_t)by;
		int b = 0;

		if (from >= 0 && from < n)
			b = bit(v, (int)from);
		else if (from >= n && t->kind == 's')
			b = bit(v, n - 1);
		r |= (wide)b << i;
	}
	return r;
}

static wide funnel(const struct ref_op *op, uint32_t low, uint32_t high, uint32_t by)
{
	const uint64_t both = (uint64_t)high << 32 | low;
	const uint32_t n = ref_has(op, "clamp") ? (by > 32 ? 32 : by) : by % 32;

	return ref_has(op, "l") ? (uint32_t)(n == 32 ? low : both << n >> 32) : (uint32_t)(both >> n);
}

static int highest_bit(const struct ref_type *t, wide v)
{
	const int ignore = t->kind == 's' ? bit(v, t->bits - 1) : 0;

	for (int i = t->bits - 1; i >= 0; i--)
		if (bit(v, i) != ignore)
			return i;
	return -1;
}

static enum ref_answer count_bits(const struct ref_op *op, wide v, struct ref_result *ret)
{
	const struct ref_type *t = &op->type[0];
	struct ref_type plain = { 'u', t->bits, 1 };
	int n = 0, top;

	if (is(op, "popc")) {
		for (int i = 0; i < t->bits; i++)
			n += bit(v, i);
		ret->d = (wide)n;
	} else if (is(op, "clz")) {
		ret->d = (wide)(t->bits - 1 - highest_bit(&plain, v & ref_mask(t->bits)));
	} else {
		top = highest_bit(t, v & ref_mask(t->bits));
		if (top >= 0 && ref_has(op, "shiftamt"))
			top = t->bits - 1 - top;
		ret->d = (uint32_t)top;
	}
	return REF_DONE;
}

static wide reversed(int bits, wide v)
{
	wide r = 0;

	for (int i = 0; i < bits; i++)
		r |= (wide)bit(v, i) << (bits - 1 - i);
	return r;
}

static wide field_out(const struct ref_type *t, wide a, int pos, int len)
{
	const int last = t->bits - 1;
	int sign = 0;
	wide r = 0;

	if (t->kind == 's' && len)
		sign = bit(a, pos + len - 1 < last ? pos + len - 1 : last);
	for (int i = 0; i <= last; i++)
		r |= (wide)(i < len && pos + i <= last ? bit(a, pos + i) : sign) << i;
	return r;
}

static wide field_in(const struct ref_type *t, wide a, wide b, int pos, int len)
{
	wide r = b & ref_mask(t->bits);

	for (int i = 0; i < len && pos + i < t->bits; i++)
		r = (r & ~((wide)1 << (pos + i))) | (wide)bit(a, i) << (pos + i);
	return r;
}

/* The n-th bit that is set. */
static enum ref_answer find_nth(uint32_t mask, uint32_t base, int32_t offset, struct ref_result *ret)
{
	int64_t left = offset < 0 ? -(int64_t)offset : offset, at = base;

	if (base > 31)
		return REF_UNDEFINED;
	ret->d = 0xffffffffu;
	if (!offset) {
		if (bit(mask, (int)base))
			ret->d = base;
		return REF_DONE;
	}
	for (; at >= 0 && at < 32; at += offset < 0 ? -1 : 1)
		if (bit(mask, (int)at) && !--left) {
			ret->d = (wide)at;
			break;
		}
	return REF_DONE;
}

static wide bit_mask(const struct ref_op *op, uint32_t a, uint32_t b)
{
	const bool clamp = ref_has(op, "clamp");
	wide r = 0;

	if (clamp && a > 31)
		return 0;
	a &= 31;
	b = clamp ? (b > 32 ? 32 : b) : b & 31;
	for (uint32_t i = a; i < 32 && i < a + b; i++)
		r |= (wide)1 << i;
	return r;
}

static wide extended(const struct ref_op *op, uint32_t a, uint32_t b)
{
	const int n = ref_has(op, "clamp") && b > 31 ? 32 : (int)(b & 31);
	wide r = a & ref_mask(n);

	if (op->type[0].kind == 's' && n && bit(a, n - 1))
		r |= ~ref_mask(n);
	return r & ref_mask(32);
}

static wide table_of_3(uint32_t a, uint32_t b, uint32_t c, uint32_t table)
{
	wide r = 0;

	for (int i = 0; i < 32; i++)
		r |= (wide)(table >> (bit(a, i) * 4 + bit(b, i) * 2 + bit(c, i)) & 1) << i;
	return r;
}

static wide permuted(const struct ref_op *op, uint32_t a, uint32_t b, uint32_t c)
{
	/* for each mode and value of c: which bytes, from the top of the result down */
	static const struct {
		const char *mode, *pick[4];
	} modes[] = { { "f4e", { "3210", "4321", "5432", "6543" } }, { "b4e", { "5670", "6701", "7012", "0123" } },
		      { "rc8", { "0000", "1111", "2222", "3333" } }, { "ecl", { "3210", "3211", "3222", "3333" } },
		      { "ecr", { "0000", "1110", "2210", "3210" } }, { "rc16", { "1010", "3232", "1010", "3232" } } };
	const uint64_t both = (uint64_t)b << 32 | a;
	wide r = 0;

	for (int i = 0; i < 4; i++) {
		int pick = (int)(c >> 4 * i & 15);
		bool sign = pick & 8;
		uint64_t byte;

		for (unsigned m = 0; m < sizeof(modes) / sizeof(modes[0]); m++)
			if (ref_has(op, modes[m].mode)) {
				pick = modes[m].pick[c & 3][3 - i] - '0';
				sign = false;
			}
		byte = both >> 8 * (pick & 7) & 255;
		if (sign)
			byte = byte >> 7 ? 255 : 0;
		r |= (wide)byte << 8 * i;
	}
	return r;
}

static swide element(const struct ref_type *t, wide v, int bits, int i)
{
	struct ref_type part = { t->kind, bits, 1 };

	return ref_int(&part, v >> bits * i);
}

static wide dot(const struct ref_op *op, wide a, wide b, wide c)
{
	const bool four = is(op, "dp4a");
	const int first = ref_has(op, "hi") ? 2 : 0;
	swide sum = (swide)c;

	for (int i = 0; i < (four ? 4 : 2); i++)
		sum += element(&op->type[0], a, four ? 8 : 16, i) * element(&op->type[1], b, 8, first + i);
	return (wide)sum & ref_mask(32);
}

/* vadd2, vabsdiff4 and the like: elements of both sources, wrapping, saturated or summed up. */
static enum ref_answer video(const struct ref_op *op, const wide *src, struct ref_result *ret)
{
	const char *name = op->word[0], *last = name + strlen(name) - 1;
	const int count = *last - '0', bits = 32 / count;
	const struct ref_type to = { op->type[0].kind, bits, 1 };
	wide r = 0, sum = src[2];

	for (int i = 0; i < count; i++) {
		const swide a = element(&op->type[1], src[0], bits, i), b = element(&op->type[2], src[1], bits, i);
		swide v;

		if (!strncmp(name, "vadd", 4))
			v = a + b;
		else if (!strncmp(name, "vsub", 4))
			v = a - b;
		else if (!strncmp(name, "vavrg", 5))
			v = (a + b + (a + b >= 0)) >> 1;
		else if (!strncmp(name, "vabsdiff", 8))
			v = a > b ? a - b : b - a;
		else if (!strncmp(name, "vmin", 4))
			v = a < b ? a : b;
		else if (!strncmp(name, "vmax", 4))
			v = a > b ? a : b;
		else
			return REF_UNKNOWN;
		if (ref_has(op, "sat"))
			v = saturated(&to, v);
		sum += (wide)v;
		r |= ((wide)v & ref_mask(bits)) << bits * i;
	}
	ret->d = (ref_has(op, "add") ? sum : r) & ref_mask(32);
	return REF_DONE;
}

/* setp.cmp{.bool}.type p|q, a, b{, c} and set.cmp{.bool}.to.type d, a, b{, c} */
static enum ref_answer comparison(const struct ref_op *op, const wide *src, int count, struct ref_result *ret)
{
	const bool set = is(op, "set");
	const struct ref_type *from = &op->type[set ? 1 : 0], *to = &op->type[0];
	const wide c = count > 2 ? src[2] & 1 : 0;
	bool legal = true, p = ref_compare(op, from, src[0], src[1], &legal), q = !p;

	if (!legal)
		return REF_ILLEGAL;
	if (ref_has(op, "and"))
		p = p && c, q = q && c;
	else if (ref_has(op, "or"))
		p = p || c, q = q || c;
	else if (ref_has(op, "xor"))
		p = p != c, q = q != c;
	ret->d = p;
	ret->q = q;
	if (set)
		ret->d = !p ? 0 : ref_is_float(to) ? ref_bits(to, 1, REF_RN) : ref_mask(to->bits);
	return REF_DONE;
}

static enum ref_answer smaller_or_larger(const struct ref_op *op, const wide *src, struct ref_result *ret)
{
	const struct ref_type *t = &op->type[0];
	swide a = ref_int(t, src[0]), b = ref_int(t, src[1]);
	swide r = is(op, "min") == (a < b) ? a : b;

	if (ref_has(op, "relu") && r < 0)
		r = 0;
	ret->d = (wide)r & ref_mask(t->bits);
	return REF_DONE;
}

static enum ref_answer integer_arith(const struct ref_op *op, const wide *src, struct ref_result *ret)
{
	const struct ref_type *t = &op->type[0];
	const swide a = ref_int(t, src[0]), b = ref_int(t, src[1]);
	swide r;

	if (is(op, "add"))
		r = a + b;
	else if (is(op, "sub"))
		r = a - b;
	else if (is(op, "neg"))
		r = -a;
	else if (is(op, "abs"))
		r = a < 0 ? -a : a;
	else /* sad */
		r = (swide)((wide)(a < b ? b - a : a - b) + src[2]);
	if (ref_has(op, "sat"))
		r = saturated(t, r);
	ret->d = (wide)r & ref_mask(t->bits);
	return REF_DONE;
}

static enum ref_answer bitwise(const struct ref_op *op, const wide *src, struct ref_result *ret)
{
	const wide a = src[0], b = src[1], mask = ref_mask(op->type[0].bits);

	ret->d = (is(op, "and")	  ? a & b
		  : is(op, "or")  ? a | b
		  : is(op, "xor") ? a ^ b
		  : is(op, "not") ? ~a
				  : (a & mask) == 0) &
		 mask;
	return REF_DONE;
}

static enum ref_answer bits_of_32(const struct ref_op *op, const wide *src, struct ref_result *ret)
{
	const uint32_t a = (uint32_t)src[0], b = (uint32_t)src[1], c = (uint32_t)src[2];

	if (is(op, "fns"))
		return find_nth(a, b, (int32_t)c, ret);
	ret->d = is(op, "shf")	   ? funnel(op, a, b, c)
		 : is(op, "bmsk")  ? bit_mask(op, a, b)
		 : is(op, "szext") ? extended(op, a, b)
		 : is(op, "lop3")  ? table_of_3(a, b, c, (uint32_t)src[3])
		 : is(op, "prmt")  ? permuted(op, a, b, c)
				   : dot(op, a, b, c);
	return REF_DONE;
}

static enum ref_answer chosen(const struct ref_op *op, const wide *src, struct ref_result *ret)
{
	const struct ref_type f32 = { 'f', 32, 1 }, s32 = { 's', 32, 1 };
	wide c = src[2];
	bool first;

	if (is(op, "selp"))
		first = c & 1;
	else if (op->type[1].kind == 'f')
		first = ref_number(&f32, ref_has(op, "ftz") ? ref_flush(&f32, c) : c) >= 0;
	else
		first = ref_int(&s32, c) >= 0;
	ret->d = (first ? src[0] : src[1]) & ref_mask(op->type[0].bits * op->type[0].lanes);
	return REF_DONE;
}

struct group {
	const char *names;
	enum { ARITH, PRODUCT, DIVIDE, MINMAX, BITWISE, SHIFT, COUNT, FIELD, BITS32, COMPARE, CARRYLESS, CHOOSE } kind;
};

static const struct group groups[] = {
	{ " add sub neg abs sad ", ARITH },
	{ " mul mad mul24 mad24 ", PRODUCT },
	{ " div rem ", DIVIDE },
	{ " min max ", MINMAX },
	{ " and or xor not cnot ", BITWISE },
	{ " shl shr ", SHIFT },
	{ " popc clz bfind ", COUNT },
	{ " brev bfe bfi ", FIELD },
	{ " shf fns bmsk szext lop3 prmt dp4a dp2a ", BITS32 },
	{ " setp set ", COMPARE },
	{ " clmad ", CARRYLESS },
	{ " selp slct ", CHOOSE },
};

static bool listed(const char *names, const char *name)
{
	const char *p = strstr(names, name);

	for (; p; p = strstr(p + 1, name))
		if (p[-1] == ' ' && p[strlen(name)] == ' ')
			return true;
	return false;
}

static enum ref_answer in_group(const struct ref_op *op, int kind, const wide *src, int count, struct ref_result *ret)
{
	const struct ref_type *t = &op->type[0];

	switch (kind) {
	case ARITH:
		return integer_arith(op, src, ret);
	case PRODUCT:
		ret->d = product(op, src, op->word[0][1] == 'a');
		return REF_DONE;
	case DIVIDE:
		return divide(op, src, ret);
	case MINMAX:
		return smaller_or_larger(op, src, ret);
	case BITWISE:
		return bitwise(op, src, ret);
	case SHIFT:
		ret->d = shifted(op, src[0] & ref_mask(t->bits), (uint32_t)src[1]);
		return REF_DONE;
	case COUNT:
		return count_bits(op, src[0], ret);
	case FIELD:
		ret->d = is(op, "brev") ? reversed(t->bits, src[0])
			 : is(op, "bfe")
				 ? field_out(t, src[0] & ref_mask(t->bits), (int)(src[1] & 255), (int)(src[2] & 255))
				 : field_in(t, src[0], src[1], (int)(src[2] & 255), (int)(src[3] & 255));
		return REF_DONE;
	case BITS32:
		return bits_of_32(op, src, ret);
	case COMPARE:
		return comparison(op, src, count, ret);
	case CARRYLESS:
		ret->d = without_carries(op, src);
		return REF_DONE;
	default:
		return chosen(op, src, ret);
	}
}

enum ref_answer ref_compute(const struct ref_op *op, const wide *src, int count, bool *carry, struct ref_result *ret)
{
	wide in[5] = { 0 };

	if (!op->types || count > 5)
		return REF_UNKNOWN;
	for (int i = 0; i < count; i++)
		in[i] = src[i];
	*ret = (struct ref_result){ 0 };
	if (is(op, "cvt"))
		return ref_convert(op, in, count, ret);
	if (op->word[0][0] == 'v' && op->types == 3 && count == 3)
		return video(op, in, ret);
	if (op->type[op->types - 1].lanes > 1 && !is(op, "selp") && !is(op, "setp"))
		return each_half(op, in, count, ret);
	if (ref_has(op, "cc") || is(op, "addc") || is(op, "subc") || is(op, "madc"))
		return carry ? with_carry(op, in, carry, ret) : REF_UNKNOWN;
	if (is(op, "selp") || is(op, "slct") || is(op, "set") || is(op, "setp") || !ref_is_float(&op->type[0])) {
		if (!is(op, "testp"))
			for (unsigned i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
				if (listed(groups[i].names, op->word[0]))
					return in_group(op, groups[i].kind, in, count, ret);
	}
	return ref_compute_float(op, in, count, ret);
}
