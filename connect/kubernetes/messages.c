/* messages.c: see messages.h. */
#include "connect/kubernetes/messages.h"

#include <string.h>

/* clang-format off: a row is a field */
const struct proto_field message_empty[] = { { 0 } };

const struct proto_field message_options[] = {
	{ 1, "pre_start_required", PROTO_FLAG, false, NULL },
	{ 2, "get_preferred_allocation_available", PROTO_FLAG, false, NULL },
	{ 0 },
};

const struct proto_field message_register[] = {
	{ 1, "version", PROTO_TEXT, false, NULL },
	{ 2, "endpoint", PROTO_TEXT, false, NULL },
	{ 3, "resource_name", PROTO_TEXT, false, NULL },
	{ 4, "options", PROTO_MESSAGE, false, message_options },
	{ 0 },
};

static const struct proto_field device[] = {
	{ 1, "ID", PROTO_TEXT, false, NULL },
	{ 2, "health", PROTO_TEXT, false, NULL },
	{ 0 },
};

const struct proto_field message_list[] = {
	{ 1, "devices", PROTO_MESSAGE, true, device },
	{ 0 },
};

static const struct proto_field preferred_request[] = {
	{ 1, "available_deviceIDs", PROTO_TEXT, true, NULL },
	{ 2, "must_include_deviceIDs", PROTO_TEXT, true, NULL },
	{ 3, "allocation_size", PROTO_NUMBER, false, NULL },
	{ 0 },
};

const struct proto_field message_preferred_request[] = {
	{ 1, "container_requests", PROTO_MESSAGE, true, preferred_request },
	{ 0 },
};

static const struct proto_field preferred_answer[] = {
	{ 1, "deviceIDs", PROTO_TEXT, true, NULL },
	{ 0 },
};

const struct proto_field message_preferred_answer[] = {
	{ 1, "container_responses", PROTO_MESSAGE, true, preferred_answer },
	{ 0 },
};

const struct proto_field message_pre_start_request[] = {
	{ 1, "devices_ids", PROTO_TEXT, true, NULL },
	{ 0 },
};

const struct proto_field message_allocate_request[] = {
	{ 1, "container_requests", PROTO_MESSAGE, true, message_pre_start_request },
	{ 0 },
};

static const struct proto_field cdi_device[] = {
	{ 1, "name", PROTO_TEXT, false, NULL },
	{ 0 },
};

/* envs = 1, mounts = 2 and devices = 3 are what CDI makes unnecessary. */
static const struct proto_field allocate_answer[] = {
	{ 4, "annotations", PROTO_MAP, false, NULL },
	{ 5, "cdi_devices", PROTO_MESSAGE, true, cdi_device },
	{ 0 },
};

/* topology = 3 of a device is not read. */
static const struct proto_field pod_device[] = {
	{ 1, "resource_name", PROTO_TEXT, false, NULL },
	{ 2, "device_ids", PROTO_TEXT, true, NULL },
	{ 0 },
};

static const struct proto_field pod_container[] = {
	{ 1, "name", PROTO_TEXT, false, NULL },
	{ 2, "devices", PROTO_MESSAGE, true, pod_device },
	{ 0 },
};

static const struct proto_field pod[] = {
	{ 1, "name", PROTO_TEXT, false, NULL },
	{ 2, "namespace", PROTO_TEXT, false, NULL },
	{ 3, "containers", PROTO_MESSAGE, true, pod_container },
	{ 0 },
};

const struct proto_field message_pods[] = {
	{ 1, "pod_resources", PROTO_MESSAGE, true, pod },
	{ 0 },
};

const struct proto_field message_allocate_answer[] = {
	{ 1, "container_responses", PROTO_MESSAGE, true, allocate_answer },
	{ 0 },
};
/* clang-format on */

static void add_text(struct bytes *to, uint8_t number, const char *text)
{
	uint8_t head[] = { (uint8_t)(number << 3 | 2), (uint8_t)strlen(text) };

	bytes_add(to, head, sizeof(head));
	bytes_add(to, text, strlen(text));
}

/* By hand: two hundred lists of two hundred ids take twenty times as long by way of JSON. */
void message_list_add(struct bytes *list, const char *id, const char *health)
{
	uint8_t head[] = { 1 << 3 | 2, (uint8_t)(4 + strlen(id) + strlen(health)) };

	bytes_add(list, head, sizeof(head));
	add_text(list, 1, id);
	add_text(list, 2, health);
}
