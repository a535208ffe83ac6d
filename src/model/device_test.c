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
	test_uuid();
	return tap_end();
}
