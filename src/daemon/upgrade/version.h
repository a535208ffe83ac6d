/* version.h: the release that this meted is of. */
#pragma once

/* "0.6.0" */
const char *daemon_version(void);
