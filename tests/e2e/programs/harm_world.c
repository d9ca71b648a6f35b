/* SPDX-License-Identifier: Apache-2.0 */
/*
 * harm_world WAY ...: the world around the recording is not what it was, or never was usual.
 *
 *   streams        stdin, stdout and stderr are closed from the start, and a thread writes to
 *                  descriptors 0 to 2 all the while: nothing may take it
 *   mask           the program's umask leaves nobody any right, root's rights over files are gone
 *   user           another user once CUDA has started
 *   hidden         and a process that is not to be looked at (PR_SET_DUMPABLE)
 *   locked         all memory is locked, also what comes
 *   proc WHEN      /proc goes away: early, before CUDA starts, or late
 *   pids           a child that is number 1 of a PID namespace of its own
 *   gone FOLDER    the recording is removed
 *   namespace      another copy of the driver, in a namespace of the loader's
 *   shared         a process that shares all memory calls (clone with CLONE_VM)
 *   jump           a callback leaves cuInit by longjmp; it is called again
 *   spawn          posix_spawn over and over while threads launch
 *   unload HOW LIBRARY   a plugin and its own runtime, loaded (HOW global or local), used and
 *                  unloaded; where it lay nothing is any more, and it is loaded again
 *   environ        the environment is gone before CUDA starts
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include "tests/e2e/programs/harm.h"

#define NOBODY 65534

#define LAUNCHES 10000 /* of each thread */

/* ---- no streams ---- */

static atomic_bool done;
static atomic_uint strangers; /* descriptors 0 to 2 that could be used */

static void *use_streams(void *unused)
{
	const char c = 'x';

	while (!atomic_load(&done))
		for (int fd = 0; fd < 3; fd++)
			if (write(fd, &c, 1) >= 0)
				atomic_fetch_add(&strangers, 1);
	return unused;
}

static int way_streams(int argc, char **argv)
{
	int out = fcntl(1, F_DUPFD_CLOEXEC, 100);
	pthread_t thread;

	need(out >= 0, 92);
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	start_threads(&thread, 1, use_streams, NULL);
	work_start();
	for (int i = 0; i < 4; i++)
		threads_launch(3, LAUNCHES);
	atomic_store(&done, true);
	join_threads(&thread, 1);
	dup2(out, 1);
	say("launched; %u bytes went to strangers\n", atomic_load(&strangers));
	close(1);
	return 0;
}

/* ---- somebody else ---- */

static void become_nobody(void)
{
	need(!setgid(NOBODY) && !setuid(NOBODY), 92);
}

static int way_user(int argc, char **argv)
{
	work_start();
	work_launches(10);
	become_nobody();
	threads_launch(8, LAUNCHES);
	say("launched\n");
	return 0;
}

static int way_mask(int argc, char **argv)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2];

	umask(0777);
	need(!syscall(SYS_capget, &head, data), 92);
	data[0].effective &= ~(1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH);
	need(!syscall(SYS_capset, &head, data), 92);
	work_start();
	threads_launch(8, LAUNCHES);
	say("launched\n");
	return 0;
}

static int way_hidden(int argc, char **argv)
{
	work_start();
	become_nobody();
	need(!prctl(PR_SET_DUMPABLE, 0), 92);
	threads_launch(4, LAUNCHES);
	say("launched\n");
	return 0;
}

static int way_locked(int argc, char **argv)
{
	need(!mlockall(MCL_CURRENT | MCL_FUTURE), 92);
	work_start();
	threads_launch(4, LAUNCHES);
	say("launched\n");
	return 0;
}

/* ---- what is elsewhere ---- */

static void own_mounts(void)
{
	need(!unshare(CLONE_NEWNS), 92);
	need(!mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 92);
}

static int way_proc(int argc, char **argv)
{
	bool early = !strcmp(argv[0], "early");

	own_mounts();
	need(!early || !umount2("/proc", MNT_DETACH), 92);
	work_start();
	work_launches(10);
	need(early || !umount2("/proc", MNT_DETACH), 92);
	threads_launch(8, LAUNCHES);
	say("launched\n");
	return 0;
}

static int way_pids(int argc, char **argv)
{
	work_start();
	pid_t child = fork(), inner;
	if (!child) {
		need(!unshare(CLONE_NEWPID), 92);
		inner = fork();
		if (!inner) {
			calls_of_a_child(5);
			exit(getpid() == 1 ? 4 : 5);
		}
		_exit(end_of(inner) >> 8);
	}
	need(end_of(child) == 4 << 8, 96);
	say("a child called\n");
	return 0;
}

static void remove_all_in(const char *folder)
{
	DIR *d = opendir(folder);
	char path[4096];

	need(d != NULL, 92);
	for (struct dirent *e; (e = readdir(d));) {
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		if (strstr(e->d_name, "cudaspy"))
			unlink(path);
	}
	closedir(d);
}

static int way_gone(int argc, char **argv)
{
	work_start();
	work_launches(10);
	remove_all_in(argv[0]);
	threads_launch(8, LAUNCHES);
	say("launched\n");
	return 0;
}

/* ---- the driver, again ---- */

static CUresult (*init)(unsigned);
static CUresult (*synchronize)(CUstream);

static void *driver(void *handle)
{
	init = (CUresult(*)(unsigned))dlsym(handle, "cuInit");
	synchronize = (CUresult(*)(CUstream))dlsym(handle, "cuStreamSynchronize");
	need(init && synchronize, 92);
	return handle;
}

static int way_namespace(int argc, char **argv)
{
	void *handle = dlmopen(LM_ID_NEWLM, "libcuda.so.1", RTLD_NOW);

	need(handle != NULL, 92);
	driver(handle);
	work_start();
	need(!init(0), 96);
	for (int i = 0; i < 100; i++)
		synchronize(NULL);
	threads_launch(4, LAUNCHES);
	say("launched\n");
	return 0;
}

/* ---- who shares ---- */

static int call_from_clone(void *unused)
{
	for (int i = 0; i < 10; i++)
		cuStreamSynchronize(NULL);
	return 7;
}

static int way_shared(int argc, char **argv)
{
	char *stack =
	        mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	need(stack != MAP_FAILED, 92);
	work_start();
	work_launches(100);
	child = clone(call_from_clone, stack + (1 << 20), CLONE_VM | SIGCHLD, NULL);
	need(child > 0 && end_of(child) == 7 << 8, 96);
	work_launches(100);
	say("launched\n");
	return 0;
}

static jmp_buf out;

static void leave_init(void)
{
	harm_inside(HARM_INIT, NULL);
	longjmp(out, 1);
}

static int way_jump(int argc, char **argv)
{
	harm_inside(HARM_INIT, leave_init);
	if (!setjmp(out)) {
		cuInit(0);
		need(false, 96);
	}
	work_start();
	work_launches(100);
	threads_launch(4, LAUNCHES);
	say("launched\n");
	return 0;
}

static int way_spawn(int argc, char **argv)
{
	char *const leaf[] = {"/bin/true", NULL};
	unsigned launches = LAUNCHES;
	pthread_t thread[3];

	work_start();
	start_threads(thread, 3, launch_so_many, &launches);
	for (int i = 0; i < 20; i++) {
		pid_t child;
		need(!posix_spawn(&child, leaf[0], NULL, NULL, leaf, environ), 92);
		need(!end_of(child), 96);
	}
	join_threads(thread, 3);
	say("launched\n");
	return 0;
}

/* Where the plugin's runtime is mapped; false: it is not. */
static bool find_runtime(char **from, char **until)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[8192], *at, *end;

	*from = NULL;
	need(f != NULL, 92);
	while (fgets(line, sizeof(line), f))
		if (strstr(line, "libcudart-") &&
		    sscanf(line, "%p-%p", (void **)&at, (void **)&end) == 2) {
			*from = *from ? *from : at;
			*until = end;
		}
	fclose(f);
	return *from;
}

static int way_unload(int argc, char **argv)
{
	int how = RTLD_NOW | (strcmp(argv[0], "global") ? RTLD_LOCAL : RTLD_GLOBAL);
	char *from, *until, *now, *end;

	for (int i = 0; i < 3; i++) {
		void *plugin = dlopen(argv[1], how);
		need(plugin != NULL, 92);
		int (*run)(unsigned) = (int (*)(unsigned))dlsym(plugin, "plugin_run");
		need(run && !run(50) && find_runtime(&from, &until), 96);
		need(!dlclose(plugin), 92);
		if (!find_runtime(&now, &end))
			need(mmap(from, (size_t)(until - from), PROT_NONE,
			          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == from,
			     92);
	}
	say("launched\n");
	return 0;
}

static int way_environ(int argc, char **argv)
{
	environ = NULL;
	work_start();
	work_launches(100);
	threads_launch(4, LAUNCHES);
	say("launched\n");
	return 0;
}

int main(int argc, char **argv)
{
	static const struct harm_way ways[] = {
	        {"streams", way_streams}, {"mask", way_mask},     {"user", way_user},
	        {"hidden", way_hidden},   {"locked", way_locked}, {"proc", way_proc},
	        {"pids", way_pids},       {"gone", way_gone},     {"namespace", way_namespace},
	        {"shared", way_shared},   {"jump", way_jump},     {"spawn", way_spawn},
	        {"environ", way_environ}, {"unload", way_unload}, {NULL, NULL},
	};

	return harm_main(ways, argc, argv);
}
