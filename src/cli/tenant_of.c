/* tenant_of.c: see tenant_of.h. The form of control groups' names: cgroups(7), and the runtimes' 64 hexadecimal digits.
 */
#include "cli/tenant_of.h"
#include "base/clean_text.h"
#include "base/cleanup.h"
#include "verb/choose.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ID_DIGITS 64u
#define ID_SHOWN 12
#define POD_SHOWN 40

const char *tenant_of_user(json_t *grant, char text[TENANT_OF_BYTES])
{
	json_t *uid = json_object_get(grant, "uid");
	const struct passwd *user = json_is_integer(uid) ? getpwuid((uid_t)json_integer_value(uid)) : NULL;

	if (user)
		snprintf(text, TENANT_OF_BYTES, "%s", user->pw_name);
	else if (json_is_integer(uid))
		snprintf(text, TENANT_OF_BYTES, "%lld", (long long)json_integer_value(uid));
	else
		snprintf(text, TENANT_OF_BYTES, "-");
	clean_text_ascii(text);
	return text;
}

/* The first run of 64 digits. */
static const char *find_id(const char *text)
{
	while (*text) {
		size_t digits = strspn(text, "0123456789abcdef");

		if (digits == ID_DIGITS)
			return text;
		text += digits ? digits : 1;
	}
	return NULL;
}

static bool id_of_process(json_int_t pid, char text[TENANT_OF_BYTES])
{
	char path[64], groups[4096];
	const char *id;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%lld/cgroup", (long long)pid);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, groups, sizeof(groups) - 1) : -1;
	if (n <= 0)
		return false;
	groups[n] = 0;
	id = find_id(groups);
	if (id)
		snprintf(text, TENANT_OF_BYTES, "%.*s", ID_SHOWN, id);
	return id;
}

const char *tenant_of_container(json_t *grant, char text[TENANT_OF_BYTES])
{
	json_t *container = json_object_get(grant, "container"), *process;
	json_t *labels = json_object_get(grant, "labels");
	const char *told = device_text(container, "id"), *pod = device_text(labels, "pod");
	size_t i;

	if (*pod) {
		snprintf(text, TENANT_OF_BYTES, "%.*s/%s", POD_SHOWN, pod, device_text(labels, "container"));
		clean_text_ascii(text);
		return text;
	}
	if (*told) {
		snprintf(text, TENANT_OF_BYTES, "%.*s", ID_SHOWN, told);
		clean_text_ascii(text);
		return text;
	}
	json_array_foreach(json_object_get(grant, "processes"), i,
			   process) if (id_of_process(device_number(process, "pid"), text)) return text;
	snprintf(text, TENANT_OF_BYTES, "%s", json_is_object(container) ? "yes" : "-");
	return text;
}
