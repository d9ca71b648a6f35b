/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the truth file: a shared mapping of SIM_TRUTH, or private memory when none is named.
 * A forked child, and a process that finds the file in use, write beside it: NAME.<pid>. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "tests/sim/driver.h"

#define FULL_BYTES (sizeof(struct truth_file) + (size_t)TRUTH_THREADS * sizeof(struct truth_thread))
#define GROW       16 /* threads by which the file grows */

static struct truth_file *truth;
static int truth_fd = -1;
static unsigned threads_room;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Whether the file at `path` belongs to another process that still lives. */
static bool in_use(int fd)
{
	struct truth_file head;

	if (pread(fd, &head, 32, 0) != 32 || head.magic != TRUTH_MAGIC || head.pid <= 0)
		return false;
	return head.pid != getpid() && kill(head.pid, 0) == 0;
}

static char final_path[4096], first_path[4096 + 8];

/* The file gets its name only when it is whole; an old one goes at once, so that nobody takes its
 * figures for this process's. */
static int open_file(const char *path, bool child)
{
	int fd = child ? -1 : open(path, O_RDONLY | O_CLOEXEC);

	if (child || (fd >= 0 && in_use(fd)))
		snprintf(final_path, sizeof(final_path), "%s.%d", path, (int)getpid());
	else
		snprintf(final_path, sizeof(final_path), "%s", path);
	if (fd >= 0)
		close(fd);
	unlink(final_path);
	snprintf(first_path, sizeof(first_path), "%s.new", final_path);
	unlink(first_path);
	return open(first_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

static bool grow_to(unsigned threads)
{
	if (threads <= threads_room)
		return true;
	threads += GROW - 1;
	if (truth_fd >= 0 &&
	    ftruncate(truth_fd, (off_t)(sizeof(struct truth_file) +
	                                (size_t)threads * sizeof(struct truth_thread))))
		return false;
	threads_room = threads;
	return true;
}

void truth_open(void)
{
	bool child = truth != NULL;
	void *m = MAP_FAILED;

	if (child)
		pthread_mutex_init(&lock, NULL); /* another thread of the parent may have held it */
	pthread_mutex_lock(&lock);
	threads_room = 0;
	truth_fd = sim_config.truth ? open_file(sim_config.truth, child) : -1;
	if (truth_fd >= 0 && !grow_to(GROW)) {
		close(truth_fd);
		truth_fd = -1;
	}
	if (truth_fd >= 0)
		m = mmap(NULL, FULL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, truth_fd, 0);
	if (m == MAP_FAILED) {
		truth_fd = -1;
		m = mmap(NULL, FULL_BYTES, PROT_READ | PROT_WRITE,
		         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	}
	truth = m;
	truth->version = TRUTH_VERSION;
	truth->thread_bytes = sizeof(struct truth_thread);
	truth->pid = (int)getpid();
	truth->apis = SIM_APIS;
	truth->devices = (uint32_t)sim_config.devices;
	truth->start_ns = sim_tl_now();
	for (unsigned i = 0; i < SIM_APIS; i++)
		strncpy(truth->api_name[i], sim_api_name[i], sizeof(truth->api_name[i]) - 1);
	truth->magic = TRUTH_MAGIC;
	if (truth_fd >= 0)
		rename(first_path, final_path);
	pthread_mutex_unlock(&lock);
}

/* A slot nobody used, or when the file is full one whose thread has ended. */
static struct truth_thread *find_slot(void)
{
	unsigned n = atomic_load(&truth->threads_used);

	if (n < TRUTH_THREADS && grow_to(n + 1)) {
		atomic_store(&truth->threads_used, n + 1);
		return &truth->thread[n];
	}
	for (unsigned i = 0; i < n; i++) {
		if (atomic_load(&truth->thread[i].state) == 2) {
			truth->thread[i].reuses++;
			return &truth->thread[i];
		}
	}
	return &truth->thread[0]; /* more threads at once than places: counts get inexact */
}

struct truth_thread *truth_thread_take(void)
{
	struct truth_thread *t;

	pthread_mutex_lock(&lock);
	t = find_slot();
	t->tid = (int32_t)syscall(SYS_gettid);
	atomic_store(&t->state, 1);
	pthread_mutex_unlock(&lock);
	return t;
}

void truth_thread_end(struct truth_thread *t)
{
	atomic_store(&t->in_call, 0);
	atomic_store(&t->state, 2);
}

struct truth_device *truth_device(int ordinal)
{
	return &truth->device[ordinal];
}

unsigned truth_kernel(const char *name)
{
	unsigned n, i;

	pthread_mutex_lock(&lock);
	n = atomic_load(&truth->kernels_used);
	for (i = 0; i < n; i++) {
		if (!strncmp(truth->kernel[i].name, name, TRUTH_NAME - 1))
			break;
	}
	if (i == n && n < TRUTH_KERNELS) {
		strncpy(truth->kernel[n].name, name, TRUTH_NAME - 1);
		atomic_store(&truth->kernels_used, n + 1);
	}
	pthread_mutex_unlock(&lock);
	return i < TRUTH_KERNELS ? i : TRUTH_KERNELS - 1;
}

void truth_count_launch(struct truth_thread *t, unsigned kernel, uint64_t gpu_ns)
{
	t->total.launches++;
	if (kernel < TRUTH_OWN) {
		t->kernel_launches[kernel]++;
		t->kernel_ns[kernel] += gpu_ns;
		return;
	}
	atomic_fetch_add_explicit(&truth->kernel[kernel].launches, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&truth->kernel[kernel].gpu_ns, gpu_ns, memory_order_relaxed);
}

void truth_count_graph_kernel(unsigned kernel, uint64_t gpu_ns)
{
	struct truth_kernel *k = &truth->kernel[kernel];

	atomic_fetch_add_explicit(&k->graph_launches, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&k->graph_gpu_ns, gpu_ns, memory_order_relaxed);
}

void truth_init_done(void)
{
	atomic_fetch_add(&truth->inits, 1);
}

void truth_finish(void)
{
	atomic_store(&truth->state, TRUTH_FINISHED);
}
