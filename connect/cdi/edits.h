/*
 * edits.h: what a container with a share gets, as CDI's containerEdits.
 *
 * A share is given as the words of `mete cdi hook`: "--mem", "4G", "--cores", "25". They are checked when the edits are
 * made, and again by the hook when a container starts.
 */
#pragma once

#include "verb/choose.h"
#include "client/control.h"
#include "client/place.h"
#include "connect/cdi/inside.h"
#include "connect/cdi/spec.h"
#include "verb/spill.h"

#define EDITS_HOOK_SECONDS 30 /* time limit of mete's hooks in a runtime */
#define EDITS_WORDS_MOST 96

/* The state for making edits. */
struct edits {
	struct place place;
	struct control control;
	json_t *machine;	  /* meted's answer to "devices"; owned */
	struct spec_list vendors; /* CDI files of other vendors */
	bool takes_any;		  /* a share may have --device any: the creator of the grant then places it */
};

/*
 * Queries meted for the devices, and reads the vendors' files. Value: 0, a negative errno or an enum control_outcome.
 */
int edits_open(struct edits *e, struct fault *f);
void edits_close(struct edits *e);

/* One share, checked. */
struct edits_share {
	json_t *words; /* owned; the line points into them */
	struct command_line line;
	struct choice choice;
	struct spill spill;
	enum inside_way way;
};

/* Checks the words, NULL-terminated. Value: 0 or a negative errno. */
int edits_share_read(struct edits *e, struct edits_share *s, const char *const *words, struct fault *f);
void edits_share_free(struct edits_share *s);

/*
 * The edits for a container with this share; `name`: of a grant ("--grant"), or of a named share ("--share"). *version:
 * raised to the CDI version that a vendor's part needs. NULL: a fault is set.
 */
json_t *edits_make(struct edits *e, const struct edits_share *s, const char *option, const char *name,
		   const char **version, struct fault *f);
