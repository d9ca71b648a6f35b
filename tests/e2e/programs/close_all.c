/* SPDX-License-Identifier: Apache-2.0 */
/*
 * close_all LAUNCHES STRANGER: closes every descriptor but the first three after CUDA has started,
 * opens STRANGER under the numbers that have come free, goes to another folder, and calls on from
 * eight threads.
 */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
#include "tests/e2e/programs/work.h"

static unsigned launches;

static void *work(void *unused)
{
	CHECK(cuCtxSetCurrent(work_context));
	work_launches(launches);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread[8];

	launches = (unsigned)atoi(argv[1]);
	work_start();
	work_launches(10);
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	for (int fd = 3; fd < 64; fd++)
		if (open(argv[2], O_RDWR | O_CREAT, 0600) < 0)
			return 1;
	if (chdir("/"))
		return 2;
	for (int i = 0; i < 8; i++)
		pthread_create(&thread[i], NULL, work, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
