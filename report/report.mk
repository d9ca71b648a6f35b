# The reporter: $(O)/cudaspy. Needs jansson and uthash, toml++ for settings files, and no CUDA.

REPORT_C := \
	report/base/alloc.c \
	report/gate/baseline.c \
	report/gate/baseline_ranges.c \
	report/gate/baseline_read.c \
	report/gate/baseline_steps.c \
	report/gate/bounds.c \
	report/reader/clock.c \
	report/gate/compare.c \
	report/base/complain.c \
	report/gate/config.c \
	report/model/environment.c \
	report/model/environment_cpu.c \
	report/model/error_names.c \
	report/gate/expect.c \
	report/base/file.c \
	report/gate/figures.c \
	report/gate/figures_steps.c \
	report/reader/find.c \
	report/analysis/findings/findings.c \
	report/analysis/findings/findings_environment.c \
	report/analysis/findings/findings_gpu.c \
	report/analysis/findings/findings_host.c \
	report/analysis/findings/findings_launch.c \
	report/analysis/findings/findings_streams.c \
	report/analysis/findings/findings_copy.c \
	report/analysis/findings/findings_copy_flow.c \
	report/analysis/findings/findings_graph.c \
	report/analysis/findings/findings_memory.c \
	report/analysis/findings/findings_context.c \
	report/analysis/findings/findings_module.c \
	report/analysis/findings/findings_steady.c \
	report/analysis/findings/findings_sync.c \
	report/analysis/findings/findings_threads.c \
	report/analysis/flow.c \
	report/model/call_log.c \
	report/model/call_log_events.c \
	report/model/call_log_names.c \
	report/model/call_log_numbers.c \
	report/model/call_log_work.c \
	report/gate/judge.c \
	report/gate/judge_kernels.c \
	report/gate/judge_ranges.c \
	report/gate/judge_steps.c \
	report/gate/judge_text.c \
	report/gate/judge_times.c \
	report/gate/metrics.c \
	report/model/model.c \
	report/model/model_apis.c \
	report/model/model_environment.c \
	report/model/model_gpu.c \
	report/model/model_gpu_busy.c \
	report/model/model_gpu_classes.c \
	report/model/model_gpu_graphs.c \
	report/model/model_gpu_pairs.c \
	report/model/model_gpu_sum.c \
	report/model/model_graphs.c \
	report/model/model_host.c \
	report/model/model_kernels.c \
	report/model/model_overhead.c \
	report/model/model_overview.c \
	report/model/model_process.c \
	report/model/model_ranges.c \
	report/model/model_sort.c \
	report/model/model_steps.c \
	report/model/model_steps_gpu.c \
	report/model/model_threads.c \
	report/base/names.c \
	report/output/ci/out_check_ci.c \
	report/output/json/out_check_json.c \
	report/output/text/out_check_page.c \
	report/output/csv/out_csv.c \
	report/output/json/out_diff_json.c \
	report/output/text/out_diff_page.c \
	report/output/json/out_json.c \
	report/output/json/out_json_findings.c \
	report/output/json/out_json_environment.c \
	report/output/json/out_json_expect.c \
	report/output/json/out_json_gpu.c \
	report/output/json/out_json_lists.c \
	report/output/json/out_json_run.c \
	report/output/json/out_json_steps.c \
	report/output/json/out_json_whatif.c \
	report/output/json/out_json_work.c \
	report/output/out_names.c \
	report/output/text/out_page_findings.c \
	report/output/text/out_page_environment.c \
	report/output/text/out_page_expect.c \
	report/output/text/out_page_gpu.c \
	report/output/text/out_page_host.c \
	report/output/text/out_page_steps.c \
	report/output/text/out_page_kernels.c \
	report/output/text/out_page_overview.c \
	report/output/text/out_page_streams.c \
	report/output/text/out_page_tables.c \
	report/output/text/out_page_top.c \
	report/output/text/out_page_whatif.c \
	report/output/text/out_text.c \
	report/output/text/text_layout.c \
	report/base/pattern.c \
	report/base/pattern_find.c \
	report/base/pattern_set.c \
	report/reader/reader.c \
	report/reader/reader_check.c \
	report/reader/reader_counts.c \
	report/reader/reader_guard.c \
	report/reader/reader_layout.c \
	report/reader/reader_layout_tables.c \
	report/reader/reader_layout_threads.c \
	report/analysis/findings/repeats.c \
	report/analysis/replay/replay.c \
	report/analysis/replay/replay_fit.c \
	report/analysis/replay/replay_costs.c \
	report/analysis/replay/replay_divide.c \
	report/analysis/replay/replay_gpu.c \
	report/gate/rules.c \
	report/gate/rules_explain.c \
	report/gate/rules_limit.c \
	report/model/model_spread.c \
	report/reader/state.c \
	report/base/text.c \
	report/base/units.c \
	report/analysis/verdict/verdict.c \
	report/analysis/verdict/verdict_input.c \
	report/analysis/verdict/verdict_pending.c \
	report/analysis/verdict/verdict_replay.c \
	report/analysis/verdict/verdict_text.c \
	report/reader/warnings.c \
	report/analysis/whatif/whatif.c \
	report/analysis/whatif/whatif_change.c \
	report/analysis/whatif/whatif_graphs.c \
	report/analysis/whatif/whatif_process.c \
	report/analysis/whatif/whatif_text.c \
	# EOL

REPORT_MAIN_C := \
	report/cli/check_request.c \
	report/cli/check_save.c \
	report/cli/child.c \
	report/cli/cmd_check.c \
	report/cli/cmd_diff.c \
	report/cli/cmd_report.c \
	report/cli/cmd_run.c \
	report/cli/main.c \
	report/cli/options.c \
	report/cli/run_output.c \
	report/gate/run_set.c \
	report/cli/target.c \
	# EOL

# What the unit tests and the fuzzer link, and what only the program has.
REPORT_LIB_OBJS  := $(REPORT_C:%.c=$(O)/host/%.o) $(CORE_C:%.c=$(O)/host/%.o) $(O)/host/report/gate/toml.o
REPORT_MAIN_OBJS := $(REPORT_MAIN_C:%.c=$(O)/host/%.o)

# Linked statically where the archives are there, so that the binary runs on any machine.
REPORT_JANSSON := $(firstword $(wildcard $(shell $(CC) -print-file-name=libjansson.a)) -ljansson)
REPORT_STDCXX  := -lstdc++
ifneq ($(wildcard $(shell $(CC) -print-file-name=libstdc++.a)),)
REPORT_STDCXX  := -Wl,-Bstatic -lstdc++ -Wl,-Bdynamic
ifndef SAN
REPORT_STDCXX  += -static-libgcc
endif
endif
REPORT_LIBS = $(REPORT_JANSSON) $(REPORT_STDCXX) -lm

report: $(O)/cudaspy

$(O)/cudaspy: $(REPORT_MAIN_OBJS) $(REPORT_LIB_OBJS)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) $(SAN_LDFLAGS) -Wl,--no-undefined -o $@ $^ $(REPORT_LIBS)

$(O)/host/%.o: %.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(SPY_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# The one C++ file: what there is of toml++, which is a C++ library of headers alone.
REPORT_CXXFLAGS = $(patsubst -std=%,-std=gnu++17,$(filter-out %prototypes,$(SPY_CFLAGS))) \
	-fno-rtti
$(O)/host/%.o: %.cpp
	$(call msg,CXX,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CPPFLAGS) $(REPORT_CXXFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

-include $(REPORT_LIB_OBJS:.o=.d) $(REPORT_MAIN_OBJS:.o=.d)

.PHONY: report
