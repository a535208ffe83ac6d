/* env_note.h: what has changed in this process's environment, for --verbose. */
#pragma once

/* The environment as it is now, to be given to env_note(). NULL: no memory, and env_note() says nothing. */
char **env_copy(void);
/* A note for each variable that has been set, changed or taken away since; frees the copy. */
void env_note(char **before);
