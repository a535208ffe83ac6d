/* watch.h: the worker's half of src/remote/watch.h. */
#pragma once

/*
 * Reads the driver's version and opens the files of the cards' links, which the sandbox forbids later. Only where the
 * driver uses device nodes.
 */
void watch_open(void);
