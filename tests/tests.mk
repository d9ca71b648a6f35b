# SPDX-License-Identifier: Apache-2.0
# tests/: what `make test` runs. Python's pytest is the one runner; it calls the CMocka programs too.

include tests/unit/unit.mk
include tests/fuzz/fuzz.mk
include tests/gpu/gpu.mk
include tests/bench/bench.mk
include tests/stress/stress.mk
include tests/e2e/e2e.mk

PYTEST = O=$(abspath $(O)) CUDA_INC=$(abspath $(CUDA_INC)) CC=$(CC) PYTHONDONTWRITEBYTECODE=1 \
	$(firstword $(shell command -v pytest-3 pytest)) -p no:cacheprovider -q -rs

TEST_BUILDS := shim report sim samples-sim unit-build $(TEST_EXTRA)

# The tests proper, on a machine that is set up.
check: $(TEST_BUILDS)
	$(Q)$(PYTEST) tests $(PYTEST_ARGS)

# The acceptance run of "no program is harmed, no call is lost": 200 tries of each row, 1,000 kills.
campaign: $(TEST_BUILDS)
	$(Q)CAMPAIGN_TRIES=200 KILLS=1000 $(PYTEST) tests/e2e/test_harm.py tests/e2e/test_kill.py $(PYTEST_ARGS)

# What README says: sets the machine up where something is missing, then all tests.
test:
	$(Q)scripts/setup --test
	$(Q)+$(MAKE) --no-print-directory -j$(JOBS) check

.PHONY: check campaign test
