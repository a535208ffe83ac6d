/*
 * metrics.h: the figures of this node as a text for Prometheus (exposition format 0.0.4); docs/metrics.md explains
 * each.
 *
 * Base units, names under mete_, counters end in _total. Labels: device (its index) and uuid, tenant; of a tenant's
 * share tenant and device, so that a scrape of many tenants stays small: mete_device_info says which uuid a device has.
 */
#pragma once

#include <stddef.h>

struct daemon;

enum metrics_names {
	METRICS_METE,
	METRICS_DCGM, /* some names of NVIDIA's exporter, with each tenant's own values */
};

/* The text, to be freed, and its length. NULL: no memory. */
char *metrics_text(struct daemon *daemon, enum metrics_names names, size_t *ret_bytes);
