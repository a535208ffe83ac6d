/*
 * prepare.c: what a worker tells a library before it shuts itself in. Of each library itself, not of what they share,
 * so that it is exported.
 */
#include "libs/common/library.h"

__attribute__((visibility("default"))) void mete_library_prepare(const char *driver_path);

void mete_library_prepare(const char *driver_path)
{
	device_driver_path(driver_path);
	if (library_open)
		library_open();
}
