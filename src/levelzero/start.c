/* start.c: see start.h. */
#include "levelzero/start.h"
#include "base/own_note.h"
#include "core/account.h"
#include "core/attach.h"
#include "core/behind.h"
#include "core/faces.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#define PLACES_MOST 256u /* of a table, with what a newer driver may have behind ours */

OWN_NOTE("Level Zero's face");

_Atomic int start_is;
struct levelzero_table levelzero_real;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows, and the start */
static bool bound;
static void *driver; /* NULL: none */

static const char *const versions[] = { ".1", NULL };
static const struct behind behind = { .stem = "libze_intel_gpu.so",
				      .versions = versions,
				      .symbol = "zeGetGlobalProcAddrTable",
				      .setting = "METE_LEVELZERO_DRIVER",
				      .remedy = "install Intel's compute runtime (Level Zero)" };

/* A driver without this table: it is older than the table, and has none of its calls. */
static ze_result_t ask(const struct levelzero_part *part, uint32_t version, void **table)
{
	ze_result_t (*get)(uint32_t version, void **table);

	*(void **)&get = dlsym(driver, part->getter);
	return get ? get(version, table) : ZE_RESULT_SUCCESS;
}

static void bind_part(const struct levelzero_part *part)
{
	void *table[PLACES_MOST] = { NULL };

	if (ask(part, ZE_VERSION(1, LEVELZERO_MINOR), table) == ZE_RESULT_SUCCESS)
		memcpy((void **)&levelzero_real + part->first, table, part->count * sizeof *table);
}

static void bind_locked(void)
{
	void *found;

	account_init();
	found = behind_find(&behind);
	if (found && attach_wanted() && !faces_join_as(face, "libmete-levelzero.so"))
		return;
	driver = found;
	for (unsigned int i = 0; driver && i < LEVELZERO_PARTS; i++)
		bind_part(&levelzero_parts[i]);
}

static bool is_there(void)
{
	int saved = errno;
	bool there;

	pthread_mutex_lock(&lock);
	if (!bound)
		bind_locked();
	bound = true;
	there = driver;
	pthread_mutex_unlock(&lock);
	errno = saved;
	return there;
}

/* What the program reaches under the call's name. NULL: the driver does not have it. */
static void *entry(unsigned int call)
{
	void *real = ((void **)&levelzero_real)[call], *ours = ((void *const *)&levelzero_ours)[call];

	return real && ours && attach_wanted() ? ours : real;
}

ze_result_t levelzero_get(unsigned int part, uint32_t version, void **table)
{
	const struct levelzero_part *p = &levelzero_parts[part];
	uint32_t minor = version & 0xffff;
	ze_result_t r = ZE_RESULT_SUCCESS;

	if (!table)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	if (version >> 16 != 1)
		return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
	if (!is_there())
		return ZE_RESULT_ERROR_UNINITIALIZED;
	if (minor > LEVELZERO_MINOR)
		minor = LEVELZERO_MINOR;
	if (p->rest)
		r = ask(p, ZE_VERSION(1, minor), table);
	for (unsigned int i = 0; r == ZE_RESULT_SUCCESS && i < p->count; i++)
		if (levelzero_since[p->first + i] <= minor)
			table[i] = entry(p->first + i);
	return r;
}

/* The start -------------------------------------------------------------------------------------------------------- */

enum start_state start_now(void)
{
	enum start_state is;
	int saved = errno;

	pthread_mutex_lock(&lock);
	is = (enum start_state)atomic_load_explicit(&start_is, memory_order_relaxed);
	if (is != START_METERED && is != START_OPEN)
		switch (faces_begin(face)) {
		case FACES_METERED:
			is = START_METERED;
			break;
		case FACES_OPEN:
			is = START_OPEN;
			break;
		default:
			is = START_REFUSED;
		}
	atomic_store_explicit(&start_is, (int)is, memory_order_release);
	pthread_mutex_unlock(&lock);
	errno = saved;
	return is;
}

void start_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	atomic_store_explicit(&start_is, START_UNKNOWN, memory_order_relaxed);
}

ze_result_t face_zeInit(uint32_t flags)
{
	ze_result_t r = start_refusal();

	return r == ZE_RESULT_SUCCESS ? levelzero_real.zeInit(flags) : r;
}

ze_result_t face_zeInitDrivers(uint32_t *pCount, ze_driver_handle_t *phDrivers, const void *desc)
{
	ze_result_t r = start_refusal();

	return r == ZE_RESULT_SUCCESS ? levelzero_real.zeInitDrivers(pCount, phDrivers, desc) : r;
}

ze_result_t face_zesInit(uint32_t flags)
{
	ze_result_t r = start_refusal();

	return r == ZE_RESULT_SUCCESS ? levelzero_real.zesInit(flags) : r;
}

/* What the driver says of itself ----------------------------------------------------------------------------------- */

/* The calls of a newer version are not handed on, so the program is not told of it. */
ze_result_t face_zeDriverGetApiVersion(ze_driver_handle_t hDriver, uint32_t *version)
{
	ze_result_t r = levelzero_real.zeDriverGetApiVersion(hDriver, version);

	if (r == ZE_RESULT_SUCCESS && version && *version > ZE_VERSION(1, LEVELZERO_MINOR))
		*version = ZE_VERSION(1, LEVELZERO_MINOR);
	return r;
}

/* Newer loaders reach a driver's calls by its handles, where it says so: past us. */
ze_result_t face_zeDriverGetProperties(ze_driver_handle_t hDriver, ze_driver_properties_t *pDriverProperties)
{
	ze_result_t r = levelzero_real.zeDriverGetProperties(hDriver, pDriverProperties);

	for (ze_base_t *s = pDriverProperties ? pDriverProperties->pNext : NULL; r == ZE_RESULT_SUCCESS && s;
	     s = s->pNext)
		if (s->stype == ZE_STRUCTURE_TYPE_DRIVER_DDI_HANDLES_EXT_PROPERTIES)
			((ze_driver_ddi_handles_ext_properties_t *)s)->flags &= ~1u;
	return r;
}

static bool is_passed(const char *name)
{
	for (unsigned int i = 0; levelzero_extensions[i]; i++)
		if (!strcmp(levelzero_extensions[i], name))
			return true;
	return false;
}

/* Of a table's call the program gets what the table has. What we do not know of could take memory: there is none such.
 */
ze_result_t face_zeDriverGetExtensionFunctionAddress(ze_driver_handle_t hDriver, const char *name,
						     void **ppFunctionAddress)
{
	if (!name || !ppFunctionAddress)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	for (unsigned int i = 0; i < LEVELZERO_CALLS; i++)
		if (!strcmp(levelzero_names[i], name) && entry(i)) {
			*ppFunctionAddress = entry(i);
			return ZE_RESULT_SUCCESS;
		}
	if (is_passed(name))
		return levelzero_real.zeDriverGetExtensionFunctionAddress(hDriver, name, ppFunctionAddress);
	*ppFunctionAddress = NULL;
	return ZE_RESULT_ERROR_INVALID_ARGUMENT;
}
