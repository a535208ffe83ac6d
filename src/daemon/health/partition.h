/*
 * partition.h: parts of a card that its library shows as devices of their own.
 *
 * Such a device is shared like a card: with its own memory, ledger and turns. It names the card that it is a part of.
 */
#pragma once

#include "model/device.h"

#include <jansson.h>

/*
 * The child's side: the value of "partition" in its answer. NULL: the device is a whole card, or this is not known.
 *
 * For AMD's cards the kernel reports it: current_compute_partition of the card's function 0 (SPX: whole). HIP gives the
 * number of the partition in the place of the function number, whichever functions the card has. METE_PCI_DIR replaces
 * /sys/bus/pci/devices.
 */
json_t *partition_at(const char *address);

/* `number` -1: not known. */
json_t *partition_answer(const char *of, const char *mode, int number);

/* meted's side: reads that answer. NULL or another value: a whole card. */
void partition_take(struct device *d, json_t *answer);

/* The form on the control socket; null: a whole card. */
json_t *partition_json(const struct device *d);
