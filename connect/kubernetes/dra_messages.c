/* dra_messages.c: see dra_messages.h. */
#include "connect/kubernetes/dra_messages.h"

/* clang-format off: a row is a field */
const struct proto_field dra_message_info[] = {
	{ 1, "type", PROTO_TEXT, false, NULL },
	{ 2, "name", PROTO_TEXT, false, NULL },
	{ 3, "endpoint", PROTO_TEXT, false, NULL },
	{ 4, "supported_versions", PROTO_TEXT, true, NULL },
	{ 0 },
};

const struct proto_field dra_message_status[] = {
	{ 1, "plugin_registered", PROTO_FLAG, false, NULL },
	{ 2, "error", PROTO_TEXT, false, NULL },
	{ 0 },
};

static const struct proto_field claim[] = {
	{ 1, "namespace", PROTO_TEXT, false, NULL },
	{ 2, "uid", PROTO_TEXT, false, NULL },
	{ 3, "name", PROTO_TEXT, false, NULL },
	{ 0 },
};

const struct proto_field dra_message_claims[] = {
	{ 1, "claims", PROTO_MESSAGE, true, claim },
	{ 0 },
};

static const struct proto_field device[] = {
	{ 1, "request_names", PROTO_TEXT, true, NULL },
	{ 2, "pool_name", PROTO_TEXT, false, NULL },
	{ 3, "device_name", PROTO_TEXT, false, NULL },
	{ 4, "cdi_device_ids", PROTO_TEXT, true, NULL },
	{ 0 },
};

static const struct proto_field prepared[] = {
	{ 1, "devices", PROTO_MESSAGE, true, device },
	{ 2, "error", PROTO_TEXT, false, NULL },
	{ 0 },
};

static const struct proto_field prepared_entry[] = {
	{ 1, "key", PROTO_TEXT, false, NULL },
	{ 2, "value", PROTO_MESSAGE, false, prepared },
	{ 0 },
};

const struct proto_field dra_message_prepared[] = {
	{ 1, "claims", PROTO_MESSAGE, true, prepared_entry },
	{ 0 },
};

static const struct proto_field unprepared[] = {
	{ 1, "error", PROTO_TEXT, false, NULL },
	{ 0 },
};

static const struct proto_field unprepared_entry[] = {
	{ 1, "key", PROTO_TEXT, false, NULL },
	{ 2, "value", PROTO_MESSAGE, false, unprepared },
	{ 0 },
};

const struct proto_field dra_message_unprepared[] = {
	{ 1, "claims", PROTO_MESSAGE, true, unprepared_entry },
	{ 0 },
};

static const struct proto_field identifier[] = {
	{ 1, "pool_name", PROTO_TEXT, false, NULL },
	{ 2, "device_name", PROTO_TEXT, false, NULL },
	{ 0 },
};

static const struct proto_field health[] = {
	{ 1, "device", PROTO_MESSAGE, false, identifier },
	{ 2, "health", PROTO_NUMBER, false, NULL },
	{ 3, "last_updated_time", PROTO_NUMBER, false, NULL },
	{ 4, "health_check_timeout_seconds", PROTO_NUMBER, false, NULL },
	{ 5, "message", PROTO_TEXT, false, NULL },
	{ 0 },
};

const struct proto_field dra_message_health[] = {
	{ 1, "devices", PROTO_MESSAGE, true, health },
	{ 0 },
};
/* clang-format on */
