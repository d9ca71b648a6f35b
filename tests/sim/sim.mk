# SPDX-License-Identifier: Apache-2.0
# The simulated CUDA: the driver, the reader of its truth file, and its own test.

SIM_O   := $(O)/sim
SIM_GEN := $(O)/gen/sim

SIM_DRIVER_SRC := \
	tests/sim/driver_alloc.c \
	tests/sim/driver_array.c \
	tests/sim/driver_attribute.c \
	tests/sim/driver_capture.c \
	tests/sim/driver_capture_api.c \
	tests/sim/driver_capture_work.c \
	tests/sim/driver_config.c \
	tests/sim/driver_copy.c \
	tests/sim/driver_copy_3d.c \
	tests/sim/driver_copy_linear.c \
	tests/sim/driver_ctx.c \
	tests/sim/driver_ctx_info.c \
	tests/sim/driver_data.c \
	tests/sim/driver_enter.c \
	tests/sim/driver_error.c \
	tests/sim/driver_event.c \
	tests/sim/driver_exec.c \
	tests/sim/driver_exec_launch.c \
	tests/sim/driver_exec_update.c \
	tests/sim/driver_func.c \
	tests/sim/driver_graph.c \
	tests/sim/driver_graph_add.c \
	tests/sim/driver_graph_add_more.c \
	tests/sim/driver_graph_edges.c \
	tests/sim/driver_handle.c \
	tests/sim/driver_hostfn.c \
	tests/sim/driver_init.c \
	tests/sim/driver_launch.c \
	tests/sim/driver_library.c \
	tests/sim/driver_memory.c \
	tests/sim/driver_module.c \
	tests/sim/driver_module_api.c \
	tests/sim/driver_node_work.c \
	tests/sim/driver_observe.c \
	tests/sim/driver_pointer.c \
	tests/sim/driver_pool.c \
	tests/sim/driver_proc.c \
	tests/sim/driver_stage.c \
	tests/sim/driver_stream.c \
	tests/sim/driver_stream_info.c \
	tests/sim/driver_user_object.c \
	tests/sim/driver_vmm.c \
	tests/sim/timeline.c \
	tests/sim/truth.c \
	# EOL

SIM_DRIVER_OBJ := \
	$(SIM_DRIVER_SRC:tests/sim/%.c=$(SIM_O)/obj/%.o) \
	$(SIM_O)/obj/driver_exports.o \
	$(SIM_O)/obj/driver_table.o \
	# EOL

SIM_CFLAGS := $(CFLAGS) $(SPY_CFLAGS) -fPIC -Wno-deprecated-declarations
SIM_LDLIBS := -lpthread -ldl

sim: $(SIM_O)/libcuda.so.1 $(SIM_O)/truth

$(SIM_GEN)/cuda.i: tests/sim/sim.mk
	$(call msg,CPP,$@)
	$(Q)mkdir -p $(@D)
	$(Q)printf '%s\n' '#define __CUDA_API_VERSION_INTERNAL' '#include <cuda.h>' \
		'#include <cudaProfiler.h>' | $(CC) -E -P -D'__attribute__(x)=' -isystem $(CUDA_INC) \
		-x c - -o $@

# The generator looks into the sources for what they implement and leaves alone what stays the same.
$(SIM_GEN)/driver.stamp: tests/sim/gen_driver.py $(SIM_GEN)/cuda.i $(SIM_DRIVER_SRC)
	$(call msg,GEN,$@)
	$(Q)python3 tests/sim/gen_driver.py $(SIM_GEN)/cuda.i $(CUDA_INC) $(SIM_GEN) $(SIM_DRIVER_SRC)
	$(Q)touch $@

$(SIM_GEN)/driver_api.h $(SIM_GEN)/driver_exports.c $(SIM_GEN)/driver_table.c: $(SIM_GEN)/driver.stamp
	@:

$(SIM_O)/obj/%.o: tests/sim/%.c $(SIM_GEN)/driver_api.h
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SIM_CFLAGS) -MMD -MP -MT $@ -c -o $@ $<

$(SIM_O)/obj/%.o: $(SIM_GEN)/%.c $(SIM_GEN)/driver_api.h
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SIM_CFLAGS) -MMD -MP -MT $@ -c -o $@ $<

# Its own entries are its own, whoever else exports the same names; not -Bsymbolic, with which its
# dlsym(RTLD_DEFAULT) would find itself before a preloaded library.
$(SIM_O)/libcuda.so.1: $(SIM_DRIVER_OBJ)
	$(call msg,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic-functions -Wl,--no-undefined \
		-Wl,-z,nodelete $(SAN_LDFLAGS) -o $@ $^ $(SIM_LDLIBS)
	$(Q)ln -sf libcuda.so.1 $(SIM_O)/libcuda.so

$(SIM_O)/truth: tests/sim/truth_main.c tests/sim/truth.h
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(SPY_CFLAGS) $(SAN_LDFLAGS) -o $@ $<

# The driver's own test, linked to it as a program that uses -lcuda.
SIM_SELFTEST_SRC := \
	tests/sim/selftest_driver.c \
	tests/sim/selftest_driver_graph.c \
	tests/sim/selftest_driver_memory.c \
	tests/sim/selftest_driver_time.c \
	# EOL
SIM_SELFTEST_OBJ := $(SIM_SELFTEST_SRC:tests/sim/%.c=$(SIM_O)/obj/%.o)

$(SIM_O)/selftest_driver: $(SIM_SELFTEST_OBJ) $(SIM_O)/libcuda.so.1
	$(call msg,LD,$@)
	$(Q)$(CC) $(SAN_LDFLAGS) -rdynamic -o $@ $(SIM_SELFTEST_OBJ) -L$(SIM_O) -l:libcuda.so.1 -lcmocka \
		-lpthread -Wl,-rpath,'$$ORIGIN'

sim-selftest: $(SIM_O)/selftest_driver $(SIM_O)/libcuda.so.1 $(SIM_O)/truth
	$(call msg,TEST,$<)
	$(Q)$<

# A made-up NVML, beside the driver: where one is found, so is the other.
sim: $(SIM_O)/libnvidia-ml.so.1
$(SIM_O)/libnvidia-ml.so.1: tests/sim/nvml.c
	$(call msg,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(SPY_CFLAGS) -Wno-missing-prototypes -fPIC -shared -Wl,-soname,$(@F) \
		$(SAN_LDFLAGS) -o $@ $< -lpthread

# Preloaded: time that does not depend on the machine.
sim: $(SIM_O)/libvirtual_clock.so
VIRTUAL_CLOCK_SRC := tests/sim/virtual_clock.c tests/sim/virtual_turns.c
$(SIM_O)/libvirtual_clock.so: $(VIRTUAL_CLOCK_SRC) tests/sim/virtual_turns.h
	$(call msg,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(SPY_CFLAGS) -fvisibility=default -fPIC -shared $(SAN_LDFLAGS) -o $@ \
		$(VIRTUAL_CLOCK_SRC) -ldl -lpthread

# A made-up libcupti, in folders of its own so that only those find it who mean to; where NVIDIA's
# headers are there.
SIM_CUPTI_INC := $(firstword $(patsubst %/cupti.h,%,$(wildcard \
	$(CUDA_INC)/cupti.h $(CUDA_HOME)/extras/CUPTI/include/cupti.h)))
ifneq ($(SIM_CUPTI_INC),)
FAKE_CUPTIS := $(SIM_O)/cupti11.0/libcupti.so.11.0 $(SIM_O)/cupti11/libcupti.so.11.8 \
	$(SIM_O)/cupti12/libcupti.so.12 $(SIM_O)/cupti13/libcupti.so.13
sim: $(FAKE_CUPTIS)
$(SIM_O)/cupti11.0/libcupti.so.11.0: FAKE_CUPTI := -DFAKE_CUPTI_DEFAULT=13 \
	-DFAKE_CUPTI_NO_PERIOD
$(SIM_O)/cupti11/libcupti.so.11.8: FAKE_CUPTI := -DFAKE_CUPTI_DEFAULT=18
$(SIM_O)/cupti12/libcupti.so.12: FAKE_CUPTI := -DFAKE_CUPTI_DEFAULT=20
$(SIM_O)/cupti13/libcupti.so.13: FAKE_CUPTI := -DFAKE_CUPTI_DEFAULT=CUPTI_API_VERSION
$(FAKE_CUPTIS): tests/sim/fake_cupti.c tests/sim/observe.h tests/sim/timeline.h
	$(call msg,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)printf '%s\n' '$(@F) { global: cupti*; local: *; };' > $@.map
	$(Q)$(CC) $(SIM_CFLAGS) -isystem $(SIM_CUPTI_INC) $(FAKE_CUPTI) -shared -Wl,-soname,$(@F) \
		-Wl,--version-script=$@.map $(SAN_LDFLAGS) -o $@ $< -lpthread -ldl
endif

.PHONY: sim sim-selftest
-include $(SIM_DRIVER_OBJ:.o=.d) $(SIM_SELFTEST_OBJ:.o=.d)
-include tests/sim/runtime.mk
