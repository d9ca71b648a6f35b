# SPDX-License-Identifier: Apache-2.0
# Programs and libraries of the end-to-end tests, from tests/e2e/programs/. Tests with a source of a few lines compile it
# themselves.
#
#   E2E_DRIVER_PROGRAMS   programs/NAME.c, linked with the driver
#   E2E_PROGRAMS          programs/NAME.c, linked with nothing but what its own rule adds
#   E2E_LIBRARIES         each has a rule of its own below

E2E_DRIVER_PROGRAMS := \
	captures \
	close_all \
	crowd \
	endings \
	forks \
	hot_loop \
	$(if $(NVTX),nvtx_helper nvtx_library nvtx_ranges) \
	phases \
	remade \
	sampling \
	staged \
	steady \
	steps \
	whole_steps \
	turns \
	# EOL

E2E_PROGRAMS := \
	activities \
	dlsym_facts \
	drive_dlsym \
	drive_plt \
	drive_proc \
	load_plugins \
	lookup_ask \
	peek \
	runtime_calls_11 \
	runtime_calls_12 \
	runtime_calls_13 \
	samples \
	# EOL

E2E_LIBRARIES := \
	libbackward.so \
	libsites_ready.so \
	libcudart-d0da41ae.so.12 \
	libcupti-fake.so \
	libplugin_bundled.so \
	libplugin_dlsym.so \
	libplugin_plt.so \
	libplugin_proc.so \
	libplugin_runtime_11.so \
	libplugin_runtime_12.so \
	libplugin_runtime_13.so \
	libplugin_static.so \
	libpreload_allocator.so \
	libpreload_cu.so \
	libpreload_dlsym.so \
	# EOL

E2E := $(O)/tests/e2e
E2E_DRIVER := $(O)/sim/libcuda.so.1
E2E_CFLAGS = $(filter-out -fsanitize=% -fvisibility=hidden,$(SPY_CFLAGS)) $(CFLAGS) $(NVTX_CFLAGS) -fPIC

TEST_EXTRA += e2e-build
e2e-build: $(addprefix $(E2E)/,$(E2E_DRIVER_PROGRAMS) $(E2E_PROGRAMS) $(E2E_LIBRARIES) runtime_static)
.PHONY: e2e-build

$(E2E)/%.o: tests/e2e/programs/%.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(E2E_CFLAGS) -MMD -MP -MT $@ -c -o $@ $<

# The reader of Python's frames alone: without the shim, and once more with sanitizers, for test_sites_frames.py.
FRAME_READER := tests/e2e/programs/frame_reader.c shim/base/clock.c $(addprefix shim/sites/,python.c python_code.c snapshot.c) \
	report/model/python_lines.c

define frame_reader
$(call msg,LD,$@)
$(Q)mkdir -p $(@D)
$(Q)$(CC) $(E2E_CFLAGS) $(1) -DSPY_TLS_MODEL='"global-dynamic"' -shared -o $@ $(FRAME_READER)
endef
e2e-build: $(E2E)/libframe_reader.so
$(E2E)/libframe_reader.so $(E2E)/libframe_reader_asan.so: $(FRAME_READER) $(wildcard shim/sites/*.h) $(O)/gen/.done
$(E2E)/libframe_reader.so:
	$(call frame_reader)
$(E2E)/libframe_reader_asan.so:
	$(call frame_reader,-g -fsanitize=address$(comma)undefined)

# The programs of test_harm.py and their driver: the simulated one's objects, with calls wrapped.
HARM_PROGRAMS := \
	harm_cancel \
	harm_coroutine \
	harm_end \
	harm_exit \
	harm_file \
	harm_fork \
	harm_guest \
	harm_resolver \
	harm_runtime \
	harm_signal \
	harm_stack \
	harm_state \
	harm_step \
	harm_threads \
	harm_world \
	# EOL

HARM_WRAPPED := \
	do_cuCtxSetCurrent \
	do_cuDevicePrimaryCtxRetain \
	do_cuInit \
	do_cuLaunchHostFunc \
	do_cuLaunchKernel \
	do_cuMemAlloc_v2 \
	do_cuMemFree_v2 \
	do_cuMemsetD8Async \
	do_cuModuleGetFunction \
	do_cuModuleLoadData \
	do_cuModuleUnload \
	do_cuStreamCreate \
	do_cuStreamDestroy_v2 \
	sim_enter_slow \
	# EOL

HARM_DRIVER := $(E2E)/harm/libcuda.so.1

e2e-build: $(addprefix $(E2E)/,$(HARM_PROGRAMS) libharm_ctor.so)

$(E2E)/harm_driver.o: $(SIM_GEN)/driver_api.h
$(HARM_DRIVER): $(SIM_DRIVER_OBJ) $(E2E)/harm_driver.o $(E2E)/harm_fault.o
	$(call msg,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -shared -Wl,-soname,$(@F) -Wl,-Bsymbolic-functions -Wl,--no-undefined -Wl,-z,nodelete \
		$(addprefix -Wl$(comma)--wrap=,$(HARM_WRAPPED)) $(SAN_LDFLAGS) -o $@ $^ $(SIM_LDLIBS)

$(addprefix $(E2E)/,$(HARM_PROGRAMS) libharm_ctor.so): $(E2E)/%: $(HARM_DRIVER)
	$(e2e_link)
$(foreach p,$(HARM_PROGRAMS),$(eval $(E2E)/$(p): $(E2E)/$(p).o))
$(E2E)/libharm_ctor.so: $(E2E)/harm_ctor.o
$(E2E)/harm_runtime: $(O)/sim/libcudart.so.12
$(E2E)/harm_threads: E2E_LDFLAGS = -rdynamic

# A program or library is what its prerequisites are, linked: objects first, for linkers that drop what is not needed yet.
define e2e_link
$(call msg,LD,$@)
$(Q)$(CC) $(if $(findstring .so,$(@F)),-shared -Wl$(comma)-soname$(comma)$(@F)) -o $@ \
	$(filter %.o,$^) $(filter-out %.o,$^) $(E2E_LDFLAGS) -ldl -lpthread
endef
comma := ,

$(addprefix $(E2E)/,$(E2E_DRIVER_PROGRAMS)): $(E2E)/%: $(E2E)/%.o $(E2E_DRIVER)
	$(e2e_link)

$(addprefix $(E2E)/,$(E2E_PROGRAMS)): $(E2E)/%: $(E2E)/%.o
	$(e2e_link)

# The same small work, done by functions that are found in three ways; as programs and as plugins.
$(E2E)/drive_dlsym $(E2E)/drive_plt $(E2E)/drive_proc $(E2E)/runtime_static: $(E2E)/drive_main.o
$(E2E)/drive_plt $(E2E)/libplugin_plt.so: $(E2E_DRIVER)
$(E2E)/libplugin_dlsym.so $(E2E)/libcupti-fake.so: $(E2E)/drive_dlsym.o
$(E2E)/libplugin_plt.so: $(E2E)/drive_plt.o
$(E2E)/libplugin_proc.so: $(E2E)/drive_proc.o

# A framework's thread without Python, in a program of Python.
$(E2E)/libbackward.so: $(E2E)/backward.o $(E2E_DRIVER)

$(E2E)/samples: $(O)/guest/shim/core/work/work_class.o

# For programs in Python.
$(E2E)/libsites_ready.so: $(E2E)/sites_ready.o

# And by a runtime: each version, one inside the library, one bundled under a name of its own.
$(E2E)/libplugin_runtime_11.so: $(E2E)/runtime_work.o $(O)/sim/libcudart.so.11.0
$(E2E)/libplugin_runtime_12.so: $(E2E)/runtime_work.o $(O)/sim/libcudart.so.12
$(E2E)/libplugin_runtime_13.so: $(E2E)/runtime_work.o $(O)/sim/libcudart.so.13
$(E2E)/libplugin_static.so $(E2E)/runtime_static: $(E2E)/runtime_work.o $(O)/sim/libcudart_static.a
$(E2E)/libplugin_bundled.so: $(E2E)/runtime_work.o $(E2E)/libcudart-d0da41ae.so.12
$(E2E)/libplugin_bundled.so: E2E_LDFLAGS = -Wl,-rpath,'$$ORIGIN'
$(E2E)/runtime_static:
	$(e2e_link)
$(E2E)/libcudart-d0da41ae.so.12: $(addprefix $(O)/sim/cudart12/,$(RUNTIME_OBJS)) $(O)/sim/cudart12/libcudart.map
	$(call msg,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -shared -Wl,-soname,$(@F) -Wl,--version-script=$(O)/sim/cudart12/libcudart.map -o $@ \
		$(filter %.o,$^) -ldl -lpthread

# The same calls of each runtime; a test puts NVIDIA's own in the place of the simulated one.
$(E2E)/runtime_calls_11: $(O)/sim/libcudart.so.11.0
$(E2E)/runtime_calls_12: $(O)/sim/libcudart.so.12
$(E2E)/runtime_calls_13: $(O)/sim/libcudart.so.13
$(E2E)/runtime_calls_11.o $(E2E)/runtime_calls_12.o $(E2E)/runtime_calls_13.o: tests/e2e/programs/runtime_calls.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(E2E_CFLAGS) -MMD -MP -MT $@ -c -o $@ $<

$(E2E)/libpreload_%.so: $(E2E)/preload_%.o
	$(e2e_link)
$(filter-out %d0da41ae.so.12 $(E2E)/libpreload_%,$(addprefix $(E2E)/,$(E2E_LIBRARIES))):
	$(e2e_link)

-include $(wildcard $(E2E)/*.d)
