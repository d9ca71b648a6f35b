# SPDX-License-Identifier: Apache-2.0
# `make bench`: what one call costs and how long a long trace's report takes. BENCH_QUICK=1: a smoke run; BENCH_CALLS=1: the
# calls alone.

BENCH_MAIN := \
	tests/bench/bench_calls.c \
	tests/bench/bench_collector.c \
	tests/bench/bench_export.c \
	tests/bench/bench_peers.c \
	tests/bench/bench_trace.c \
	tests/bench/child.c \
	tests/bench/main.c \
	# EOL

BENCH_WORK := \
	shim/base/clock.c \
	tests/bench/burst.c \
	tests/bench/work.c \
	# EOL

BENCH_O      := $(O)/bench/obj
BENCH_CFLAGS := $(filter-out -fsanitize=%,$(SPY_CFLAGS)) $(CFLAGS)
BENCH_MAIN_OBJ := $(BENCH_MAIN:%.c=$(BENCH_O)/%.o)
BENCH_WORK_OBJ := $(BENCH_WORK:%.c=$(BENCH_O)/%.o)
BENCH_PEER_OBJ := $(addprefix $(BENCH_O)/peer_,plain.o lttng.o uftrace.o)

# Are LTTng's headers there? uftrace needs no header, only a compiler with -pg.
BENCH_LTTNG := $(shell $(CC) -E -include lttng/tracepoint.h -x c /dev/null >/dev/null 2>&1 && echo yes)
BENCH_BUILDS := $(addprefix $(O)/bench/,bench drain libcuda.so.1 many_stacks many_libraries work_uftrace $(if $(BENCH_LTTNG),work_lttng))

bench-build: shim report sim samples-sim $(BENCH_BUILDS)

bench: bench-build
	$(Q)$(O)/bench/drain $(if $(filter 1,$(BENCH_QUICK)),all 20)
	$(Q)$(O)/bench/bench $(if $(filter 1,$(BENCH_QUICK)),--quick) $(if $(filter 1,$(BENCH_CALLS)),--calls) $(abspath $(O))

	$(if $(filter 1,$(BENCH_CALLS)),,$(Q)$(MAKE) --no-print-directory bench-stacks)

# What a stack costs, by depth, in each CPython that is found, and 100,000 of them in the reporter.
bench-stacks: bench-build $(O)/tests/e2e/libframe_reader.so
	$(Q)python3 tests/bench/sites.py $(if $(filter 1,$(BENCH_QUICK)),--quick) $(abspath $(O))
.PHONY: bench-stacks

# Exports alone, of a million calls and of ten million: 3 GiB of disk for a while.
bench-export: bench-build
	$(Q)$(O)/bench/bench $(if $(filter 1,$(BENCH_QUICK)),--quick) --export $(abspath $(O))
.PHONY: bench-export

$(O)/bench/many_stacks: tests/bench/many_stacks.c $(O)/sim/libcuda.so.1
	$(call msg,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BENCH_CFLAGS) -fno-omit-frame-pointer -fno-optimize-sibling-calls -Wl,--build-id -o $@ $< -L$(O)/sim -lcuda

MANY := 0 1 2 3 4 5 6 7 8 9
MANY_CFLAGS := $(BENCH_CFLAGS) -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -Wl,--build-id
$(O)/bench/many_libraries: tests/bench/many_libraries.c $(O)/sim/libcuda.so.1
	$(call msg,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)for n in $(MANY); do \
		$(CC) $(MANY_CFLAGS) -fPIC -shared -DLIBRARY=many_$$n -o $(@D)/libmany_$$n.so $< || exit 1; done
	$(Q)$(CC) $(MANY_CFLAGS) -fPIC -o $@ $< -L$(@D) $(addprefix -lmany_,$(MANY)) -Wl,-rpath,'$$ORIGIN' -L$(O)/sim -lcuda

$(BENCH_O)/%.o: %.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BENCH_CFLAGS) -MMD -MP -MT $@ -c $< -o $@

$(BENCH_O)/tests/bench/bench_trace.o: BENCH_CFLAGS += -DBENCH_SOURCES='"$(abspath tests/bench)"'

$(BENCH_O)/peer_plain.o: BENCH_PEER_FLAGS :=
$(BENCH_O)/peer_lttng.o: BENCH_PEER_FLAGS := -DBENCH_LTTNG
$(BENCH_O)/peer_uftrace.o: BENCH_PEER_FLAGS := -pg
$(BENCH_PEER_OBJ): tests/bench/peer_launch.c tests/bench/tracepoints.h
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BENCH_CFLAGS) $(BENCH_PEER_FLAGS) -MMD -MP -MT $@ -c $< -o $@

$(O)/bench/libcuda.so.1: tests/bench/noop_driver.c
	$(call msg,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BENCH_CFLAGS) -fPIC -shared -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic -Wno-deprecated-declarations \
		-o $@ $<

$(O)/bench/bench: $(BENCH_MAIN_OBJ) $(BENCH_WORK_OBJ) $(BENCH_O)/peer_plain.o $(O)/sim/libcudart_static.a
	$(call msg,LD,$@)
	$(Q)$(CC) -o $@ $^ -ldl -lpthread

$(O)/bench/drain: $(BENCH_O)/tests/bench/drain.o $(BENCH_O)/shim/base/clock.o $(O)/tests/unit/recording.o \
		$(CORE_C:%.c=$(O)/host/%.o)
	$(call msg,LD,$@)
	$(Q)$(CC) $(SAN_LDFLAGS) -o $@ $^ -lm

$(O)/bench/work_lttng: $(BENCH_O)/tests/bench/work_main.o $(BENCH_WORK_OBJ) $(BENCH_O)/peer_lttng.o \
		$(O)/sim/libcudart_static.a
	$(call msg,LD,$@)
	$(Q)$(CC) -o $@ $^ -llttng-ust -ldl -lpthread

$(O)/bench/work_uftrace: $(BENCH_O)/tests/bench/work_main.o $(BENCH_WORK_OBJ) $(BENCH_O)/peer_uftrace.o \
		$(O)/sim/libcudart_static.a
	$(call msg,LD,$@)
	$(Q)$(CC) -pg -o $@ $^ -ldl -lpthread

-include $(BENCH_MAIN_OBJ:.o=.d) $(BENCH_O)/tests/bench/drain.d $(BENCH_WORK_OBJ:.o=.d) $(BENCH_PEER_OBJ:.o=.d)

TEST_EXTRA += bench-build

.PHONY: bench bench-build
