/* device_test.c: how people name devices. */
#include "model/device.h"

#include "base/tap.h"

static const struct device list[] = {
	{ .index = 0, .uuid = { 0x6d, 0x65, 0x74, 0x65, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 0 } },
	{ .index = 1, .uuid = { 0x6d, 0x65, 0x74, 0x65, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 1 } },
	{ .index = 2, .uuid = { 0xab, 0xcd, 0xef, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 } },
};

static int find(const char *spec)
{
	return device_find(list, 3, spec);
}

static void test_find(void)
{
	is(find("0"), 0);
	is(find("2"), 2);
	is(find("3"), DEVICE_NOT_FOUND);
	is(find("-1"), DEVICE_NOT_FOUND);
	is(find(" 1"), DEVICE_NOT_FOUND);
	is(find(""), DEVICE_NOT_FOUND);
	is(find("GPU-"), DEVICE_NOT_FOUND);
	is(find("GPU-6d65"), DEVICE_AMBIGUOUS);
	is(find("GPU-6d657465-0000-4000-8000-000000000001"), 1);
	is(find("6D657465-0000-4000-8000-000000000000"), 0);
	is(find("GPU-AB"), 2);
	is(find("abc"), 2);
	is(find("6"), DEVICE_NOT_FOUND);
	is(find("GPU-6"), DEVICE_AMBIGUOUS);
	is(find("99999999999999999999999"), DEVICE_NOT_FOUND);
	is(find("nonsense"), DEVICE_NOT_FOUND);
}

static const struct device kinds[] = {
	{ .kind = DEVICE_NVIDIA, .index = 0, .uuid = { 1 } },	{ .kind = DEVICE_SOFT, .index = 0, .uuid = { 2 } },
	{ .kind = DEVICE_SOFT, .index = 1, .uuid = { 3 } },	{ .kind = DEVICE_HIP, .index = 1, .uuid = { 4 } },
	{ .kind = DEVICE_OPENCL, .index = 1, .uuid = { 5 } },	{ .kind = DEVICE_SOFT, .index = 2, .uuid = { 6 } },
	{ .kind = DEVICE_OPENCL, .index = 2, .uuid = { 7 } },
};

static void test_kinds(void)
{
	char text[DEVICE_AMBIGUITY_BYTES];

	is(device_find(kinds, 7, "0"), 0);
	is(device_find(kinds, 7, "soft:0"), 1);
	is(device_find(kinds, 7, "1"), DEVICE_AMBIGUOUS);
	is_str(device_ambiguity(kinds, 7, "1", text),
	       "devices of several kinds have this index: name one by its UUID or as hip:1, opencl:1");
	is(device_find(kinds, 7, "hip:1"), 3);
	is(device_find(kinds, 7, "opencl:1"), 4);
	is(device_find(kinds, 7, "2"), DEVICE_AMBIGUOUS);
	is_str(device_ambiguity(kinds, 7, "2", text),
	       "devices of several kinds have this index: name one by its UUID or as soft:2, opencl:2");
	is(device_find(kinds, 7, "hip:0"), DEVICE_NOT_FOUND);
	is(device_find(kinds, 7, "hip:"), DEVICE_NOT_FOUND);
	is(device_find(kinds, 7, "hop:1"), DEVICE_NOT_FOUND);
	is(device_find(kinds, 7, "hip:01"), 3);
	is(device_find(kinds, 7, "soft:99999999999999999999"), DEVICE_NOT_FOUND);
	is(device_kind_prefix("soft:0"), 5);
	is(device_kind_prefix("soft"), 0);
	is(device_kind_prefix("0:4G"), 0);
	is_str(device_ambiguity(list, 3, "GPU-6", text), "several UUIDs begin like that: give more of it");
}

static void test_order(void)
{
	unsigned int seen = 0;

	for (unsigned int i = 0; i < DEVICE_KINDS - 1; i++)
		seen |= 1u << device_kind_order[i];
	is(seen, (1u << DEVICE_KINDS) - 2);
}

static void test_uuid(void)
{
	char text[DEVICE_UUID_TEXT];
	uint8_t uuid[DEVICE_UUID_BYTES];

	is_str(device_uuid_format(list[2].uuid, text), "GPU-abcdef00-0102-0304-0506-0708090a0b0c");
	is(device_uuid_parse(text, uuid), 0);
	is(memcmp(uuid, list[2].uuid, sizeof(uuid)), 0);
	is(device_uuid_parse("GPU-abcdef00-0102-0304-0506-0708090a0b0", uuid), -1);
	is(device_uuid_parse("GPU-abcdef00-0102-0304-0506-0708090a0b0c0", uuid), -1);
	is(device_uuid_parse("", uuid), -1);
	is(device_uuid_parse("GPU-zbcdef00-0102-0304-0506-0708090a0b0c", uuid), -1);
}

int main(void)
{
	tap_begin();
	test_find();
	test_kinds();
	test_order();
	test_uuid();
	return tap_end();
}
