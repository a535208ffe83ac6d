/* version.h: the release of this meted. */
#pragma once

/* "0.6.0" */
const char *daemon_version(void);
