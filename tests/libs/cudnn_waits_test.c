/*
 * cudnn_waits_test.c: what cuDNN waits for behind a wall and over the network; see waits.h. METE_TEST_FAR: the server's
 * library is of another maker, which is asked what it thinks of a graph.
 */
#include "libs/cudnn_graphs.h"
#define at waits_at
#include "waits.h"
#undef at

static bool is_far;

/* C = A B of small matrices, by a plan. */
static void graphs(void)
{
	static const int dim[] = { 2, 8, 8 };
	static struct tensor a, b, c;
	int64_t ids[] = { 1, 2, 3 };
	uint64_t before;
	void *pointers[3];
	object plan, pack, product;
	CUdeviceptr workspace = 0;
	int64_t bytes;
	int bad = 0;

	make(&a, CUDNN_DATA_FLOAT, false, 3, dim);
	make(&b, CUDNN_DATA_FLOAT, false, 3, dim);
	make(&c, CUDNN_DATA_FLOAT, false, 3, dim);
	pointers[0] = at(a.memory);
	pointers[1] = at(b.memory);
	pointers[2] = at(c.memory);
	before = waits();
	{
		object ta = graph_tensor(1, a.type, 3, dim, NULL, false, false),
		       tb = graph_tensor(2, b.type, 3, dim, NULL, false, false),
		       tc = graph_tensor(3, c.type, 3, dim, NULL, false, false);

		product = matmul(ta, tb, tc);
		plan = plan_of(&product, 1);
		bytes = workspace_of(plan);
		tap_ok(is_ours ? !bytes : bytes >= 0, "a workspace of %lld bytes", (long long)bytes);
		GOOD(t.cudnnBackendDestroyDescriptor(ta));
		GOOD(t.cudnnBackendDestroyDescriptor(tb));
		GOOD(t.cudnnBackendDestroyDescriptor(tc));
	}
	/* Three tensors, a product and its settings, a graph, heuristics and two questions about them, a plan. */
	WAITS(is_far ? 10u : 0u, "a plan and its workspace");
	if (bytes > 0)
		CU(cuMemAlloc(&workspace, (size_t)bytes));
	before = waits();
	for (int i = 0; i < TIMES; i++) {
		pack = pack_of(3, ids, pointers, at(workspace));
		bad += t.cudnnSetStream(handle, NULL) != CUDNN_STATUS_SUCCESS;
		bad += t.cudnnBackendExecute(handle, plan, pack) != CUDNN_STATUS_SUCCESS;
		bad += t.cudnnBackendDestroyDescriptor(pack) != CUDNN_STATUS_SUCCESS;
	}
	is(bad, 0);
	WAITS(0, "a hundred executions, each with a variant pack of its own");
	GOOD(t.cudnnBackendDestroyDescriptor(plan));
	WAITS(0, "the plan's end");
	if (workspace)
		CU(cuMemFree(workspace));
	end(&a);
	end(&b);
	end(&c);
}

/* As PyTorch does in each step: descriptors are made, used once and ended. */
static void older(void)
{
	static const int dim[] = { 4, 3, 5, 5 };
	float one = 1, zero = 0;
	static struct tensor x, y;
	CUdeviceptr each;
	uint64_t before;
	size_t bytes;
	int bad = 0;

	make(&x, CUDNN_DATA_FLOAT, false, 4, dim);
	make(&y, CUDNN_DATA_FLOAT, false, 4, dim);
	CU(cuMemAlloc(&each, 4096));
	CU(cuMemsetD8(each, 0, 4096));
	before = waits();
	for (int i = 0; i < TIMES; i++) {
		cudnnTensorDescriptor_t image = NULL, mean = NULL;

		bad += t.cudnnCreateTensorDescriptor(&image) != CUDNN_STATUS_SUCCESS;
		bad += t.cudnnCreateTensorDescriptor(&mean) != CUDNN_STATUS_SUCCESS;
		bad += t.cudnnSetTensorNdDescriptor(image, x.type, 4, x.dim, x.stride) != CUDNN_STATUS_SUCCESS;
		bad += t.cudnnDeriveBNTensorDescriptor(mean, image, CUDNN_BATCHNORM_SPATIAL) != CUDNN_STATUS_SUCCESS;
		bad += t.cudnnBatchNormalizationForwardTraining(
			       handle, CUDNN_BATCHNORM_SPATIAL, &one, &zero, image, at(x.memory), image, at(y.memory),
			       mean, at(each), at(each + 256), 0.1, at(each + 512), at(each + 768), 1e-5,
			       at(each + 1024), at(each + 1280)) != CUDNN_STATUS_SUCCESS;
		bad += t.cudnnDestroyTensorDescriptor(image) != CUDNN_STATUS_SUCCESS;
		bad += t.cudnnDestroyTensorDescriptor(mean) != CUDNN_STATUS_SUCCESS;
	}
	is(bad, 0);
	WAITS(0, "a hundred normalisations with descriptors of their own");
	for (int i = 0; i < 3; i++)
		GOOD(t.cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
			handle, CUDNN_BATCHNORM_SPATIAL, CUDNN_BATCHNORM_OPS_BN, NULL, x.descriptor, &bytes));
	WAITS(is_far ? 1u : 0u, "the size of a reserve, asked for three times");
	end(&x);
	end(&y);
	CU(cuMemFree(each));
}

int main(void)
{
	is_far = getenv("METE_TEST_FAR");
	for (int i = 0; i < CUDNN_CALL_COUNT; i++)
		((void **)&t)[i] = dlsym(RTLD_DEFAULT, cudnn_call_name[i]);
	waits_begin();
	GOOD(t.cudnnCreate(&handle));
	/* Once it is asked whose library it is, of the context and of the handle. */
	ok(t.cudnnGetVersion() > 0);
	is_ours = t.cudnnGetVersion() == OURS;
	is(t.cudnnBackendExecute(handle, NULL, NULL), CUDNN_STATUS_BAD_PARAM);
	graphs();
	older();
	GOOD(t.cudnnDestroy(handle));
	return waits_end();
}
