# The reporter: $(O)/cudaspy. Needs jansson and uthash, toml++ for settings files, and no CUDA.

REPORT_MODULES := \
	alloc \
	baseline \
	baseline_ranges \
	baseline_read \
	baseline_steps \
	bounds \
	clock \
	compare \
	complain \
	config \
	environment \
	environment_cpu \
	error_names \
	expect \
	file \
	figures \
	figures_steps \
	find \
	findings \
	findings_environment \
	findings_gpu \
	findings_host \
	findings_launch \
	findings_streams \
	findings_copy \
	findings_copy_flow \
	findings_graph \
	findings_memory \
	findings_scene \
	findings_module \
	findings_steady \
	findings_sync \
	findings_threads \
	flow \
	history \
	history_acts \
	history_names \
	history_numbers \
	history_works \
	judge \
	judge_kernels \
	judge_ranges \
	judge_steps \
	judge_text \
	judge_times \
	metrics \
	model \
	model_apis \
	model_environment \
	model_gpu \
	model_gpu_busy \
	model_gpu_classes \
	model_gpu_graphs \
	model_gpu_pairs \
	model_gpu_sum \
	model_graphs \
	model_host \
	model_kernels \
	model_overhead \
	model_picture \
	model_process \
	model_ranges \
	model_sort \
	model_steps \
	model_steps_gpu \
	model_threads \
	names \
	out_check_ci \
	out_check_json \
	out_check_page \
	out_csv \
	out_diff_json \
	out_diff_page \
	out_json \
	out_json_findings \
	out_json_environment \
	out_json_expect \
	out_json_gpu \
	out_json_lists \
	out_json_run \
	out_json_steps \
	out_json_whatif \
	out_json_works \
	out_names \
	out_page_findings \
	out_page_environment \
	out_page_expect \
	out_page_gpu \
	out_page_host \
	out_page_steps \
	out_page_kernels \
	out_page_picture \
	out_page_streams \
	out_page_tables \
	out_page_top \
	out_page_whatif \
	out_text \
	page \
	pattern \
	pattern_find \
	pattern_set \
	reader \
	reader_check \
	reader_counts \
	reader_guard \
	reader_layout \
	reader_layout_tables \
	reader_layout_threads \
	repeats \
	replay \
	replay_anchor \
	replay_costs \
	replay_divide \
	replay_gpu \
	rules \
	rules_explain \
	rules_limit \
	spread \
	state \
	text \
	units \
	verdict \
	verdict_input \
	verdict_pending \
	verdict_replay \
	verdict_text \
	warnings \
	whatif \
	whatif_change \
	whatif_graphs \
	whatif_process \
	whatif_text \
	# EOL

REPORT_PROGRAM := \
	check_request \
	check_save \
	child \
	cmd_check \
	cmd_diff \
	cmd_report \
	cmd_run \
	main \
	options \
	run_output \
	side \
	target \
	# EOL

# What the unit tests and the fuzzer link, and what only the program has.
REPORT_LIB_OBJS  := $(REPORT_MODULES:%=$(O)/report/%.o) $(SHARED_C:shim/%.c=$(O)/report/%.o) \
	$(O)/report/toml.o
REPORT_MAIN_OBJS := $(REPORT_PROGRAM:%=$(O)/report/%.o)

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

$(O)/report/%.o: report/%.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(SPY_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# The one C++ file: what there is of toml++, which is a C++ library of headers alone.
REPORT_CXXFLAGS = $(patsubst -std=%,-std=gnu++17,$(filter-out %prototypes,$(SPY_CFLAGS))) \
	-fno-rtti
$(O)/report/toml.o: report/toml.cpp
	$(call msg,CXX,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CPPFLAGS) $(REPORT_CXXFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# What is shared with the shim; here it is built as a part of an ordinary program.
$(SHARED_C:shim/%.c=$(O)/report/%.o): $(O)/report/%.o: shim/%.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(SPY_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

-include $(REPORT_LIB_OBJS:.o=.d) $(REPORT_MAIN_OBJS:.o=.d)

.PHONY: report
