/* SPDX-License-Identifier: Apache-2.0 */
#include "report/output/export/export.h"

const struct export_format export_formats[] = {
        {"chrome", "a trace for Perfetto and what reads torch.profiler's (Kineto's JSON)", EXPORT_TEXT, false,
         export_chrome},
        {"csv", "every table of the report as CSV", EXPORT_TEXT, true, export_csv},
        {"md", "every table of the report as Markdown", EXPORT_TEXT, true, export_markdown},
        {0},
};
