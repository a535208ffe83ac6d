/*
 * hip_card.h: identifies the card of a HIP device: the UUID that meted and HIP's face use for it.
 *
 * AMD's library returns 16 characters of a serial number, which no other API returns. Such a card is therefore
 * identified by its address on the PCI bus: four 32-bit numbers, domain, bus, device and function. Mesa's drivers
 * identify AMD's cards in the same way in Vulkan and OpenCL, and cl_khr_pci_bus_info returns the same numbers
 * (opencl_card.c). A device that returns another UUID keeps it: the software device, whose UUID is that of CUDA.
 */
#pragma once

#include <stdint.h>

/*
 * `told`: the result of hipDeviceGetUuid(), or NULL; `address`: the result of hipDeviceGetPCIBusId(), "0000:03:00.0".
 * Returns 0, or -1: neither identifies the card.
 */
int hip_card_uuid(const uint8_t told[16], const char *address, uint8_t ret_uuid[16]);
