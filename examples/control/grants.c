/*
 * grants.c: lists the grants of this machine through libmete. A line per grant: its name, its state, and of each device
 * what it holds and may hold.
 *
 *	cc grants.c $(pkg-config --cflags --libs mete jansson) && ./a.out [NAME]
 */
#include <mete/control.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static void print_grant(json_t *grant)
{
	json_t *device;
	size_t i;

	printf("%s %s", json_string_value(json_object_get(grant, "name")),
	       json_string_value(json_object_get(grant, "state")));
	json_array_foreach(json_object_get(grant, "devices"), i, device)
		printf(" %lld/%lld", (long long)json_integer_value(json_object_get(device, "held_bytes")),
		       (long long)json_integer_value(json_object_get(device, "quota_bytes")));
	putchar('\n');
}

int main(int argc, char **argv)
{
	struct mete_fault fault;
	json_t *grants, *grant;
	char *text;
	size_t i;

	if (mete_grants(argc > 1 ? argv[1] : NULL, &text, &fault)) {
		fprintf(stderr, "grants: %s\n", fault.text);
		return 1;
	}
	grants = json_loads(text, 0, NULL);
	free(text);
	json_array_foreach(grants, i, grant)
		print_grant(grant);
	json_decref(grants);
	return 0;
}
