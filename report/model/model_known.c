/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "report/base/alloc.h"
#include "report/model/model.h"
#include "report/model/model_names.h"

bool model_process_is_known(const struct model_process *p)
{
	return !p->damage;
}

/* The first process whose recording is damaged; NULL = none is. */
static const struct model_process *damaged(const struct model *m)
{
	for (size_t i = 0; i < m->process_count; i++)
		if (m->processes[i].damage)
			return &m->processes[i];
	return NULL;
}

/* Others of a run may have nothing to do with the range. */
bool model_has_opened(const struct model *m)
{
	for (size_t i = 0; i < m->process_count; i++)
		if (!m->processes[i].never_opened)
			return true;
	return !m->process_count;
}

bool model_is_known(const struct model *m)
{
	return !damaged(m);
}

double model_count(const struct model *m, uint64_t count)
{
	return model_is_known(m) ? (double)count : NAN;
}

char *model_missing(const struct model *m)
{
	const struct model_process *p = damaged(m);

	if (p && m->process_count > 1)
		return alloc_format("the recording of process %llu is damaged: %s",
		                    (unsigned long long)p->pid, p->damage);
	if (p)
		return alloc_format("the recording is damaged: %s", p->damage);
	return model_has_opened(m) ? NULL : model_never_opened(m->processes[0].range_mode);
}
