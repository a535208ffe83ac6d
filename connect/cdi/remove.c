/* remove.c: `mete cdi remove`: ends one-off grants, and takes devices and shares out of the CDI files. */
#include "verb/choose.h"
#include "client/control.h"
#include "client/requests.h"
#include "verb/say.h"
#include "verb/verb.h"
#include "connect/cdi/spec.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* "mete.io/share=small"; a name alone is a grant's. */
static const char *split(const char *word, const char **ret_kind)
{
	static const char *const kinds[] = { SPEC_GRANT_KIND, SPEC_SHARE_KIND, SPEC_DEVICE_KIND };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		size_t n = strlen(kinds[i]);

		if (!strncmp(word, kinds[i], n) && word[n] == '=') {
			*ret_kind = kinds[i];
			return word + n + 1;
		}
	}
	*ret_kind = SPEC_GRANT_KIND;
	return word;
}

/* Takes the device out of a file of ours; the last one takes the file along. */
static int take_out(const struct spec_file *file, const char *name, struct fault *f)
{
	json_t *devices = json_object_get(file->spec, "devices"), *device;
	size_t i;

	json_array_foreach (devices, i, device)
		if (!strcmp(device_text(device, "name"), name)) {
			json_array_remove(devices, i);
			break;
		}
	if (json_array_size(devices))
		return spec_write(file->path, file->spec, f);
	if (!unlink(file->path) || errno == ENOENT)
		return 0;
	return fault_set(f, -errno, "%s cannot be removed: %s; run this as root", file->path, strerror(errno));
}

/* Value: 0 when meted had the grant and ended it, CONTROL_REFUSED without a fault when there is none. */
static int end_grant(struct control *control, const char *name, struct fault *f)
{
	json_t *answer = NULL;
	char code[64] = "";
	int r = control_ask_again(control, CONTROL_STORED, request_grant("grant_delete", name),
				  &answer, code, f);

	json_decref(answer);
	return r == CONTROL_NOBODY || !strcmp(code, "unknown-grant") ? CONTROL_NOBODY : r;
}

static int remove_one(struct control *control, const char *dir, const char *word, struct fault *f)
{
	const char *kind, *name = split(word, &kind);
	const struct spec_file *file;
	struct spec_list list = { 0 };
	bool grant = !strcmp(kind, SPEC_GRANT_KIND), ended = false;
	int r = 0;

	if (grant) {
		r = end_grant(control, name, f);
		ended = !r;
		r = r == CONTROL_NOBODY ? 0 : r;
	}
	if (!r)
		r = spec_list_read(&list, dir, f);
	file = r ? NULL : spec_list_find(&list, kind, name, NULL);
	if (file)
		r = take_out(file, name, f);
	else if (!r && !ended)
		r = fault_set(f, -ENOENT, "there is no %s=%s: `mete cdi list` shows what there is", kind, name);
	spec_list_free(&list);
	return r;
}

VERB(cdi_remove)
{
	struct control control = CONTROL_CLOSED;
	struct fault f;
	int status = EXIT_DONE;

	for (int i = 0; i < line->arg_count; i++)
		if (remove_one(&control, option_value(line, "dir"), line->args[i], &f)) {
			say_error("%s", f.text);
			status = EXIT_FAILED;
		}
	control_close(&control);
	return status;
}
