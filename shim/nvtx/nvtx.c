/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/nvtx/nvtx.h"

#include "shim/nvtx/nvtx_abi.h"
#include "shim/hook/wrapper.h"

/* Bytes of attributes that hold a message. */
#define ATTRIBUTES_LEAST (offsetof(struct nvtx_attributes, message) + sizeof(void *))

/* ---- names ---- */

static struct nvtx_text message(const struct nvtx_attributes *a, char room[NVTX_TEXT_MOST + 1])
{
	int type = a && a->size >= ATTRIBUTES_LEAST ? a->message_type : NVTX_MESSAGE_NONE;

	if (type == NVTX_MESSAGE_ASCII)
		return nvtx_ascii(a->message.ascii);
	if (type == NVTX_MESSAGE_UNICODE)
		return nvtx_unicode(a->message.unicode, room);
	if (type == NVTX_MESSAGE_REGISTERED_STRING)
		return nvtx_registered(a->message.registered);
	return nvtx_ascii(NULL);
}

/* ---- the functions NVTX calls ---- */

static int domain_push(const void *domain, const struct nvtx_attributes *a)
{
	char room[NVTX_TEXT_MOST + 1];
	struct nvtx_text text = message(a, room);

	return nvtx_push(nvtx_domain(domain), &text);
}

static int push_ex(const struct nvtx_attributes *a)
{
	return domain_push(NULL, a);
}

static int push_a(const char *name)
{
	struct nvtx_text text = nvtx_ascii(name);

	return nvtx_push(0, &text);
}

static int push_w(const wchar_t *name)
{
	char room[NVTX_TEXT_MOST + 1];
	struct nvtx_text text = nvtx_unicode(name, room);

	return nvtx_push(0, &text);
}

static int domain_pop(const void *domain)
{
	return nvtx_pop(nvtx_domain(domain));
}

static int pop(void)
{
	return nvtx_pop(0);
}

static uint64_t domain_start(const void *domain, const struct nvtx_attributes *a)
{
	char room[NVTX_TEXT_MOST + 1];
	struct nvtx_text text = message(a, room);

	return nvtx_start(nvtx_domain(domain), &text);
}

static uint64_t start_ex(const struct nvtx_attributes *a)
{
	return domain_start(NULL, a);
}

static uint64_t start_a(const char *name)
{
	struct nvtx_text text = nvtx_ascii(name);

	return nvtx_start(0, &text);
}

static uint64_t start_w(const wchar_t *name)
{
	char room[NVTX_TEXT_MOST + 1];
	struct nvtx_text text = nvtx_unicode(name, room);

	return nvtx_start(0, &text);
}

/* Ids are distinct over all domains. */
static void domain_end(const void *domain, uint64_t id)
{
	nvtx_end(id);
}

static const void *register_a(const void *domain, const char *string)
{
	struct nvtx_text text = nvtx_ascii(string);

	return nvtx_register(&text);
}

static const void *register_w(const void *domain, const wchar_t *string)
{
	char room[NVTX_TEXT_MOST + 1];
	struct nvtx_text text = nvtx_unicode(string, room);

	return nvtx_register(&text);
}

static const void *create_a(const char *name)
{
	struct nvtx_text text = nvtx_ascii(name);

	return nvtx_domain_handle(&text);
}

static const void *create_w(const wchar_t *name)
{
	char room[NVTX_TEXT_MOST + 1];
	struct nvtx_text text = nvtx_unicode(name, room);

	return nvtx_domain_handle(&text);
}

/* ---- attaching ---- */

/* What has no entry here (marks, names of things, resources) stays a no-op of NVTX's own. */
static const nvtx_function core[] = {
        [NVTX_CORE_RANGE_START_EX] = (nvtx_function)start_ex,
        [NVTX_CORE_RANGE_START_A] = (nvtx_function)start_a,
        [NVTX_CORE_RANGE_START_W] = (nvtx_function)start_w,
        [NVTX_CORE_RANGE_END] = (nvtx_function)nvtx_end,
        [NVTX_CORE_RANGE_PUSH_EX] = (nvtx_function)push_ex,
        [NVTX_CORE_RANGE_PUSH_A] = (nvtx_function)push_a,
        [NVTX_CORE_RANGE_PUSH_W] = (nvtx_function)push_w,
        [NVTX_CORE_RANGE_POP] = (nvtx_function)pop,
};

static const nvtx_function core2[] = {
        [NVTX_CORE2_RANGE_START_EX] = (nvtx_function)domain_start,
        [NVTX_CORE2_RANGE_END] = (nvtx_function)domain_end,
        [NVTX_CORE2_RANGE_PUSH_EX] = (nvtx_function)domain_push,
        [NVTX_CORE2_RANGE_POP] = (nvtx_function)domain_pop,
        [NVTX_CORE2_REGISTER_STRING_A] = (nvtx_function)register_a,
        [NVTX_CORE2_REGISTER_STRING_W] = (nvtx_function)register_w,
        [NVTX_CORE2_DOMAIN_CREATE_A] = (nvtx_function)create_a,
        [NVTX_CORE2_DOMAIN_CREATE_W] = (nvtx_function)create_w,
};

static void attach(const struct nvtx_callbacks *callbacks, int module, const nvtx_function *ours,
                   unsigned count)
{
	nvtx_function **theirs = NULL;
	unsigned entries = 0;

	if (!callbacks->module_functions(module, &theirs, &entries) || !theirs)
		return;
	for (unsigned i = 0; i < count && i < entries; i++)
		if (ours[i] && theirs[i])
			*theirs[i] = ours[i];
}

/* Keeps no state: any number of instances may call it, at once or again. */
SPY_EXPORT int InitializeInjectionNvtx2(nvtx_get_table *get_table)
{
	const struct nvtx_callbacks *callbacks = get_table ? get_table(NVTX_TABLE_CALLBACKS) : NULL;

	if (!callbacks || callbacks->struct_size < sizeof(*callbacks) ||
	    !callbacks->module_functions)
		return 0;
	const struct nvtx_version_info *info = get_table(NVTX_TABLE_VERSION);
	if (info && info->struct_size >= sizeof(*info) && info->set_injection_version)
		info->set_injection_version(NVTX_INJECTION_VERSION);
	attach(callbacks, NVTX_MODULE_CORE, core, sizeof(core) / sizeof(core[0]));
	attach(callbacks, NVTX_MODULE_CORE2, core2, sizeof(core2) / sizeof(core2[0]));
	return 1;
}
