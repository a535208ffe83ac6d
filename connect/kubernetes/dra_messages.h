/*
 * dra_messages.h: the messages of DRA's node plugins: registration, prepare and unprepare, health.
 *
 * Source: k8s.io/kubelet, pkg/apis/pluginregistration/v1, pkg/apis/dra/v1 (v1beta1 has the same numbers),
 * pkg/apis/dra-health/v1; names and numbers are theirs. A map is a list of entries, which is the same in the encoding.
 */
#pragma once

#include "connect/kubernetes/proto.h"

#define DRA_HEALTH_UNKNOWN 0
#define DRA_HEALTH_GOOD 1
#define DRA_HEALTH_BAD 2

extern const struct proto_field dra_message_info[];
extern const struct proto_field dra_message_status[];
extern const struct proto_field dra_message_claims[];
extern const struct proto_field dra_message_prepared[];
extern const struct proto_field dra_message_unprepared[];
extern const struct proto_field dra_message_health[];
