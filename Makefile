# SPDX-License-Identifier: Apache-2.0
# cudaspy: build, test, install.  `make help` lists the targets.
#
#   make            build/libcudaspy.so and build/cudaspy
#   make V=1        show the commands
#   make O=dir      build elsewhere
#   make SAN=address,undefined   a sanitized build (of the reporter and the tests)

O        ?= build
PREFIX   ?= /usr/local
VERSION  := 0.1.0
ARCH     := $(shell $(CC) -dumpmachine 2>/dev/null | cut -d- -f1)

# The toolkit's headers: CUDA_HOME, else the usual places, else what scripts/setup put under build/deps.
CUDA_HOME ?= $(firstword $(patsubst %/include/cuda.h,%,$(wildcard \
	/usr/local/cuda/include/cuda.h /opt/cuda/include/cuda.h /usr/local/cuda-*/include/cuda.h \
	$(CURDIR)/build/deps/cuda/include/cuda.h)))
CUDA_INC := $(CUDA_HOME)/include
NVCC     ?= $(firstword $(wildcard $(CUDA_HOME)/bin/nvcc $(CURDIR)/build/deps/cuda/bin/nvcc))

CFLAGS   ?= -O2 -g
WARN     := -Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes -Wno-unused-parameter
SPY_CFLAGS := -std=gnu11 -D_GNU_SOURCE -fvisibility=hidden $(WARN) -iquote . -iquote $(O)/gen \
	-isystem $(CUDA_INC) -DCUDASPY_VERSION='"$(VERSION)"'
ifdef SAN
SPY_CFLAGS += -fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=undefined
SAN_LDFLAGS := -fsanitize=$(SAN)
endif

# Jobs of a build that `make test` or `make demo` starts, and tests that run beside one another.
JOBS ?= $(shell nproc)

ifndef V
Q   = @
msg = @printf '  %-7s %s\n' '$(1)' '$(patsubst $(CURDIR)/%,%,$(2))';
endif

.DELETE_ON_ERROR:
.SUFFIXES:
.PRECIOUS: $(O)/tests/unit/%.o $(O)/tests/e2e/%.o

all: shim report

include shim/shim.mk
include report/report.mk
include tests/sim/sim.mk
include cuda_samples/samples.mk
include tests/tests.mk

# A real report of a real recording: on the GPU where there is one, else on the simulated CUDA, which it then says.
demo:
	$(Q)scripts/setup
	$(Q)+$(MAKE) --no-print-directory -j$(JOBS) shim report
	$(Q)+scripts/demo $(O)

# Pictures of the report's page for a browser, of six recordings: build/screenshots.
screenshots: shim report sim samples-sim
	$(Q)O=$(O) scripts/screenshots

# Lines of product code by room.
lines:
	$(Q)git ls-files shim report | grep -E '\.(c|h|cpp|S|def|py|ptx|map|mk|js|css|html)$$' | xargs wc -l | awk ' \
		$$2 != "total" { room = $$2; sub("/[^/]*$$", "", room); lines[room] += $$1; all += $$1 } \
		END { for (room in lines) printf "%7d %s\n", lines[room], room | "sort -k 2"; \
			close("sort -k 2"); printf "%7d total\n", all }'

# What the newest CUDA on PyPI has that shim/core/format/calls.def does not know. Needs the network; no test does.
newest:
	$(Q)scripts/newest_cuda

# Layout, licence lines, faults that tools find: CONTRIBUTING says what. tests/test_lint.py runs it.
lint:
	$(Q)scripts/lint

# Manual pages and completions, from the reporter's own table of options. Where what is built does not run here, another
# build of the same sources tells it: MANUAL_REPORTER=.
MANUAL_REPORTER ?= $(O)/cudaspy
manual: $(O)/manual/cudaspy.1
$(O)/manual/cudaspy.1: $(MANUAL_REPORTER) scripts/gen_manual report/cudaspy.1
	$(call msg,GEN,$(@D))
	$(Q)scripts/gen_manual $(MANUAL_REPORTER) $(@D)

SHARE := $(DESTDIR)$(PREFIX)/share
install: all manual
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib $(SHARE)/man/man1 $(SHARE)/bash-completion/completions \
		$(SHARE)/zsh/site-functions $(SHARE)/fish/vendor_completions.d
	install -m 755 $(O)/cudaspy $(DESTDIR)$(PREFIX)/bin/cudaspy
	install -m 755 $(O)/libcudaspy.so $(DESTDIR)$(PREFIX)/lib/libcudaspy.so
	install -m 644 $(O)/manual/*.1 $(SHARE)/man/man1/
	install -m 644 $(O)/manual/cudaspy.bash $(SHARE)/bash-completion/completions/cudaspy
	install -m 644 $(O)/manual/_cudaspy $(SHARE)/zsh/site-functions/_cudaspy
	install -m 644 $(O)/manual/cudaspy.fish $(SHARE)/fish/vendor_completions.d/cudaspy.fish

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/cudaspy $(DESTDIR)$(PREFIX)/lib/libcudaspy.so \
		$(SHARE)/man/man1/cudaspy.1 $(SHARE)/man/man1/cudaspy-*.1 $(SHARE)/bash-completion/completions/cudaspy \
		$(SHARE)/zsh/site-functions/_cudaspy $(SHARE)/fish/vendor_completions.d/cudaspy.fish

# Keeps build/deps, which took a download.
clean:
	$(Q)find $(O) -mindepth 1 -maxdepth 1 ! -name deps -exec rm -rf {} +

help:
	@echo 'make              build $(O)/libcudaspy.so and $(O)/cudaspy'
	@echo 'make demo         set up, build, record a sample program and report it'
	@echo 'make test         set up, build and run all tests (no GPU needed)'
	@echo 'make check        the tests alone, on a machine that is set up; T=name: those of a file or of that name'
	@echo 'make check-quick  those that take little time, for while one works'
	@echo 'make lint         hold the sources against the house style'
	@echo 'make bench        what one call costs, beside the peers that are installed'
	@echo 'make screenshots  pictures of the HTML report of six recordings (needs chromium)'
	@echo 'make manual       manual pages and completions for shells, in $(O)/manual'
	@echo 'make lines        lines of product code by room'
	@echo 'make newest       compare the table of calls with the newest CUDA on PyPI'
	@echo 'make fuzz         feed the reporter damaged recordings (FUZZ_SECONDS=20)'
	@echo 'make samples-sim  cuda_samples/ on the simulated CUDA'
	@echo 'make samples-nvcc cuda_samples/ for a GPU, with static and shared runtime'
	@echo 'make install      PREFIX=$(PREFIX) DESTDIR='
	@echo 'make clean        remove what was built; downloads stay'
	@echo 'Variables: V=1 shows commands, O=dir, CC=, CUDA_HOME=, SAN=address,undefined'

# Who includes whom: layers.txt. Beside the compiling; nothing is linked where it does not hold.
LAYERED := shim report
$(O)/layers.ok: layers.txt scripts/check_layers $(shell find $(LAYERED) -name '*.[chS]' -o -name '*.cpp' -o -name '*.def')
	$(call msg,CHECK,$<)
	$(Q)scripts/check_layers $(LAYERED)
	$(Q)mkdir -p $(@D) && touch $@
$(O)/cudaspy $(O)/libcudaspy.so: | $(O)/layers.ok

.DEFAULT_GOAL := all
.PHONY: all shim report demo lint screenshots lines newest manual install uninstall clean help
