/* state.h: the state of a tenant or a device in one word, for the console and the metrics. */
#pragma once

#include <stdint.h>

struct daemon;
struct tenant;

/* The name of this machine. */
const char *state_node(void);

/* Value: "running", "idle" (without a process), "frozen" or "quarantined". */
const char *state_tenant(const struct tenant *tenant);
unsigned int state_clients(const struct tenant *tenant);
uint64_t state_tenant_faults(const struct tenant *tenant);

/* The state: "active", "cordoned", "draining" or "lost"; the reason (NULL: none); the number of faults. */
const char *state_device(struct daemon *daemon, const uint8_t *uuid);
const char *state_device_reason(struct daemon *daemon, const uint8_t *uuid);
uint64_t state_device_faults(struct daemon *daemon, const uint8_t *uuid);
