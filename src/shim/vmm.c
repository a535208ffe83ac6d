/*
 * vmm.c: see vmm.h.
 *
 * An allocation is known under handles (each with the number of references that the program has through it) and by the
 * ranges that it is mapped at. The driver may use a handle's number again once its references are gone, although the
 * allocation lives on in a mapping: so handles and ranges point at an allocation of our own numbering.
 * Memory that may leave the device (movable.h) is known to the program under numbers of ours, OWN_TAG | id: the driver
 * has one reference to it, which is ours, and the program's are counted here alone.
 *
 * Before the driver is asked to let go, what it would let go of is taken out of the tables, and the refund comes after.
 *
 * What cuMemMapArrayAsync maps stays charged until the array goes: the regions of its unmap operations are not
 * followed.
 */
#include "shim/vmm.h"
#include "cuda_shim.h"
#include "core/account.h"
#include "core/charge.h"
#include "core/gate.h"
#include "core/log.h"
#include "core/map.h"
#include "core/records.h"
#include "shim/movable.h"
#include "shim/scratch.h"
#include "core/sharing.h"
#include "shim/start.h"
#include "shim/vmm_tables.h"

#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

pthread_mutex_t vmm_lock = PTHREAD_MUTEX_INITIALIZER;
struct map vmm_allocations, vmm_handles, vmm_ranges;
/*
 * Held from the driver's call to the change of the tables, so that of two threads that map and unmap one range, or
 * create and release one handle, at the same time the tables and the driver see the same one first. Taken inside the
 * gate; these calls do not call back. Nobody asks meted with it.
 */
static pthread_mutex_t calls = PTHREAD_MUTEX_INITIALIZER;
/* Held while the charge of an allocation moves, so that of two threads that export it both see that it has. */
static pthread_mutex_t moving = PTHREAD_MUTEX_INITIALIZER;
static uint64_t last_id;
static uint64_t last_array_range;

#define ARRAY_LEAVES (1ull << 63) /* instead of an array that is being destroyed */

struct vmm_gone vmm_count_locked(uint64_t id, int32_t references, int32_t mappings)
{
	struct map_entry *e = map_find(&vmm_allocations, id);
	struct vmm_gone gone = { 0 };

	if (!e)
		return gone;
	e->value[1] = (uint64_t)((uint32_t)(e->value[1] >> 32) + (uint32_t)references) << 32 |
		      ((uint32_t)e->value[1] + (uint32_t)mappings);
	if (e->value[1])
		return gone;
	gone.is = true;
	gone.units = (uint32_t)(e->value[0] >> 32);
	gone.device = (unsigned int)(uint32_t)e->value[0];
	gone.object = OBJECT(e->value[2]);
	gone.place = PLACE(e->value[2]);
	map_remove(&vmm_allocations, id, NULL);
	return gone;
}

struct vmm_gone vmm_change(uint64_t id, int32_t references, int32_t mappings)
{
	struct vmm_gone gone;

	pthread_mutex_lock(&vmm_lock);
	gone = vmm_count_locked(id, references, mappings);
	pthread_mutex_unlock(&vmm_lock);
	return gone;
}

void vmm_refund(const struct vmm_gone *gone)
{
	if (!gone->is)
		return;
	if (gone->place)
		movable_own_end(gone->place - 1, !gone->object);
	if (gone->object)
		sharing_drop(gone->object - 1);
	else if (!gone->place)
		account_give(gone->device, gone->units);
}

uint64_t vmm_new_id(void)
{
	uint64_t id;

	pthread_mutex_lock(&vmm_lock);
	id = ++last_id;
	pthread_mutex_unlock(&vmm_lock);
	return id;
}

/* A new allocation known by one handle. */
static bool add(CUmemGenericAllocationHandle handle, unsigned int device, uint32_t units, uint64_t object)
{
	struct map_entry allocation = { .value = { (uint64_t)units << 32 | device, 1ull << 32, object } };
	struct map_entry name = { .key = handle, .value = { 0, 1 } };
	bool good;

	pthread_mutex_lock(&vmm_lock);
	allocation.key = name.value[0] = ++last_id;
	good = map_add(&vmm_allocations, &allocation);
	if (good && !map_add(&vmm_handles, &name)) {
		map_remove(&vmm_allocations, allocation.key, NULL);
		good = false;
	}
	pthread_mutex_unlock(&vmm_lock);
	return good;
}

static CUresult create_charged(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
			       unsigned long long flags, unsigned int device)
{
	CUmemGenericAllocationHandle made = 0;
	struct charge c = { 0 };
	CUresult r;

	if (charge_begin_units(&c, device, wire_units(size)) != CHARGE_HELD)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&calls);
	r = shim_real.cuMemCreate(&made, size, prop, flags);
	if (r == CUDA_SUCCESS && !add(vmm_name(made), device, c.units, 0)) {
		shim_real.cuMemRelease(made);
		r = CUDA_ERROR_OUT_OF_MEMORY;
	}
	pthread_mutex_unlock(&calls);
	if (r == CUDA_SUCCESS)
		*handle = made;
	if (r == CUDA_SUCCESS)
		gate_leave();
	else
		charge_cancel(&c);
	return r;
}

CUresult shim_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
			  unsigned long long flags)
{
	CUmemAllocationProp seen;
	unsigned int device;
	CUresult r;

	sharing_look();
	if (!handle || !prop || !size || !location_is_device(prop->location) || !start_is_metered())
		return shim_real.cuMemCreate(handle, size, prop, flags);
	seen = *prop;
	seen.location = location_in(seen.location);
	if (!devices_find(location_device(seen.location), &device)) /* no such device: the driver says so */
		return shim_real.cuMemCreate(handle, size, &seen, flags);
	if (vmm_may_leave(&seen) && vmm_own_create(handle, size, &seen, flags, device, &r))
		return r;
	return create_charged(handle, size, &seen, flags, device);
}

/* One reference through a handle. Value: the allocation's id, 0: not ours. */
static uint64_t take_reference(CUmemGenericAllocationHandle handle)
{
	struct map_entry *e;
	uint64_t id = 0;

	pthread_mutex_lock(&vmm_lock);
	e = map_find(&vmm_handles, vmm_name(handle));
	if (e) {
		id = e->value[0];
		if (--e->value[1] == 0)
			map_remove(&vmm_handles, vmm_name(handle), NULL);
	}
	pthread_mutex_unlock(&vmm_lock);
	return id;
}

/* Another name for the allocation, or one more reference through a known one. False: no memory for it. */
static bool add_reference(CUmemGenericAllocationHandle handle, uint64_t id)
{
	struct map_entry *e;
	bool good = true;

	pthread_mutex_lock(&vmm_lock);
	e = map_find(&vmm_handles, vmm_name(handle));
	if (e && e->value[0] == id)
		e->value[1]++;
	else
		good = map_add(&vmm_handles, &(struct map_entry){ .key = vmm_name(handle), .value = { id, 1 } });
	pthread_mutex_unlock(&vmm_lock);
	return good;
}

static CUresult release_own(CUmemGenericAllocationHandle handle)
{
	struct vmm_gone gone = { 0 };
	uint64_t id;

	pthread_mutex_lock(&calls);
	id = take_reference(handle);
	if (id)
		gone = vmm_change(id, -1, 0);
	pthread_mutex_unlock(&calls);
	vmm_refund(&gone);
	return id ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult shim_cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct vmm_gone gone = { 0 };
	uint64_t id;
	CUresult r;

	sharing_look();
	if (vmm_is_own(handle))
		return release_own(handle);
	gate_enter();
	pthread_mutex_lock(&calls);
	id = take_reference(handle);
	r = shim_real.cuMemRelease(handle);
	if (id && r == CUDA_SUCCESS)
		gone = vmm_change(id, -1, 0);
	else if (id)
		add_reference(handle, id);
	pthread_mutex_unlock(&calls);
	gate_leave();
	vmm_refund(&gone);
	return r;
}

static uint64_t id_of_handle(CUmemGenericAllocationHandle handle)
{
	struct map_entry *e;
	uint64_t id;

	pthread_mutex_lock(&vmm_lock);
	e = map_find(&vmm_handles, vmm_name(handle));
	id = e ? e->value[0] : 0;
	pthread_mutex_unlock(&vmm_lock);
	return id;
}

static bool add_range(CUdeviceptr at, size_t size, uint64_t id, size_t offset)
{
	bool good;

	pthread_mutex_lock(&vmm_lock);
	good = map_add(&vmm_ranges, &(struct map_entry){ .key = at, .value = { size, id, offset } });
	pthread_mutex_unlock(&vmm_lock);
	return good;
}

CUresult shim_cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
		       unsigned long long flags)
{
	CUmemGenericAllocationHandle real;
	struct vmm_gone gone = { 0 };
	uint64_t id, held;
	CUresult r;

	sharing_look();
	if (!vmm_hold(handle, &real, &held))
		return CUDA_ERROR_INVALID_VALUE;
	gate_enter();
	pthread_mutex_lock(&calls);
	id = held ? held : id_of_handle(handle);
	if (id)
		vmm_change(id, 0, 1);
	r = shim_real.cuMemMap(ptr, size, offset, real, flags);
	if (id && r == CUDA_SUCCESS && !add_range(ptr, size, id, offset)) {
		shim_real.cuMemUnmap(ptr, size);
		r = CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (id && r != CUDA_SUCCESS)
		gone = vmm_change(id, 0, -1);
	pthread_mutex_unlock(&calls);
	gate_leave();
	vmm_refund(&gone);
	vmm_give_back(held);
	return r;
}

/* Ranges on their way out of the table; one is the rule, and needs no memory. */
struct taken {
	struct map_entry first; /* key 0: none */
	struct map more;
};

/* The ranges that make up [at, end). False: no memory for so many; what was taken is in *ret. */
static bool take_ranges(uint64_t at, uint64_t end, struct taken *ret)
{
	struct map_entry e;
	bool good = true;

	pthread_mutex_lock(&vmm_lock);
	while (good && at < end && map_remove(&vmm_ranges, at, &e)) {
		if (!ret->first.key)
			ret->first = e;
		else if (!map_add(&ret->more, &e))
			good = !map_add(&vmm_ranges, &e); /* its old place is free */
		at += e.value[0];
	}
	pthread_mutex_unlock(&vmm_lock);
	return good;
}

static bool put_range(const struct map_entry *e, void *unused)
{
	(void)unused;
	map_add(&vmm_ranges, e);
	return true;
}

static void put_ranges(struct taken *taken)
{
	pthread_mutex_lock(&vmm_lock);
	if (taken->first.key)
		put_range(&taken->first, NULL);
	map_sweep(&taken->more, put_range, NULL);
	pthread_mutex_unlock(&vmm_lock);
	map_clear(&taken->more);
}

static bool refund_range(const struct map_entry *e, void *unused)
{
	struct vmm_gone gone = vmm_change(e->value[1], 0, -1);

	(void)unused;
	vmm_refund(&gone);
	return true;
}

static void refund_ranges(struct taken *taken)
{
	if (taken->first.key)
		refund_range(&taken->first, NULL);
	map_sweep(&taken->more, refund_range, NULL);
	map_clear(&taken->more);
}

/* Mappings are unmapped whole, several neighbours at once if the program likes. */
CUresult shim_cuMemUnmap(CUdeviceptr ptr, size_t size)
{
	struct taken taken = { 0 };
	CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
	struct movable_block block;

	if (movable_find(ptr, &block))
		return CUDA_ERROR_INVALID_VALUE; /* as of any plain allocation */
	sharing_look();
	gate_enter();
	pthread_mutex_lock(&calls);
	if (take_ranges(ptr, ptr + size, &taken))
		r = taken.first.value[2] & UNMAPPED ? CUDA_SUCCESS : shim_real.cuMemUnmap(ptr, size);
	if (r != CUDA_SUCCESS)
		put_ranges(&taken);
	pthread_mutex_unlock(&calls);
	gate_leave();
	if (r == CUDA_SUCCESS)
		refund_ranges(&taken);
	return r;
}

struct lookup {
	uint64_t address, id;
};

static bool covers(const struct map_entry *e, void *data)
{
	struct lookup *l = data;

	if (!(e->key & ARRAY_RANGE) && l->address >= e->key && l->address - e->key < e->value[0])
		l->id = e->value[1];
	return false;
}

static bool is_own_locked(uint64_t id)
{
	struct map_entry *e = map_find(&vmm_allocations, id);

	return e && PLACE(e->value[2]);
}

CUresult shim_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
	struct lookup l = { .address = (uint64_t)(uintptr_t)addr };
	struct vmm_gone gone = { 0 };
	struct movable_block block;
	bool own;
	CUresult r;

	if (movable_find((CUdeviceptr)(uintptr_t)addr, &block))
		return CUDA_ERROR_INVALID_VALUE;
	sharing_look();
	gate_enter();
	pthread_mutex_lock(&calls);
	pthread_mutex_lock(&vmm_lock);
	map_sweep(&vmm_ranges, covers, &l);
	if (l.id)
		vmm_count_locked(l.id, 1, 0);
	own = l.id && handle && is_own_locked(l.id);
	pthread_mutex_unlock(&vmm_lock);
	r = own ? CUDA_SUCCESS : shim_real.cuMemRetainAllocationHandle(handle, addr);
	if (own)
		*handle = OWN_TAG | l.id;
	if (l.id && r == CUDA_SUCCESS && !add_reference(*handle, l.id)) {
		if (!own)
			shim_real.cuMemRelease(*handle);
		r = CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (l.id && r != CUDA_SUCCESS)
		gone = vmm_change(l.id, -1, 0);
	pthread_mutex_unlock(&calls);
	gate_leave();
	vmm_refund(&gone);
	return r;
}

/*
 * The charge moves to the grant's object; a second export of the same memory finds it there already. `fd` names the
 * same memory; -1: there is none. False: the charge stays with the handles and mappings, and ends with them.
 */
static bool share_held(uint64_t id, const uint8_t *key, int fd)
{
	struct map_entry *e, found;
	struct vmm_gone gone;
	int object = SHARING_NONE;

	pthread_mutex_lock(&vmm_lock);
	e = map_find(&vmm_allocations, id);
	if (e) {
		found = *e;
		vmm_count_locked(id, 1, 0); /* its charge does not go twice when it is released meanwhile */
	}
	pthread_mutex_unlock(&vmm_lock);
	if (!e)
		return true;
	if (!OBJECT(found.value[2]))
		object = sharing_share(key, (unsigned int)(uint32_t)found.value[0], (uint32_t)(found.value[0] >> 32));
	if (object != SHARING_NONE && fd >= 0)
		sharing_watch((uint32_t)object, fd);
	pthread_mutex_lock(&vmm_lock);
	e = map_find(&vmm_allocations, id);
	if (e && object != SHARING_NONE)
		e->value[2] += (uint64_t)object + 1;
	gone = vmm_count_locked(id, -1, 0);
	pthread_mutex_unlock(&vmm_lock);
	vmm_refund(&gone);
	return OBJECT(found.value[2]) || object != SHARING_NONE;
}

static bool share(uint64_t id, const uint8_t *key, int fd)
{
	bool shared;

	pthread_mutex_lock(&moving);
	shared = share_held(id, key, fd);
	pthread_mutex_unlock(&moving);
	return shared;
}

/* Of what was exported: a descriptor, or a name of its own. */
static bool share_exported(uint64_t id, void *shareable, CUmemAllocationHandleType type)
{
	uint8_t key[WIRE_KEY_BYTES];

	if (type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return sharing_mark(*(int *)shareable, id) && sharing_key_of_fd(*(int *)shareable, key) &&
		       share(id, key, *(int *)shareable);
	if (type != CU_MEM_HANDLE_TYPE_FABRIC)
		return true;
	sharing_key_of_bytes(shareable, sizeof(CUmemFabricHandle), key);
	return share(id, key, -1);
}

static void withdraw(void *shareable, CUmemAllocationHandleType type)
{
	int saved = errno;

	log_line("memory is not exported: meted is away, or this process shares %u allocations, and can share no more, "
		 "or its descriptor takes no mark (a lock): one that nobody is charged for could outlive its handle",
		 WIRE_MAX_OBJECTS);
	if (type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		syscall(SYS_close, *(int *)shareable);
	errno = saved;
}

/* Another thread may give the handle back meanwhile: until its charge has moved the allocation keeps it. */
CUresult shim_cuMemExportToShareableHandle(void *shareableHandle, CUmemGenericAllocationHandle handle,
					   CUmemAllocationHandleType handleType, unsigned long long flags)
{
	CUmemGenericAllocationHandle real;
	struct vmm_gone gone = { 0 };
	uint64_t id, held;
	CUresult r;

	if (!start_is_metered())
		return shim_real.cuMemExportToShareableHandle(shareableHandle, handle, handleType, flags);
	sharing_look();
	if (!vmm_hold(handle, &real, &held))
		return CUDA_ERROR_INVALID_VALUE;
	if (held && !vmm_keep_id(held)) {
		vmm_give_back(held);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	pthread_mutex_lock(&calls);
	id = held ? held : id_of_handle(handle);
	if (id)
		vmm_change(id, 1, 0);
	r = shim_real.cuMemExportToShareableHandle(shareableHandle, real, handleType, flags);
	pthread_mutex_unlock(&calls);
	if (r == CUDA_SUCCESS && id && !share_exported(id, shareableHandle, handleType)) {
		withdraw(shareableHandle, handleType);
		r = CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (held && r != CUDA_SUCCESS)
		vmm_keep_no_more(held);
	if (id)
		gone = vmm_change(id, -1, 0);
	vmm_refund(&gone);
	vmm_give_back(held);
	return r;
}

static bool add_import(CUmemGenericAllocationHandle handle, unsigned int object)
{
	uint64_t id = id_of_handle(handle);

	if (!id)
		return add(vmm_name(handle), 0, 0, (uint64_t)object + 1);
	/* Our own memory came back under the handle that we know: one more reference, and the object needs no second.
	 */
	vmm_change(id, 1, 0);
	add_reference(handle, id);
	return false;
}

/* The size of a file, as units. 0: no file with a size. */
static uint64_t file_units(int fd)
{
	int saved = errno;
	struct stat st;
	long r = syscall(SYS_fstat, fd, &st);

	errno = saved;
	return r == 0 && S_ISREG(st.st_mode) && st.st_size > 0 ? wire_units((uint64_t)st.st_size) : 0;
}

/* Charges on the device that the memory really lies on. CUDA_SUCCESS or not: inside the gate, as before. */
static CUresult charge_where(CUmemGenericAllocationHandle handle, struct charge *c)
{
	CUmemAllocationProp prop;
	struct charge there;
	unsigned int device;
	CUresult r = shim_real.cuMemGetAllocationPropertiesFromHandle(&prop, handle);

	if (r != CUDA_SUCCESS)
		return r;
	if (!devices_find(prop.location.id, &device))
		return CUDA_ERROR_INVALID_DEVICE;
	if (device == c->device)
		return CUDA_SUCCESS;
	gate_leave();
	if (charge_begin_units(&there, device, c->units) != CHARGE_HELD) {
		gate_enter();
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	account_give(c->device, c->units);
	*c = there;
	return CUDA_SUCCESS;
}

/*
 * Memory of the software device that nobody has exported under this grant, or for which there is no place among the
 * shared. Which device it lies on is known afterwards;
 * until then any that has room stands in.
 */
static CUresult import_charged(CUmemGenericAllocationHandle *handle, int fd, const uint8_t *key, uint64_t units)
{
	struct charge c = { 0 };
	unsigned int device = 0;
	CUresult r;

	while (device < account_count && charge_begin_units(&c, device, units) != CHARGE_HELD)
		device++;
	if (device == account_count)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = shim_real.cuMemImportFromShareableHandle(handle, (void *)(intptr_t)fd,
						     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
	if (r == CUDA_SUCCESS) {
		r = charge_where(*handle, &c);
		if (r == CUDA_SUCCESS && !add(vmm_name(*handle), c.device, c.units, 0))
			r = CUDA_ERROR_OUT_OF_MEMORY;
		if (r != CUDA_SUCCESS)
			shim_real.cuMemRelease(*handle);
	}
	if (r != CUDA_SUCCESS) {
		charge_cancel(&c);
		return r;
	}
	gate_leave();
	share(id_of_handle(*handle), key, -1); /* once we let go, its owner alone is charged */
	return r;
}

/* Referenced before the driver opens it, so that its owner's last reference does not go in between. */
CUresult shim_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *osHandle,
					     CUmemAllocationHandleType shHandleType)
{
	uint8_t key[WIRE_KEY_BYTES];
	int object = SHARING_NONE, fd = (int)(intptr_t)osHandle;
	bool added;
	CUresult r;

	sharing_look();
	if (start_is_metered() && shHandleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR &&
	    sharing_key_of_fd(fd, key)) {
		object = sharing_import(key);
		if (object >= 0)
			sharing_watch((uint32_t)object, fd);
		if (object < 0 && handle && accounts[0].soft && file_units(fd))
			return import_charged(handle, fd, key, file_units(fd));
	}
	if (start_is_metered() && shHandleType == CU_MEM_HANDLE_TYPE_FABRIC && osHandle) {
		sharing_key_of_bytes(osHandle, sizeof(CUmemFabricHandle), key);
		object = sharing_import(key);
	}
	pthread_mutex_lock(&calls);
	r = shim_real.cuMemImportFromShareableHandle(handle, osHandle, shHandleType);
	added = object >= 0 && r == CUDA_SUCCESS && add_import(*handle, (unsigned int)object);
	pthread_mutex_unlock(&calls);
	if (object >= 0 && !added)
		sharing_drop((uint32_t)object);
	return r;
}

/* ---- sparse arrays ---- */

/* What an operation maps is counted. False: no memory for the count. `calls` is held. */
static bool add_array_range(const CUarrayMapInfo *op)
{
	struct map_entry e = { .value = { (uint64_t)(uintptr_t)op->resource.array } };
	struct record array;
	bool good = true;

	if (op->memOperationType != CU_MEM_OPERATION_TYPE_MAP)
		return true;
	e.value[1] = id_of_handle(op->memHandle.memHandle);
	if (!e.value[1])
		return true;
	if (records_find(record_handle(op->resource.array), &array))
		e.value[2] = (uint64_t)(uintptr_t)array.context;
	pthread_mutex_lock(&vmm_lock);
	e.key = ARRAY_RANGE | ++last_array_range;
	good = map_add(&vmm_ranges, &e);
	if (good)
		vmm_count_locked(e.value[1], 0, 1);
	pthread_mutex_unlock(&vmm_lock);
	return good;
}

/* The ranges after number `after`, up to `last`: the driver has not mapped them. Outside the gate. */
static void drop_array_ranges(uint64_t after, uint64_t last)
{
	while (after < last) {
		struct vmm_gone gone = { 0 };
		struct map_entry e;

		pthread_mutex_lock(&vmm_lock);
		if (map_remove(&vmm_ranges, ARRAY_RANGE | ++after, &e))
			gone = vmm_count_locked(e.value[1], 0, -1);
		pthread_mutex_unlock(&vmm_lock);
		vmm_refund(&gone);
	}
}

static uint64_t last_range(void)
{
	uint64_t last;

	pthread_mutex_lock(&vmm_lock);
	last = last_array_range;
	pthread_mutex_unlock(&vmm_lock);
	return last;
}

static bool maps_own(const CUarrayMapInfo *op)
{
	return op->memOperationType == CU_MEM_OPERATION_TYPE_MAP && op->memHandleType == CU_MEM_HANDLE_TYPE_GENERIC &&
	       vmm_is_own(op->memHandle.memHandle);
}

/* The driver knows them by its own handles; they are held by what was counted. `calls` is held. */
static void use_real(CUarrayMapInfo *list, unsigned int n)
{
	pthread_mutex_lock(&vmm_lock);
	for (unsigned int i = 0; i < n; i++)
		if (maps_own(&list[i]))
			vmm_real_locked(OWN_ID(list[i].memHandle.memHandle), &list[i].memHandle.memHandle);
	pthread_mutex_unlock(&vmm_lock);
}

/* What an array is made of stays, and for good: when it is no more is not known. */
static bool keep_all(const CUarrayMapInfo *list, unsigned int n)
{
	CUmemGenericAllocationHandle real;
	uint64_t held;

	for (unsigned int i = 0; i < n; i++) {
		if (!maps_own(&list[i]))
			continue;
		if (!vmm_keep(list[i].memHandle.memHandle, &real, &held))
			return false;
		vmm_give_back(held);
	}
	return true;
}

/* Counted before the driver is asked: another thread may give the handles back meanwhile. */
static CUresult map_counted(CUarrayMapInfo *list, unsigned int n, CUstream stream, bool per_thread)
{
	CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
	uint64_t after, last;
	bool good = true;

	sharing_look();
	gate_enter();
	pthread_mutex_lock(&calls);
	after = last_range();
	for (unsigned int i = 0; good && i < n; i++)
		good = add_array_range(&list[i]);
	last = last_range();
	if (good)
		use_real(list, n);
	if (good)
		r = per_thread ? shim_real.cuMemMapArrayAsync_ptsz(list, n, stream)
			       : shim_real.cuMemMapArrayAsync(list, n, stream);
	pthread_mutex_unlock(&calls);
	gate_leave();
	if (r != CUDA_SUCCESS)
		drop_array_ranges(after, last);
	return r;
}

/* The driver gets a copy, in which no thread of the program changes what was counted. */
static CUresult map_arrays(CUarrayMapInfo *list, unsigned int n, CUstream stream, bool per_thread)
{
	CUarrayMapInfo *copy;
	CUresult r;

	if (!start_is_metered() || !list || !n)
		return per_thread ? shim_real.cuMemMapArrayAsync_ptsz(list, n, stream)
				  : shim_real.cuMemMapArrayAsync(list, n, stream);
	copy = scratch_copy(list, n, sizeof *list);
	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = keep_all(copy, n) ? map_counted(copy, n, stream, per_thread) : CUDA_ERROR_OUT_OF_MEMORY;
	scratch_free(copy, n, sizeof *copy);
	return r;
}

CUresult shim_cuMemMapArrayAsync(CUarrayMapInfo *mapInfoList, unsigned int count, CUstream hStream)
{
	return map_arrays(mapInfoList, count, hStream, false);
}

CUresult shim_cuMemMapArrayAsync_ptsz(CUarrayMapInfo *mapInfoList, unsigned int count, CUstream hStream)
{
	return map_arrays(mapInfoList, count, hStream, true);
}

struct array_sweep {
	unsigned int by;      /* which value tells: 0 the array, 2 the context */
	uint64_t which, name; /* what is there, and what the array is called from now on */
	struct vmm_gone gone;
};

/* map_sweep() hands out the entries themselves; none moves while none is dropped. */
static bool rename_range(const struct map_entry *e, void *data)
{
	struct array_sweep *sweep = data;

	if (e->key & ARRAY_RANGE && e->value[sweep->by] == sweep->which)
		((struct map_entry *)(uintptr_t)e)->value[0] = sweep->name;
	return false;
}

static bool of_array(const struct map_entry *e, void *data)
{
	struct array_sweep *sweep = data;

	if (sweep->gone.is || !(e->key & ARRAY_RANGE) || e->value[0] != sweep->which)
		return false;
	sweep->gone = vmm_count_locked(e->value[1], 0, -1);
	return true;
}

static uint64_t leaves(unsigned int by, const void *which)
{
	struct array_sweep sweep = { .by = by, .which = (uint64_t)(uintptr_t)which };

	pthread_mutex_lock(&vmm_lock);
	if (last_array_range) { /* there have been any */
		sweep.name = ARRAY_LEAVES | ++last_array_range;
		map_sweep(&vmm_ranges, rename_range, &sweep);
	}
	pthread_mutex_unlock(&vmm_lock);
	return sweep.name;
}

uint64_t vmm_array_leaves(const void *array)
{
	return leaves(0, array);
}

uint64_t vmm_context_leaves(const void *context)
{
	return leaves(2, context);
}

void vmm_array_left(uint64_t name, const void *array, bool gone)
{
	struct array_sweep sweep = { .which = name, .name = (uint64_t)(uintptr_t)array };

	if (!name)
		return;
	if (!gone) {
		pthread_mutex_lock(&vmm_lock);
		map_sweep(&vmm_ranges, rename_range, &sweep);
		pthread_mutex_unlock(&vmm_lock);
		return;
	}
	do {
		sweep.gone = (struct vmm_gone){ 0 };
		pthread_mutex_lock(&vmm_lock);
		map_sweep(&vmm_ranges, of_array, &sweep);
		pthread_mutex_unlock(&vmm_lock);
		vmm_refund(&sweep.gone);
	} while (sweep.gone.is);
}

void vmm_reset(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	vmm_lock = calls = moving = unlocked;
	map_clear(&vmm_allocations);
	map_clear(&vmm_handles);
	map_clear(&vmm_ranges);
}
