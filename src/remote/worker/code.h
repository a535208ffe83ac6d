/* code.h: handlers of the requests of remote/code.h, with the file of each. */
#pragma once

#include "remote/worker/worker.h"

int worker_code_piece(struct work *work); /* images.c */
int worker_code_held(struct work *work);
int worker_code_tell(struct work *work);  /* functions.c */
int worker_code_list(struct work *work);
int worker_code_global(struct work *work);
int worker_code_link(struct work *work); /* links.c */
int worker_code_link_read(struct work *work);
