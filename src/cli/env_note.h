/* env_note.h: reports changes of this process's environment, for --verbose. */
#pragma once

/* Copies the current environment for env_note(). NULL: no memory, and env_note() prints nothing. */
char **env_copy(void);
/* Prints a note for each variable that was set, changed or removed since; frees the copy. */
void env_note(char **before);
