/* libmete_test.c: libmete.so against a meted that it starts: libmete_test EXAMPLE_GRANTS. */
#include <mete/control.h>

#include "base/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];

static json_t *read_json(char *text)
{
	json_t *json = json_loads(text, 0, NULL);

	free(text);
	return json;
}

static void test_nobody(void)
{
	struct mete_control *c = (struct mete_control *)&c;
	struct mete_fault fault = { "" };

	is(mete_control_open(&c, METE_CONTROL_FIND, &fault), METE_NOBODY);
	ok(strstr(fault.text, dir) && strstr(fault.text, "meted"));
	ok(c == (struct mete_control *)&c);
	is(mete_control_open(&c, METE_CONTROL_FIND, NULL), METE_NOBODY);
	mete_control_close(NULL);
}

static void test_place(void)
{
	char path[METE_PATH_BYTES] = "";
	struct mete_fault fault;

	is(mete_place(METE_PART_METED, path, &fault), 0);
	ok(!access(path, X_OK));
	is(mete_place(METE_PART_SHIM, path, &fault), 0);
	ok(strlen(path) > 4 && !strcmp(path + strlen(path) - 4, "shim"));
	is(mete_place((enum mete_part)99, path, &fault), -EINVAL);
	ok(strstr(fault.text, "99"));
}

static void test_ask(struct mete_control *c)
{
	char *text, code[METE_CODE_BYTES];
	struct mete_fault fault;
	json_t *answer;

	is(mete_control_ask(c, "{\"op\": \"hello\"}", &text, code, &fault), 0);
	is_str(code, "");
	answer = read_json(text);
	is(json_integer_value(json_object_get(answer, "protocol")), METE_CONTROL_PROTOCOL);
	is(json_integer_value(json_object_get(answer, "pid")), mete_control_pid(c));
	is_str(json_string_value(json_object_get(answer, "runtime_dir")), mete_control_dir(c));
	ok(!mete_control_is_system(c));
	json_decref(answer);
	is(mete_control_ask(c, "{\"op\": \"grant_delete\", \"name\": \"nobody\"}", &text, code, &fault), METE_REFUSED);
	is_str(code, "unknown-grant");
	ok(strstr(fault.text, "nobody"));
	is(mete_control_ask(c, "{\"op\": \"grants\"", &text, code, &fault), -EINVAL);
	is(mete_control_ask(c, "[]", &text, code, &fault), -EINVAL);
	ok(strstr(fault.text, "JSON object"));
}

/* Two requests are under way; answers come in their order. */
static void test_halves(struct mete_control *c)
{
	struct pollfd p = { .fd = mete_control_fd(c), .events = POLLIN };
	char code[METE_CODE_BYTES], *text = NULL;
	struct mete_fault fault;
	int r;

	is(mete_control_receive(c, &text, code, &fault), -EAGAIN);
	is(mete_control_send(c, "{\"op\": \"policies\"}", &fault), 0);
	is(mete_control_send(c, "{\"op\": \"what\"}", &fault), 0);
	while ((r = mete_control_receive(c, &text, code, &fault)) == -EAGAIN && poll(&p, 1, 20000) > 0)
		;
	is(r, 0);
	ok(!r && strstr(text, "fair"));
	free(r ? NULL : text);
	while ((r = mete_control_receive(c, &text, code, &fault)) == -EAGAIN && poll(&p, 1, 20000) > 0)
		;
	is(r, METE_REFUSED);
	is_str(code, "unknown-op");
}

static void test_grants(struct mete_control *c, const char *example)
{
	static const char make[] = "{\"op\": \"grant_create\", \"name\": \"lib\", \"driver\": \"soft\", "
				   "\"devices\": [{\"device\": \"0\", \"mem_bytes\": 1048576}]}";
	struct mete_fault fault;
	char *text, line[256] = "";
	json_t *grants;
	FILE *said;

	is(mete_control_ask(c, make, &text, NULL, &fault), 0);
	free(text);
	is(mete_grants(NULL, &text, &fault), 0);
	grants = read_json(text);
	is(json_array_size(grants), 1);
	is_str(json_string_value(json_object_get(json_array_get(grants, 0), "name")), "lib");
	json_decref(grants);
	is(mete_grants("other", &text, &fault), METE_REFUSED);
	ok(strstr(fault.text, "other"));
	is(mete_grants("no name", &text, &fault), -EINVAL);
	said = popen(example, "r");
	ok(said && fgets(line, sizeof(line), said));
	line[strcspn(line, "\n")] = 0;
	is_str(line, "lib idle 0/1048576");
	is(said ? pclose(said) : -1, 0);
}

static void test_end(struct mete_control *c)
{
	struct pollfd p = { .fd = mete_control_fd(c), .events = POLLIN };
	struct mete_fault fault;
	char *text;

	is(mete_control_ask(c, "{\"op\": \"grant_delete\", \"name\": \"lib\"}", &text, NULL, &fault), 0);
	free(text);
	is(mete_control_ask(c, "{\"op\": \"stop\"}", &text, NULL, &fault), 0);
	free(text);
	poll(&p, 1, 20000);
	is(mete_control_ask(c, "{\"op\": \"hello\"}", &text, NULL, &fault), METE_LOST);
	ok(strstr(fault.text, dir));
}

int main(int argc, char **argv)
{
	struct mete_control *c = NULL;
	struct mete_fault fault;
	char command[128];

	snprintf(dir, sizeof(dir), "/tmp/mete-lib-%d", (int)getpid());
	if (argc != 2 || mkdir(dir, 0700))
		return 2;
	setenv("METE_RUNTIME_DIR", dir, 1);
	setenv("METE_SOFT_DIR", dir, 1);
	tap_begin();
	ok(*mete_version());
	test_nobody();
	test_place();
	if (tap_ok(!mete_control_open(&c, METE_CONTROL_START, &fault), "it starts a meted: %s", c ? "" : fault.text)) {
		test_ask(c);
		test_halves(c);
		test_grants(c, argv[1]);
		test_end(c);
	}
	mete_control_close(c);
	is(mete_start("/nowhere/at/all", &fault), -ENOENT);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	(void)!system(command);
	return tap_end();
}
