/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup_ask ROUTE < REQUESTS: what the driver's look-up answers to each line "name version flags",
 * with the object and the symbol that the answer lies in.
 * ROUTE: v1 or v2, the look-up that dlsym() gives; v1-11030, v1-12000, v2-11030, v2-12000: the one
 * that this gives for itself at that version; dlsym: dlsym() alone, by ELF name.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

typedef __typeof__(cuGetProcAddress) ask_4;
typedef __typeof__(cuGetProcAddress_v2) ask_5;

static void *handle, *look_up;
static int arguments; /* of look_up: 4 or 5; 0: ask dlsym() */

static int ask(const char *name, void **p, int version, unsigned long long flags, int *status)
{
	CUdriverProcAddressQueryResult s = (CUdriverProcAddressQueryResult)-1;
	int rc = 0;

	if (!arguments)
		*p = dlsym(handle, name);
	else if (arguments == 4)
		rc = ((ask_4 *)look_up)(name, p, version, flags);
	else
		rc = ((ask_5 *)look_up)(name, p, version, flags, &s);
	*status = (int)s;
	return rc;
}

static int choose(const char *route)
{
	void *p = NULL;
	int status, version = strchr(route, '-') ? atoi(strchr(route, '-') + 1) : 0;

	handle = dlopen("libcuda.so.1", RTLD_NOW);
	if (!handle || !strcmp(route, "dlsym"))
		return handle != NULL;
	arguments = route[1] == '1' ? 4 : 5;
	look_up = dlsym(handle, arguments == 4 ? "cuGetProcAddress" : "cuGetProcAddress_v2");
	if (look_up && version) {
		if (ask("cuGetProcAddress", &p, version, 0, &status) || !p)
			return 0;
		look_up = p;
		arguments = version >= 12000 ? 5 : 4;
	}
	return look_up != NULL;
}

int main(int argc, char **argv)
{
	char line[256], name[200];
	unsigned long long flags;
	int version;

	if (argc != 2 || !choose(argv[1]))
		return 2;
	while (fgets(line, sizeof(line), stdin) &&
	       sscanf(line, "%199s %d %llu", name, &version, &flags) == 3) {
		Dl_info info = {0};
		void *p = (void *)0x5a5a;
		int status, rc = ask(name, &p, version, flags, &status);

		printf("%s %d %llu %d %d ", name, version, flags, rc, status);
		if (p == (void *)0x5a5a || !p || !dladdr(p, &info) || !info.dli_sname)
			printf("%s -\n", !p                    ? "null"
			                 : p == (void *)0x5a5a ? "untouched"
			                                       : "nameless");
		else
			printf("%s %s%s\n", strrchr(info.dli_fname, '/') + 1, info.dli_sname,
			       p == info.dli_saddr ? "" : "+");
	}
	return 0;
}
