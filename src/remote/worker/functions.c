/* functions.c: see functions.h. */
#include "remote/worker/functions.h"
#include "remote/worker/code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static CUresult param_info(struct work *work, enum remote_kind kind, void *handle, size_t index,
			   struct code_param *ret)
{
	size_t offset, bytes;
	CUresult r = kind == KIND_KERNEL ? work->driver->cuKernelGetParamInfo(handle, index, &offset, &bytes)
					 : work->driver->cuFuncGetParamInfo(handle, index, &offset, &bytes);

	if (r == CUDA_SUCCESS)
		*ret = (struct code_param){ (uint32_t)offset, (uint32_t)bytes };
	return r;
}

/* How many parameters there are; CODE_COUNT_UNKNOWN: the driver cannot say (before 12.4). */
static uint32_t param_count(struct work *work, enum remote_kind kind, void *handle)
{
	struct code_param unused;
	uint32_t n = 0;
	CUresult r;

	do
		r = param_info(work, kind, handle, n, &unused);
	while (r == CUDA_SUCCESS && ++n < CODE_PARAMS_MOST);
	return r == CUDA_SUCCESS || r == CUDA_ERROR_INVALID_VALUE ? n : CODE_COUNT_UNKNOWN;
}

static struct known *known_new(struct work *work, enum remote_kind kind, void *handle)
{
	uint32_t n = param_count(work, kind, handle);
	uint32_t params = n == CODE_COUNT_UNKNOWN ? 0 : n;
	struct known *k = calloc(1, sizeof(*k) + params * sizeof(*k->param));

	if (!k)
		return NULL;
	k->handle = handle;
	k->layout = n != CODE_COUNT_UNKNOWN;
	for (; k->params < params; k->params++) {
		struct code_param *p = &k->param[k->params];

		if (param_info(work, kind, handle, k->params, p) != CUDA_SUCCESS ||
		    p->bytes > CODE_PARAM_BYTES_MOST || p->offset > CODE_PARAM_BYTES_MOST - p->bytes)
			k->layout = false;
		else if (p->offset + p->bytes > k->param_bytes)
			k->param_bytes = p->offset + p->bytes;
	}
	return k;
}

const struct known *functions_known(struct work *work, uint64_t id)
{
	enum remote_kind kind = id >> 56 == KIND_KERNEL ? KIND_KERNEL : KIND_FUNCTION;
	struct known *k = worker_kept(work, kind, id);
	void *handle;
	bool known;

	if (k)
		return k;
	handle = worker_find(work, kind, id, &known);
	if (!handle) {
		work->result = CUDA_ERROR_INVALID_HANDLE;
		return NULL;
	}
	k = known_new(work, kind, handle);
	if (k)
		worker_keep(work, id, k, free);
	else
		work->result = CUDA_ERROR_OUT_OF_MEMORY;
	return k;
}

static void attributes_read(struct work *work, enum remote_kind kind, void *handle, int device,
			    struct code_attributes *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (unsigned int a = 0; a < CODE_ATTRIBUTES; a++) {
		int value = 0;
		CUresult r = kind == KIND_KERNEL ? work->driver->cuKernelGetAttribute(
							   &value, (CUfunction_attribute)a, handle, device)
						 : work->driver->cuFuncGetAttribute(&value, (CUfunction_attribute)a,
										    handle);

		if (r != CUDA_SUCCESS)
			continue;
		ret->known |= 1u << a;
		ret->value[a] = value;
	}
}

static uint32_t device_count(struct work *work, enum remote_kind kind)
{
	int n = 0;

	if (kind != KIND_KERNEL)
		return 1;
	work->driver->cuDeviceGetCount(&n);
	return n < 0 ? 0 : (uint32_t)n > CODE_DEVICES_MOST ? CODE_DEVICES_MOST : (uint32_t)n;
}

/* Value: false if there is no more room. */
static bool tell(struct work *work, enum remote_kind kind, void *handle, const char *name, const struct known *k,
		 struct code_told *told)
{
	if (k->layout)
		told->params = k->params;
	remote_put(&work->out, told, sizeof(*told));
	remote_put_string(&work->out, name);
	if (k->layout)
		remote_put(&work->out, k->param, k->params * sizeof(*k->param));
	for (uint32_t d = 0; d < told->devices; d++) {
		struct code_attributes attributes;

		attributes_read(work, kind, handle, (int)d, &attributes);
		remote_put(&work->out, &attributes, sizeof(attributes));
	}
	return !work->out.bad;
}

bool functions_tell(struct work *work, enum remote_kind kind, void *handle, const char *name, uint64_t owner)
{
	struct code_told told = { .id = worker_known(work, kind, handle), .params = CODE_COUNT_UNKNOWN };
	struct known *made = told.id ? NULL : known_new(work, kind, handle);
	const struct known *k = told.id ? functions_known(work, told.id) : made;
	size_t room;
	bool good;

	told.devices = device_count(work, kind);
	room = sizeof(told) + 16 + strlen(name) + 8 + (k ? k->params : 0) * sizeof(*k->param) +
	       told.devices * sizeof(struct code_attributes);
	/* What there is no room for the client asks for later, or never: it gets its id then. */
	if (k && room > work->out.capacity - work->out.used) {
		free(made);
		return false;
	}
	if (made)
		told.id = worker_name(work, kind, handle, owner);
	if (!k || !told.id) {
		free(made);
		work->result = CUDA_ERROR_OUT_OF_MEMORY;
		return false;
	}
	good = tell(work, kind, handle, name, k, &told);
	if (made)
		worker_keep(work, told.id, made, free);
	return good;
}

/* ---- all of a module or library ---- */

/*
 * What a driver that loads lazily has only listed has no attributes yet. Those of a module with few functions are
 * loaded with it, so that their attributes go along; others when the client asks for them (execute.c).
 */
#define LOADED_AT_ONCE 16

static void load_few(struct work *work, void **list, uint32_t count)
{
	for (uint32_t i = 0; i < count && count <= LOADED_AT_ONCE; i++)
		work->driver->cuFuncLoad(list[i]);
}

static uint32_t function_count(struct work *work, bool library, void *handle)
{
	unsigned int n = 0;
	CUresult r = library ? work->driver->cuLibraryGetKernelCount(&n, handle)
			     : work->driver->cuModuleGetFunctionCount(&n, handle);

	return r == CUDA_SUCCESS ? n : CODE_COUNT_UNKNOWN;
}

static CUresult function_list(struct work *work, bool library, void *handle, void **list, unsigned int n)
{
	return library ? work->driver->cuLibraryEnumerateKernels((CUkernel *)list, n, handle)
		       : work->driver->cuModuleEnumerateFunctions((CUfunction *)list, n, handle);
}

static CUresult function_name(struct work *work, bool library, void *function, const char **ret)
{
	return library ? work->driver->cuKernelGetName(ret, function) : work->driver->cuFuncGetName(ret, function);
}

void functions_list(struct work *work, uint64_t id, void *handle, uint32_t from, struct code_loaded *loaded)
{
	bool library = id >> 56 == KIND_LIBRARY;
	void **list;
	const char *name;

	loaded->count = function_count(work, library, handle);
	if (loaded->count == CODE_COUNT_UNKNOWN || from >= loaded->count)
		return;
	list = calloc(loaded->count, sizeof(*list));
	if (list && function_list(work, library, handle, list, loaded->count) == CUDA_SUCCESS) {
		if (!library)
			load_few(work, list, loaded->count);
		for (; from < loaded->count; from++, loaded->told++)
			if (function_name(work, library, list[from], &name) != CUDA_SUCCESS ||
			    strlen(name) >= CODE_NAME_MOST ||
			    !functions_tell(work, library ? KIND_KERNEL : KIND_FUNCTION, list[from], name, id))
				break;
	}
	free(list);
	work->result = CUDA_SUCCESS;
}

/* ---- requests ---- */

static bool is_container(uint64_t id)
{
	return id >> 56 == KIND_MODULE || id >> 56 == KIND_LIBRARY;
}

/* The object that is asked about. NULL: work->result says why. */
static void *owner_find(struct work *work, const struct code_ask *ask)
{
	enum remote_kind kind = (enum remote_kind)(ask->owner >> 56);
	void *owner = NULL;
	bool known;

	if (kind == KIND_MODULE || kind == KIND_LIBRARY || kind == KIND_KERNEL || kind == KIND_FUNCTION)
		owner = worker_find(work, kind, ask->owner, &known);
	if (!owner)
		work->result = CUDA_ERROR_INVALID_HANDLE;
	return owner;
}

static CUresult ask_driver(struct work *work, const struct code_ask *ask, void *owner, const char **name, void **ret)
{
	enum remote_kind kind = (enum remote_kind)(ask->owner >> 56);

	*ret = owner;
	if (kind == KIND_FUNCTION)
		return work->driver->cuFuncGetName(name, owner);
	if (kind == KIND_KERNEL && ask->itself)
		return work->driver->cuKernelGetName(name, owner);
	if (kind == KIND_MODULE)
		return work->driver->cuModuleGetFunction((CUfunction *)ret, owner, *name);
	if (kind == KIND_LIBRARY)
		return work->driver->cuLibraryGetKernel((CUkernel *)ret, owner, *name);
	return work->driver->cuKernelGetFunction((CUfunction *)ret, owner);
}

int worker_code_tell(struct work *work)
{
	bool kernel;
	struct code_ask ask;
	const char *name;
	void *owner, *handle = NULL;

	remote_get(&work->in, &ask, sizeof(ask));
	name = remote_take_string(&work->in);
	if (work->in.bad || work->in.used != work->in.size)
		return -EPROTO;
	owner = owner_find(work, &ask);
	if (!owner)
		return 0;
	kernel = ask.owner >> 56 == KIND_LIBRARY || (ask.owner >> 56 == KIND_KERNEL && ask.itself);
	work->result = (int32_t)ask_driver(work, &ask, owner, &name, &handle);
	if (work->result != CUDA_SUCCESS)
		return 0;
	if (!functions_tell(work, kernel ? KIND_KERNEL : KIND_FUNCTION, handle, name, ask.owner) &&
	    work->result == CUDA_SUCCESS)
		return -EMSGSIZE;
	return 0;
}

int worker_code_list(struct work *work)
{
	struct code_loaded loaded = { 0 }, *head;
	struct code_ask ask;
	void *owner;

	remote_get(&work->in, &ask, sizeof(ask));
	if (work->in.bad || work->in.used != work->in.size || !is_container(ask.owner))
		return -EPROTO;
	owner = owner_find(work, &ask);
	head = remote_reserve(&work->out, sizeof(*head));
	if (!owner || !head)
		return head ? 0 : -EMSGSIZE;
	functions_list(work, ask.owner, owner, ask.from, &loaded);
	*head = loaded;
	return 0;
}

static bool managed_at(struct work *work, CUdeviceptr at)
{
	unsigned int managed = 0;

	return work->driver->cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, at) == CUDA_SUCCESS &&
	       managed;
}

static CUresult global_find(struct work *work, const struct code_ask *ask, void *owner, const char *name,
			    struct code_global *ret)
{
	CUdeviceptr at = 0;
	size_t bytes = 0;
	CUresult r;

	if (ask->owner >> 56 == KIND_MODULE)
		r = work->driver->cuModuleGetGlobal_v2(&at, &bytes, owner, name);
	else if (ask->itself)
		r = work->driver->cuLibraryGetManaged(&at, &bytes, owner, name);
	else
		r = work->driver->cuLibraryGetGlobal(&at, &bytes, owner, name);
	*ret = (struct code_global){ at, bytes, r == CUDA_SUCCESS && bytes && managed_at(work, at) };
	return r;
}

int worker_code_global(struct work *work)
{
	struct code_global global;
	struct code_ask ask;
	const char *name;
	void *owner;

	remote_get(&work->in, &ask, sizeof(ask));
	name = remote_take_string(&work->in);
	if (work->in.bad || work->in.used != work->in.size || !is_container(ask.owner))
		return -EPROTO;
	owner = owner_find(work, &ask);
	if (!owner)
		return 0;
	work->result = (int32_t)global_find(work, &ask, owner, name, &global);
	if (work->result != CUDA_SUCCESS)
		return 0;
	/* Known already when it was asked for before. */
	if (global.bytes && !worker_range(work, global.address, global.bytes))
		worker_range_add(work, global.address, global.bytes, ask.owner);
	remote_put(&work->out, &global, sizeof(global));
	return 0;
}
