# SPDX-License-Identifier: Apache-2.0
# shim/: libcudaspy.so, what is loaded into the program.

# What the reporter is built with as well: it takes over where a killed process stopped. Sorted: an old make's wildcard is not.
CORE_C := $(sort $(wildcard shim/core/*/*.c))
SHIM_C := $(CORE_C) $(sort $(wildcard shim/*/*.c))
SHIM_S := $(sort $(wildcard shim/*/*.S))
SHIM_GEN := $(addprefix $(O)/gen/,calls_gen.c wrappers_driver.c wrappers_runtime.c)
SHIM_GEN += $(O)/gen/sampler_image.c
SHIM_OBJ := $(SHIM_C:%.c=$(O)/guest/%.o) $(SHIM_S:%.S=$(O)/guest/%.o) $(SHIM_GEN:%.c=%.o)

# Hidden unless exported; initial-exec TLS; no symbol of glibc newer than 2.28 (compat.h). Never sanitized: a guest
# shares its host's heap and signal handlers.
SHIM_CFLAGS := $(filter-out -fsanitize=%,$(SPY_CFLAGS)) -fPIC -fno-semantic-interposition -ftls-model=initial-exec \
	-fno-plt -fno-tree-slp-vectorize -fcf-protection=none -include shim/base/compat.h -Wno-deprecated-declarations $(SHIM_EXTRA)
ifneq ($(ARCH),x86_64)
SHIM_CFLAGS := $(filter-out -fcf-protection=none,$(SHIM_CFLAGS))
endif
# The wrappers leave the frame pointer's register alone, so that it still is their caller's when a call site is looked
# for: free of cost, and gcc's alone.
ifeq ($(ARCH),x86_64)
SHIM_KEEPS := $(shell $(CC) -ffixed-rbp -E -x c /dev/null >/dev/null 2>&1 && echo -ffixed-rbp -fomit-frame-pointer -DSPY_KEEPS_RBP)
endif
$(O)/gen/wrappers_%.o $(O)/guest/shim/hook/wrappers_%.o: SHIM_CFLAGS += $(SHIM_KEEPS)
SHIM_LDFLAGS := -shared -Wl,-soname,libcudaspy.so -Wl,--no-undefined -Wl,-z,now -Wl,-z,relro -Wl,-z,nodelete \
	-Wl,--version-script=shim/shim.map -Wl,--hash-style=gnu -static-libgcc
SHIM_LIBS := -Wl,--no-as-needed -l:libdl.so.2 -l:libpthread.so.0

shim: $(O)/libcudaspy.so

$(O)/gen/driver.i: shim/base/cuda_types.h shim/base/cuda_later.h $(CUDA_INC)/cuda.h
	$(call msg,CPP,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -E -P $(SPY_CFLAGS) -x c shim/base/cuda_types.h -o $@

$(O)/gen/runtime.i: $(CUDA_INC)/cuda_runtime_api.h
	$(call msg,CPP,$@)
	$(Q)mkdir -p $(@D)
	$(Q)echo '#include <cuda_runtime_api.h>' | $(CC) -E -P $(SPY_CFLAGS) -x c - -o $@
	$(Q)echo '#include <cuda_runtime_api.h>' | \
		$(CC) -E -P $(SPY_CFLAGS) -DCUDA_API_PER_THREAD_DEFAULT_STREAM=1 -x c - >> $@

$(O)/gen/.done: shim/hook/gen_wrappers.py shim/core/format/calls.def shim/core/cuda/roles.h $(O)/gen/driver.i $(O)/gen/runtime.i
	$(call msg,GEN,$(O)/gen)
	$(Q)python3 shim/hook/gen_wrappers.py shim/core/format/calls.def $(O)/gen/driver.i $(O)/gen/runtime.i $(O)/gen
	$(Q)touch $@
$(filter-out %/sampler_image.c,$(SHIM_GEN)) $(O)/gen/calls_gen.h $(O)/gen/exports.txt: $(O)/gen/.done ;

# Code for the GPUs that this toolkit's assembler knows, where there is one: spares the driver a translation.
$(O)/gen/sampler_image.c: shim/sampler/gen_image.py shim/sampler/sampler.ptx
	$(call msg,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)python3 shim/sampler/gen_image.py shim/sampler/sampler.ptx $@ $(wildcard $(CUDA_HOME)/bin)

$(O)/guest/%.o: %.c $(O)/gen/.done
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SHIM_CFLAGS) $(CFLAGS) -MMD -MP -MT $@ -c $< -o $@

$(O)/guest/%.o: %.S
	$(call msg,AS,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -fPIC -c $< -o $@

$(O)/gen/%.o: $(O)/gen/%.c
	$(call msg,CC,$@)
	$(Q)$(CC) $(SHIM_CFLAGS) $(CFLAGS) -MMD -MP -MT $@ -c $< -o $@

$(O)/libcudaspy.so: $(SHIM_OBJ) shim/shim.map scripts/check_core shim/core/allowed_symbols.txt
	$(call msg,LD,$@)
	$(Q)scripts/check_core $(shell $(CC) -print-prog-name=nm) $(CORE_C:%.c=$(O)/guest/%.o)
	$(Q)$(CC) $(SHIM_LDFLAGS) $(SHIM_OBJ) $(SHIM_LIBS) -o $@

-include $(SHIM_OBJ:.o=.d)
