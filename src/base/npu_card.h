/*
 * npu_card.h: identifies the card of an Ascend or a Cambricon device: the UUID that meted and the face use for it.
 *
 * A runtime that returns a UUID is believed. Older ones return the address on the PCI bus, or only the number of the
 * chip in the machine; then the card is called by these, as AMD's are (hip_card.h).
 */
#pragma once

#include <stdint.h>

/*
 * `told`: 16 bytes, or NULL; `address`: "0000:03:00.0", or NULL; `chip`: the physical number, or -1. `vendor`: four
 * letters that no UUID of another vendor's begins with by chance. 0, or -1: nothing is known.
 */
int npu_card_uuid(const uint8_t *told, const char *address, int chip, const char vendor[4], uint8_t ret_uuid[16]);
