# SPDX-License-Identifier: Apache-2.0
# The simulated libcudart: one source, three majors and a static library.
#
# Everything is compiled once for each; what takes its place in a stream a second time for the
# per-thread default stream, as a program built with --default-stream per-thread would be.
# Included by sim.mk.

RUNTIME_SRCS := \
	runtime_convert.c \
	runtime_device.c \
	runtime_driver.c \
	runtime_error.c \
	runtime_event.c \
	runtime_graph.c \
	runtime_init.c \
	runtime_kernel.c \
	runtime_memory.c \
	runtime_registry.c \
	# EOL

RUNTIME_ORDERED_SRCS := \
	runtime_copy.c \
	runtime_launch.c \
	runtime_ordered.c \
	runtime_set.c \
	# EOL

RUNTIME_OBJS := $(RUNTIME_SRCS:.c=.o) $(RUNTIME_ORDERED_SRCS:.c=.o) \
	$(RUNTIME_ORDERED_SRCS:.c=_pt.o)
RUNTIME_CFLAGS = $(CFLAGS) $(SPY_CFLAGS) -fPIC -MMD -MP -MT $@
RUNTIME_LIBS := $(O)/sim/libcudart.so.11.0 $(O)/sim/libcudart.so.12 $(O)/sim/libcudart.so.13

sim-runtime: $(RUNTIME_LIBS) $(O)/sim/libcudart_static.a
.PHONY: sim-runtime sim-selftest-runtime

# The names of the errors, one ERROR(name) a line.
$(O)/gen/sim/runtime_errors.h: $(CUDA_INC)/driver_types.h
	$(call msg,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)sed -n 's/^ *\(cudaSuccess\|cudaError[A-Za-z0-9]*\) *= *[0-9][0-9]*.*/ERROR(\1)/p' $< > $@

# $(1) folder, $(2) flags
define runtime_objects
$(O)/sim/$(1)/%_pt.o: tests/sim/%.c $(O)/gen/sim/runtime_errors.h
	$$(call msg,CC,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(RUNTIME_CFLAGS) $(2) -DCUDA_API_PER_THREAD_DEFAULT_STREAM -c -o $$@ $$<

$(O)/sim/$(1)/%.o: tests/sim/%.c $(O)/gen/sim/runtime_errors.h
	$$(call msg,CC,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(RUNTIME_CFLAGS) $(2) -c -o $$@ $$<

-include $(patsubst %.o,$(O)/sim/$(1)/%.d,$(RUNTIME_OBJS))
endef

# $(1) soname's ending, $(2) folder.  Every export carries the soname as its version, as the real
# one's do; calls within it are not to be interposed.
define runtime_library
$(O)/sim/$(2)/libcudart.map: tests/sim/runtime.mk
	$$(call msg,GEN,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)printf 'libcudart.so.$(1) {\nglobal:\n\tcuda*;\n\t__cuda*;\nlocal:\n\t*;\n};\n' > $$@

$(O)/sim/libcudart.so.$(1): $(addprefix $(O)/sim/$(2)/,$(RUNTIME_OBJS)) $(O)/sim/$(2)/libcudart.map
	$$(call msg,LD,$$@)
	$$(Q)$$(CC) -shared $$(SAN_LDFLAGS) -Wl,-Bsymbolic -Wl,-soname,libcudart.so.$(1) \
		-Wl,--version-script=$(O)/sim/$(2)/libcudart.map \
		-o $$@ $$(filter %.o,$$^) -ldl -lpthread
endef

$(eval $(call runtime_objects,cudart11,-DSIM_CUDART=11))
$(eval $(call runtime_objects,cudart12,-DSIM_CUDART=12))
$(eval $(call runtime_objects,cudart13,-DSIM_CUDART=13))
$(eval $(call runtime_objects,cudart_static,-DSIM_CUDART=13 -DSIM_STATIC))
$(eval $(call runtime_library,11.0,cudart11))
$(eval $(call runtime_library,12,cudart12))
$(eval $(call runtime_library,13,cudart13))

$(O)/sim/libcudart_static.a: $(addprefix $(O)/sim/cudart_static/,$(RUNTIME_OBJS))
	$(call msg,AR,$@)
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $^

RUNTIME_SELFTEST_OBJS := $(O)/sim/selftest_runtime.o $(O)/sim/selftest_runtime_work.o

$(RUNTIME_SELFTEST_OBJS): $(O)/sim/%.o: tests/sim/%.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(SPY_CFLAGS) -MMD -MP -MT $@ -c -o $@ $<

$(O)/sim/selftest_runtime: $(RUNTIME_SELFTEST_OBJS)
	$(call msg,LD,$@)
	$(Q)$(CC) -o $@ $^ $(SAN_LDFLAGS) -lcmocka -ldl

-include $(RUNTIME_SELFTEST_OBJS:.o=.d)

sim-selftest-runtime: $(O)/sim/selftest_runtime $(RUNTIME_LIBS) $(O)/sim/libcuda.so.1
	$(call msg,TEST,$<)
	$(Q)LD_LIBRARY_PATH=$(O)/sim $<
