/*
 * spaces.h: a worker's own namespaces: of users and privileges, network, System V objects and message queues, mounts.
 *
 * They are created before the driver is started, because a process with threads cannot change its user namespace. Those
 * that the machine refuses are left out. There is no namespace of process ids: NVIDIA's driver, NVML and the software
 * device identify a process by its pid, and the charge for a worker's memory depends on that.
 */
#pragma once

#include "remote/worker/identity.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Called before the first thread. Value: the namespaces in force, of WORKER_FENCE_* (wire/worker.h). The process has
 * all privileges over its new namespaces, until identity_take() or rights_keep() removes them.
 */
uint32_t spaces_enter(const struct identity *identity);
