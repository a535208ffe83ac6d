/*
 * guard_tables.c: the guard's tables as mete-guard pins them, with what a test puts into them: guard_tables FOLDER
 *
 * FOLDER is in a file system of bpf's that the test has mounted. Lines on standard input: "hold GRANT PID" makes the
 * process that grant's, "drop GRANT" gives the grant's row up, "end" ends. One line is answered to each. Its first line
 * is "ready", or why there can be none here.
 */
#include "guard/maps.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WORDS 8 /* of a task's; the guard's own has more */

static int work = -1, limits = -1;

/* Tables of tasks want types: the key is an int, the value an array of words. */
static int work_make(void)
{
	struct btf *btf = btf__new_empty();
	int number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED), word = btf__add_int(btf, "word", 8, 0);
	int value = btf__add_array(btf, number, word, WORDS);

	if (btf__load_into_kernel(btf))
		return -1;
	LIBBPF_OPTS(bpf_map_create_opts, o, .map_flags = BPF_F_NO_PREALLOC, .btf_fd = (uint32_t)btf__fd(btf),
		    .btf_key_type_id = (uint32_t)number, .btf_value_type_id = (uint32_t)value);
	return bpf_map_create(BPF_MAP_TYPE_TASK_STORAGE, "guard_work", 4, WORDS * 8, 0, &o);
}

static bool begin(const char *folder)
{
	char path[256];

	work = work_make();
	limits = bpf_map_create(BPF_MAP_TYPE_ARRAY, "guard_limits", 4, sizeof(struct guard_limits), GUARD_TENANTS_MOST, NULL);
	if (work < 0 || limits < 0)
		return false;
	snprintf(path, sizeof path, "%s/maps", folder);
	if (mkdir(folder, 0700) || mkdir(path, 0700))
		return false;
	snprintf(path, sizeof path, "%s/maps/guard_work", folder);
	if (bpf_obj_pin(work, path))
		return false;
	snprintf(path, sizeof path, "%s/maps/guard_limits", folder);
	return !bpf_obj_pin(limits, path);
}

static int hold(uint64_t grant, int pid)
{
	uint64_t left[WORDS] = { (1u << 20) + grant };
	struct guard_limits l = { .account = *left, .grant = grant };
	uint32_t row = GUARD_ROW(*left);
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), r;

	r = fd < 0 || bpf_map_update_elem(limits, &row, &l, BPF_ANY) || bpf_map_update_elem(work, &fd, left, BPF_ANY);
	r = r ? errno : 0;
	if (fd >= 0)
		close(fd);
	return r;
}

static int drop(uint64_t grant)
{
	const struct guard_limits none = { 0 };
	uint32_t row = GUARD_ROW((1u << 20) + grant);

	return bpf_map_update_elem(limits, &row, &none, BPF_ANY) ? errno : 0;
}

int main(int argc, char **argv)
{
	char line[128];
	unsigned long long grant;
	int pid;

	if (argc != 2 || !begin(argv[1])) {
		printf("this kernel makes no such tables here: %s\n", strerror(errno));
		return 1;
	}
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin) && strcmp(line, "end\n")) {
		if (sscanf(line, "hold %llu %d", &grant, &pid) == 2)
			printf("%d\n", hold(grant, pid));
		else if (sscanf(line, "drop %llu", &grant) == 1)
			printf("%d\n", drop(grant));
		fflush(stdout);
	}
	return 0;
}
