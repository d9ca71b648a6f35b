/* SPDX-License-Identifier: Apache-2.0 */
#include "report/output/export/export.h"

const struct export_format export_formats[] = {
        {"csv", "every table of the report as CSV", EXPORT_TEXT, true, export_csv},
        {"md", "every table of the report as Markdown", EXPORT_TEXT, true, export_markdown},
        {0},
};
