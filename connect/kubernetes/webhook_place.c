/* webhook_place.c: see webhook_place.h. */
#include "connect/kubernetes/webhook_place.h"

#include <string.h>

/* Annotations about where a pod goes, and which of ours means it; NULL: none does. */
static const struct {
	const char *theirs, *ours;
} places[] = {
	{ "nvidia.com/use-gputype", OWN "use-model" },
	{ "nvidia.com/use-gpuuuid", OWN "use-model" },
	{ "nvidia.com/nouse-gputype", OWN "avoid-model" },
	{ "nvidia.com/nouse-gpuuuid", OWN "avoid-model" },
	{ "nvidia.com/use-gpuindexes", NULL },
	{ "nvidia.com/nouse-gpuindexes", NULL },
	{ "nvidia.com/numa-bind", NULL },
	{ "nvidia.com/vgpu-mode", NULL },
	{ "nvidia.com/mig-profile-preference", NULL },
	{ "volcano.sh/vgpu-mode", NULL },
	{ "hami.io/node-scheduler-policy", NULL },
	{ "hami.io/gpu-scheduler-policy", NULL },
};

/* "/metadata/annotations/mete.io~1use-model": a path of a patch. */
static json_t *annotation_path(const char *name)
{
	const char *slash = strchr(name, '/');

	return json_sprintf("/metadata/annotations/%.*s~1%s", (int)(slash - name), name, slash + 1);
}

/* One annotation about the place. `said`: who has said the same before, by our word. */
static bool place_one(struct work *w, const char *theirs, const char *ours, json_t *said)
{
	const char *value = work_annotation(w->pod, theirs),
		   *before = ours ? json_string_value(json_object_get(said, ours)) : NULL;

	if (!value || (ours && work_annotation(w->pod, ours)))
		return true;
	if (!ours) {
		work_warn(w, "annotation %s is not heeded here", theirs);
		return true;
	}
	if (before)
		return work_refuse(w, "metadata.annotations[%s]: beside %s; give one of them", theirs, before);
	if (w->options->claims)
		return work_refuse(
			w,
			"metadata.annotations[%s]: a claim that is made of these words chooses no model; make a claim "
			"of your own with a selector",
			theirs);
	json_object_set_new(said, ours, json_string(theirs));
	json_array_append_new(w->answer->patch,
			      json_pack("{s:s s:o s:s}", "op", "add", "path", annotation_path(ours), "value", value));
	work_warn(w, "annotation %s is %s, which mete-extender heeds when it chooses the node", theirs, ours);
	return true;
}

bool place_pod(struct work *w)
{
	json_t *spec = json_object_get(w->pod, "spec"), *said = json_object();
	const char *scheduler = json_string_value(json_object_get(spec, "schedulerName"));
	bool good = true;

	for (size_t i = 0; good && i < sizeof(places) / sizeof(*places); i++)
		good = place_one(w, places[i].theirs, places[i].ours, said);
	json_decref(said);
	if (!good || !w->options->scheduler || (scheduler && !strcmp(scheduler, w->options->scheduler)))
		return good;
	json_array_append_new(w->answer->patch, json_pack("{s:s s:s s:s}", "op", "add", "path", "/spec/schedulerName",
							  "value", w->options->scheduler));
	if (scheduler)
		work_warn(w, "schedulerName %.100s is %s", scheduler, w->options->scheduler);
	return true;
}
