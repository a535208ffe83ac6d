/* native_blas.c: kernels of cuBLAS and cuBLASLt: products, routines, transformations. */
#include "libs/blas/blas.h"
#include "libs/blas/product.h"
#include "libs/blas/run.h"
#include "libs/blas/transform.h"
#include "native.h"

static const uint8_t blas_types[] = { CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F };

#define MATRICES(X, type, member) X(type, member[0]), X(type, member[1]), X(type, member[2]), X(type, member[3])

static void make_product(void *to, const struct plain *p)
{
	/* A, B, C, D and the scalars' type */
	static const uint8_t types[][5] = {
		{ CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F },
		{ CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F },
		{ CUDA_C_32F, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F },
		{ CUDA_C_64F, CUDA_C_64F, CUDA_C_64F, CUDA_C_64F, CUDA_C_64F },
		{ CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUDA_R_32F },
		{ CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F },
		{ CUDA_R_8I, CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, CUDA_R_32I },
		{ CUDA_R_8I, CUDA_R_8I, CUDA_R_8I, CUDA_R_8I, CUDA_R_32F },
		{ CUDA_R_8F_E4M3, CUDA_R_8F_E5M2, CUDA_R_16F, CUDA_R_8F_E4M3, CUDA_R_32F },
	};
	const uint8_t *t = types[p->choice % 9];
	struct product *to_product = to;

	to_product->body = BLAS_GEMM;
	memcpy(to_product->type, t, PRODUCT_MATRICES);
	to_product->scale_type = t[4];
	to_product->bias_type = to_product->aux_type = t[PRODUCT_D];
	to_product->op[0] = (uint8_t)(p->more % 3);
	to_product->op[1] = (uint8_t)(p->more / 3 % 3);
	to_product->epilogue = p->more & 64 ? EPILOGUE_BIAS : EPILOGUE_NONE;
	to_product->m = p->m;
	to_product->n = p->n;
	to_product->k = p->k;
	to_product->batch = 1 + p->more / 128;
	for (unsigned int i = 0; i < PRODUCT_MATRICES; i++) {
		to_product->ld[i] = p->ld;
		to_product->stride[i] = 24;
		to_product->at[i] = address(i == PRODUCT_D ? 2 : i, 0);
		to_product->scale_at[i] = address(2, 1024);
	}
	to_product->alpha = to_product->beta = (struct product_scalar){ .value = { 0, 0, 0x80, 0x3f },
									.address = address(1, 64),
									.place = PRODUCT_AT };
	to_product->bias = to_product->aux = address(0, 2048);
	to_product->aux_ld = 32;
	if (!product_check(to_product))
		product_plan(to_product);
}

static const struct field product_fields[] = {
	MATRICES(F, struct product, type),
	F(struct product, op[0]),
	F(struct product, op[1]),
	F(struct product, way),
	F(struct product, scale_type),
	F(struct product, arrays),
	F(struct product, bias_type),
	F(struct product, aux_type),
	F(struct product, bias_across),
	MATRICES(F, struct product, scale),
	F(struct product, epilogue),
	F(struct product, amax_wanted),
	F(struct product, m),
	F(struct product, n),
	F(struct product, k),
	F(struct product, batch),
	MATRICES(F, struct product, ld),
	MATRICES(F, struct product, stride),
	MATRICES(F, struct product, at),
	F(struct product, alpha.address),
	F(struct product, alpha.place),
	F(struct product, beta.address),
	F(struct product, beta.place),
	F(struct product, alpha_stride),
	F(struct product, bias),
	F(struct product, aux),
	F(struct product, amax),
	F(struct product, aux_scale),
	F(struct product, aux_amax),
	F(struct product, bias_stride),
	F(struct product, aux_ld),
	F(struct product, aux_stride),
	MATRICES(F, struct product, scale_at),
	F(struct product, tile_rows),
	F(struct product, tile_columns),
};

NATIVE_KERNEL(product, run_native)

static void make_routine(void *to, const struct plain *p)
{
	struct blas_work *w = to;
	uint8_t type = blas_types[p->type];

	*w = (struct blas_work){
		.body = p->choice % BLAS_BODIES,
		.type = type,
		.Atype = type,
		.Btype = type,
		.Ctype = type,
		.xType = type,
		.yType = type,
		.alphaType = type,
		.betaType = type,
		.resultType = type,
		.cType = type,
		.sType = type,
		.csType = type,
		.paramType = type,
		.arrays = p->more >> 7,
		.in_device = p->more >> 6 & 1,
		.conjugate = p->more >> 5 & 1,
		.hermitian = p->more >> 4 & 1,
		.form = (uint8_t)(p->more % 4 % 3),
		.transa = (int32_t)(p->more % 3),
		.transb = (int32_t)(p->more / 4 % 3),
		.trans = (int32_t)(p->more % 3),
		.uplo = (int32_t)(p->more >> 2 & 1),
		.diag = (int32_t)(p->more >> 3 & 1),
		.side = (int32_t)(p->more >> 4 & 1),
		.mode = (int32_t)(p->more >> 5 & 1),
		.m = p->m,
		.n = p->n,
		.k = p->k,
		.kl = p->k % 4,
		.ku = p->k / 8,
		.nrhs = p->k,
		.lda = p->ld,
		.ldb = p->ld,
		.ldc = p->ld,
		.lda_inv = p->ld,
		.incx = 1,
		.incy = 1,
		.batchCount = 1,
		.batchSize = 1,
		.AP = address(0, 0),
		.A = address(0, 0),
		.B = address(1, 0),
		.C = address(2, 0),
		.x = address(1, 4096),
		.y = address(2, 8192),
		.P = address(2, 16384),
		.info = address(2, 24576),
		.result = address(2, 28672),
		.devInfoArray = address(2, 24576),
		.alpha = address(0, 64),
		.beta = address(0, 128),
		.c = address(1, 64),
		.s = address(1, 128),
		.a = address(1, 192),
		.b = address(1, 256),
		.d1 = address(1, 320),
		.d2 = address(1, 384),
		.x1 = address(1, 448),
		.y1 = address(1, 512),
		.alpha_value = { 0, 0, 0x80, 0x3f },
		.beta_value = { 0, 0, 0, 0x40 },
	};
	if (w->body == BLAS_GEMM || w->body == BLAS_TRANSFORM)
		w->body = BLAS_GEMV;
}

#define W(member) F(struct blas_work, member)
static const struct field routine_fields[] = {
	W(body),
	W(type),
	W(xType),
	W(yType),
	W(alphaType),
	W(betaType),
	W(resultType),
	W(cType),
	W(sType),
	W(csType),
	W(paramType),
	W(wide),
	W(batched),
	W(arrays),
	W(conjugate),
	W(hermitian),
	W(form),
	W(in_device),
	W(flag),
	W(transa),
	W(transb),
	W(trans),
	W(uplo),
	W(diag),
	W(side),
	W(mode),
	W(m),
	W(n),
	W(k),
	W(kl),
	W(ku),
	W(nrhs),
	W(lda),
	W(ldb),
	W(ldc),
	W(incx),
	W(incy),
	W(batchCount),
	W(batchSize),
	W(strideA),
	W(strideB),
	W(strideC),
	W(stridex),
	W(stridey),
	W(AP),
	W(A),
	W(B),
	W(C),
	W(x),
	W(y),
	W(P),
	W(info),
	W(devInfoArray),
	W(lda_inv),
	W(result),
	W(alpha),
	W(beta),
	W(c),
	W(s),
	W(a),
	W(b),
	W(d1),
	W(d2),
	W(x1),
	W(y1),
};
#undef W

NATIVE_KERNEL(routine, run_native)

static void make_transform(void *to, const struct plain *p)
{
	struct transform *work = to;
	static const uint8_t types[] = { CUDA_R_32F, CUDA_R_8I, CUDA_R_16F, CUDA_R_32I };
	struct transform_matrix m = { .ld = p->choice % 3 == ORDER_COL32 ? 32 * 32 : p->ld,
				      .stride = 128,
				      .type = types[p->type],
				      .order = (uint8_t)(p->choice % 3),
				      .turned = p->choice / 3 & 1 };

	*work = (struct transform){ .body = BLAS_TRANSFORM,
				    .a = m,
				    .b = m,
				    .c = m,
				    .rows = p->m,
				    .columns = p->n,
				    .batches = 1 + p->more % 4,
				    .alpha = { 0, 0, 0x80, 0x3f },
				    .beta = { 0, 0, 0x80, 0x3f },
				    .scale_type = CUDA_R_32F };
	work->a.at = address(0, 0);
	work->b.at = p->more & 16 ? address(1, 0) : 0;
	work->c.at = address(2, 0);
}

#define M(name)                                                                                                        \
	F(struct transform, name.at), F(struct transform, name.ld), F(struct transform, name.stride),                  \
		F(struct transform, name.type), F(struct transform, name.order), F(struct transform, name.turned)
static const struct field transform_fields[] = {
	M(a),
	M(b),
	M(c),
	F(struct transform, rows),
	F(struct transform, columns),
	F(struct transform, batches),
	F(struct transform, alpha_at),
	F(struct transform, beta_at),
	F(struct transform, scale_type),
};
#undef M

NATIVE_KERNEL(transform, run_native)
