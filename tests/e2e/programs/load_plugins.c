/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load_plugins MODE:LAUNCHES:LIBRARY...: loads each plugin first, then lets each do its work.
 * MODE: local, global, deepbind, newlm (dlmopen into a namespace of its own).
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct plugin {
	int (*run)(unsigned launches);
	unsigned launches;
};

static void *load(const char *mode, const char *path)
{
	if (!strcmp(mode, "newlm"))
		return dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
	if (!strcmp(mode, "deepbind"))
		return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	return dlopen(path, RTLD_NOW | (strcmp(mode, "global") ? RTLD_LOCAL : RTLD_GLOBAL));
}

int main(int argc, char **argv)
{
	struct plugin plugin[16];
	int failed = 0;

	for (int i = 1; i < argc && i <= 16; i++) {
		char *mode = strtok(argv[i], ":"), *launches = strtok(NULL, ":"),
		     *path = strtok(NULL, "");
		void *handle = load(mode, path);

		if (!handle || !(plugin[i - 1].run = dlsym(handle, "plugin_run"))) {
			printf("%s\n", dlerror());
			return 2;
		}
		plugin[i - 1].launches = (unsigned)atoi(launches);
	}
	for (int i = 1; i < argc && i <= 16; i++) {
		int rc = plugin[i - 1].run(plugin[i - 1].launches);

		printf("plugin %d: %s\n", i, rc ? "failed" : "ok");
		failed |= rc;
	}
	return failed;
}
