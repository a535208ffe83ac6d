/* key_test.c: key files: what is written is read again; what is damaged, foreign or open to others is refused. */
#include "base/tap.h"
#include "remote/relay/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEX "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static char folder[] = "/tmp/mete-key-XXXXXX";
static char path[64], error[RELAY_TEXT_BYTES];

static void put(const char *text, size_t size)
{
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || write(fd, text, size) != (ssize_t)size)
		exit(2);
	close(fd);
}

static void refuses(const char *text, const char *word)
{
	struct relay_key key = { .name = "x", .bytes = { 1 } };
	int r;

	put(text, strlen(text));
	r = relay_key_read(path, &key, error);
	tap_ok(r < 0 && !*key.name && !key.bytes[0] && strstr(error, word) && strstr(error, path), "refused: %s",
	       r ? error : "(read)");
}

static void round_trip(void)
{
	struct relay_key made, again, second;
	struct stat st;

	unlink(path);
	is(relay_key_make("alice-1_B", &made), 0);
	is(relay_key_make("alice-1_B", &second), 0);
	ok(memcmp(made.bytes, second.bytes, sizeof(made.bytes)));
	is(relay_key_write(path, &made, error), 0);
	ok(!stat(path, &st) && (st.st_mode & 0777) == 0600);
	is(relay_key_read(path, &again, error), 0);
	ok(!memcmp(&made, &again, sizeof(made)));
	is(relay_key_write(path, &second, error), -EEXIST);
	ok(strstr(error, "already"));
	is(relay_key_read(path, &again, error), 0);
	ok(!memcmp(&made, &again, sizeof(made)));
	is(chmod(path, 0640), 0);
	is(relay_key_read(path, &again, error), -EPERM);
	ok(strstr(error, "chmod 600") && !*again.name);
	unlink(path);
	is(relay_key_read(path, &again, error), -ENOENT);
	ok(strstr(error, "mete key new"));
	is(relay_key_read(folder, &again, error), -EINVAL);
}

static void names(void)
{
	static const char *const bad[] = {
		"",	"-a",	    "a/b",
		"..",	".a",	    "a b",
		"a\nb", "\xc3\xa4", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	};
	struct relay_key key;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		ok(!relay_name_good(bad[i]));
		is(relay_key_make(bad[i], &key), -EINVAL);
	}
	ok(relay_name_good("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}

int main(void)
{
	struct relay_key key;
	char large[5000];

	tap_begin();
	if (!mkdtemp(folder))
		return 2;
	snprintf(path, sizeof(path), "%s/a.key", folder);
	round_trip();
	names();
	put("mete-key 1 bob " HEX " \r\n", strlen("mete-key 1 bob " HEX " \r\n"));
	is(relay_key_read(path, &key, error), 0);
	is_str(key.name, "bob");
	is(key.bytes[30], 0xee);
	refuses("", "no key file");
	refuses("ssh-rsa AAAA\n", "no key file");
	refuses("mete-key 1 bob " HEX "\nmete-key 1 eve " HEX "\n", "no key file");
	refuses("mete-key 2 bob " HEX "\n", "another version");
	refuses("mete-key 1 bob\n", "damaged");
	refuses("mete-key 1 " HEX "\n", "damaged");
	refuses("mete-key 1 ../bob " HEX "\n", "damaged");
	refuses("mete-key 1 bob " HEX "0\n", "damaged");
	refuses("mete-key 1 bob g" HEX "\n", "damaged");
	refuses("mete-key 1 bob " HEX " red\n", "damaged");
	put("mete-key 1 b\0b\n", 15);
	is(relay_key_read(path, &key, error), -EINVAL);
	memset(large, '#', sizeof(large));
	put(large, sizeof(large));
	is(relay_key_read(path, &key, error), -EINVAL);
	unlink(path);
	rmdir(folder);
	return tap_end();
}
