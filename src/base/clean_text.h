/*
 * clean_text.h: texts from others, before they are shown: what is not fit for a line becomes '?', in place. Value: the
 * text.
 */
#pragma once

/* ASCII that can be printed stays: for readers who expect UTF-8, of which half a letter may have been cut off. */
char *clean_text_ascii(char *text);

/* Control characters alone go: for lines, whatever language they are in. */
char *clean_text_line(char *text);
