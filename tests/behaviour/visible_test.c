/*
 * visible_test.c: CUDA_VISIBLE_DEVICES by index, UUID and prefix of a UUID, in any order, neither loses nor moves a
 * device's memory.
 *
 *   METE_TEST_MACHINE  UUID=bytes of every device of the machine, in the machine's order, with spaces between
 *   METE_TEST_GRANT    the same for the devices of the grant, with their quotas (only through the shim)
 *
 * The program starts itself with the variable set and the argument `list`, and compares what that copy sees.
 */
#include "kit.h"

#define MOST 16

struct device {
	char uuid[64];
	unsigned long long bytes;
};

struct list {
	int count;
	struct device device[MOST];
};

static void uuid_text(const CUuuid *id, char *text)
{
	const unsigned char *b = (const unsigned char *)id->bytes;

	snprintf(text, 64, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2],
		 b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

/* One line per device: UUID, what cuDeviceTotalMem says, what cuMemGetInfo says to be there and to be free. */
static int list_devices(void)
{
	int count = 0;
	CUresult r = cuInit(0);

	if (r == CUDA_ERROR_NO_DEVICE)
		return 0;
	if (r || cuDeviceGetCount(&count))
		return 1;
	for (int i = 0; i < count; i++) {
		size_t total, free_bytes, info;
		CUcontext context;
		char text[64];
		CUdevice dev;
		CUuuid id;

		if (cuDeviceGet(&dev, i) || cuDeviceGetUuid(&id, dev) || cuDeviceTotalMem(&total, dev) ||
		    cuDevicePrimaryCtxRetain(&context, dev) || cuCtxSetCurrent(context) ||
		    cuMemGetInfo(&free_bytes, &info) || cuDevicePrimaryCtxRelease(dev))
			return 1;
		uuid_text(&id, text);
		printf("%s %zu %zu %zu\n", text, total, info, free_bytes);
	}
	return 0;
}

static void read_variable(struct list *l, const char *name)
{
	const char *value = getenv(name);
	char *copy, *rest;

	*l = (struct list){ 0 };
	if (!value)
		return;
	copy = strdup(value);
	for (char *word = strtok_r(copy, " ", &rest); word && l->count < MOST; word = strtok_r(NULL, " ", &rest)) {
		struct device *d = &l->device[l->count];

		if (sscanf(word, "%63[^=]=%llu", d->uuid, &d->bytes) == 2)
			l->count++;
	}
	free(copy);
}

static unsigned long long granted(const struct list *grant, const struct device *d)
{
	for (int i = 0; i < grant->count; i++)
		if (!strcmp(grant->device[i].uuid, d->uuid))
			return grant->device[i].bytes;
	return 0;
}

static const char *self;
static struct list machine, grant;

/* With CUDA_VISIBLE_DEVICES=value (NULL: unset), these devices of the machine must be seen, in this order. */
static void look(const char *value, int count, const int *order)
{
	char command[4200], line[256], uuid[64];
	unsigned long long total, info, left;
	int seen = 0, wanted = 0, bad = 0;
	FILE *f;

	fflush(stdout);
	if (value)
		setenv("CUDA_VISIBLE_DEVICES", value, 1);
	else
		unsetenv("CUDA_VISIBLE_DEVICES");
	snprintf(command, sizeof command, "'%s' list", self);
	f = popen(command, "r");
	if (!f) {
		tap_ok(0, "the copy starts");
		return;
	}
	for (int i = 0; i < count; i++) {
		const struct device *d = &machine.device[order[i]];
		unsigned long long bytes = kit.shim ? granted(&grant, d) : d->bytes;

		if (!bytes)
			continue; /* not in the grant */
		wanted++;
		if (!fgets(line, sizeof line, f))
			break;
		seen++;
		if (sscanf(line, "%63s %llu %llu %llu", uuid, &total, &info, &left) != 4 || strcmp(uuid, d->uuid) ||
		    total != bytes || info != bytes || left > bytes) {
			printf("# place %d: expected %s %llu, got %s", i, d->uuid, bytes, line);
			bad++;
		}
	}
	while (fgets(line, sizeof line, f)) {
		printf("# not expected: %s", line);
		bad++;
	}
	if (pclose(f))
		bad++;
	tap_ok(!bad && seen == wanted, "CUDA_VISIBLE_DEVICES%s%s: %d of %d devices, each with its own memory",
	       value ? "=" : " unset", value ? value : "", seen, wanted);
}

/* The shortest beginning of a's UUID that b's does not share. */
static void prefix(char *text, const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	snprintf(text, 64, "%.*s", (int)n + 1, a);
}

int main(int argc, char **argv)
{
	static const int both[] = { 0, 1 }, turned[] = { 1, 0 }, first[] = { 0 }, second[] = { 1 };
	const char *way = getenv("METE_TEST_WAY"), *a, *b;
	char text[300], short_a[64], short_b[64];

	self = argv[0];
	if (argc > 1)
		return list_devices();
	kit.shim = way && strcmp(way, "direct") != 0;
	read_variable(&machine, "METE_TEST_MACHINE");
	read_variable(&grant, "METE_TEST_GRANT");
	if (machine.count < 2)
		tap_skip_all("needs two devices, named in METE_TEST_MACHINE");
	tap_begin();
	a = machine.device[0].uuid;
	b = machine.device[1].uuid;
	prefix(short_a, a, b);
	prefix(short_b, b, a);

	look(NULL, 2, both);
	look("0", 1, first);
	look("1", 1, second);
	look("0,1", 2, both);
	look("1,0", 2, turned);
	look(a, 1, first);
	look(b, 1, second);
	snprintf(text, sizeof text, "%s,%s", b, a);
	look(text, 2, turned);
	look(short_a, 1, first);
	look(short_b, 1, second);
	snprintf(text, sizeof text, "%s,%s", short_b, short_a);
	look(text, 2, turned);
	/* The first entry that names nothing ends the list. */
	look("0,7,1", 1, first);
	look("1,-1,0", 1, second);
	look("7", 0, NULL);
	look("-1", 0, NULL);
	look("", 0, NULL);
	look("GPU-nothing", 0, NULL);
	return tap_end();
}
