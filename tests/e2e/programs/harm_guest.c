/* SPDX-License-Identifier: Apache-2.0 */
/*
 * harm_guest WAY ...: programs that look around or lock doors after CUDA has started.
 *
 *   maps           reads every readable mapping of the process
 *   small          a little of everything, for tools that look at each address
 *   files [early]  a filter of seccomp that refuses to open files; or set before CUDA starts
 *   threads        the same that refuses to make threads, before CUDA starts
 *   chroot FOLDER  another root, where that is permitted, and another folder
 *   close FILE     closes all descriptors over and over, and opens FILE in their place, while
 *                  threads come into being and launch
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include "tests/e2e/programs/harm.h"

#define LAUNCHES 10000 /* of each thread */

/* ---- every mapping ---- */

/* Whether the kernel could read a byte of each page: it must fail no worse than with EFAULT. */
static bool readable(char *from, char *to)
{
	while (from < to) {
		char bytes[512];
		struct iovec mine = {bytes, 0}, theirs[512];

		for (; from < to && mine.iov_len < 512; from += 4096)
			theirs[mine.iov_len++] = (struct iovec){from, 1};
		if (process_vm_readv(getpid(), &mine, 1, theirs, mine.iov_len, 0) !=
		    (ssize_t)mine.iov_len)
			return false;
	}
	return true;
}

static unsigned read_all(char *from, char *to)
{
	unsigned sum = 0;

	for (char *p = from; p < to; p += 4096)
		sum += *(volatile unsigned char *)p;
	return sum;
}

static int way_maps(int argc, char **argv)
{
	static char line[8192];
	FILE *f;
	char *from, *to, mode[8];
	unsigned sum = 0;

	work_start();
	threads_launch(2, LAUNCHES);
	f = fopen("/proc/self/maps", "re");
	need(f != NULL, 92);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%p-%p %7s", (void **)&from, (void **)&to, mode) == 3 &&
		    mode[0] == 'r' && !strstr(line, "[v") && !strstr(line, "/truth")) {
			need(readable(from, to), 96);
			sum += read_all(from, to);
		}
	fclose(f);
	say("all of it was read\n");
	return sum == 1; /* it is not */
}

static int way_small(int argc, char **argv)
{
	work_start();
	work_launches(100);
	threads_launch(2, 50);
	say("made cuLaunchKernel 200\n");
	return 3;
}

/* ---- locked doors ---- */

/* From now on these two system calls fail in every thread. */
static void refuse(unsigned one, unsigned other, unsigned error)
{
	struct sock_filter filter[] = {
	        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, one, 2, 0),
	        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, other, 1, 0),
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
	};
	const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	need(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 92);
	need(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program),
	     92);
}

static void refuse_files(void)
{
#ifdef SYS_open
	refuse(SYS_open, SYS_openat, EPERM);
#else
	refuse(SYS_openat, SYS_openat2, EPERM);
#endif
	need(open("/dev/null", O_RDONLY) < 0, 92);
}

static int way_files(int argc, char **argv)
{
	if (argc)
		refuse_files();
	work_start();
	work_launches(10);
	if (!argc)
		refuse_files();
	threads_launch(8, LAUNCHES);
	say("launched\n");
	return 3;
}

static int way_threads(int argc, char **argv)
{
	refuse(SYS_clone, SYS_clone3, EAGAIN);
	work_start();
	work_launches(50000);
	say("launched\n");
	return 3;
}

static int way_chroot(int argc, char **argv)
{
	work_start();
	work_launches(10);
	if (chroot(argv[0])) /* for root alone */
		need(!chdir(argv[0]), 92);
	else
		need(!chdir("/"), 92);
	threads_launch(8, LAUNCHES);
	say("launched\n");
	return 3;
}

static atomic_bool done;

static void *close_all(void *name)
{
	for (int i = 0; !atomic_load(&done) || i < 10; i++) {
		for (int fd = 3; fd < 32; fd++)
			close(fd);
		for (int fd = 3; fd < 16; fd++)
			if (open(name, O_RDWR) < 0)
				_exit(92);
		usleep(100);
	}
	return NULL;
}

static int way_close(int argc, char **argv)
{
	int fd = open(argv[0], O_RDWR | O_CREAT | O_TRUNC, 0600);
	pthread_t closing;
	struct stat st;

	need(fd >= 0 && write(fd, "mine", 4) == 4, 92);
	work_start();
	start_threads(&closing, 1, close_all, argv[0]);
	for (int i = 0; i < 3; i++)
		threads_launch(
		        4, LAUNCHES); /* the driver grows its own file at 16 threads: stay below */
	atomic_store(&done, true);
	join_threads(&closing, 1);
	need(!stat(argv[0], &st), 92);
	say("launched; my file has %d bytes\n", (int)st.st_size);
	return 3;
}

int main(int argc, char **argv)
{
	static const struct harm_way ways[] = {
	        {"maps", way_maps},     {"small", way_small},
	        {"files", way_files},   {"threads", way_threads},
	        {"chroot", way_chroot}, {"close", way_close},
	        {NULL, NULL},
	};

	return harm_main(ways, argc, argv);
}
