/* SPDX-License-Identifier: Apache-2.0 */
#include "report/output/export/export.h"

const struct export_format export_formats[] = {
        {"chrome", "a trace for Perfetto and what reads torch.profiler's (Kineto's JSON)",
         EXPORT_TEXT, false, export_chrome},
        {"csv", "every table of the report as CSV", EXPORT_TEXT, true, export_csv},
        {"md", "every table of the report as Markdown", EXPORT_TEXT, true, export_markdown},
        {"sqlite", "a database: calls and GPU work as nsys has them, and the report's tables",
         EXPORT_DATABASE, false, export_sqlite},
        {"pprof", "a profile by stack for pprof: calls, API time, wasted waits, GPU time, bytes",
         EXPORT_BINARY, false, export_pprof},
        {"folded", "stacks and their API time in ns, for flame graphs", EXPORT_TEXT, false,
         export_folded},
        {"openmetrics", "gauges for Prometheus: node_exporter's textfile collector", EXPORT_TEXT,
         false, export_openmetrics},
        {"bmf", "Bencher Metric Format: a history of runs", EXPORT_TEXT, false, export_bmf},
        {"gha-benchmark", "github-action-benchmark, customSmallerIsBetter", EXPORT_TEXT, false,
         export_gha},
        {0},
};
