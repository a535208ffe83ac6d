/*
 * remote.c: `mete remote`: without an operand who uses this machine's servers; with HOST what that server offers, and
 * what the line to it is worth.
 */
#include "base/size.h"
#include "base/clean_text.h"
#include "verb/choose.h"
#include "client/grants.h"
#include "verb/say.h"
#include "cli/serve_socket.h"
#include "verb/table.h"
#include "cli/target.h"
#include "verb/verb.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MEASURE_MS 400

/* Who is here. */

static const char *since(json_int_t s, char text[32])
{
	if (s < 60)
		snprintf(text, 32, "%lld s", (long long)s);
	else if (s < 3600)
		snprintf(text, 32, "%lld min %lld s", (long long)s / 60, (long long)s % 60);
	else
		snprintf(text, 32, "%lld h %lld min", (long long)s / 3600, (long long)s / 60 % 60);
	return text;
}

static const char *round_trip(json_int_t ns, char text[32])
{
	if (ns <= 0)
		snprintf(text, 32, "-");
	else if (ns < 1000000)
		snprintf(text, 32, "%.0f us", (double)ns / 1e3);
	else
		snprintf(text, 32, "%.2f ms", (double)ns / 1e6);
	return text;
}

/* What meted keeps of a client's images, beside its session. */
static void add_images(json_t *session, json_t *grants)
{
	json_t *grant, *images;
	size_t i;

	json_array_foreach(grants, i, grant)
	{
		images = json_object_get(grant, "images");
		if (images && !strcmp(device_text(grant, "name"), device_text(session, "grant")))
			json_object_set(session, "images", images);
	}
}

/* A meted that is not there keeps nothing. */
static void add_all_images(json_t *servers)
{
	struct control c = CONTROL_CLOSED;
	json_t *grants = NULL, *server, *session;
	struct fault f;
	size_t i, j;

	if (!json_array_size(servers) || grants_get(&c, NULL, &grants, &f))
		grants = NULL;
	json_array_foreach(servers, i, server)
		json_array_foreach(json_object_get(server, "sessions"), j, session) add_images(session, grants);
	json_decref(grants);
	control_close(&c);
}

static void add_session(struct table *t, json_t *s)
{
	json_t *images = json_object_get(s, "images");
	char text[6][SIZE_TEXT_BYTES], when[32], trip[32];

	table_cell(t, "%s", device_text(s, "client"));
	table_cell(t, "%s", device_text(s, "offer"));
	table_cell(t, "%s", device_text(s, "grant"));
	table_cell(t, "%s", device_text(s, "address"));
	table_cell(t, "%s", since(device_number(s, "since_s"), when));
	table_cell(t, "%s", round_trip(device_number(s, "round_trip_ns"), trip));
	table_cell(t, "%s/s", size_format((uint64_t)device_number(s, "bytes_in_s"), text[0]));
	table_cell(t, "%s/s", size_format((uint64_t)device_number(s, "bytes_out_s"), text[1]));
	table_cell(t, "%s", size_format((uint64_t)device_number(s, "bytes_in"), text[2]));
	table_cell(t, "%s", size_format((uint64_t)device_number(s, "bytes_out"), text[3]));
	table_cell(t, "%s", images ? size_format((uint64_t)device_number(images, "kept_bytes"), text[4]) : "-");
	table_cell(t, "%s", images ? size_format((uint64_t)device_number(images, "saved_bytes"), text[5]) : "-");
	table_cell(t, "%s", device_text(s, "command"));
}

static int show_here(const struct command_line *line)
{
	static const char *const heads[] = { "CLIENT",	      "OFFER",	 "GRANT",   "ADDRESS", ">SINCE",
					     ">ROUND TRIP",   ">IN/S",	 ">OUT/S",  ">IN",     ">OUT",
					     ">IMAGES KEPT",  ">SAVED",	 "COMMAND", NULL };
	static const unsigned char ranks[] = { 0, 6, 7, 0, 5, 0, 8, 9, 3, 4, 1, 2, 0 };
	json_t *all = serve_socket_ask_all(), *server, *session;
	struct table t;
	size_t i, j;

	add_all_images(all);
	if (option_given(line, "json"))
		return print_json("servers", all);
	if (!json_array_size(all)) {
		json_decref(all);
		say_error("no `mete serve` of this user runs here; start one, or ask another machine's: mete remote "
			  "HOST");
		return EXIT_FAILED;
	}
	table_begin(&t, heads);
	if (!option_given(line, "wide"))
		table_fit(&t, ranks);
	json_array_foreach(all, i, server) json_array_foreach(json_object_get(server, "sessions"), j, session)
		add_session(&t, session);
	table_end(&t);
	json_decref(all);
	return EXIT_DONE;
}

/* What another machine offers. */

static void print_offer(json_t *offer)
{
	char mem[SIZE_TEXT_BYTES], total[SIZE_TEXT_BYTES];
	json_t *device;
	size_t i;

	json_array_foreach(json_object_get(offer, "devices"), i, device)
	{
		json_t *bytes = json_object_get(device, "mem_bytes"), *pct = json_object_get(device, "mem_pct");
		json_t *cores = json_object_get(device, "cores");

		printf("  offer %s: %s, ", device_text(offer, "name"), device_text(device, "name"));
		size_format((uint64_t)device_number(device, "total_bytes"), total);
		if (bytes)
			printf("%s of %s", size_format((uint64_t)json_integer_value(bytes), mem), total);
		else if (pct)
			printf("%g %% of %s", json_number_value(pct), total);
		else
			printf("what is left of %s", total);
		if (*device_text(device, "policy"))
			printf(", policy %s", device_text(device, "policy"));
		if (cores)
			printf(", %g %% of its time", json_number_value(cores));
		putchar('\n');
	}
}

static void print_probe(const char *name, const struct relay_probe *p, json_t *about)
{
	char trip[32], up[SIZE_TEXT_BYTES], down[SIZE_TEXT_BYTES];
	json_t *offer;
	size_t i;

	printf("%s: %s%s%s, round trip %s, %s/s there, %s/s back\n", name, p->server, *p->server ? ", " : "",
	       device_text(about, "version"), round_trip((json_int_t)p->round_trip_ns, trip),
	       size_format(p->up_bytes_s, up), size_format(p->down_bytes_s, down));
	printf("  you are %s\n", device_text(about, "client"));
	json_array_foreach(json_object_get(about, "offers"), i, offer) print_offer(offer);
}

static int probe_one(const struct relay_target *target, json_t *list, struct fault *f)
{
	char text[RELAY_TEXT_BYTES] = "", name[320];
	struct relay_probe p;
	json_t *about;
	int r = relay_probe(target, MEASURE_MS, &p, text);

	target_name(target, name);
	if (r)
		return fault_set(f, -ECONNREFUSED, strstr(text, target->host) ? "%.0s%s" : "%s: %s", name, text);
	clean_text_line(p.server);
	about = json_loads(p.about, 0, NULL);
	if (list)
		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:I, s:I, s:I, s:o}", "address", name, "server", p.server,
						"round_trip_ns", (json_int_t)p.round_trip_ns, "up_bytes_s",
						(json_int_t)p.up_bytes_s, "down_bytes_s", (json_int_t)p.down_bytes_s,
						"about", about ? json_incref(about) : json_null()));
	else
		print_probe(name, &p, about);
	json_decref(about);
	return 0;
}

static int show_there(const struct command_line *line)
{
	json_t *list = option_given(line, "json") ? json_array() : NULL;
	struct fault f = { .text = "" };
	struct targets targets;
	int r = targets_read(&targets, line->args[0], line, &f), status = r ? EXIT_USAGE : EXIT_DONE;

	for (size_t i = 0; !r && i < targets.count; i++)
		if (probe_one(&targets.target[i], list, &f))
			status = r = EXIT_FAILED;
	targets_deinit(&targets);
	if (r) {
		json_decref(list);
		say_error("%s", f.text);
		return status;
	}
	return list ? print_json("servers", list) : EXIT_DONE;
}

VERB(remote)
{
	return line->arg_count ? show_there(line) : show_here(line);
}
