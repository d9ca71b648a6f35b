"""The ways to run a program. A new tool is one more row: what it adds to the environment and the command."""
import os


class Mode:
    """How to run a program. `environment` and `prefix` are functions of (settings, folder)."""

    def __init__(self, name, text, environment=None, prefix=None, arguments=(), missing=None):
        self.name = name
        self.text = text
        self._environment = environment or (lambda settings, folder: {})
        self._prefix = prefix or (lambda settings, folder: [])
        self.arguments = list(arguments)  # given to the workload, for tools that live inside it
        self._missing = missing or (lambda settings: None)

    def environment(self, settings, folder):
        return settings.environment(**self._environment(settings, folder))

    def argv(self, settings, folder, argv):
        return self._prefix(settings, folder) + list(argv) + self.arguments

    def missing(self, settings):
        """Why this mode cannot be had here, or None."""
        return self._missing(settings)


def under_shim(gpu_mode):
    def environment(settings, folder):
        return {"LD_PRELOAD": settings.shim, "CUDASPY_GPU": gpu_mode,
                "CUDASPY_OUT": os.path.join(folder, "%p.cudaspy")}
    return environment


def shim_missing(settings):
    return None if os.path.exists(settings.shim) else "%s is not built" % settings.shim


BARE = Mode("bare", "no tool")
MODES = {m.name: m for m in [
    BARE,
    Mode("off", "the shim, CUDASPY_GPU=off", under_shim("off"), missing=shim_missing),
]}

# Median slowdown, in per cent, that a program may show in a mode. What has no limit is only reported.
LIMITS = {
    ("launch_loop/static", "off"): 2.0,
    ("launch_loop/shared", "off"): 2.0,
}
