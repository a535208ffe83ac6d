/* version.c: see version.h. */
#include "daemon/upgrade/version.h"

#ifndef METE_VERSION
#define METE_VERSION "unknown"
#endif

const char *daemon_version(void)
{
	return METE_VERSION;
}
