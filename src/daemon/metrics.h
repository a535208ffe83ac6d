/*
 * metrics.h: the figures of this node as text for Prometheus (exposition format 0.0.4). docs/metrics.md explains each.
 *
 * Units are base units, names begin with mete_, counters end in _total. The labels are device (its index), uuid and
 * tenant. The figures of a tenant's share have only tenant and device, so that a scrape of many tenants stays small;
 * mete_device_info maps a device to its uuid.
 */
#pragma once

#include <stddef.h>

struct daemon;

enum metrics_names {
	METRICS_METE,
	METRICS_DCGM, /* some names of NVIDIA's exporter, with each tenant's own values */
};

/* Returns the text, which the caller frees, and its length. NULL: no memory. */
char *metrics_text(struct daemon *daemon, enum metrics_names names, size_t *ret_bytes);
