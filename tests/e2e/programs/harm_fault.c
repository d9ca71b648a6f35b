/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In the driver of the harm_* programs: with HARM_FAULTS set, a process that dies of a fault tells
 * where on stderr, so that one that comes once in thousands of runs can be explained all the same.
 * The signal and its address; the instruction, and what may be its callers, each as object+offset;
 * the mappings of all these. Only system calls: the process may be in any state.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define WORDS   2048 /* of the stack, that are looked at */
#define CALLERS 24

/* ---- text without stdio ---- */

static char line[512];
static size_t used;

static void put(const char *text)
{
	size_t n = strlen(text), room = sizeof(line) - used;

	n = n < room ? n : room;
	memcpy(line + used, text, n);
	used += n;
}

static void put_hex(uintptr_t value)
{
	char digits[2 + 16 + 1] = "0x";
	int shift = 60, n = 2;

	while (shift && !(value >> shift))
		shift -= 4;
	for (; shift >= 0; shift -= 4)
		digits[n++] = "0123456789abcdef"[value >> shift & 15];
	digits[n] = 0;
	put(digits);
}

static void end_line(void)
{
	put("\n");
	if (write(STDERR_FILENO, line, used) < 0)
		_exit(98);
	used = 0;
}

/* ---- the mappings ---- */

static struct mapping {
	uintptr_t from, until;
	bool code;
	char text[160]; /* the line of /proc/self/maps */
} map[400];
static unsigned maps;

static uintptr_t hex(const char **p)
{
	uintptr_t value = 0;

	for (;; (*p)++)
		if (**p >= '0' && **p <= '9')
			value = value << 4 | (uintptr_t)(**p - '0');
		else if (**p >= 'a' && **p <= 'f')
			value = value << 4 | (uintptr_t)(**p - 'a' + 10);
		else
			return value;
}

static void take_line(const char *p)
{
	struct mapping *m = &map[maps];

	m->from = hex(&p);
	p++;
	m->until = hex(&p);
	m->code = p[3] == 'x';
	maps++;
}

static void read_maps(void)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	unsigned n = 0;
	char c;

	while (fd >= 0 && maps < sizeof(map) / sizeof(map[0]) && read(fd, &c, 1) == 1)
		if (c == '\n') {
			take_line(map[maps].text);
			n = 0;
		} else if (n + 1 < sizeof(map[0].text)) {
			map[maps].text[n++] = c;
		}
	close(fd);
}

static const struct mapping *mapping_of(uintptr_t at)
{
	for (unsigned i = 0; i < maps; i++)
		if (at >= map[i].from && at < map[i].until)
			return &map[i];
	return NULL;
}

/* The object's name, and how far behind its first mapping. */
static void put_place(uintptr_t at)
{
	const struct mapping *m = mapping_of(at), *first = m;
	const char *name = m ? strrchr(m->text, '/') : NULL;

	put_hex(at);
	if (!name)
		return;
	while (first > map && strrchr(first[-1].text, '/') &&
	       !strcmp(strrchr(first[-1].text, '/'), name))
		first--;
	put(" ");
	put(name + 1);
	put("+");
	put_hex(at - first->from);
}

static void say_mapping(const char *what, uintptr_t at)
{
	const struct mapping *m = mapping_of(at);

	put(what);
	put(m ? m->text : "not mapped");
	end_line();
}

/* ---- the fault ---- */

static void on_fault(int number, siginfo_t *info, void *context)
{
	const struct sigaction none = {.sa_handler = SIG_DFL};
	uintptr_t pc = 0, sp = 0;

	sigaction(number, &none, NULL);
#if defined(__x86_64__)
	const greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	pc = (uintptr_t)r[REG_RIP];
	sp = (uintptr_t)r[REG_RSP];
#elif defined(__aarch64__)
	pc = ((ucontext_t *)context)->uc_mcontext.pc;
	sp = ((ucontext_t *)context)->uc_mcontext.sp;
#endif
	read_maps();
	put("fault: signal ");
	put_hex((uintptr_t)number);
	put(", code ");
	put_hex((uintptr_t)info->si_code);
	put(", address ");
	put_hex((uintptr_t)info->si_addr);
	put(", at ");
	put_place(pc);
	put(", stack ");
	put_hex(sp);
	end_line();
	say_mapping("  address in ", (uintptr_t)info->si_addr);
	say_mapping("  stack in   ", sp);
	const struct mapping *stack = mapping_of(sp);
	unsigned callers = 0;
	for (unsigned i = 0; stack && i < WORDS && callers < CALLERS; i++) {
		uintptr_t at = (sp & ~(uintptr_t)7) + i * sizeof(uintptr_t);
		if (at + sizeof(uintptr_t) > stack->until)
			break;
		const struct mapping *m = mapping_of(*(const uintptr_t *)at);
		if (!m || !m->code)
			continue;
		put("  perhaps from ");
		put_place(*(const uintptr_t *)at);
		end_line();
		callers++;
	}
	/* A fault comes again when this returns; what was sent is sent again. */
	if (info->si_code <= 0)
		raise(number);
}

static void __attribute__((constructor)) at_load(void)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
	const struct sigaction action = {.sa_sigaction = on_fault,
	                                 .sa_flags = SA_SIGINFO | SA_ONSTACK};

	if (!getenv("HARM_FAULTS"))
		return;
	for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigaction(faults[i], &action, NULL);
}
