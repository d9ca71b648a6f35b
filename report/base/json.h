/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of JSON files that are written. For the JSON outputs and the baselines.
 */
#ifndef REPORT_JSON_H
#define REPORT_JSON_H

#include <jansson.h>
#include <stdint.h>

/* Values; what is not known is null. */
json_t *json_ns(double ns);
json_t *json_count(uint64_t count);
/* A number with its fraction, "3.0" too. */
json_t *json_fraction(double v);
json_t *json_share(double share);
/* A whole number where it is one, else with its fraction. */
json_t *json_number(double v);
/* [x, y, z] */
json_t *json_triple(const uint32_t v[3]);
json_t *json_text(const char *text);
/* Adds `value`, taking it over; out of memory ends the program. */
void json_put(json_t *object, const char *key, json_t *value);
void json_push(json_t *array, json_t *value);

#endif
