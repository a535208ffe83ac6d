/*
 * dra_pool_test.c: what is published, by tables: the rounding of requests as Kubernetes publishes it, what promises
 * outside of DRA leave, and where a GPU sits.
 */
#include "base/tap.h"
#include "connect/kubernetes/claim_words.h"
#include "connect/kubernetes/dra_claim.h"
#include "connect/kubernetes/dra_pool.h"
#include "connect/kubernetes/quantity.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB (1ull << 20)
#define GIB (1ull << 30)

/*
 * Of "requestPolicy": below the least it is the least; else the next whole step above the least; above the value the
 * device is not eligible. An empty request takes the default. The first rows have a range of their own, the
 * others those of our slices.
 */
static const struct {
	const char *what, *asked; /* NULL: the claim names none */
	struct dra_range range;
	bool fits;
	uint64_t consumed;
} roundings[] = {
	{ "below the least", "1Mi", { 40 * GIB, 5 * GIB, 5 * GIB, 5 * GIB }, true, 5 * GIB },
	{ "the least", "5Gi", { 40 * GIB, 5 * GIB, 5 * GIB, 5 * GIB }, true, 5 * GIB },
	{ "a byte above it", "5368709121", { 40 * GIB, 5 * GIB, 5 * GIB, 5 * GIB }, true, 10 * GIB },
	{ "steps count from the least, not from zero",
	  "12Gi",
	  { 40 * GIB, 5 * GIB, 3 * GIB, 5 * GIB },
	  true,
	  14 * GIB },
	{ "all of it", "40Gi", { 40 * GIB, 5 * GIB, 5 * GIB, 5 * GIB }, true, 40 * GIB },
	{ "more than there is", "41Gi", { 40 * GIB, 5 * GIB, 5 * GIB, 5 * GIB }, false, 0 },
	{ "a step too far", "39Gi", { 39 * GIB, 5 * GIB, 5 * GIB, 5 * GIB }, false, 0 },
	{ "memory: a byte is 1 MiB", "1", { 16 * GIB, MIB, MIB, 16 * GIB }, true, MIB },
	{ "memory: whole steps stay", "4Gi", { 16 * GIB, MIB, MIB, 16 * GIB }, true, 4 * GIB },
	{ "memory: 10G is 9537 MiB", "10G", { 16 * GIB, MIB, MIB, 16 * GIB }, true, 9537 * MIB },
	{ "memory: 1.5Gi", "1.5Gi", { 16 * GIB, MIB, MIB, 16 * GIB }, true, 1536 * MIB },
	{ "memory: none is all", NULL, { 16 * GIB, MIB, MIB, 16 * GIB }, true, 16 * GIB },
	{ "memory: a byte more than all", "17179869185", { 16 * GIB, MIB, MIB, 16 * GIB }, false, 0 },
	{ "cores: none is none", NULL, { 100, 0, 1, 0 }, true, 0 },
	{ "cores: 25", "25", { 100, 0, 1, 0 }, true, 25 },
	{ "cores: a part of a percent is a percent", "12500m", { 100, 0, 1, 0 }, true, 13 },
	{ "cores: all", "100", { 100, 0, 1, 0 }, true, 100 },
	{ "cores: more", "101", { 100, 0, 1, 0 }, false, 0 },
	{ "the largest number there is", "9223372036854775807", { 100, 1, 1, 1 }, false, 0 },
};

static void check_rounding(void)
{
	for (size_t i = 0; i < sizeof(roundings) / sizeof(*roundings); i++) {
		uint64_t asked = roundings[i].range.by_default, got = 0;
		bool fits;

		if (roundings[i].asked)
			quantity_units(roundings[i].asked, &asked, NULL);
		fits = dra_range_round(&roundings[i].range, asked, &got);
		tap_ok(fits == roundings[i].fits && (!fits || got == roundings[i].consumed), "%s: %llu",
		       roundings[i].what, (unsigned long long)got);
	}
}

#define DEVICE(total, promised, cores, more)                                                                           \
	"{\"uuid\":\"GPU-A\",\"index\":0,\"driver\":\"nvidia\",\"name\":\"G\",\"state\":\"active\",\"total_"           \
	"bytes\":" total ",\"promised_bytes\":" promised ",\"promised_cores\":" cores more "}"
#define GRANT(name, uid, container, bytes, cores)                                                                      \
	"\"" name "\":{\"name\":\"" name "\",\"uid\":" uid ",\"container\":" container                                 \
	",\"devices\":[{\"uuid\":\"GPU-B\",\"quota_bytes\":1048576},{\"uuid\":\"GPU-A\",\"quota_bytes\":" bytes        \
	",\"cores\":" cores "}]}"

static const struct {
	const char *what, *device, *grants;
	bool offered, timed;
	uint64_t mib, cores;
	const char *counted; /* NULL: nothing is known */
} capacities[] = {
	{ "nothing is promised", DEVICE("17179869184", "0", "0", ""), "{}", true, true, 16384, 100 },
	{ "a device that is no whole number of steps", DEVICE("17179869183", "0", "0", ""), "{}", true, true, 16383,
	  100 },
	{ "a promise outside", DEVICE("17179869184", "4294967808", "25", ""),
	  "{" GRANT("k8s-small-0", "0", "{}", "4294967808", "25") "}", true, true, 12287, 75 },
	{ "a claim's own is not subtracted", DEVICE("17179869184", "4294967296", "25", ""),
	  "{" GRANT("dra-1", "0", "{}", "4294967296", "25") "}", true, true, 16384, 100 },
	{ "both", DEVICE("17179869184", "8589934592", "60.5", ""),
	  "{" GRANT("dra-1", "0", "{}", "4294967296", "25") "," GRANT("x", "0", "null", "4294967296", "35.5") "}", true,
	  true, 12288, 64 },
	{ "thirds of a percent add up", DEVICE("17179869184", "1048576", "33.300000000000004", ""),
	  "{" GRANT("dra-1", "0", "{}", "1048576", "33.3") "}", true, true, 16384, 100 },
	{ "a claim's name that another user gave himself", DEVICE("17179869184", "4294967296", "25", ""),
	  "{" GRANT("dra-1", "1000", "{}", "4294967296", "25") "}", true, true, 12288, 75 },
	{ "or that is for no container", DEVICE("17179869184", "4294967296", "25", ""),
	  "{" GRANT("dra-1", "0", "null", "4294967296", "25") "}", true, true, 12288, 75 },
	{ "overcommitted: nothing is left", DEVICE("17179869184", "34359738368", "150", ""), "{}", false, false, 0, 0 },
	{ "two steps are offered", DEVICE("2097152", "0", "0", ""), "{}", true, true, 2, 100 },
	{ "one is not", DEVICE("2097151", "0", "0", ""), "{}", false, true, 1, 100 },
	{ "no whole percent is left", DEVICE("17179869184", "0", "99.5", ""), "{}", true, false, 16384, 0 },
	{ "native programs run unheld: no time", DEVICE("17179869184", "0", "0", ",\"native\":\"allow\""), "{}", true,
	  false, 16384, 100 },
	{ "cordoned", "{\"uuid\":\"GPU-A\",\"state\":\"cordoned\",\"total_bytes\":17179869184}", "{}", false, true,
	  16384, 100 },
	{ "a device of which nothing is known", "{}", "{}", false, true, 0, 100 },
	{ "a claim's own was made larger: what is above counts", DEVICE("17179869184", "6442450944", "40", ""),
	  "{" GRANT("dra-1", "0", "{}", "6442450944", "40") "}", true, true, 14336, 85,
	  "{\"dra-1\":[{\"device\":\"GPU-A\",\"mem_bytes\":4294967296,\"cores\":25}]}" },
	{ "it was made smaller: the scheduler counts the whole", DEVICE("17179869184", "2147483648", "10", ""),
	  "{" GRANT("dra-1", "0", "{}", "2147483648", "10") "}", true, true, 16384, 100,
	  "{\"dra-1\":[{\"device\":\"GPU-A\",\"mem_bytes\":4294967296,\"cores\":25}]}" },
	{ "it was given time of which none was counted", DEVICE("17179869184", "4294967296", "25", ""),
	  "{" GRANT("dra-1", "0", "{}", "4294967296", "25") "}", true, true, 16384, 75,
	  "{\"dra-1\":[{\"device\":\"GPU-A\",\"mem_bytes\":4294967296}]}" },
	{ "where no memory is counted all of it is the claim's", DEVICE("17179869184", "4294967296", "0", ""),
	  "{" GRANT("dra-1", "0", "{}", "4294967296", "0") "}", true, true, 16384, 100,
	  "{\"dra-1\":[{\"device\":\"GPU-A\"}]}" },
	{ "what was counted of another device", DEVICE("17179869184", "4294967296", "25", ""),
	  "{" GRANT("dra-1", "0", "{}", "4294967296", "25") "}", true, true, 16384, 100,
	  "{\"dra-1\":[{\"device\":\"GPU-B\",\"mem_bytes\":1048576}]}" },
};

static void check_capacity(void)
{
	for (size_t i = 0; i < sizeof(capacities) / sizeof(*capacities); i++) {
		json_t *device = json_loads(capacities[i].device, 0, NULL),
		       *grants = json_loads(capacities[i].grants, 0, NULL),
		       *counted = capacities[i].counted ? json_loads(capacities[i].counted, 0, NULL) : NULL;
		struct dra_capacity c = dra_capacity_of(device, grants, counted, 0);

		tap_ok(device && grants && c.offered == capacities[i].offered && c.timed == capacities[i].timed &&
			       c.memory.value == capacities[i].mib * MIB && c.cores.value == capacities[i].cores,
		       "%s: %llu MiB, %llu %%", capacities[i].what, (unsigned long long)(c.memory.value / MIB),
		       (unsigned long long)c.cores.value);
		json_decref(device);
		json_decref(grants);
		json_decref(counted);
	}
}

static void write_file(const char *root, const char *name, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *at = path + 1; (at = strchr(at, '/')); at++) {
		*at = 0;
		mkdir(path, 0700);
		*at = '/';
	}
	file = fopen(path, "we");
	if (file) {
		fputs(text, file);
		fclose(file);
	}
}

static void make_tree(const char *root)
{
	char from[512];

	write_file(root, "proc/driver/nvidia/gpus/0000:65:00.0/information",
		   "Model: \t\t NVIDIA A100\nIRQ:   \t\t 1\nGPU UUID: \t GPU-A\nBus Type: \t PCIe\n");
	write_file(root, "proc/driver/nvidia/gpus/0000:66:00.0/information", "GPU UUID: \t GPU-NOWHERE\n");
	write_file(root, "proc/driver/nvidia/gpus/0000:67:00.0/information", "nothing\n");
	write_file(root, "sys/devices/pci0000:64/0000:64:00.0/0000:65:00.0/numa_node", "1\n");
	write_file(root, "sys/bus/pci/devices/none", "");
	snprintf(from, sizeof(from), "%s/sys/bus/pci/devices/0000:65:00.0", root);
	if (symlink("../../../devices/pci0000:64/0000:64:00.0/0000:65:00.0", from))
		perror(from);
}

static const char *text_at(json_t *object, const char *a, const char *b)
{
	const char *text = json_string_value(json_object_get(json_object_get(object, a), b));

	return text ? text : "";
}

static void check_pci(void)
{
	char root[] = "/tmp/mete-pci-XXXXXX", command[64];
	json_t *machine, *pci, *devices, *attributes;

	if (!mkdtemp(root))
		exit(1);
	make_tree(root);
	pci = dra_pci_read(root);
	tap_ok(json_object_size(pci) == 2 && !strcmp(text_at(pci, "GPU-A", "root"), "pci0000:64") &&
		       !strcmp(text_at(pci, "GPU-NOWHERE", "bus"), "0000:66:00.0") &&
		       !*text_at(pci, "GPU-NOWHERE", "root"),
	       "where GPUs sit, by the driver's and the kernel's files");
	machine = json_loads("{\"devices\":[" DEVICE("17179869184", "0", "0", "") "],\"drivers\":[{\"kind\":\"nvidia\","
										  "\"version\":\"580.1\"}]}",
			     0, NULL);
	devices = dra_pool_devices(machine, NULL, NULL, 0, pci);
	attributes = json_object_get(json_array_get(devices, 0), "attributes");
	tap_ok(!strcmp(text_at(attributes, "resource.kubernetes.io/pcieRoot", "string"), "pci0000:64") &&
		       !strcmp(text_at(attributes, "resource.kubernetes.io/pciBusID", "string"), "0000:65:00.0") &&
		       !strcmp(text_at(attributes, "driverVersion", "string"), "580.1") &&
		       json_integer_value(json_object_get(json_object_get(attributes, "numaNode"), "int")) == 1,
	       "become attributes: PCI root, bus and NUMA node");
	json_decref(pci);
	json_decref(devices);
	json_decref(machine);
	pci = dra_pci_read("/nowhere");
	tap_ok(json_object_size(pci) == 0, "no driver, no places");
	json_decref(pci);
	snprintf(command, sizeof(command), "rm -rf %s", root);
	if (system(command))
		perror(command);
}

static void check_names(void)
{
	json_t *device = json_pack("{s:s}", "uuid", "MIG-GPU-9f1A/3/0"),
	       *v1 = json_pack("{s:s s:i}", "name", "a", "capacity", 1);
	char name[64];

	dra_device_name(device, name);
	tap_ok(!strcmp(name, "mig-gpu-9f1a-3-0"), "a UUID as DNS has it: %s", name);
	json_decref(device);
	v1 = dra_device_as("v1beta1", v1);
	tap_ok(json_integer_value(json_object_get(json_object_get(v1, "basic"), "capacity")) == 1 &&
		       json_object_size(v1) == 2,
	       "v1beta1 has a device's fields under basic");
	json_decref(v1);
}

/* Every word of a share is a parameter under a name of its own, but `cores`, which is a capacity. */
static void check_words(void)
{
	char name[CLAIM_WORD_BYTES];
	bool round = true;

	for (size_t i = 0; i < SHARE_WORD_COUNT; i++)
		if (claim_word_name(&word_table[i], name))
			round &= claim_word_find(name) == &word_table[i];
		else
			round &= !claim_word_find(name);
	tap_ok(round && claim_word_find("coresLimit") && claim_word_find("turnMs") && claim_word_find("policy"),
	       "every word of a share is a parameter of a claim");
	tap_ok(!claim_word_find("cores") && !claim_word_find("cores_limit") && !claim_word_find(""),
	       "and nothing else is: not a capacity, not meted's key");
}

int main(void)
{
	tap_begin();
	check_words();
	check_rounding();
	check_capacity();
	check_pci();
	check_names();
	return tap_end();
}
