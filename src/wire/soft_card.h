/*
 * soft_card.h: what NVML says of the software device's card and the driver API does not, through cuGetExportTable() of
 * the driver with SOFT_CARD_ID: for a worker, which has the driver and no NVML.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* clang-format off */
#define SOFT_CARD_ID { 'm', 'e', 't', 'e', 's', 'o', 'f', 't', 'c', 'a', 'r', 'd', 0, 0, 0, 1 }
/* clang-format on */

/* The PCIe link: of the fourth generation, sixteen lanes wide, as most cards have. Nothing is carried by it. */
#define SOFT_CARD_LINK_GENERATION 4u
#define SOFT_CARD_LINK_LANES 16u

struct soft_card_table {
	size_t bytes; /* of this struct */
	uint32_t link_generation, link_lanes;
};
