/*
 * messages.h: the messages of kubelet's device plugin API, v1beta1.
 *
 * Source: k8s.io/kubelet, pkg/apis/deviceplugin/v1beta1/api.proto; names and numbers are its own.
 */
#pragma once

#include "connect/kubernetes/proto.h"

#define PLUGIN_API "v1beta1"
#define PLUGIN_HEALTHY "Healthy"
#define PLUGIN_UNHEALTHY "Unhealthy"

extern const struct proto_field message_empty[];
extern const struct proto_field message_register[];
extern const struct proto_field message_options[];
extern const struct proto_field message_list[];
/* Appends a device to an encoded message_list. Both texts must be shorter than 60 bytes. */
void message_list_add(struct bytes *list, const char *id, const char *health);
extern const struct proto_field message_preferred_request[];
extern const struct proto_field message_preferred_answer[];
extern const struct proto_field message_allocate_request[];
extern const struct proto_field message_allocate_answer[];
extern const struct proto_field message_pre_start_request[];
/* From kubelet's pod-resources API, v1: k8s.io/kubelet, pkg/apis/podresources/v1/api.proto. */
extern const struct proto_field message_pods[];
