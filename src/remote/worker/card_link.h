/* card_link.h: the PCIe links of the machine's cards, from a worker that no longer opens files. */
#pragma once

#include "cuda_table.h"
#include "remote/watch.h"

/* `path`: "/sys/bus/pci/devices", or a test's. Closes what is open, and opens the files in which the kernel has the
 * links of NVIDIA's cards; the sandbox lets them be read on. */
void card_link_open(const char *path);
/* The link of the device now; all 0: it is not known. */
void card_link_read(const struct cuda_table *driver, CUdevice device, struct watch_link *ret);
