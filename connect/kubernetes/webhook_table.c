/*
 * webhook_table.c: see webhook_table.h.
 *
 * Meanings, from the documents of each system: HAMi (nvidia.com/gpumem in MiB of each device, gpucores in percent,
 * priority 0 high and 1 low; the same for AMD's and Hygon's cards under their own names), Volcano's vGPU (likewise),
 * Alibaba's GPU share (aliyun.com/gpu-mem in GiB), Tencent's vCUDA (vcuda-core: 100 is a device;
 * vcuda-memory in units of 256 MiB), KAI (annotations gpu-fraction, gpu-memory in MiB).
 *
 * Words for cards of other vendors are taken where a share of such cards is declared (--hip, --ascend, --musa and so
 * on), and become one of those; elsewhere they are another plugin's. Names for cards on which mete enforces nothing are
 * in no row (docs/accelerators.md). HAMi's for Ascend: one set of names per chip, memory in MiB; for Cambricon memory
 * in units of 256 MiB (HAMi's "Enable Cambricon MLU Sharing": min-dsmlu-unit=256). Moore Threads' sgpu-memory has units
 * of 512 MiB, and a device 16 of sgpu-core; MetaX' vmemory is in GiB, or in bytes with a suffix; Iluvatar's memory has
 * units of 256 MiB, under one set of names for all chips or one per chip. With several devices of Moore Threads or
 * Iluvatar HAMi gives whole ones.
 */
#include "connect/kubernetes/webhook_table.h"

#include <stddef.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

#define ASCEND(chip)                                                                                                   \
	{ "HAMi for Ascend " chip, "huawei.com/Ascend" chip, CARDS, 0, WORDS_ASCEND },                                 \
		{ "HAMi for Ascend " chip, "huawei.com/Ascend" chip "-memory", MEMORY, MIB, WORDS_ASCEND },            \
	{                                                                                                              \
		"HAMi for Ascend " chip, "huawei.com/Ascend" chip "-core", CORES, 0, WORDS_ASCEND                      \
	}

#define ILUVATAR(chip)                                                                                                 \
	{ "HAMi for Iluvatar " chip, "iluvatar.ai/" chip "-vgpu", CARDS, 0, WORDS_COREX, true },                       \
		{ "HAMi for Iluvatar " chip, "iluvatar.ai/" chip ".vMem", MEMORY, MIB << 8, WORDS_COREX, true },       \
	{                                                                                                              \
		"HAMi for Iluvatar " chip, "iluvatar.ai/" chip ".vCore", CORES, 0, WORDS_COREX, true                   \
	}

const struct word table_words[] = {
	{ "HAMi", "nvidia.com/gpu", CARDS, 0, WORDS_CUDA },
	{ "HAMi", "nvidia.com/gpumem", MEMORY, MIB, WORDS_CUDA },
	{ "HAMi", "nvidia.com/gpumem-percentage", MEMORY_PCT, 0, WORDS_CUDA },
	{ "HAMi", "nvidia.com/gpucores", CORES, 0, WORDS_CUDA },
	{ "HAMi", "nvidia.com/priority", PRIORITY, 0, WORDS_CUDA },
	{ "Volcano", "volcano.sh/vgpu-number", CARDS, 0, WORDS_CUDA },
	{ "Volcano", "volcano.sh/vgpu-memory", MEMORY, MIB, WORDS_CUDA },
	{ "Volcano", "volcano.sh/vgpu-memory-percentage", MEMORY_PCT, 0, WORDS_CUDA },
	{ "Volcano", "volcano.sh/vgpu-cores", CORES, 0, WORDS_CUDA },
	{ "Alibaba", "aliyun.com/gpu-count", CARDS, 0, WORDS_CUDA },
	{ "Alibaba", "aliyun.com/gpu-mem", MEMORY, MIB << 10, WORDS_CUDA },
	{ "Alibaba", "aliyun.com/gpu-core.percentage", CORES, 0, WORDS_CUDA },
	{ "Tencent", "tencent.com/vcuda-core", UNITS_OF_A_CARD, 0, WORDS_CUDA },
	{ "Tencent", "tencent.com/vcuda-memory", MEMORY, MIB << 8, WORDS_CUDA },
	{ "HAMi for AMD", "amd.com/gpu", CARDS, 0, WORDS_HIP },
	{ "HAMi for AMD", "amd.com/gpumem", MEMORY, MIB, WORDS_HIP },
	{ "HAMi for AMD", "amd.com/gpucores", CORES, 0, WORDS_HIP },
	{ "HAMi for Hygon", "hygon.com/dcunum", CARDS, 0, WORDS_HIP },
	{ "HAMi for Hygon", "hygon.com/dcumem", MEMORY, MIB, WORDS_HIP },
	{ "HAMi for Hygon", "hygon.com/dcucores", CORES, 0, WORDS_HIP },
	ASCEND("910A"),
	ASCEND("910B"), /* HAMi's word for 910B3 */
	ASCEND("910B2"),
	ASCEND("910B3"),
	ASCEND("910B4"),
	ASCEND("910B4-1"),
	ASCEND("910C"),
	ASCEND("310P"),
	{ "HAMi for Cambricon", "cambricon.com/vmlu", CARDS, 0, WORDS_CAMBRICON },
	{ "HAMi for Cambricon", "cambricon.com/mlu.smlu.vmemory", MEMORY, MIB << 8, WORDS_CAMBRICON },
	{ "HAMi for Cambricon", "cambricon.com/mlu.smlu.vcore", CORES, 0, WORDS_CAMBRICON },
	{ "HAMi for Moore Threads", "mthreads.com/vgpu", CARDS, 0, WORDS_MUSA, true },
	{ "HAMi for Moore Threads", "mthreads.com/sgpu-memory", MEMORY, MIB << 9, WORDS_MUSA, true },
	{ "HAMi for Moore Threads", "mthreads.com/sgpu-core", CORES, 16, WORDS_MUSA, true },
	{ "HAMi for MetaX", "metax-tech.com/sgpu", CARDS, 0, WORDS_MACA },
	{ "HAMi for MetaX", "metax-tech.com/vmemory", MEMORY_OR_BYTES, MIB << 10, WORDS_MACA },
	{ "HAMi for MetaX", "metax-tech.com/vcore", CORES, 0, WORDS_MACA },
	{ "HAMi for Iluvatar", "iluvatar.ai/vgpu", CARDS, 0, WORDS_COREX, true },
	{ "HAMi for Iluvatar", "iluvatar.ai/vcuda-memory", MEMORY, MIB << 8, WORDS_COREX, true },
	{ "HAMi for Iluvatar", "iluvatar.ai/vcuda-core", CORES, 0, WORDS_COREX, true },
	ILUVATAR("BI-V100"),
	ILUVATAR("BI-V150"),
	ILUVATAR("MR-V50"),
	ILUVATAR("MR-V100"),
};

const size_t table_count = sizeof(table_words) / sizeof(*table_words);

const char *table_name_for(const char *family, enum meaning meaning)
{
	for (size_t i = 0; i < table_count; i++)
		if (!strcmp(table_words[i].family, family) && table_words[i].meaning == meaning)
			return table_words[i].name;
	return NULL;
}
