/*
 * edits.h: what goes into a container that gets a share, as CDI's containerEdits.
 *
 * A share is given as the words of `mete cdi hook`: "--mem", "4G", "--cores", "25". They are judged when the edits are
 * made, and once more by the hook when a container begins.
 */
#pragma once

#include "verb/choose.h"
#include "client/control.h"
#include "client/place.h"
#include "connect/cdi/inside.h"
#include "connect/cdi/spec.h"
#include "verb/spill.h"

#define EDITS_HOOK_SECONDS 30 /* how long a runtime waits for mete's hooks */
#define EDITS_WORDS_MOST 96

/* Who makes edits, and of what. */
struct edits {
	struct place place;
	struct control control;
	json_t *machine;	  /* meted's answer to "devices"; owned */
	struct spec_list vendors; /* CDI files of others */
	bool takes_any;		  /* a share may have --device any: who makes the grant then places it */
};

/* Asks meted for the devices, reads the vendors' files. Value: 0 or a negative errno or an enum control_outcome. */
int edits_open(struct edits *e, struct fault *f);
void edits_close(struct edits *e);

/* One share, judged. */
struct edits_share {
	json_t *words; /* owned; the line points into them */
	struct command_line line;
	struct choice choice;
	struct spill spill;
	enum inside_way way;
};

/* Judges the words, NULL-terminated. Value: 0 or a negative errno. */
int edits_share_read(struct edits *e, struct edits_share *s, const char *const *words, struct fault *f);
void edits_share_free(struct edits_share *s);

/*
 * The edits for a container with this share; `name`: a grant's ("--grant"), or a named share's ("--share").
 * *version: raised to the CDI version that a vendor's part needs. NULL: a fault is set.
 */
json_t *edits_make(struct edits *e, const struct edits_share *s, const char *option, const char *name,
		   const char **version, struct fault *f);
