# SPDX-License-Identifier: Apache-2.0
# tests/: what `make test` runs. Python's pytest is the one runner; it calls the CMocka programs too.

include tests/unit/unit.mk
include tests/fuzz/fuzz.mk
include tests/gpu/gpu.mk
include tests/bench/bench.mk
include tests/stress/stress.mk
include tests/e2e/e2e.mk

PYTEST_BIN := $(firstword $(shell command -v pytest-3 pytest))
PYTEST = O=$(abspath $(O)) CUDA_INC=$(abspath $(CUDA_INC)) CC=$(CC) PYTHONDONTWRITEBYTECODE=1 \
	$(PYTEST_BIN) -p no:cacheprovider -q -rs

# Tests beside one another, where pytest-xdist is there: one more than processors, for some only wait. TEST_JOBS=1: one after
# the other.
TEST_JOBS  ?= $(shell expr $(JOBS) + 1)
PYTEST_MANY = $(PYTEST) $(if $(filter-out 1,$(TEST_JOBS)),$(shell \
	$(PYTEST_BIN) --help 2>/dev/null </dev/null | grep -q loadgroup && echo --numprocesses=$(TEST_JOBS)))

TEST_BUILDS := shim report sim samples-sim unit-build $(TEST_EXTRA)

# Builds in folders of their own that tests look at: what goes wrong here, or lacks a compiler, is for them to say, and they
# make what is not there (T=name). By the folders' full names, as the tests know them.
OTHER_BUILDS := asan unoptimized clang aarch64 fuzz
OTHER        := $(abspath $(O))
CROSS        := aarch64-linux-gnu-
other_asan        := O=$(OTHER)/asan SAN=address,undefined CFLAGS='-O1 -g1' unit-build $(OTHER)/asan/tests/fuzz/damage
other_unoptimized := O=$(OTHER)/unoptimized CFLAGS=-O0 shim
other_clang       := O=$(OTHER)/clang CC=clang shim
other_aarch64     := O=$(OTHER)/aarch64 CC=$(CROSS)gcc AR=$(CROSS)ar shim sim
other_fuzz        := O=$(OTHER) fuzz-build

OTHER_TARGETS := $(OTHER_BUILDS:%=other-%)
other-fuzz: report
$(OTHER_TARGETS): other-%:
	$(call msg,MAKE,$(O): $*)
	$(Q)mkdir -p $(O)
	$(Q)+$(MAKE) --no-print-directory MAKEOVERRIDES= $(other_$*) >$(O)/$*.log 2>&1 || :

# The tests proper, on a machine that is set up. T=name: those of that folder, else those with it in their name or their
# file's or C program's; T=path and T=path::test as pytest knows them.
ifndef T
CHECK_BUILDS := $(TEST_BUILDS) $(OTHER_TARGETS)
CHECK_TESTS  := tests
else
CHECK_BUILDS := $(TEST_BUILDS)
CHECK_TESTS  := $(or $(if $(findstring ::,$(T)),'$(T)'),$(wildcard $(T)),$(shell find tests -type d -name '$(T)'),tests -k '$(T)')
endif
check: $(CHECK_BUILDS)
	$(Q)$(PYTEST_MANY) $(CHECK_TESTS) $(PYTEST_ARGS)

# Without what takes long (conftest.py): for while one works.
check-quick: $(TEST_BUILDS)
	$(Q)$(PYTEST_MANY) tests -m 'not slow' $(PYTEST_ARGS)

# The acceptance run of "no program is harmed, no call is lost": 200 tries of each row, 1,000 kills.
campaign: $(TEST_BUILDS)
	$(Q)CAMPAIGN_TRIES=200 KILLS=1000 $(PYTEST) tests/e2e/test_harm.py tests/e2e/test_kill.py $(PYTEST_ARGS)

# What README says: sets the machine up where something is missing, then all tests.
test:
	$(Q)scripts/setup --test
	$(Q)+$(MAKE) --no-print-directory -j$(JOBS) check

.PHONY: check check-quick campaign test $(OTHER_TARGETS)
