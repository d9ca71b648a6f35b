/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/pattern_internal.h"

/*
 * All ways to match go through the text side by side: at each character, the nodes that wait for
 * one. A node is looked at once there, so that the time is bounded by nodes times characters.
 */
struct pattern_scratch {
	uint64_t seen_at;      /* counts the characters of all texts */
	uint64_t first[4];     /* bytes that a match may begin with */
	bool always_looked_at; /* a match may begin without one */
	size_t waiting[2];     /* how many there are in each list */
	uint32_t *lists[2], *stack;
	uint64_t *seen; /* by node: when it was looked at last */
};

static bool has(const uint64_t set[4], unsigned char c)
{
	return set[c / 64] >> c % 64 & 1;
}

static bool holds(enum pattern_seam seam, const char *text, const char *at)
{
	bool before = at > text && pattern_is_word((unsigned char)at[-1]),
	     after = pattern_is_word((unsigned char)*at);

	switch (seam) {
	case SEAM_START:
		return at == text;
	case SEAM_END:
		return !*at;
	case SEAM_WORD_START:
		return !before && after;
	case SEAM_WORD_END:
		return before && !after;
	case SEAM_WORD:
		return before != after;
	case SEAM_NO_WORD:
		return before == after;
	}
	return false;
}

/* What can be reached from a node without a character goes into list `to`; true: the end is. */
static bool reach(const struct pattern_regex *p, uint32_t from, int to, const char *text,
                  const char *at)
{
	struct pattern_scratch *s = p->scratch;
	size_t depth = 0;

	s->stack[depth++] = from;
	while (depth) {
		uint32_t i = s->stack[--depth];
		const struct pattern_node *n = &p->nodes[i];
		if (s->seen[i] == s->seen_at)
			continue;
		s->seen[i] = s->seen_at;
		if (n->kind == NODE_FOUND)
			return true;
		if (n->kind == NODE_BYTE)
			s->lists[to][s->waiting[to]++] = i;
		else if (n->kind == NODE_FORK)
			s->stack[depth++] = (uint32_t)((int32_t)i + n->other);
		if (n->kind == NODE_FORK || (n->kind == NODE_SEAM && holds(n->seam, text, at)))
			s->stack[depth++] = (uint32_t)((int32_t)i + n->next);
	}
	return false;
}

bool pattern_finds(const struct pattern_regex *p, const char *text)
{
	struct pattern_scratch *s = p->scratch;
	int now = 0;

	s->waiting[0] = s->waiting[1] = 0;
	s->seen_at++;
	for (const char *at = text;; at++) {
		const unsigned char c = (unsigned char)*at;
		/* A match may begin anywhere. */
		if ((s->always_looked_at || has(s->first, c)) && reach(p, 0, now, text, at))
			return true;
		if (!c)
			return false;
		int next = !now;
		s->seen_at++;
		s->waiting[next] = 0;
		for (size_t i = 0; i < s->waiting[now]; i++) {
			uint32_t node = s->lists[now][i];
			const struct pattern_node *n = &p->nodes[node];
			if (has(n->bytes, c) &&
			    reach(p, (uint32_t)((int32_t)node + n->next), next, text, at + 1))
				return true;
		}
		now = next;
	}
}

/* Of the nodes that a match may begin at; a seam may hold anywhere. */
static void find_first(const struct pattern_regex *p, struct pattern_scratch *s)
{
	size_t depth = 0;

	s->seen_at++;
	s->stack[depth++] = 0;
	while (depth) {
		uint32_t i = s->stack[--depth];
		const struct pattern_node *n = &p->nodes[i];
		if (s->seen[i] == s->seen_at)
			continue;
		s->seen[i] = s->seen_at;
		s->always_looked_at |= n->kind == NODE_FOUND || n->kind == NODE_SEAM;
		for (int k = 0; n->kind == NODE_BYTE && k < 4; k++)
			s->first[k] |= n->bytes[k];
		if (n->kind != NODE_FORK)
			continue;
		s->stack[depth++] = (uint32_t)((int32_t)i + n->other);
		s->stack[depth++] = (uint32_t)((int32_t)i + n->next);
	}
}

struct pattern_scratch *pattern_scratch(const struct pattern_regex *p)
{
	/* A node is put on the stack by two others at most, or so: by each fork twice. */
	size_t bytes = p->count * (sizeof(uint64_t) + 4 * sizeof(uint32_t)) + 64;
	struct pattern_scratch *s = alloc_zeroed(1, sizeof(*s) + bytes);

	s->seen = (uint64_t *)(s + 1);
	s->lists[0] = (uint32_t *)(s->seen + p->count);
	s->lists[1] = s->lists[0] + p->count;
	s->stack = s->lists[1] + p->count;
	find_first(p, s);
	return s;
}
