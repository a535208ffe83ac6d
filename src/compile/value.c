/* value.c: see value.h. */
#include "compile/value.h"

#include <llvm/Config/llvm-config.h>
#include <string.h>

const struct compile_op *operation(const struct emit *e)
{
	return &e->flow->request->op[e->at];
}

LLVMBasicBlockRef new_block(struct emit *e)
{
	return LLVMAppendBasicBlockInContext(e->context, e->function, "");
}

LLVMTypeRef type_int(struct emit *e, uint32_t lane)
{
	return lane == 8 ? e->i64 : lane == 4 ? e->i32 : LLVMIntTypeInContext(e->context, lane * 8);
}

LLVMTypeRef type_lanes(LLVMTypeRef t)
{
	return LLVMVectorType(t, LANES);
}

bool value_is_lanes(LLVMValueRef v)
{
	return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind;
}

LLVMValueRef value_number(LLVMTypeRef t, uint64_t n)
{
	LLVMValueRef each[2 * LANES];
	uint32_t count;

	if (LLVMGetTypeKind(t) != LLVMVectorTypeKind)
		return LLVMConstInt(t, n, false);
	count = LLVMGetVectorSize(t);
	for (uint32_t i = 0; i < count; i++)
		each[i] = LLVMConstInt(LLVMGetElementType(t), n, false);
	return LLVMConstVector(each, count);
}

LLVMValueRef value_spread(struct emit *e, LLVMValueRef scalar)
{
	LLVMTypeRef t = type_lanes(LLVMTypeOf(scalar));
	LLVMValueRef v = LLVMBuildInsertElement(e->b, LLVMGetUndef(t), scalar, LLVMConstInt(e->i32, 0, false), "");

	return LLVMBuildShuffleVector(e->b, v, LLVMGetUndef(t), LLVMConstNull(type_lanes(e->i32)), "");
}

LLVMValueRef value_apart(struct emit *e, LLVMValueRef base, const int64_t at[LANES])
{
	LLVMTypeRef t = LLVMTypeOf(base);
	LLVMValueRef each[LANES];

	for (uint32_t i = 0; i < LANES; i++)
		each[i] = LLVMConstInt(t, (uint64_t)at[i], true);
	return LLVMBuildAdd(e->b, value_spread(e, base), LLVMConstVector(each, LANES), "");
}

LLVMValueRef value_apart_of(struct emit *e, LLVMTypeRef t, const int64_t at[LANES], LLVMValueRef lane)
{
	LLVMValueRef each[LANES], table = LLVMAddGlobal(e->module, LLVMArrayType(t, LANES), "");
	LLVMValueRef index = LLVMBuildZExt(e->b, lane, e->i64, "");

	for (uint32_t i = 0; i < LANES; i++)
		each[i] = LLVMConstInt(t, (uint64_t)at[i], true);
	LLVMSetInitializer(table, LLVMConstArray(t, each, LANES));
	LLVMSetGlobalConstant(table, true);
	LLVMSetLinkage(table, LLVMPrivateLinkage);
	return LLVMBuildLoad2(e->b, t, value_element(e, table, index, t), "");
}

LLVMValueRef value_line(struct emit *e, LLVMValueRef base, int64_t stride)
{
	int64_t at[LANES];

	if (!stride)
		return value_spread(e, base);
	for (uint32_t i = 0; i < LANES; i++)
		at[i] = (int64_t)((uint64_t)stride * i);
	return value_apart(e, base, at);
}

LLVMValueRef value_halves(struct emit *e, const LLVMValueRef base[2], int64_t stride)
{
	LLVMTypeRef t = LLVMTypeOf(base[0]), both = LLVMVectorType(t, 2);
	LLVMValueRef v, mask[LANES], each[LANES];

	v = LLVMBuildInsertElement(e->b, LLVMGetUndef(both), base[0], LLVMConstInt(e->i32, 0, false), "");
	v = LLVMBuildInsertElement(e->b, v, base[1], LLVMConstInt(e->i32, 1, false), "");
	for (uint32_t i = 0; i < LANES; i++) {
		mask[i] = LLVMConstInt(e->i32, i / (LANES / 2), false);
		each[i] = LLVMConstInt(t, (uint64_t)stride * (i % (LANES / 2)), false);
	}
	v = LLVMBuildShuffleVector(e->b, v, LLVMGetUndef(both), LLVMConstVector(mask, LANES), "");
	return stride ? LLVMBuildAdd(e->b, v, LLVMConstVector(each, LANES), "") : v;
}

/* One of two numbers that are no NaN: what a comparison or a choice of constants gives. */
static bool is_choice(LLVMValueRef v)
{
	for (unsigned k = 1; k < 3; k++) {
		LLVMValueRef x = LLVMIsASelectInst(v) ? LLVMGetOperand(v, k) : NULL;

		if (!x || !LLVMIsAConstantInt(x) || LLVMConstIntGetZExtValue(x) > 0x7f800000u)
			return false;
	}
	return true;
}

LLVMValueRef value_settle(struct emit *e, LLVMValueRef v)
{
	LLVMTypeRef t = LLVMTypeOf(v), word = value_is_lanes(v) ? LLVMGetElementType(t) : t, each = e->i32;
	const uint32_t count = (value_is_lanes(v) ? LLVMGetVectorSize(t) : 1) * (LLVMGetIntTypeWidth(word) / 32);
	LLVMTypeRef real = e->f32;
	LLVMValueRef x;

	if (is_choice(v))
		return v;
	if (count > 1) {
		each = LLVMVectorType(each, count);
		real = LLVMVectorType(real, count);
	}
	v = LLVMBuildBitCast(e->b, v, each, "");
	x = LLVMBuildBitCast(e->b, v, real, "");
	v = LLVMBuildSelect(e->b, LLVMBuildFCmp(e->b, LLVMRealUNO, x, x, ""), value_number(each, 0x7fffffffu), v, "");
	return LLVMBuildBitCast(e->b, v, t, "");
}

LLVMValueRef value_at(struct emit *e, LLVMValueRef base, uint64_t offset, LLVMTypeRef t)
{
	LLVMValueRef index = LLVMConstInt(e->i64, offset, false);
	LLVMValueRef p = offset ? LLVMBuildGEP2(e->b, e->i8, base, &index, 1, "") : base;

	return LLVMBuildBitCast(e->b, p, LLVMPointerType(t, 0), "");
}

LLVMValueRef value_load(struct emit *e, LLVMTypeRef t, LLVMValueRef pointer, uint32_t align)
{
	LLVMValueRef v = LLVMBuildLoad2(e->b, t, pointer, "");

	LLVMSetAlignment(v, align);
	return v;
}

void value_store(struct emit *e, LLVMValueRef v, LLVMValueRef pointer, uint32_t align)
{
	LLVMSetAlignment(LLVMBuildStore(e->b, v, pointer), align);
}

void value_prefetch(struct emit *e, LLVMValueRef pointer, bool write)
{
	const unsigned id = LLVMLookupIntrinsicID("llvm.prefetch", strlen("llvm.prefetch"));
	LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->module, id, &e->bytes, 1);
	LLVMValueRef args[] = { pointer, LLVMConstInt(e->i32, write, false), LLVMConstInt(e->i32, 3, false),
				LLVMConstInt(e->i32, 1, false) };

	LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->context, id, &e->bytes, 1), f, args, 4, "");
}

LLVMValueRef value_field(struct emit *e, LLVMValueRef base, uint64_t offset, LLVMTypeRef t)
{
	return value_load(e, t, value_at(e, base, offset, t), 1);
}

LLVMValueRef value_intrinsic(struct emit *e, const char *name, LLVMTypeRef t, LLVMValueRef *args, unsigned count)
{
	const unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
	LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->module, id, &t, 1);

	return LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->context, id, &t, 1), f, args, count, "");
}

static LLVMValueRef masked(struct emit *e, const char *name, LLVMTypeRef types[2], LLVMValueRef *args, unsigned count)
{
	const unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
	LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->module, id, types, 2);

	return LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->context, id, types, 2), f, args, count, "");
}

LLVMValueRef value_gather(struct emit *e, LLVMTypeRef t, LLVMValueRef pointers, uint32_t align, LLVMValueRef mask)
{
	LLVMTypeRef types[2] = { t, LLVMTypeOf(pointers) };
#if LLVM_VERSION_MAJOR < 22
	LLVMValueRef args[] = { pointers, LLVMConstInt(e->i32, align, false), mask, LLVMConstNull(t) };
#else /* the alignment is no argument, and 1 is taken */
	LLVMValueRef args[] = { pointers, mask, LLVMConstNull(t) };
#endif

	return masked(e, "llvm.masked.gather", types, args, sizeof(args) / sizeof(args[0]));
}

void value_scatter(struct emit *e, LLVMValueRef v, LLVMValueRef pointers, uint32_t align, LLVMValueRef mask)
{
	LLVMTypeRef types[2] = { LLVMTypeOf(v), LLVMTypeOf(pointers) };
#if LLVM_VERSION_MAJOR < 22
	LLVMValueRef args[] = { v, pointers, LLVMConstInt(e->i32, align, false), mask };
#else
	LLVMValueRef args[] = { v, pointers, mask };
#endif

	masked(e, "llvm.masked.scatter", types, args, sizeof(args) / sizeof(args[0]));
}

LLVMValueRef value_masked_load(struct emit *e, LLVMTypeRef t, LLVMValueRef pointer, uint32_t align, LLVMValueRef mask)
{
	LLVMTypeRef types[2] = { t, LLVMTypeOf(pointer) };
#if LLVM_VERSION_MAJOR < 22
	LLVMValueRef args[] = { pointer, LLVMConstInt(e->i32, align, false), mask, LLVMConstNull(t) };
#else
	LLVMValueRef args[] = { pointer, mask, LLVMConstNull(t) };
#endif

	return masked(e, "llvm.masked.load", types, args, sizeof(args) / sizeof(args[0]));
}

void value_masked_store(struct emit *e, LLVMValueRef v, LLVMValueRef pointer, uint32_t align, LLVMValueRef mask)
{
	LLVMTypeRef types[2] = { LLVMTypeOf(v), LLVMTypeOf(pointer) };
#if LLVM_VERSION_MAJOR < 22
	LLVMValueRef args[] = { v, pointer, LLVMConstInt(e->i32, align, false), mask };
#else
	LLVMValueRef args[] = { v, pointer, mask };
#endif

	masked(e, "llvm.masked.store", types, args, sizeof(args) / sizeof(args[0]));
}

LLVMValueRef value_all(struct emit *e, LLVMValueRef condition)
{
	LLVMValueRef bits = LLVMBuildBitCast(e->b, condition, e->i32, "");

	return LLVMBuildICmp(e->b, LLVMIntEQ, bits, LLVMConstInt(e->i32, 0xffffffffu, false), "");
}

LLVMValueRef value_any(struct emit *e, LLVMValueRef condition)
{
	LLVMValueRef bits = LLVMBuildBitCast(e->b, condition, e->i32, "");

	return LLVMBuildICmp(e->b, LLVMIntNE, bits, LLVMConstInt(e->i32, 0, false), "");
}

LLVMValueRef value_on_stack(struct emit *e, LLVMTypeRef t, LLVMTypeRef as)
{
	LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
	LLVMValueRef place;

	LLVMPositionBuilderBefore(e->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(e->function)));
	place = LLVMBuildAlloca(e->b, t, "");
	LLVMSetAlignment(place, VECTOR_ALIGN);
	if (as)
		place = LLVMBuildBitCast(e->b, place, as, "");
	LLVMPositionBuilderAtEnd(e->b, here);
	return place;
}

LLVMValueRef value_array(struct emit *e, LLVMValueRef *place, LLVMTypeRef t)
{
	if (!*place)
		*place = value_on_stack(e, type_lanes(t), NULL);
	return *place;
}

LLVMValueRef value_array_of(struct emit *e, LLVMValueRef *place, LLVMTypeRef t, uint32_t count)
{
	if (!*place)
		*place = value_on_stack(e, LLVMArrayType(t, count), LLVMPointerType(t, 0));
	return *place;
}

LLVMValueRef value_element(struct emit *e, LLVMValueRef array, LLVMValueRef lane, LLVMTypeRef t)
{
	LLVMValueRef first = LLVMBuildBitCast(e->b, array, LLVMPointerType(t, 0), "");

	return LLVMBuildGEP2(e->b, t, first, &lane, 1, "");
}

LLVMValueRef value_join(struct emit *e, LLVMValueRef *part, uint32_t count, uint32_t each)
{
	LLVMValueRef index[LANES * 2];

	for (; count > 1; count /= 2, each *= 2) {
		for (uint32_t i = 0; i < 2 * each; i++)
			index[i] = LLVMConstInt(e->i32, i, false);
		for (uint32_t k = 0; k < count / 2; k++)
			part[k] = LLVMBuildShuffleVector(e->b, part[2 * k], part[2 * k + 1],
							 LLVMConstVector(index, 2 * each), "");
	}
	return part[0];
}
