# SPDX-License-Identifier: Apache-2.0
"""Tests of the acceptance script: what the report says of a GPU beside what a made-up nvidia-smi says."""
import os
import tempfile
import unittest
from unittest import mock

from acceptance import nvml

TOLD = {"driver_version": "580.159.04", "clocks.max.sm": "1980", "clocks.max.memory": "3201", "power.limit": "700.00",
        "power.default_limit": "700.00", "pcie.link.gen.max": "5", "pcie.link.width.max": "16",
        "ecc.errors.uncorrected.volatile.total": "0", "persistence_mode": "Enabled", "compute_mode": "Default",
        "mig.mode.current": "Disabled"}
READ = {"sm_clock_max_mhz": 1980, "memory_clock_max_mhz": 3201, "power_limit_mw": 700000,
        "power_limit_default_mw": 700000, "pcie_generation_max": 5, "pcie_width_max": 16, "ecc_uncorrected": 0,
        "persistence_mode": 1, "compute_mode": 0, "mig": 0}


def environment(**read):
    return {"known": True, "reason": None, "kernel_driver_version": "580.159.04",
            "devices": [{"uuid": "GPU-1", "exit": {**READ, **read}}]}


SMI = """#!/bin/sh
case "$1" in
*%s*) echo "Field is not a valid field to query." ; exit 2 ;;
--query-gpu=uuid,driver_version) echo "GPU-1, 580.159.04" ;;
*) echo "$1" | sed 's/--query-gpu=uuid,//' | tr , '\\n' | awk '{v = "[N/A]"} /power/ {v = "700.00"} /width/ {v = 16}
{out = out ", " v} END {print "GPU-1" out}' ;;
esac
"""


class Agreement(unittest.TestCase):
    def test_all_agree(self):
        self.assertEqual(nvml.compare(environment(), {"GPU-1": TOLD}), ([], 1 + len(nvml.FIELDS)))
        self.assertTrue(nvml.agreement_row(environment(), {"GPU-1": TOLD})["pass"])

    def test_no_reading_at_exit(self):
        killed = environment()
        killed["devices"][0].update(start=READ, exit=None)
        self.assertEqual(nvml.compare(killed, {"GPU-1": TOLD}), ([], 1 + len(nvml.FIELDS)))

    def test_each_field(self):
        for field, (key, _) in nvml.FIELDS.items():
            found, _ = nvml.compare(environment(**{key: READ[key] + 1}), {"GPU-1": TOLD})
            self.assertEqual((len(found), found[0].split(":")[0]), (1, field))
            self.assertFalse(nvml.agreement_row(environment(**{key: READ[key] + 1}), {"GPU-1": TOLD})["pass"])

    def test_not_known_is_no_difference(self):
        told = {**TOLD, "mig.mode.current": "[N/A]", "ecc.errors.uncorrected.volatile.total": "[Not Supported]"}
        self.assertEqual(nvml.compare(environment(mig=1, ecc_uncorrected=3, pcie_width_max=None), {"GPU-1": told}),
                         ([], 1 + len(nvml.FIELDS) - 3))

    def test_other_device_and_driver(self):
        self.assertEqual(len(nvml.compare(environment(), {"GPU-2": TOLD})[0]), 1)
        self.assertEqual(len(nvml.compare(environment(), {"GPU-1": {**TOLD, "driver_version": "1"}})[0]), 1)
        unknown = {"known": False, "reason": "no NVML", "devices": []}
        self.assertEqual(nvml.compare(unknown, {"GPU-1": TOLD}), (["the report knows nothing: no NVML"], 0))
        self.assertFalse(nvml.agreement_row(unknown, {"GPU-1": TOLD})["pass"])
        self.assertIsNone(nvml.agreement_row(environment(), None)["pass"])

    def smi(self, refused):
        with tempfile.TemporaryDirectory() as folder:
            tool = os.path.join(folder, "nvidia-smi")
            with open(tool, "w", encoding="utf-8") as f:
                f.write(SMI % refused)
            os.chmod(tool, 0o755)
            with mock.patch.dict(os.environ, {"PATH": folder + ":" + os.environ["PATH"]}):
                return nvml.smi()

    def test_asking(self):
        told = self.smi("nothing.refused")["GPU-1"]
        self.assertEqual((told["power.limit"], told["pcie.link.width.max"], told["mig.mode.current"]),
                         ("700.00", "16", "[N/A]"))
        # a field that this nvidia-smi does not know takes no other with it
        told = self.smi("mig.mode")["GPU-1"]
        self.assertEqual((told["power.limit"], told["driver_version"]), ("700.00", "580.159.04"))
        self.assertNotIn("mig.mode.current", told)

    def test_no_nvidia_smi(self):
        with mock.patch.dict(os.environ, {"PATH": "/nonexistent"}):
            self.assertIsNone(nvml.smi())

    def test_costs(self):
        report = mock.Mock(data={"environment": {"init_ns": 3000000, "devices": [
            {"start": {"cost_ns": 400000}, "exit": {"cost_ns": 500000}},
            {"start": {"cost_ns": 600000}, "exit": {"cost_ns": None}}]}})
        row = nvml.costs_row([0.1], [0.2], [report])
        self.assertEqual((row["init_ns"], row["start_ns"], row["exit_ns"], row["pass"]),
                         (3000000, 1000000, 500000, None))
        report.data["environment"].update(init_ns=None, devices=[])
        self.assertIn("start-up - ms", nvml.costs_row([0.1], [0.2], [report])["text"])


if __name__ == "__main__":
    unittest.main()
