/*
 * modules.c: see modules.h.
 *
 * An image whose variables can be read (image.c) is refused before the driver sees it when they cannot fit. On the
 * software device, where code takes no device memory, what can be read is also the upper bound, and an image without
 * variables is not measured at all, unless it is a file: the driver reads that again, and may find another one. It says
 * what it has found in the program's memory.
 *
 * A library is loaded without a context; its variables come into being in a context when something of it is first used
 * there. On the software device that is brought forward to cuLibraryGetKernel and its like, where it can be refused: a
 * launch is never held up. A kernel that was handed out can be launched in every context, so the library then comes to
 * all there are, and to those that are made later. On a real driver, whose lazy loading this would defeat, what a
 * launch loads is found by the truth check (measured.c).
 */
#include "shim/modules.h"
#include "cuda_shim.h"
#include "core/account.h"
#include "core/charge.h"
#include "shim/contexts.h"
#include "shim/cuda_figure.h"
#include "core/gate.h"
#include "shim/image.h"
#include "core/map.h"
#include "core/measured.h"
#include "shim/scratch.h"
#include "shim/start.h"
#include "wire/soft_usage.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* modules: module -> [0] context, [1] units, [2] device */
/* libraries: library -> [0] least units, [1] most units, [2] enum library_flags */
/* instances: library ^ context mixed -> [0] library, [1] context, [2] units << 8 | device */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all three */
static struct map modules, libraries, instances;

enum library_flags {
	LIBRARY_VARIABLES = 1 << 0,  /* it has some, or it is not known */
	LIBRARY_OUT = 1 << 1,	     /* the program has kernels of it, or will have */
	LIBRARY_EVERYWHERE = 1 << 2, /* it has come to all contexts: its kernels are given out */
};

#define LIST_MOST 512u /* contexts, or libraries, that are gone through at once */

/*
 * Held while a library comes into a context, so that it does so once, and while a library or a context goes, so that
 * what came into it is known. Taken before everything else here, and before the gate.
 */
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
/* Held while a library comes to all contexts: until then no thread has a kernel of it. Taken before `making`. */
static pthread_mutex_t handing = PTHREAD_MUTEX_INITIALIZER;

struct need {
	uint64_t least, most; /* units */
	uint32_t floor;	      /* what is charged at least */
};

/* What the device that `image` is for can be expected to take. */
static struct need need_of(const struct image_need *image, unsigned int device)
{
	struct need need = { 0, MEASURED_UNKNOWN, 0 };

	if (!image->known)
		return need;
	if (accounts[device].soft) {
		need.least = image->least_units;
		need.most = image->most_units;
	} else {
		need.least = measured_least_units(device, image->least_bytes);
	}
	if (need.least <= WIRE_MAX_UNITS) /* else it is refused */
		need.floor = (uint32_t)need.least;
	return need;
}

/* A driver's call that makes something in the current context, and how to unmake it. */
struct load {
	CUresult (*make)(struct load *l);
	void (*unmake)(struct load *l);
	void *made; /* CUmodule or CUlibrary */
	enum cuda_call call;
	const char *path;
	const void *image;
	unsigned int option_count;
	CUjit_option *options;
	void **values;
	unsigned int library_option_count;
	CUlibraryOption *library_options;
	void **library_values;
	CUlibrary library;
	unsigned int device;
	uint32_t units;
	bool doubtful; /* the driver may make another image than the one that was looked at */
};

/* What the software device says that the variables of a module or a library take, in each context. */
static uint64_t told_units(const void *made, unsigned int device)
{
	const struct soft_usage_table *soft = cuda_figure_soft(device);

	return soft ? wire_units(soft->variable_bytes(made)) : MEASURED_UNKNOWN;
}

/*
 * On the software device: an image without variables is loaded beside other calls. It lies in the program's memory, and
 * a thread of the program may have changed it since it was looked at: so the driver says what it has found, and that is
 * charged after all.
 */
static CUresult load_empty(struct load *l)
{
	struct charge c = { 0 };
	uint64_t units = 0;
	CUresult r;

	if (charge_begin_units(&c, l->device, 0) != CHARGE_HELD)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = l->make(l);
	if (r == CUDA_SUCCESS)
		units = told_units(l->made, l->device);
	if (units && (units > WIRE_MAX_UNITS || !charge_more(&c, (uint32_t)units))) {
		l->unmake(l);
		l->made = NULL;
		r = CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (r == CUDA_SUCCESS) {
		measured_add(l->device, c.units);
		l->units = c.units;
		gate_leave();
	} else {
		charge_cancel(&c);
	}
	return r;
}

/* What is charged at least; the software device says what it has found, whatever was there when it was looked at. */
static uint32_t floor_of(const struct load *l, struct need need)
{
	uint64_t units = told_units(l->made ? l->made : l->library, l->device);

	return units <= WIRE_MAX_UNITS ? (uint32_t)units : need.floor;
}

static CUresult load_measured(struct load *l, struct need need)
{
	struct measured m;
	CUresult r;

	if (need.most == 0 && !l->doubtful && cuda_figure_soft(l->device))
		return load_empty(l);
	if (measured_begin(&m, l->device, need.least, need.most) != MEASURED_READY)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = l->make(l);
	m.floor_units = r == CUDA_SUCCESS ? floor_of(l, need) : 0;
	if (r == CUDA_SUCCESS && measured_end(&m, &l->units) == MEASURED_READY)
		return r;
	if (r == CUDA_SUCCESS) {
		l->unmake(l);
		l->made = NULL;
		r = CUDA_ERROR_OUT_OF_MEMORY;
	}
	measured_cancel(&m);
	return r;
}

/* A file as an image: text needs its NUL, which the page behind its end gives unless it fills its last page. */
static void *map_file(const char *path, size_t *ret_bytes)
{
	struct stat st;
	void *image = MAP_FAILED;
	int saved = errno;
	long fd = path ? syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0) : -1;

	if (fd >= 0 && syscall(SYS_fstat, (int)fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
		*ret_bytes = (size_t)st.st_size;
		if (*ret_bytes % 4096)
			image = mmap(NULL, *ret_bytes, PROT_READ, MAP_PRIVATE, (int)fd, 0);
	}
	if (fd >= 0)
		syscall(SYS_close, (int)fd);
	errno = saved;
	return image == MAP_FAILED ? NULL : image;
}

static void read_need(const struct load *l, struct image_need *ret)
{
	size_t bytes = 0;
	void *file;

	if (l->image) {
		image_read(l->image, ret);
		return;
	}
	file = map_file(l->path, &bytes);
	image_read(file, ret);
	if (file)
		munmap(file, bytes);
}

static CUresult make_module(struct load *l)
{
	CUmodule *m = (CUmodule *)&l->made;

	switch (l->call) {
	case CUDA_CALL_cuModuleLoad:
		return shim_real.cuModuleLoad(m, l->path);
	case CUDA_CALL_cuModuleLoadData:
		return shim_real.cuModuleLoadData(m, l->image);
	case CUDA_CALL_cuModuleLoadDataEx:
		return shim_real.cuModuleLoadDataEx(m, l->image, l->option_count, l->options, l->values);
	case CUDA_CALL_cuModuleLoadFatBinary:
		return shim_real.cuModuleLoadFatBinary(m, l->image);
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

static void unmake_module(struct load *l)
{
	shim_real.cuModuleUnload(l->made);
}

/* False: no memory for it. Nobody would be given back what is not in the tables. */
static bool add(struct map *map, const struct map_entry *e)
{
	bool good;

	pthread_mutex_lock(&lock);
	good = map_add(map, e);
	pthread_mutex_unlock(&lock);
	return good;
}

/* What was loaded goes again, with its charge. */
static void unload(struct load *l)
{
	struct measured m;

	measured_begin_release(&m, l->device);
	l->unmake(l);
	measured_end_release(&m, 0, l->units);
}

static CUresult load_module(CUmodule *ret, struct load *l)
{
	struct image_need image;
	face_context context;
	int found;
	CUresult r;

	l->make = make_module;
	l->unmake = unmake_module;
	found = ret && start_is_metered() ? charge_current(&context, &l->device) : CHARGE_NOT_OURS;
	if (found == CHARGE_NOT_OURS) {
		if (ret && contexts_lack(&r))
			return r;
		r = make_module(l);
		if (r == CUDA_SUCCESS && ret)
			*ret = l->made;
		return r;
	}
	if (found == CHARGE_REFUSED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	read_need(l, &image);
	l->doubtful = l->path;
	r = load_measured(l, need_of(&image, l->device));
	if (r != CUDA_SUCCESS)
		return r;
	if (!add(&modules, &(struct map_entry){ .key = (uint64_t)(uintptr_t)l->made,
						.value = { (uint64_t)(uintptr_t)context, l->units, l->device } })) {
		unload(l);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*ret = l->made;
	return r;
}

CUresult shim_cuModuleLoad(CUmodule *module, const char *fname)
{
	return load_module(module, &(struct load){ .call = CUDA_CALL_cuModuleLoad, .path = fname });
}

CUresult shim_cuModuleLoadData(CUmodule *module, const void *image)
{
	return load_module(module, &(struct load){ .call = CUDA_CALL_cuModuleLoadData, .image = image });
}

CUresult shim_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions, CUjit_option *options,
				 void **optionValues)
{
	return load_module(module, &(struct load){ .call = CUDA_CALL_cuModuleLoadDataEx,
						   .image = image,
						   .option_count = numOptions,
						   .options = options,
						   .values = optionValues });
}

CUresult shim_cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin)
{
	return load_module(module, &(struct load){ .call = CUDA_CALL_cuModuleLoadFatBinary, .image = fatCubin });
}

CUresult shim_cuModuleUnload(CUmodule hmod)
{
	struct map_entry e;
	struct measured m;
	bool ours;
	CUresult r;

	pthread_mutex_lock(&lock);
	ours = hmod && map_remove(&modules, (uint64_t)(uintptr_t)hmod, &e);
	pthread_mutex_unlock(&lock);
	if (!ours || (!e.value[1] && accounts[e.value[2]].soft)) {
		gate_enter();
		r = shim_real.cuModuleUnload(hmod);
		gate_leave();
		return r;
	}
	measured_begin_release(&m, (unsigned int)e.value[2]);
	r = shim_real.cuModuleUnload(hmod);
	if (r != CUDA_SUCCESS) {
		pthread_mutex_lock(&lock);
		map_add(&modules, &e);
		pthread_mutex_unlock(&lock);
	}
	measured_end_release(&m, 0, r == CUDA_SUCCESS ? e.value[1] : 0);
	return r;
}

/* ---- libraries ---- */

static CUresult make_library(struct load *l)
{
	CUlibrary *lib = (CUlibrary *)&l->made;

	if (l->call == CUDA_CALL_cuLibraryLoadFromFile)
		return shim_real.cuLibraryLoadFromFile(lib, l->path, l->options, l->values, l->option_count,
						       l->library_options, l->library_values, l->library_option_count);
	return shim_real.cuLibraryLoadData(lib, l->image, l->options, l->values, l->option_count, l->library_options,
					   l->library_values, l->library_option_count);
}

static void unmake_library(struct load *l)
{
	shim_real.cuLibraryUnload(l->made);
}

static uint64_t instance_key(const void *library, const void *context)
{
	return map_hash((uint64_t)(uintptr_t)library) ^ (uint64_t)(uintptr_t)context;
}

static bool add_instance(const void *library, const void *context, uint32_t units, unsigned int device)
{
	return add(&instances,
		   &(struct map_entry){ .key = instance_key(library, context),
					.value = { (uint64_t)(uintptr_t)library, (uint64_t)(uintptr_t)context,
						   (uint64_t)units << 8 | device } });
}

struct library_sweep {
	const void *library;
	uint64_t units[WIRE_MAX_DEVICES];
};

static bool of_library(const struct map_entry *e, void *data)
{
	struct library_sweep *sweep = data;

	if (e->value[0] != (uint64_t)(uintptr_t)sweep->library)
		return false;
	sweep->units[e->value[2] & 0xff] += e->value[2] >> 8;
	return true;
}

static void forget_library(struct library_sweep *sweep)
{
	pthread_mutex_lock(&lock);
	if (map_remove(&libraries, (uint64_t)(uintptr_t)sweep->library, NULL))
		map_sweep(&instances, of_library, sweep);
	pthread_mutex_unlock(&lock);
}

/* On the software device: loading takes nothing yet, and then the driver says what the library takes in each context.
 */
static CUresult load_told(struct load *l, uint64_t *ret_units)
{
	CUresult r;

	gate_enter();
	r = make_library(l);
	gate_leave();
	if (r == CUDA_SUCCESS)
		*ret_units = told_units(l->made, 0);
	return r;
}

/* On a real driver: measured where there is a context; without one nothing can be taken yet. */
static CUresult load_somewhere(struct load *l, face_context *ret_context)
{
	struct image_need image;
	struct need need;
	CUresult r;

	read_need(l, &image);
	if (charge_current(ret_context, &l->device) != CHARGE_HELD) {
		gate_enter();
		r = make_library(l);
		gate_leave();
		return r;
	}
	need = need_of(&image, l->device);
	need.floor = 0; /* a driver may load it when it is first used */
	return load_measured(l, need);
}

static CUresult load_library(CUlibrary *ret, struct load *l)
{
	face_context context = NULL;
	uint64_t units = 0;
	bool soft = account_count && accounts[0].soft;
	CUresult r;

	l->make = make_library;
	l->unmake = unmake_library;
	if (!ret || !start_is_metered()) {
		r = make_library(l);
		if (r == CUDA_SUCCESS && ret)
			*ret = l->made;
		return r;
	}
	r = soft ? load_told(l, &units) : load_somewhere(l, &context);
	if (r != CUDA_SUCCESS)
		return r;
	if (!add(&libraries, &(struct map_entry){ .key = (uint64_t)(uintptr_t)l->made,
						  .value = { units == MEASURED_UNKNOWN ? 0 : units, units,
							     units ? LIBRARY_VARIABLES : 0 } }) ||
	    (l->units && !add_instance(l->made, context, l->units, l->device))) {
		forget_library(&(struct library_sweep){ .library = l->made });
		unload(l);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*ret = l->made;
	return r;
}

CUresult shim_cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions, void **jitOptionsValues,
				unsigned int numJitOptions, CUlibraryOption *libraryOptions, void **libraryOptionValues,
				unsigned int numLibraryOptions)
{
	return load_library(library, &(struct load){ .call = CUDA_CALL_cuLibraryLoadData,
						     .image = code,
						     .options = jitOptions,
						     .values = jitOptionsValues,
						     .option_count = numJitOptions,
						     .library_options = libraryOptions,
						     .library_values = libraryOptionValues,
						     .library_option_count = numLibraryOptions });
}

CUresult shim_cuLibraryLoadFromFile(CUlibrary *library, const char *fileName, CUjit_option *jitOptions,
				    void **jitOptionsValues, unsigned int numJitOptions,
				    CUlibraryOption *libraryOptions, void **libraryOptionValues,
				    unsigned int numLibraryOptions)
{
	return load_library(library, &(struct load){ .call = CUDA_CALL_cuLibraryLoadFromFile,
						     .path = fileName,
						     .options = jitOptions,
						     .values = jitOptionsValues,
						     .option_count = numJitOptions,
						     .library_options = libraryOptions,
						     .library_values = libraryOptionValues,
						     .library_option_count = numLibraryOptions });
}

static CUresult make_instance(struct load *l)
{
	CUmodule module;

	return shim_real.cuLibraryGetModule(&module, l->library);
}

static bool is_of_library(const struct map_entry *e, void *data)
{
	const void **library = data;

	if (e->value[0] == (uint64_t)(uintptr_t)*library)
		*library = NULL;
	return false;
}

/*
 * Nothing unloads a library from one context. It goes as a whole when it is nowhere else; else it stays, charged with
 * what room there is (measured_cancel). Only what could not even be measured beforehand comes here.
 */
static void unmake_instance(struct load *l)
{
	const void *library = l->library;

	pthread_mutex_lock(&lock);
	map_sweep(&instances, is_of_library, &library);
	if (library)
		map_remove(&libraries, (uint64_t)(uintptr_t)library, NULL);
	pthread_mutex_unlock(&lock);
	if (library)
		shim_real.cuLibraryUnload(l->library);
}

/* The same with `making` held, into the current context, which is `context`. */
static CUresult instantiate_locked(CUlibrary library, face_context context, unsigned int device)
{
	struct load l = {
		.make = make_instance, .unmake = unmake_instance, .library = library, .device = device, .doubtful = true
	};
	struct map_entry *e, found = { 0 };
	bool there;
	CUresult r;

	pthread_mutex_lock(&lock);
	e = map_find(&libraries, (uint64_t)(uintptr_t)library);
	if (e)
		found = *e;
	there = map_find(&instances, instance_key(library, context));
	pthread_mutex_unlock(&lock);
	if (!(found.value[2] & LIBRARY_VARIABLES) || there)
		return CUDA_SUCCESS;
	r = load_measured(&l, (struct need){ found.value[0], found.value[1], (uint32_t)found.value[0] });
	if (r == CUDA_SUCCESS && !add_instance(library, context, l.units, l.device)) {
		unload(&l);
		r = CUDA_ERROR_OUT_OF_MEMORY;
	}
	return r;
}

/*
 * Brings the library's variables into the current context, charged. CUDA_SUCCESS also where there is nothing to do. On
 * the software device nothing comes into a context that there is not, and may be there again a moment later.
 */
static CUresult instantiate(CUlibrary library)
{
	face_context context;
	unsigned int device;
	CUresult r = CUDA_SUCCESS;

	if (!start_is_metered() || !accounts[0].soft)
		return CUDA_SUCCESS;
	switch (charge_current(&context, &device)) {
	case CHARGE_HELD:
		break;
	case CHARGE_REFUSED:
		return CUDA_SUCCESS;
	default:
		return contexts_lack(&r) ? r : CUDA_SUCCESS;
	}
	pthread_mutex_lock(&making);
	r = instantiate_locked(library, context, device);
	pthread_mutex_unlock(&making);
	return r;
}

/*
 * The thread's stack of contexts is full: the context takes the place of the current one for a while. No context ends
 * meanwhile, so that both are there. OUT_OF_MEMORY also where the current one is gone, and could not come back.
 */
static CUresult instantiate_instead(CUcontext context, CUlibrary library)
{
	CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
	CUcontext current = NULL;
	unsigned int device, there;

	pthread_mutex_lock(&making);
	if (!contexts_device(context, &there))
		r = CUDA_SUCCESS; /* it is gone meanwhile */
	else if (shim_real.cuCtxGetCurrent(&current) == CUDA_SUCCESS && contexts_device(current, &device) &&
		 shim_real.cuCtxSetCurrent(context) == CUDA_SUCCESS) {
		r = instantiate_locked(library, context, there);
		shim_real.cuCtxSetCurrent(current);
	}
	pthread_mutex_unlock(&making);
	return r;
}

static CUresult instantiate_in(CUcontext context, CUlibrary library)
{
	CUcontext current = NULL, popped;
	CUresult r;

	if (shim_real.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context)
		return instantiate(library);
	r = shim_real.cuCtxPushCurrent_v2(context);
	if (r == CUDA_ERROR_OUT_OF_MEMORY)
		return instantiate_instead(context, library);
	if (r != CUDA_SUCCESS)
		return CUDA_SUCCESS; /* it is gone meanwhile */
	r = instantiate(library);
	shim_real.cuCtxPopCurrent_v2(&popped);
	return r;
}

/* Sets some of a library's flags and clears others. Value: what they were; 0: it is not known. */
static uint64_t change_flags(CUlibrary library, uint64_t set, uint64_t clear)
{
	struct map_entry *e;
	uint64_t before = 0;

	pthread_mutex_lock(&lock);
	e = map_find(&libraries, (uint64_t)(uintptr_t)library);
	if (e) {
		before = e->value[2];
		e->value[2] = (before | set) & ~clear;
	}
	pthread_mutex_unlock(&lock);
	return before;
}

/* From now on contexts that are made get it as well (modules_enter); those that there are get it here. */
static CUresult spread(CUlibrary library)
{
	void **list = scratch_new(LIST_MOST, sizeof *list);
	unsigned int count;
	CUresult r;

	if (!list)
		return CUDA_ERROR_OUT_OF_MEMORY;
	change_flags(library, LIBRARY_OUT, 0);
	count = contexts_list(list, LIST_MOST);
	r = count < LIST_MOST ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	for (unsigned int i = 0; r != CUDA_ERROR_OUT_OF_MEMORY && i < count; i++)
		r = instantiate_in(list[i], library);
	scratch_free(list, LIST_MOST, sizeof *list);
	if (r == CUDA_ERROR_OUT_OF_MEMORY) /* the next time all is tried again */
		change_flags(library, 0, LIBRARY_OUT);
	else
		change_flags(library, LIBRARY_EVERYWHERE, 0);
	return r;
}

static bool is_to_spread(CUlibrary library)
{
	return (change_flags(library, 0, 0) & (LIBRARY_VARIABLES | LIBRARY_EVERYWHERE)) == LIBRARY_VARIABLES;
}

/*
 * The program gets a kernel of the library, which it may launch in any context from now on; where one has no room for
 * the variables, it gets none, in no thread.
 */
static CUresult hand_out(CUlibrary library)
{
	CUresult r = instantiate(library);

	if (r == CUDA_ERROR_OUT_OF_MEMORY || !start_is_metered() || !accounts[0].soft)
		return r;
	if (!is_to_spread(library))
		return CUDA_SUCCESS;
	pthread_mutex_lock(&handing);
	r = is_to_spread(library) ? spread(library) : CUDA_SUCCESS;
	pthread_mutex_unlock(&handing);
	return r == CUDA_ERROR_OUT_OF_MEMORY ? r : CUDA_SUCCESS;
}

struct library_list {
	CUlibrary *list;
	unsigned int count;
};

static bool list_library(const struct map_entry *e, void *data)
{
	struct library_list *l = data;

	if (e->value[2] & LIBRARY_OUT && l->count < LIST_MOST)
		l->list[l->count++] = (CUlibrary)(uintptr_t)e->key;
	return false;
}

bool modules_enter(CUcontext context)
{
	struct library_list l = { .list = scratch_new(LIST_MOST, sizeof *l.list) };
	bool good;

	if (!l.list)
		return false;
	pthread_mutex_lock(&lock);
	map_sweep(&libraries, list_library, &l);
	pthread_mutex_unlock(&lock);
	good = l.count < LIST_MOST;
	for (unsigned int i = 0; good && i < l.count; i++)
		good = instantiate_in(context, l.list[i]) != CUDA_ERROR_OUT_OF_MEMORY;
	scratch_free(l.list, LIST_MOST, sizeof *l.list);
	return good;
}

CUresult shim_cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name)
{
	CUresult r = hand_out(library);

	return r == CUDA_ERROR_OUT_OF_MEMORY ? r : shim_real.cuLibraryGetKernel(pKernel, library, name);
}

CUresult shim_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int numKernels, CUlibrary lib)
{
	CUresult r = hand_out(lib);

	return r == CUDA_ERROR_OUT_OF_MEMORY ? r : shim_real.cuLibraryEnumerateKernels(kernels, numKernels, lib);
}

CUresult shim_cuLibraryGetModule(CUmodule *pMod, CUlibrary library)
{
	CUresult r = instantiate(library);

	return r != CUDA_SUCCESS ? r : shim_real.cuLibraryGetModule(pMod, library);
}

CUresult shim_cuLibraryGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name)
{
	CUresult r = instantiate(library);

	return r != CUDA_SUCCESS ? r : shim_real.cuLibraryGetGlobal(dptr, bytes, library, name);
}

CUresult shim_cuLibraryGetManaged(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name)
{
	CUresult r = instantiate(library);

	return r != CUDA_SUCCESS ? r : shim_real.cuLibraryGetManaged(dptr, bytes, library, name);
}

CUresult shim_cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
	CUlibrary library = NULL;
	CUresult r = CUDA_SUCCESS;

	if (start_is_metered() && shim_real.cuKernelGetLibrary(&library, kernel) == CUDA_SUCCESS)
		r = instantiate(library);
	return r != CUDA_SUCCESS ? r : shim_real.cuKernelGetFunction(pFunc, kernel);
}

/*
 * A library may have come to several devices: the figure of one does not tell, so what was charged is given back. The
 * gate is closed from the driver's call on, or a call that is measured beside it would take the difference for its own.
 */
CUresult shim_cuLibraryUnload(CUlibrary library)
{
	struct library_sweep sweep = { .library = library };
	CUresult r;

	if (!start_is_metered())
		return shim_real.cuLibraryUnload(library);
	pthread_mutex_lock(&making);
	gate_close();
	r = shim_real.cuLibraryUnload(library);
	if (r == CUDA_SUCCESS)
		forget_library(&sweep);
	for (unsigned int d = 0; d < account_count; d++)
		measured_give(d, sweep.units[d]);
	gate_open();
	pthread_mutex_unlock(&making);
	return r;
}

bool modules_device(CUmodule module, unsigned int *ret_device)
{
	struct map_entry *e;

	pthread_mutex_lock(&lock);
	e = map_find(&modules, (uint64_t)(uintptr_t)module);
	if (e)
		*ret_device = (unsigned int)e->value[2];
	pthread_mutex_unlock(&lock);
	return e;
}

struct context_sweep {
	uint64_t context, units;
};

static bool module_of_context(const struct map_entry *e, void *data)
{
	struct context_sweep *sweep = data;

	if (e->value[0] != sweep->context)
		return false;
	sweep->units += e->value[1];
	return true;
}

static bool instance_of_context(const struct map_entry *e, void *data)
{
	struct context_sweep *sweep = data;

	if (e->value[1] != sweep->context)
		return false;
	sweep->units += e->value[2] >> 8;
	return true;
}

void modules_hold(void)
{
	pthread_mutex_lock(&making);
}

void modules_release(void)
{
	pthread_mutex_unlock(&making);
}

uint64_t modules_forget(const void *context)
{
	struct context_sweep sweep = { .context = (uint64_t)(uintptr_t)context };

	pthread_mutex_lock(&lock);
	map_sweep(&modules, module_of_context, &sweep);
	map_sweep(&instances, instance_of_context, &sweep);
	pthread_mutex_unlock(&lock);
	return sweep.units;
}

void modules_reset(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = making = handing = unlocked;
	map_clear(&modules);
	map_clear(&libraries);
	map_clear(&instances);
}
