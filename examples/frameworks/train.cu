/*
 * train.cu: a small language model trained by a program of nvcc's, in the way of programs that use no framework: kernels with
 * cooperative groups, streaming loads and atomics, products by cuBLAS and cuBLASLt (with a bias), a batch of products, and one
 * kernel that NVRTC compiles to machine code while the program runs. Each step's loss, and all weights at the end, are
 * compared with the same in plain C++ on the processor. Prints PASS.
 *
 *	nvcc -cudart shared -O2 -gencode arch=compute_75,code=compute_75 train.cu -o train -lcublas -lcublasLt -lnvrtc -lcuda
 */
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <nvrtc.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace cg = cooperative_groups;

constexpr int ROWS = 48, VOCABULARY = 40, C = 32, H = 4 * C, STEPS = 6;
constexpr float RATE = 0.2f;

#define MUST(call)                                                                                                     \
	do {                                                                                                           \
		const int r_ = (int)(call);                                                                            \
		if (r_) {                                                                                              \
			printf("%s: %d\n", #call, r_);                                                                 \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

/* A row of the table for each token, four numbers at a time. */
__global__ void look_up(float4 *out, const int *token, const float4 *table)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < ROWS * C / 4)
		out[i] = table[token[i / (C / 4)] * (C / 4) + i % (C / 4)];
}

/* A warp for each row: without its mean, and of variance one. */
__global__ void normalise(float *out, float *scale, const float *in)
{
	cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
	const int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
	float sum = 0, squares = 0;

	if (row >= ROWS)
		return;
	for (int i = warp.thread_rank(); i < C; i += warp.size())
		sum += __ldcs(in + row * C + i);
	const float mean = cg::reduce(warp, sum, cg::plus<float>()) / C;
	for (int i = warp.thread_rank(); i < C; i += warp.size())
		squares += (in[row * C + i] - mean) * (in[row * C + i] - mean);
	const float s = rsqrtf(cg::reduce(warp, squares, cg::plus<float>()) / C + 1e-5f);
	for (int i = warp.thread_rank(); i < C; i += warp.size())
		__stcs(out + row * C + i, (in[row * C + i] - mean) * s);
	if (!warp.thread_rank())
		scale[row] = s;
}

__global__ void gelu(float *out, const float *in, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = 0.5f * in[i] * (1 + erff(in[i] * 0.70710678f));
}

__global__ void gelu_back(float *d, const float *in, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		d[i] *= 0.5f * (1 + erff(in[i] * 0.70710678f)) + in[i] * 0.39894228f * expf(-0.5f * in[i] * in[i]);
}

/* Probabilities become the gradient of the loss; a warp for each row, the loss added up by one atomic for each. */
__global__ void cross_entropy(float *logits, const int *target, float *loss)
{
	cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
	const int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
	float top = -INFINITY, sum = 0;

	if (row >= ROWS)
		return;
	float *x = logits + row * VOCABULARY;
	for (int i = warp.thread_rank(); i < VOCABULARY; i += warp.size())
		top = fmaxf(top, x[i]);
	top = cg::reduce(warp, top, cg::greater<float>());
	for (int i = warp.thread_rank(); i < VOCABULARY; i += warp.size())
		sum += expf(x[i] - top);
	sum = cg::reduce(warp, sum, cg::plus<float>());
	if (!warp.thread_rank())
		atomicAdd(loss, (logf(sum) + top - x[target[row]]) / ROWS);
	warp.sync();
	for (int i = warp.thread_rank(); i < VOCABULARY; i += warp.size())
		x[i] = (expf(x[i] - top) / sum - (i == target[row])) / ROWS;
}

/* Columns' sums, in shared memory of the launch's size. */
__global__ void column_sums(float *out, const float *in, int columns)
{
	extern __shared__ float part[];
	const int column = blockIdx.x, t = threadIdx.x;

	part[t] = 0;
	for (int r = t; r < ROWS; r += blockDim.x)
		part[t] += in[r * columns + column];
	for (int step = blockDim.x / 2; step; step /= 2) {
		__syncthreads();
		if (t < step)
			part[t] += part[t + step];
	}
	if (!t)
		out[column] = part[0];
}

__global__ void normalise_back(float *d, const float *normal, const float *scale)
{
	cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
	const int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
	float a = 0, b = 0;

	if (row >= ROWS)
		return;
	for (int i = warp.thread_rank(); i < C; i += warp.size()) {
		a += d[row * C + i];
		b += d[row * C + i] * normal[row * C + i];
	}
	a = cg::reduce(warp, a, cg::plus<float>()) / C;
	b = cg::reduce(warp, b, cg::plus<float>()) / C;
	for (int i = warp.thread_rank(); i < C; i += warp.size())
		d[row * C + i] = (d[row * C + i] - a - normal[row * C + i] * b) * scale[row];
}

__global__ void scatter(float *table, const float *d, const int *token)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < ROWS * C)
		atomicAdd(table + token[i / C] * C + i % C, d[i]);
}

static const char step_source[] = "extern \"C\" __global__ void step(float *w, const float *g, int n, float rate)\n"
				  "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) w[i] -= rate * g[i]; }\n";

/* The kernel of a step, as machine code for this device. */
static CUfunction compile_step()
{
	cudaDeviceProp p;
	nvrtcProgram program;
	size_t bytes;
	CUmodule m;
	CUfunction f;

	MUST(cudaGetDeviceProperties(&p, 0));
	const std::string target = "--gpu-architecture=sm_" + std::to_string(p.major * 10 + p.minor);
	const char *option[] = { target.c_str() };
	MUST(nvrtcCreateProgram(&program, step_source, "step.cu", 0, nullptr, nullptr));
	MUST(nvrtcCompileProgram(program, 1, option));
	MUST(nvrtcGetCUBINSize(program, &bytes));
	std::vector<char> code(bytes);
	MUST(nvrtcGetCUBIN(program, code.data()));
	MUST(cuModuleLoadData(&m, code.data()));
	MUST(cuModuleGetFunction(&f, m, "step"));
	return f;
}

static cublasHandle_t blas;
static cublasLtHandle_t lt;
static float *workspace;

/* out (rows x n) = in (rows x k) * w (n x k) transposed + bias, all row by row. */
static void product_with_bias(float *out, const float *in, const float *w, const float *bias, int n, int k)
{
	const cublasOperation_t turned = CUBLAS_OP_T;
	const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
	const size_t room = 1 << 20;
	const float one = 1, zero = 0;
	cublasLtMatmulHeuristicResult_t way;
	cublasLtMatmulPreference_t wish;
	cublasLtMatmulDesc_t what;
	cublasLtMatrixLayout_t a, b, c;
	int found = 0;

	MUST(cublasLtMatmulDescCreate(&what, CUBLAS_COMPUTE_32F, CUDA_R_32F));
	MUST(cublasLtMatmulDescSetAttribute(what, CUBLASLT_MATMUL_DESC_TRANSA, &turned, sizeof(turned)));
	MUST(cublasLtMatmulDescSetAttribute(what, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue)));
	MUST(cublasLtMatmulDescSetAttribute(what, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof(bias)));
	MUST(cublasLtMatrixLayoutCreate(&a, CUDA_R_32F, k, n, k));
	MUST(cublasLtMatrixLayoutCreate(&b, CUDA_R_32F, k, ROWS, k));
	MUST(cublasLtMatrixLayoutCreate(&c, CUDA_R_32F, n, ROWS, n));
	MUST(cublasLtMatmulPreferenceCreate(&wish));
	MUST(cublasLtMatmulPreferenceSetAttribute(wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room, sizeof(room)));
	MUST(cublasLtMatmulAlgoGetHeuristic(lt, what, a, b, c, c, wish, 1, &way, &found));
	MUST(!found);
	MUST(cublasLtMatmul(lt, what, &one, w, a, in, b, &zero, out, c, out, c, &way.algo, workspace, room, 0));
	MUST(cublasLtMatmulPreferenceDestroy(wish));
	MUST(cublasLtMatrixLayoutDestroy(a));
	MUST(cublasLtMatrixLayoutDestroy(b));
	MUST(cublasLtMatrixLayoutDestroy(c));
	MUST(cublasLtMatmulDescDestroy(what));
}

/* The gradients of a product's weights and, where it is wanted, of what went in. */
static void product_back(float *dw, float *din, const float *d, const float *in, const float *w, int n, int k)
{
	const float one = 1, zero = 0;

	MUST(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_T, k, n, ROWS, &one, in, k, d, n, &zero, dw, k));
	if (din)
		MUST(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, k, ROWS, n, &one, w, k, d, n, &zero, din, k));
}

using numbers = std::vector<float>;

static float *up(const numbers &v)
{
	float *p;

	MUST(cudaMalloc(&p, v.size() * sizeof(float)));
	MUST(cudaMemcpy(p, v.data(), v.size() * sizeof(float), cudaMemcpyHostToDevice));
	return p;
}

static numbers some(size_t n)
{
	numbers v(n);

	for (float &x : v)
		x = ((float)rand() / RAND_MAX - 0.5f) * 0.4f;
	return v;
}

struct weights {
	numbers table, w1, b1, w2, b2;
};

/* One step on the processor; the loss before it. */
static double step_on_processor(weights &w, const std::vector<int> &token, const std::vector<int> &target)
{
	std::vector<double> table(VOCABULARY * C), w1(H * C), b1(H), w2(VOCABULARY * H), b2(VOCABULARY);
	double loss = 0;

	for (int r = 0; r < ROWS; r++) {
		const float *x = &w.table[token[r] * C];
		double mean = 0, square = 0, normal[C], hidden[H], active[H], logit[VOCABULARY], top = -1e30, sum = 0, dn[C] = {};

		for (int i = 0; i < C; i++)
			mean += x[i] / (double)C;
		for (int i = 0; i < C; i++)
			square += (x[i] - mean) * (x[i] - mean) / C;
		const double s = 1 / std::sqrt(square + 1e-5);
		for (int i = 0; i < C; i++)
			normal[i] = (x[i] - mean) * s;
		for (int j = 0; j < H; j++) {
			hidden[j] = w.b1[j];
			for (int i = 0; i < C; i++)
				hidden[j] += normal[i] * w.w1[j * C + i];
			active[j] = 0.5 * hidden[j] * (1 + std::erf(hidden[j] * std::sqrt(0.5)));
		}
		for (int v = 0; v < VOCABULARY; v++) {
			logit[v] = w.b2[v];
			for (int j = 0; j < H; j++)
				logit[v] += active[j] * w.w2[v * H + j];
			top = std::max(top, logit[v]);
		}
		for (int v = 0; v < VOCABULARY; v++)
			sum += std::exp(logit[v] - top);
		loss += (std::log(sum) + top - logit[target[r]]) / ROWS;
		for (int j = 0; j < H; j++) {
			double d = 0;

			for (int v = 0; v < VOCABULARY; v++) {
				const double g = (std::exp(logit[v] - top) / sum - (v == target[r])) / ROWS;

				d += g * w.w2[v * H + j];
				w2[v * H + j] += g * active[j];
				b2[v] += j ? 0 : g;
			}
			d *= 0.5 * (1 + std::erf(hidden[j] * std::sqrt(0.5))) +
			     hidden[j] * std::exp(-0.5 * hidden[j] * hidden[j]) / std::sqrt(2 * M_PI);
			b1[j] += d;
			for (int i = 0; i < C; i++) {
				w1[j * C + i] += d * normal[i];
				dn[i] += d * w.w1[j * C + i];
			}
		}
		double a = 0, b = 0;
		for (int i = 0; i < C; i++) {
			a += dn[i] / C;
			b += dn[i] * normal[i] / C;
		}
		for (int i = 0; i < C; i++)
			table[token[r] * C + i] += (dn[i] - a - normal[i] * b) * s;
	}
	const std::pair<numbers *, std::vector<double> *> all[] = {
		{ &w.table, &table }, { &w.w1, &w1 }, { &w.b1, &b1 }, { &w.w2, &w2 }, { &w.b2, &b2 }
	};
	for (auto &p : all)
		for (size_t i = 0; i < p.first->size(); i++)
			(*p.first)[i] -= RATE * (float)(*p.second)[i];
	return loss;
}

/* Products of 6 x 4 and 4 x 5 matrices, seven of them. */
static double batch_error()
{
	const numbers a = some(7 * 24), b = some(7 * 20);
	numbers c(7 * 30);
	float *da = up(a), *db = up(b), *dc = up(c);
	const float one = 1, zero = 0;
	double off = 0;

	MUST(cublasSgemmStridedBatched(blas, CUBLAS_OP_N, CUBLAS_OP_N, 6, 5, 4, &one, da, 6, 24, db, 4, 20, &zero, dc, 6, 30, 7));
	MUST(cudaMemcpy(c.data(), dc, c.size() * sizeof(float), cudaMemcpyDeviceToHost));
	for (int n = 0; n < 7; n++)
		for (int i = 0; i < 6; i++)
			for (int j = 0; j < 5; j++) {
				double sum = 0;

				for (int k = 0; k < 4; k++)
					sum += (double)a[n * 24 + k * 6 + i] * b[n * 20 + j * 4 + k];
				off = std::max(off, std::fabs(sum - c[n * 30 + j * 6 + i]));
			}
	for (float *p : { da, db, dc })
		MUST(cudaFree(p));
	return off;
}

int main()
{
	weights w = { some(VOCABULARY * C), some(H * C), some(H), some(VOCABULARY * H), some(VOCABULARY) };
	std::vector<int> token(ROWS), target(ROWS);
	double off, first = 0, last = 0;

	MUST(cudaSetDevice(0));
	MUST(cudaFree(nullptr));
	MUST(cublasCreate(&blas));
	MUST(cublasLtCreate(&lt));
	for (int r = 0; r < ROWS; r++) {
		token[r] = rand() % VOCABULARY;
		target[r] = (token[r] * 3 + 1) % VOCABULARY;
	}
	struct {
		numbers *host;
		float *w, *g;
	} all[] = { { &w.table, nullptr, nullptr }, { &w.w1, nullptr, nullptr }, { &w.b1, nullptr, nullptr },
		    { &w.w2, nullptr, nullptr },    { &w.b2, nullptr, nullptr } };
	for (auto &p : all) {
		p.w = up(*p.host);
		p.g = up(*p.host);
	}
	float *x = up(numbers(ROWS * C)), *normal = up(numbers(ROWS * C)), *scale = up(numbers(ROWS)), *hidden = up(numbers(ROWS * H));
	float *active = up(numbers(ROWS * H)), *logits = up(numbers(ROWS * VOCABULARY)), *loss = up(numbers(1));
	float *d_active = up(numbers(ROWS * H)), *d_normal = up(numbers(ROWS * C));
	int *tokens, *targets;

	workspace = up(numbers(1 << 18));
	MUST(cudaMalloc(&tokens, ROWS * sizeof(int)));
	MUST(cudaMalloc(&targets, ROWS * sizeof(int)));
	MUST(cudaMemcpy(tokens, token.data(), ROWS * sizeof(int), cudaMemcpyHostToDevice));
	MUST(cudaMemcpy(targets, target.data(), ROWS * sizeof(int), cudaMemcpyHostToDevice));
	CUfunction step = compile_step();

	off = batch_error();
	for (int n = 0; n < STEPS; n++) {
		float was;

		look_up<<<(ROWS * C / 4 + 127) / 128, 128>>>((float4 *)x, tokens, (const float4 *)all[0].w);
		normalise<<<(ROWS + 3) / 4, 128>>>(normal, scale, x);
		product_with_bias(hidden, normal, all[1].w, all[2].w, H, C);
		gelu<<<(ROWS * H + 255) / 256, 256>>>(active, hidden, ROWS * H);
		product_with_bias(logits, active, all[3].w, all[4].w, VOCABULARY, H);
		MUST(cudaMemsetAsync(loss, 0, sizeof(float)));
		cross_entropy<<<(ROWS + 3) / 4, 128>>>(logits, targets, loss);
		column_sums<<<VOCABULARY, 32, 32 * sizeof(float)>>>(all[4].g, logits, VOCABULARY);
		product_back(all[3].g, d_active, logits, active, all[3].w, VOCABULARY, H);
		gelu_back<<<(ROWS * H + 255) / 256, 256>>>(d_active, hidden, ROWS * H);
		column_sums<<<H, 32, 32 * sizeof(float)>>>(all[2].g, d_active, H);
		product_back(all[1].g, d_normal, d_active, normal, all[1].w, H, C);
		normalise_back<<<(ROWS + 3) / 4, 128>>>(d_normal, normal, scale);
		MUST(cudaMemsetAsync(all[0].g, 0, VOCABULARY * C * sizeof(float)));
		scatter<<<(ROWS * C + 127) / 128, 128>>>(all[0].g, d_normal, tokens);
		MUST(cudaGetLastError());
		for (auto &p : all) {
			int count = (int)p.host->size();
			float rate = RATE;
			void *arg[] = { &p.w, &p.g, &count, &rate };

			MUST(cuLaunchKernel(step, (count + 127) / 128, 1, 1, 128, 1, 1, 0, nullptr, arg, nullptr));
		}
		MUST(cudaMemcpy(&was, loss, sizeof(float), cudaMemcpyDeviceToHost));
		last = step_on_processor(w, token, target);
		first = n ? first : last;
		off = std::max(off, std::fabs(was - last));
		printf("step %d: loss %.6f, on the processor %.6f\n", n, was, last);
	}
	for (auto &p : all) {
		numbers got(p.host->size());

		MUST(cudaMemcpy(got.data(), p.w, got.size() * sizeof(float), cudaMemcpyDeviceToHost));
		for (size_t i = 0; i < got.size(); i++)
			off = std::max(off, (double)std::fabs(got[i] - (*p.host)[i]));
	}
	printf("off by %.2g, loss from %.4f to %.4f\n", off, first, last);
	printf(off < 1e-4 && last < first - 0.05 ? "PASS\n" : "FAIL\n");
	return !(off < 1e-4 && last < first - 0.05);
}
