/* lanewise.c: see lanewise.h. */
#include "compile/lanewise.h"

#define WIDE 16u /* bytes of a lane that one access of the host moves */

bool lanewise_pays(const struct emit *e, const struct access_form *a)
{
	const uint32_t bytes = (uint32_t)a->bytes * a->count;

	if (e->kept || (a->bytes < 4 && !a->store))
		return false;
	return bytes == WIDE || (a->store && bytes < WIDE && !e->flow->many_accesses);
}

/* In each group of `each` lanes: those that `from` names, of a below `each`, of b above it. */
static LLVMValueRef pick(struct emit *e, LLVMValueRef a, LLVMValueRef b, uint32_t each, const uint8_t *from)
{
	LLVMValueRef mask[LANES];

	for (uint32_t i = 0; i < LANES; i++) {
		const uint32_t begin = i / each * each, k = from[i % each];

		mask[i] = LLVMConstInt(e->i32, begin + (k < each ? k : LANES + k - each), false);
	}
	return LLVMBuildShuffleVector(e->b, a, b, LLVMConstVector(mask, LANES), "");
}

/*
 * In each group of `count` lanes, rows and columns change places: lane k of v[i] becomes lane i of v[k]. Its own
 * inverse.
 */
static void transpose(struct emit *e, LLVMValueRef *v, uint32_t count)
{
	static const uint8_t of_two[2][2] = { { 0, 2 }, { 1, 3 } };
	static const uint8_t singles[2][4] = { { 0, 4, 1, 5 }, { 2, 6, 3, 7 } };
	static const uint8_t pairs[2][4] = { { 0, 1, 4, 5 }, { 2, 3, 6, 7 } };
	LLVMValueRef first[2], last[2];

	for (uint32_t k = 0; count > 1 && k < 2; k++) {
		first[k] = pick(e, v[0], v[1], count, count == 2 ? of_two[k] : singles[k]);
		last[k] = count == 2 ? NULL : pick(e, v[2], v[3], count, singles[k]);
	}
	for (uint32_t i = 0; count > 1 && i < count; i++)
		v[i] = count == 2 ? first[i] : pick(e, first[i / 2], last[i / 2], count, pairs[i % 2]);
}

static LLVMValueRef place_of(struct emit *e, LLVMValueRef places, uint32_t lane, LLVMTypeRef t)
{
	return value_at(e, LLVMBuildExtractElement(e->b, places, LLVMConstInt(e->i32, lane, false), ""), 0, t);
}

static LLVMValueRef load_singles(struct emit *e, const struct access_form *a, LLVMValueRef places, uint32_t align)
{
	LLVMTypeRef t = type_int(e, a->bytes);
	LLVMValueRef v = LLVMGetUndef(type_lanes(t));

	for (uint32_t i = 0; i < LANES; i++)
		v = LLVMBuildInsertElement(e->b, v, value_load(e, t, place_of(e, places, i, t), align),
					   LLVMConstInt(e->i32, i, false), "");
	return v;
}

void lanewise_load(struct emit *e, const struct access_form *a, LLVMValueRef places, uint32_t align, LLVMValueRef v[4])
{
	LLVMTypeRef t = LLVMVectorType(type_int(e, a->bytes), a->count);
	LLVMValueRef part[LANES];

	if (a->count == 1) {
		v[0] = load_singles(e, a, places, align);
		return;
	}
	for (uint32_t k = 0; k < a->count; k++) {
		for (uint32_t g = 0; g < LANES / a->count; g++)
			part[g] = value_load(e, t, place_of(e, places, g * a->count + k, t), align);
		v[k] = value_join(e, part, LANES / a->count, a->count);
	}
	transpose(e, v, a->count);
}

/* The elements of one lane, out of those of its group. */
static LLVMValueRef row_of(struct emit *e, LLVMValueRef v, uint32_t lane, uint32_t count)
{
	LLVMValueRef mask[4];

	if (count == 1)
		return LLVMBuildExtractElement(e->b, v, LLVMConstInt(e->i32, lane, false), "");
	for (uint32_t k = 0; k < count; k++)
		mask[k] = LLVMConstInt(e->i32, lane / count * count + k, false);
	return LLVMBuildShuffleVector(e->b, v, LLVMGetUndef(LLVMTypeOf(v)), LLVMConstVector(mask, count), "");
}

void lanewise_store(struct emit *e, const struct access_form *a, LLVMValueRef places, LLVMValueRef v[4])
{
	transpose(e, v, a->count);
	for (uint32_t i = 0; i < LANES; i++) {
		LLVMValueRef row = row_of(e, v[i % a->count], i, a->count);

		value_store(e, row, place_of(e, places, i, LLVMTypeOf(row)), (uint32_t)a->bytes * a->count);
	}
}
