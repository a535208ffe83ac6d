/* imports.c: see imports.h. */
#include "core/imports.h"
#include "core/account.h"
#include "core/map.h"

#include <pthread.h>

enum { UNITS, DEVICE, HOLDS }; /* the values of an import, by its number */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards imports and last */
static struct map imports;
static uint32_t last;

uint32_t imports_add(uint32_t units, unsigned int device)
{
	struct map_entry entry = { .value = { units, device, 1 } };
	uint32_t number;

	pthread_mutex_lock(&lock);
	number = ++last ? last : ++last;
	entry.key = number;
	if (!map_add(&imports, &entry))
		number = 0;
	pthread_mutex_unlock(&lock);
	return number;
}

void imports_hold(uint32_t import)
{
	struct map_entry *e;

	pthread_mutex_lock(&lock);
	e = map_find(&imports, import);
	if (e)
		e->value[HOLDS]++;
	pthread_mutex_unlock(&lock);
}

void imports_drop(uint32_t import)
{
	struct map_entry *e, gone = { 0 };

	pthread_mutex_lock(&lock);
	e = map_find(&imports, import);
	if (e && !--e->value[HOLDS])
		map_remove(&imports, import, &gone);
	pthread_mutex_unlock(&lock);
	if (gone.key)
		account_give((unsigned int)gone.value[DEVICE], (uint32_t)gone.value[UNITS]);
}

void imports_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	imports = (struct map){ 0 };
}
