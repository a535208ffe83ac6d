/*
 * hip_card.h: which card a HIP device is: the UUID by which meted and HIP's face call it.
 *
 * AMD's library tells 16 characters of a serial number, which no other API tells. So such a card is called by its place
 * on the PCI bus: four numbers of 32 bits, domain, bus, device and function. Mesa's drivers call AMD's cards the same
 * in Vulkan and OpenCL, and cl_khr_pci_bus_info tells just these bytes (opencl_card.c). What tells another UUID keeps
 * it: the software device, whose UUID is that of CUDA.
 */
#pragma once

#include <stdint.h>

/* `told`: what hipDeviceGetUuid() said, or NULL; `address`: "0000:03:00.0" of hipDeviceGetPCIBusId(). 0, or -1:
 * neither. */
int hip_card_uuid(const uint8_t told[16], const char *address, uint8_t ret_uuid[16]);
