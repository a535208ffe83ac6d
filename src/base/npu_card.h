/*
 * npu_card.h: identifies the card of an Ascend or a Cambricon device: the UUID that meted and the face use for it.
 *
 * If the runtime returns a UUID, that is used. Older runtimes return the address on the PCI bus, or only the number of
 * the chip in the machine; then the UUID is made from these, as for AMD's cards (hip_card.h).
 */
#pragma once

#include <stdint.h>

/*
 * `told`: 16 bytes, or NULL; `address`: "0000:03:00.0", or NULL; `chip`: the physical number, or -1. `vendor`: four
 * letters that begin such a UUID, so that it differs from those of other vendors. Returns 0, or -1: nothing is known.
 */
int npu_card_uuid(const uint8_t *told, const char *address, int chip, const char vendor[4], uint8_t ret_uuid[16]);
