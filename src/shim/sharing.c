/* sharing.c: see sharing.h, and cuIpc*, which know no more than this. */
#include "shim/sharing.h"
#include "cuda_shim.h"
#include "shim/account.h"
#include "shim/attach.h"
#include "shim/records.h"
#include "shim/start.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct object {
	uint8_t key[WIRE_KEY_BYTES];
	unsigned int device;
	unsigned int holds; /* 0: a free place */
};

/* Held while meted is asked, so that the last drop and a new import of one key do not overtake each other. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct object objects[WIRE_MAX_OBJECTS]; /* guarded by lock */

static int ask(enum wire_type type, const uint8_t *key, unsigned int device, uint32_t units, struct wire_shared *ret)
{
	struct wire_object_request request = { .head = { .type = type, .size = sizeof request },
					       .device = device,
					       .units = units };

	memcpy(request.key, key, sizeof request.key);
	return attach_ask(&request, ret, sizeof *ret, ATTACH_PATIENCE_MS);
}

static int find_locked(const uint8_t *key)
{
	for (unsigned int i = 0; i < WIRE_MAX_OBJECTS; i++)
		if (objects[i].holds && !memcmp(objects[i].key, key, WIRE_KEY_BYTES))
			return (int)i;
	return SHARING_NONE;
}

static int free_place_locked(void)
{
	for (unsigned int i = 0; i < WIRE_MAX_OBJECTS; i++)
		if (!objects[i].holds)
			return (int)i;
	return SHARING_NONE;
}

static void fill_locked(int id, const uint8_t *key, unsigned int device)
{
	memcpy(objects[id].key, key, WIRE_KEY_BYTES);
	objects[id].device = device;
	objects[id].holds = 1;
}

int sharing_share(const uint8_t *key, unsigned int device, uint32_t units)
{
	struct wire_shared answer;
	int id;

	pthread_mutex_lock(&lock);
	id = find_locked(key);
	if (id != SHARING_NONE) {
		id = SHARING_NONE; /* another allocation under the same name: keep it in our own account */
	} else {
		id = free_place_locked();
		if (id != SHARING_NONE && ask(WIRE_SHARE, key, device, units, &answer) == WIRE_OK)
			fill_locked(id, key, device);
		else
			id = SHARING_NONE;
	}
	pthread_mutex_unlock(&lock);
	return id;
}

int sharing_import(const uint8_t *key)
{
	struct wire_shared answer;
	int id;

	pthread_mutex_lock(&lock);
	id = find_locked(key);
	if (id != SHARING_NONE) {
		objects[id].holds++;
	} else {
		id = free_place_locked();
		if (id != SHARING_NONE && ask(WIRE_IMPORT, key, 0, 0, &answer) == WIRE_OK)
			fill_locked(id, key, answer.device);
		else
			id = SHARING_NONE;
	}
	pthread_mutex_unlock(&lock);
	return id;
}

void sharing_drop(uint32_t id)
{
	struct wire_shared answer;

	pthread_mutex_lock(&lock);
	if (id < WIRE_MAX_OBJECTS && objects[id].holds && --objects[id].holds == 0)
		ask(WIRE_DROP, objects[id].key, objects[id].device, 0, &answer);
	pthread_mutex_unlock(&lock);
}

void sharing_reset(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	memset(objects, 0, sizeof objects);
}

bool sharing_key_of_fd(int fd, uint8_t *ret_key)
{
	struct stat st;
	int saved = errno;
	uint64_t name[2];

	memset(ret_key, 0, WIRE_KEY_BYTES);
	if (syscall(SYS_fstat, fd, &st) < 0) {
		errno = saved;
		return false;
	}
	if (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))
		return false;
	name[0] = st.st_dev;
	name[1] = st.st_ino;
	memcpy(ret_key, "fd", 2);
	memcpy(ret_key + 8, name, sizeof name);
	return true;
}

/* Four 64-bit FNV-1a hashes with different starts: names what honest processes exchange, keeps no secret. */
void sharing_key_of_bytes(const void *bytes, size_t size, uint8_t *ret_key)
{
	const uint8_t *byte = bytes;

	for (unsigned int part = 0; part < 4; part++) {
		uint64_t hash = 0xcbf29ce484222325u + part * 0x9e3779b97f4a7c15u;

		for (size_t i = 0; i < size; i++)
			hash = (hash ^ byte[i]) * 0x100000001b3u;
		memcpy(ret_key + part * sizeof hash, &hash, sizeof hash);
	}
}

/*
 * The handle names a whole allocation. On a driver with large blocks an allocation that shares a block with others
 * cannot move its charge; then it stays with us, and is missing after our death while the importer lives.
 */
CUresult shim_cuIpcGetMemHandle(CUipcMemHandle *pHandle, CUdeviceptr dptr)
{
	CUresult r = shim_real.cuIpcGetMemHandle(pHandle, dptr);
	uint8_t key[WIRE_KEY_BYTES];
	struct record record;
	CUdeviceptr base;
	size_t size;
	uint32_t granule;
	int id;

	if (r != CUDA_SUCCESS || shim_real.cuMemGetAddressRange_v2(&base, &size, dptr) != CUDA_SUCCESS ||
	    !records_find(record_pointer(base), &record) || record.kind != RECORD_PLAIN || record.flags & RECORD_SHARED)
		return r;
	granule = accounts[record.device].granule_units;
	if (base % ((uint64_t)granule * WIRE_UNIT_BYTES) || record.size_units % granule)
		return r;
	sharing_key_of_bytes(pHandle, sizeof *pHandle, key);
	id = sharing_share(key, record.device, record.units);
	if (id != SHARING_NONE && !records_share(record_pointer(base), (uint32_t)id))
		sharing_drop((uint32_t)id);
	return r;
}

static CUresult open_handle(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int flags, bool second)
{
	struct record record = { .kind = RECORD_IMPORTED };
	uint8_t key[WIRE_KEY_BYTES];
	int id = SHARING_NONE;
	CUresult r;

	if (start_is_metered()) {
		sharing_key_of_bytes(&handle, sizeof handle, key);
		id = sharing_import(key);
	}
	r = second ? shim_real.cuIpcOpenMemHandle_v2(pdptr, handle, flags)
		   : shim_real.cuIpcOpenMemHandle(pdptr, handle, flags);
	if (id == SHARING_NONE)
		return r;
	if (r != CUDA_SUCCESS) {
		sharing_drop((uint32_t)id);
		return r;
	}
	/* The driver may answer a second opening with the same address: `units` counts further ones. */
	if (records_take(record_pointer(*pdptr), &record)) {
		record.units++;
		sharing_drop((uint32_t)id);
	} else {
		record.key = record_pointer(*pdptr);
		record.extra = (uint32_t)id;
	}
	records_add(&record);
	return r;
}

CUresult shim_cuIpcOpenMemHandle(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags)
{
	return open_handle(pdptr, handle, Flags, false);
}

CUresult shim_cuIpcOpenMemHandle_v2(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags)
{
	return open_handle(pdptr, handle, Flags, true);
}
