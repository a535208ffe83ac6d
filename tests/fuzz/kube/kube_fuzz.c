/*
 * kube_fuzz.c: fuzz target for what Kubernetes hands to mete-webhook, mete-extender and mete-agent, which any user of
 * the cluster can write a part of: reviews of pods, nodes with their annotation, allocated claims.
 *
 * The first byte says which of them, and with which options; the rest is JSON. What must hold: a review is answered
 * with a review of the same uid, or with a line; who is refused is told why; a patch changes resources, claims,
 * annotations of mete's own and the scheduler's name alone, and whoever sees the changed pod again asks for nothing; a
 * node's verdict is a line that can be printed; a claim becomes rows that meted can read, or a line.
 */
#include "../json_edit.h"
#include "../ptx/fuzz.h"
#include "connect/kubernetes/dra_claim.h"
#include "connect/kubernetes/extender_question.h"
#include "connect/kubernetes/webhook_review.h"

#include <errno.h>
#include <stdbool.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed);

enum door { DOOR_REVIEW, DOOR_NODES, DOOR_CLAIM, DOORS };

static struct words_options options[4]; /* by 1: claims, 2: all that can be chosen */

static const char *text_at(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static bool is_line(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	return true;
}

/* Reviews. */

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static bool ends(const char *text, const char *with)
{
	return strlen(text) >= strlen(with) && !strcmp(text + strlen(text) - strlen(with), with);
}

static void check_operation(json_t *operation)
{
	const char *path = text_at(operation, "path");
	json_t *value = json_object_get(operation, "value");

	check(!strcmp(text_at(operation, "op"), "add") && value);
	if (!strcmp(path, "/metadata/annotations")) {
		check(json_object_size(value) == 1 && json_object_get(value, WORDS_ASKED));
		return;
	}
	check(begins(path, "/metadata/annotations/mete.io~1") || !strcmp(path, "/spec/schedulerName") ||
	      (!strcmp(path, "/spec/resourceClaims") && json_is_array(value)) ||
	      ((begins(path, "/spec/containers/") || begins(path, "/spec/initContainers/")) &&
	       ends(path, "/resources") && json_is_object(value)));
}

static int digit(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

static json_t *decoded(const char *code)
{
	size_t n = 0, length = strlen(code);
	char *text = malloc(length + 1);
	unsigned int bits = 0, value = 0;
	json_t *patch;

	check(text && !(length % 4));
	for (; *code && *code != '='; code++) {
		check(digit(*code) >= 0);
		value = value << 6 | (unsigned int)digit(*code);
		bits += 6;
		if (bits >= 8)
			text[n++] = (char)(value >> (bits -= 8) & 255);
	}
	patch = json_loadb(text, n, 0, NULL);
	free(text);
	check(json_is_array(patch));
	return patch;
}

static void check_changed(json_t *response)
{
	json_t *patch = decoded(text_at(response, "patch")), *operation;
	size_t i;

	check(!strcmp(text_at(response, "patchType"), "JSONPatch") && json_array_size(patch));
	json_array_foreach(patch, i, operation) check_operation(operation);
	json_decref(patch);
}

static bool make_none(void *owner, const char *name_space, json_t *templates, char line[WORDS_LINE])
{
	const char *name;
	json_t *template;

	(void)name_space;
	json_object_foreach(templates, name, template)
		check(strlen(name) < CLAIMS_NAME && json_object_get(template, "spec"));
	if (owner)
		snprintf(line, WORDS_LINE, "there is no room");
	return !owner;
}

static void try_review(unsigned int which, const char *text, size_t length)
{
	bool full = which & 8;
	char *answer;
	enum review_outcome outcome = review_answer(&options[which & 3], text, length, which & 4 ? make_none : NULL,
						    full ? &full : NULL, &answer);
	json_t *asked, *review, *response;

	check(answer);
	if (outcome == REVIEW_MALFORMED) {
		check(ends(answer, "\n"));
		free(answer);
		return;
	}
	asked = json_loadb(text, length, 0, NULL);
	review = json_loads(answer, 0, NULL);
	response = json_object_get(review, "response");
	check(asked && review && !strcmp(text_at(response, "uid"), text_at(json_object_get(asked, "request"), "uid")));
	check(json_is_boolean(json_object_get(response, "allowed")));
	check(json_is_false(json_object_get(response, "allowed")) == (outcome == REVIEW_REFUSED));
	check(!json_object_get(response, "patch") == (outcome != REVIEW_CHANGED));
	if (outcome == REVIEW_CHANGED)
		check_changed(response);
	if (outcome == REVIEW_REFUSED)
		check(begins(text_at(json_object_get(response, "status"), "message"), "mete: ") &&
		      is_line(text_at(json_object_get(response, "status"), "message")));
	json_decref(asked);
	json_decref(review);
	free(answer);
}

/* Nodes, and a question about them: {"nodes": [...], "pod": {...}, "Pod": {...}, "NodeNames": [...]} */

static void try_question(const struct nodes *nodes, const char *text, size_t length)
{
	struct question q;
	char *answer;
	json_t *read;

	for (unsigned int i = 0; i < 4; i++) {
		if (question_read(&q, text, length)) {
			question_judge(&q, nodes, (enum placement_rule)(i % PLACEMENT_RULES), true);
			answer = i % 2 ? question_prioritize(&q) : question_filter(&q, i);
			read = answer ? json_loads(answer, 0, NULL) : NULL;
			check(read && (i % 2 ? json_array_size(read) == q.count
					     : json_is_object(json_object_get(read, "FailedNodes"))));
			json_decref(read);
			free(answer);
		}
		question_free(&q);
	}
}

static void try_nodes(const char *text, size_t length)
{
	json_t *all = json_loadb(text, length, 0, NULL), *list = json_object_get(all, "nodes"), *node;
	struct nodes nodes = { NULL, 0, 0 };
	struct nodes_verdict verdict;
	struct nodes_asked asked;
	size_t i;

	check(!nodes_replace(&nodes, list));
	check(nodes.count <= json_array_size(list));
	nodes_asked(json_object_get(all, "pod"), &asked);
	check(asked.count <= NODES_ASKED);
	json_array_foreach(list, i, node) for (unsigned int rule = 0; rule < 2 * PLACEMENT_RULES; rule++)
	{
		const char *name = text_at(json_object_get(node, "metadata"), "name");

		if (strlen(name) < sizeof(((struct nodes_node *)0)->name))
			check(nodes_find(&nodes, name));
		nodes_judge(nodes_find(&nodes, name), &asked, (enum placement_rule)(rule / 2), rule % 2, &verdict);
		check(memchr(verdict.why, 0, sizeof(verdict.why)));
		check(!verdict.fits == !!*verdict.why);
	}
	try_question(&nodes, text, length);
	json_array_foreach(list, i, node) if (i % 2)
		nodes_drop(&nodes, text_at(json_object_get(node, "metadata"), "name"));
	nodes_free(&nodes);
	json_decref(all);
}

/* Claims: {"claim": {...}, "devices": [...]} */

static void try_claim(const char *text, size_t length)
{
	json_t *all = json_loadb(text, length, 0, NULL), *row;
	struct fault f = { .text = "" };
	struct dra_claim claim;
	size_t i;
	int r = dra_claim_read(&claim, json_object_get(all, "claim"), json_object_get(all, "devices"), "node-1", &f);

	check(r == 0 || (r == -EINVAL && *f.text));
	json_array_foreach(claim.rows, i, row)
	{
		check(json_is_object(row));
		check(r || !json_object_get(row, "mem_bytes") ||
		      json_integer_value(json_object_get(row, "mem_bytes")) > 0);
		check(r || !json_object_get(row, "cores") || json_number_value(json_object_get(row, "cores")) > 0);
	}
	dra_claim_free(&claim);
	json_decref(all);
}

static void begin(void)
{
	static bool begun;
	json_t *shares = json_loads(
		"{\"tiny\":[\"--mem\",\"1G\",\"--cores\",\"10\"],\"half\":[\"--mem\",\"50%\",\"--cores\",\"50\"],"
		"\"batch\":[\"--mem\",\"4G\",\"--class\",\"low\"],\"pair\":[\"--mem\",\"4G\",\"--device\",\"0,1\"],"
		"\"amd\":[\"--hip\",\"--mem\",\"4G\"],\"npu\":[\"--ascend\",\"--mem\",\"8G\"],"
		"\"lent\":[\"--mem\",\"8G\",\"--spill\"]}",
		0, NULL);
	struct fault f;

	for (unsigned int i = 0; !begun && i < 4; i++) {
		check(!words_read_shares(&options[i], shares, &f));
		options[i].claims = i & 1;
		options[i].card_bytes = i & 2 ? UINT64_C(16) << 30 : 0;
		options[i].memory_alone = i & 2;
		options[i].whole = i & 2 ? WORDS_WHOLE_SHARE : WORDS_WHOLE_PASS;
		options[i].scheduler = i & 2 ? "default-scheduler" : NULL;
	}
	begun = true;
	json_decref(shares);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
	const char *text = (const char *)data + 1;

	begin();
	if (!length)
		return 0;
	switch (data[0] % DOORS) {
	case DOOR_REVIEW:
		try_review(data[0] / DOORS, text, length - 1);
		break;
	case DOOR_NODES:
		try_nodes(text, length - 1);
		break;
	default:
		try_claim(text, length - 1);
	}
	return 0;
}

static const char *const words[] = {
	"nvidia.com/gpu",
	"nvidia.com/gpumem",
	"nvidia.com/gpumem-percentage",
	"nvidia.com/gpucores",
	"nvidia.com/priority",
	"volcano.sh/vgpu-number",
	"volcano.sh/vgpu-memory",
	"aliyun.com/gpu-mem",
	"tencent.com/vcuda-core",
	"tencent.com/vcuda-memory",
	"huawei.com/Ascend910B",
	"huawei.com/Ascend910B-memory",
	"amd.com/gpu",
	"amd.com/gpumem",
	"gpu-fraction",
	"gpu-memory",
	"gpu-fraction-num-devices",
	"gpu-fraction-container-name",
	"mete.io/tiny",
	"mete.io/half",
	"mete.io/pair",
	"mete.io/asked",
	"mete.io/use-model",
	"mete.io/avoid-model",
	"nvidia.com/use-gputype",
	"hami.io/gpu-scheduler-policy",
	"limits",
	"requests",
	"claims",
	"annotations",
	"initContainers",
	"containers",
	"restartPolicy",
	"Always",
	"0.5",
	"1e3",
	"3k",
	"16Gi",
	"9223372036854775807",
	"18446744073709551616",
	"-1",
	"100",
	"101",
	"0.0000000001",
	"8Ei",
	"512",
	"1500m",
	"50%",
	"\xc3\xa4\xc3\xb6\xe2\x82\xac\xc3\xbc\n\t\x01 and more",
	"mete.io/devices",
	"unschedulable",
	("{\"cards\":[{\"index\":0,\"total\":17179869184,\"left\":9,\"time\":1000000}],\"shares\":{\"tiny\":[{\"card\":"
	 "0}]}}"),
	"memory",
	"cores",
	"gpu.mete.io/memory",
	"gpu.mete.io/cores",
	"wall",
	"class",
	"high",
	"low",
	"tier",
	"T2",
	"limit",
	"coresLimit",
	"FromClass",
	"FromClaim",
	"opaque",
	"driver",
	"gpu.mete.io",
	"parameters",
	"adminAccess",
	"consumedCapacity",
	"request",
	"results",
	"remote",
	"gpu-0",
	"gpu-1",
	"node-1",
	"",
	"..",
};

static size_t edit(uint8_t *data, size_t length, size_t most, json_edit_random *random)
{
	struct json_edit e = { .random = random, .words = words, .word_count = sizeof(words) / sizeof(*words) };
	size_t size = length > 1 ? json_edit(&e, data + 1, length - 1, most - 1) : 0;

	if (!random(8) && length)
		data[0] = (uint8_t)random(256);
	return size ? size + 1 : 0;
}

#ifdef FUZZ_ENGINE
static uint32_t engine_state;

static uint32_t engine_random(uint32_t below)
{
	engine_state = engine_state * 1103515245u + 12345u;
	return below ? (engine_state >> 8) % below : 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed)
{
	size_t length;

	engine_state = seed;
	length = seed % 4 ? edit(data, size, most, engine_random) : 0;
	return length ? length : LLVMFuzzerMutate(data, size, most);
}
#else
/* As fuzz_main(), with edits of JSON as well. */
int main(int argc, char **argv)
{
	static uint8_t data[FUZZ_BYTES + 64];
	unsigned long rounds = 0, edited = 0;
	const char *seconds = getenv("FUZZ_SECONDS");
	time_t until = time(NULL) + (seconds ? atoi(seconds) : FUZZ_SECONDS);

	check(argc > 1);
	for (; time(NULL) < until || !rounds; rounds++) {
		FILE *f = fopen(argv[1 + rounds % (unsigned long)(argc - 1)], "rb");
		size_t length, now;

		check(f);
		length = fread(data, 1, FUZZ_BYTES, f);
		fclose(f);
		LLVMFuzzerTestOneInput(data, length);
		for (unsigned int i = 0; i < 100; i++) {
			now = fuzz_random(4) ? edit(data, length, FUZZ_BYTES, fuzz_random) : 0;
			edited += now > 0;
			length = now ? now : fuzz_random(8) ? length : fuzz_edit(data, length, "{}[]\",:0123456789");
			LLVMFuzzerTestOneInput(data, length);
		}
	}
	printf("kube_fuzz: %lu rounds, %lu edits of JSON, no violation\n", rounds, edited);
	return 0;
}
#endif
