# Fuzzing of the reporter: `make fuzz` for FUZZ_SECONDS, its corpus kept in $(O)/fuzz/corpus.

FUZZ_SECONDS ?= 20
FUZZ_CC      ?= clang
FUZZ_FLAGS   := -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -O1 -g
FUZZ_SOURCES := $(REPORT_MODULES:%=report/%.c) $(SHARED_C) tests/fuzz/fuzz_reader.c tests/unit/render.c

# Does the compiler bring libFuzzer?
FUZZ_HAVE = $(shell echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return 0; }' | \
	$(FUZZ_CC) -fsanitize=fuzzer -x c - -o /dev/null 2>/dev/null && echo yes)

fuzz:
ifeq ($(FUZZ_HAVE),yes)
fuzz: $(O)/fuzz/fuzz_reader $(O)/fuzz/make_corpus
	$(Q)mkdir -p $(O)/fuzz/corpus $(O)/fuzz/seeds
	$(Q)$(O)/fuzz/make_corpus $(O)/fuzz/seeds
	$(call msg,FUZZ,$<)
	$(Q)$< -max_total_time=$(FUZZ_SECONDS) -max_len=65536 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix=$(O)/fuzz/ $(O)/fuzz/corpus $(O)/fuzz/seeds >$(O)/fuzz/log 2>&1 \
		|| { tail -40 $(O)/fuzz/log; exit 1; }
	$(Q)grep -E '^(stat::number_of_executed_units|Done)' $(O)/fuzz/log
else
	@echo 'skip fuzz: $(FUZZ_CC) has no libFuzzer'
endif

$(O)/fuzz/fuzz_reader: $(FUZZ_SOURCES) $(O)/report/toml.o $(wildcard report/*.h shim/*.h tests/unit/*.h)
	$(call msg,FUZZCC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(FUZZ_CC) $(filter-out -fsanitize=%,$(SPY_CFLAGS)) $(FUZZ_FLAGS) -o $@ $(FUZZ_SOURCES) $(O)/report/toml.o \
		$(REPORT_JANSSON) -Wl,-Bstatic -lstdc++ -Wl,-Bdynamic -lm

$(O)/fuzz/make_corpus: tests/fuzz/make_corpus.c tests/unit/recording.c tests/unit/recording_gpu.c shim/works.c tests/unit/recording.h
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SPY_CFLAGS) $(CFLAGS) $(SAN_LDFLAGS) -o $@ $(filter %.c,$^)

.PHONY: fuzz
