/*
 * Regular expressions that users give: POSIX extended ones. For rules and options.
 */
#ifndef REPORT_PATTERN_H
#define REPORT_PATTERN_H

#include <regex.h>

#define PATTERN_ERROR_BYTES 128

/* 0 when `to` was compiled (free it with regfree()); else -1 and why not. */
int pattern_compile(regex_t *to, const char *text, char why[PATTERN_ERROR_BYTES]);

#endif
