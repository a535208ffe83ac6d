/* watch.h: the worker's half of src/remote/watch.h. */
#pragma once

/* Reads what the sandbox keeps from it later: the driver's version. Only where the driver speaks to device nodes. */
void watch_open(void);
