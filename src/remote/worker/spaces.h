/*
 * spaces.h: a worker's own namespaces: of users and privileges, network, System V objects and message queues, mounts.
 *
 * They are made before the driver is started, for a process with threads cannot change its user namespace. Each that
 * the machine refuses is left out. There is none of process numbers: NVIDIA's driver, NVML and the software device know
 * a process by its number, and what a worker's memory is charged by hangs on that.
 */
#pragma once

#include "remote/worker/identity.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Before the first thread. Value: what there is now, of WORKER_FENCE_* (wire/worker.h). The process has all privileges
 * over its new namespaces, until identity_take() or rights_keep() takes them away.
 */
uint32_t spaces_enter(const struct identity *identity);
