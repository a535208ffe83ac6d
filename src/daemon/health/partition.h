/*
 * partition.h: parts of a card that its library shows as devices of their own.
 *
 * Such a device is shared like a card: with its own memory, ledger and turns. It names the card that it is a part of.
 */
#pragma once

#include "model/device.h"

#include <jansson.h>

/*
 * The child's side: what "partition" in its answer is. NULL: the device is a whole card, or it is not told.
 *
 * AMD's are told by the kernel: current_compute_partition of the card's function 0 (SPX: whole). HIP gives the number
 * of the partition in the place of the function, whatever functions the card has. METE_PCI_DIR: in place of
 * /sys/bus/pci/devices.
 */
json_t *partition_at(const char *address);

/* `number`: -1: not told. */
json_t *partition_answer(const char *of, const char *mode, int number);

/* meted's side: of that answer; NULL and what is no such answer: a whole card. */
void partition_take(struct device *d, json_t *answer);

/* As the control socket tells it; null: a whole card. */
json_t *partition_json(const struct device *d);
