# SPDX-License-Identifier: Apache-2.0
# The reporter: $(O)/cudaspy. Needs jansson, uthash, zlib and SQLite, toml++ for settings files, and no CUDA.

REPORT_MAIN_C := $(wildcard report/cli/*.c report/*.c)
REPORT_C      := $(filter-out $(REPORT_MAIN_C),$(wildcard report/*/*.c report/*/*/*.c))

# What the unit tests and the fuzzer link, and what only the program has.
REPORT_LIB_OBJS  := $(REPORT_C:%.c=$(O)/host/%.o) $(CORE_C:%.c=$(O)/host/%.o) $(O)/host/report/gate/toml.o \
	$(O)/host/gen/html_page_gen.o
REPORT_MAIN_OBJS := $(REPORT_MAIN_C:%.c=$(O)/host/%.o)

# Linked statically where the archives are there, so that the binary runs on any machine.
REPORT_JANSSON := $(firstword $(wildcard $(shell $(CC) -print-file-name=libjansson.a 2>/dev/null)) -ljansson)
REPORT_ZLIB    := $(firstword $(wildcard $(shell $(CC) -print-file-name=libz.a 2>/dev/null)) -lz)
REPORT_SQLITE  := $(firstword $(wildcard $(shell $(CC) -print-file-name=libsqlite3.a 2>/dev/null)) -lsqlite3)
# The archive, where it is there and can be linked (it may not be made for programs like this one), and its header, where
# Debian or where Fedora has it.
REPORT_IBERTY   := $(wildcard $(shell $(CC) -print-file-name=libiberty.a 2>/dev/null))
REPORT_IBERTY_H := $(if $(REPORT_IBERTY),$(shell for h in libiberty/demangle.h demangle.h; do \
	echo 'int main(void) { return !cplus_demangle_v3_callback; }' | \
	$(CC) $(CFLAGS) $(LDFLAGS) -include $$h -x c - -x none $(REPORT_IBERTY) -o /dev/null 2>/dev/null && echo $$h && break; done))
ifneq ($(REPORT_IBERTY_H),)
$(O)/host/report/base/names.o: private CPPFLAGS += -DLIBIBERTY_H='<$(REPORT_IBERTY_H)>'
else
REPORT_IBERTY   :=
endif
REPORT_STDCXX  := -lstdc++
ifneq ($(wildcard $(shell $(CC) -print-file-name=libstdc++.a 2>/dev/null)),)
REPORT_STDCXX  := -Wl,-Bstatic -lstdc++ -Wl,-Bdynamic
ifndef SAN
REPORT_STDCXX  += -static-libgcc
endif
endif
REPORT_LIBS = $(REPORT_JANSSON) $(REPORT_ZLIB) $(REPORT_SQLITE) $(REPORT_IBERTY) $(REPORT_STDCXX) -lm -ldl

report: $(O)/cudaspy

$(O)/cudaspy: $(REPORT_MAIN_OBJS) $(REPORT_LIB_OBJS)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) $(SAN_LDFLAGS) -Wl,--no-undefined -o $@ $^ $(REPORT_LIBS)

# What is missing is said in one line, before a hundred of the compiler's.
REPORT_NEEDS := jansson.h:libjansson-dev uthash.h:uthash-dev zlib.h:zlib1g-dev sqlite3.h:libsqlite3-dev
$(O)/host/needs.ok: report/report.mk
	$(Q)mkdir -p $(@D)
	$(Q)for need in $(REPORT_NEEDS); do \
		echo "#include <$${need%:*}>" | $(CC) $(CPPFLAGS) $(CFLAGS) -E -x c - -o /dev/null 2>/dev/null || \
		{ echo "cudaspy report needs $${need%:*}: run scripts/setup, or install what Debian calls $${need#*:}" >&2; exit 1; }; \
	done
	$(Q)touch $@
$(REPORT_LIB_OBJS) $(REPORT_MAIN_OBJS): | $(O)/host/needs.ok

$(O)/host/%.o: %.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(SPY_CFLAGS) $(CFLAGS) -MMD -MP -MT $@ -c -o $@ $<

# The page of --format html: its style sheets and scripts in one, as C.
REPORT_HTML := report/output/html
$(O)/gen/html_page_gen.c: $(REPORT_HTML)/embed.py $(wildcard $(REPORT_HTML)/*.html $(REPORT_HTML)/*.css $(REPORT_HTML)/*.js)
	$(call msg,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)python3 $(REPORT_HTML)/embed.py $(REPORT_HTML) $@

$(O)/host/gen/html_page_gen.o: $(O)/gen/html_page_gen.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(SPY_CFLAGS) $(CFLAGS) -MMD -MP -MT $@ -c -o $@ $<

# The one C++ file: what there is of toml++, which is a C++ library of headers alone.
REPORT_CXXFLAGS = $(patsubst -std=%,-std=gnu++17,$(filter-out %prototypes,$(SPY_CFLAGS))) \
	-fno-rtti
$(O)/host/%.o: %.cpp
	$(call msg,CXX,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CPPFLAGS) $(REPORT_CXXFLAGS) $(CFLAGS) -MMD -MP -MT $@ -c -o $@ $<

-include $(REPORT_LIB_OBJS:.o=.d) $(REPORT_MAIN_OBJS:.o=.d)

.PHONY: report
