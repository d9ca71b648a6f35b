/* SPDX-License-Identifier: Apache-2.0 */
/*
 * harm_file WAY ...: programs whose recording's file meets trouble.
 *
 *   plain [LAUNCHES]       four threads launch
 *   segment FOLDER         they do; then 40 MB are stored into a file of the program's own in
 * FOLDER, which is in memory, as a DataLoader's segment is killed                 they do; then
 * SIGKILL cut [own]              says "ready", launches on until told to end, then some more from
 * new threads; what cuts the recording meanwhile is somebody else. With "own" the program has a
 * handler of SIGBUS, and a mapping that needs it limit WHAT HOW [early] with a limit of its own,
 * set before CUDA starts or after
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include "tests/e2e/programs/harm.h"

#define SEGMENT (40u << 20)

static unsigned launches = 20000;

static void four_launch(void)
{
	threads_launch(4, launches);
	say("launched %u\n", 4 * launches);
}

static int way_plain(int argc, char **argv)
{
	if (argc)
		launches = (unsigned)atoi(argv[0]);
	work_start();
	four_launch();
	return 0;
}

static int way_killed(int argc, char **argv)
{
	work_start();
	four_launch();
	kill(getpid(), SIGKILL);
	return 1;
}

/* ---- memory shared with the recording ---- */

static unsigned long free_kib(const char *folder)
{
	struct statvfs s;

	need(!statvfs(folder, &s), 92);
	return s.f_bavail * (s.f_frsize / 1024);
}

static int way_segment(int argc, char **argv)
{
	const char *folder = argv[0];
	unsigned long before = free_kib(folder);
	char path[4096];

	work_start();
	launches = 100000;
	four_launch();
	say("measure free_kib %lu\n", before);
	say("measure taken_kib %lu\n", before - free_kib(folder));
	snprintf(path, sizeof(path), "%s/segment-%d", folder, (int)getpid());
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	need(fd >= 0 && !ftruncate(fd, SEGMENT), 92);
	char *segment = mmap(NULL, SEGMENT, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	need(segment != MAP_FAILED, 92);
	memset(segment, 1, SEGMENT);
	say("the segment is stored\n");
	unlink(path);
	return 0;
}

/* ---- a recording that is cut ---- */

static sigjmp_buf back;
static char *own;
static volatile sig_atomic_t bus_of_own;

static void on_bus(int number, siginfo_t *info, void *context)
{
	if ((char *)info->si_addr < own || (char *)info->si_addr >= own + 8192)
		_exit(96); /* no business of ours */
	bus_of_own++;
	siglongjmp(back, 1);
}

/* A mapping that reaches beyond its file. */
static void make_own(void)
{
	struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
	FILE *f = tmpfile();

	need(f && !ftruncate(fileno(f), 8192), 92);
	own = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0);
	need(own != MAP_FAILED && !ftruncate(fileno(f), 0), 92);
	need(!sigaction(SIGBUS, &action, NULL), 92);
}

static void touch_own(void)
{
	if (own && !sigsetjmp(back, 1))
		*(volatile char *)own = 1;
}

static atomic_bool told;

static void *launch_until_told(void *unused)
{
	CHECK(cuCtxSetCurrent(work_context));
	while (!atomic_load(&told))
		work_launches(10);
	work_launches(launches);
	return unused;
}

static int way_cut(int argc, char **argv)
{
	pthread_t thread[4];

	launches = 5000;
	if (argc)
		make_own();
	work_start();
	touch_own();
	start_threads(thread, 4, launch_until_told, NULL);
	say("ready\n");
	wait_to_be_told();
	touch_own();
	atomic_store(&told, true);
	join_threads(thread, 4);
	four_launch();
	touch_own();
	say("own SIGBUS %d\n", (int)bus_of_own);
	return 5;
}

/* ---- limits ---- */

static unsigned long address_space(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	need(f && fscanf(f, "%lu", &pages) == 1, 92);
	fclose(f);
	return pages * 4096;
}

static void limit(const char *what, rlim_t most)
{
	static const struct {
		const char *name;
		int what;
	} limits[] = {{"as", RLIMIT_AS}, {"nofile", RLIMIT_NOFILE}, {"fsize", RLIMIT_FSIZE}};

	if (!strcmp(what, "as"))
		most += address_space();
	for (unsigned i = 0; i < 3; i++)
		if (!strcmp(what, limits[i].name))
			need(!setrlimit(limits[i].what, &(struct rlimit){most, most}), 92);
}

static int way_limit(int argc, char **argv)
{
	rlim_t most = strtoul(argv[1], NULL, 10);

	if (argc > 2)
		limit(argv[0], most);
	work_start();
	work_launches(10);
	if (argc == 2)
		limit(argv[0], most);
	four_launch();
	return 6;
}

int main(int argc, char **argv)
{
	static const struct harm_way ways[] = {
	        {"plain", way_plain}, {"segment", way_segment}, {"killed", way_killed},
	        {"cut", way_cut},     {"limit", way_limit},     {NULL, NULL},
	};

	return harm_main(ways, argc, argv);
}
