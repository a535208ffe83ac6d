/*
 * proc.c: lookup of calls by name, and the vendor's private tables, which are not there.
 *
 * The vendor's own runtime library asks for private tables through cuGetExportTable to find out whether the driver
 * under it is the vendor's. This one is not and says so: the call fails as documented for an unknown table, and one
 * line in the log tells the user what to do.
 */
#include "softdev/driver.h"

#include "base/static_runtime.h"
#include "cuda_procs.h"
#include "softdev/log.h"
#include "softdev/fault.h"
#include "softdev/fence.h"
#include "softdev/native.h"
#include "softdev/usage.h"
#include "wire/soft_card.h"

#include <string.h>

static void *proc_address(enum cuda_call call)
{
	void *p;

	memcpy(&p, (const char *)&soft_table + call * sizeof(p), sizeof(p));
	return p;
}

/* A driver of an older version has no newer variants. */
static int known(int version)
{
	return version < driver_version() ? version : driver_version();
}

CUresult soft_cuGetProcAddress_v2(const char *name, void **ret, int version, cuuint64_t flags,
				  CUdriverProcAddressQueryResult *ret_status)
{
	enum cuda_call call;
	int outcome;

	if (!name || !ret || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
		return CUDA_ERROR_INVALID_VALUE;
	outcome = cuda_proc_find(name, known(version), flags, &call);
	*ret = outcome == PROC_FOUND ? proc_address(call) : NULL;
	if (ret_status)
		*ret_status = name[0] ? (CUdriverProcAddressQueryResult)outcome : CU_GET_PROC_ADDRESS_SUCCESS;
	return CUDA_SUCCESS;
}

CUresult soft_cuGetProcAddress(const char *name, void **ret, int version, cuuint64_t flags)
{
	enum cuda_call call;

	if (!name || !ret || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
		return CUDA_ERROR_INVALID_VALUE;
	if (!name[0]) {
		*ret = NULL;
		return CUDA_SUCCESS;
	}
	if (cuda_proc_find(name, known(version), flags, &call) != PROC_FOUND)
		return CUDA_ERROR_NOT_FOUND;
	*ret = proc_address(call);
	return CUDA_SUCCESS;
}

/* The table of wire/soft_card.h; NULL: the id is another one. */
static const void *card_table(const CUuuid *id)
{
	static const struct soft_card_table table = { sizeof(table), SOFT_CARD_LINK_GENERATION, SOFT_CARD_LINK_LANES };
	static const char mine[16] = SOFT_CARD_ID;

	return memcmp(id, mine, sizeof(mine)) ? NULL : &table;
}

CUresult soft_cuGetExportTable(const void **ret, const CUuuid *id)
{
	static atomic_bool told;
	char line[512];

	if (!ret || !id)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = usage_table(id);
	if (!*ret)
		*ret = fault_table(id);
	if (!*ret)
		*ret = fence_table(id);
	if (!*ret)
		*ret = native_table(id);
	if (!*ret)
		*ret = card_table(id);
	if (*ret)
		return CUDA_SUCCESS;
	if (static_runtime_line(id, "the software device", line, sizeof(line)) && !atomic_exchange(&told, true))
		log_line("%s", line);
	return CUDA_ERROR_NOT_FOUND;
}
