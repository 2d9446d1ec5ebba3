"""Settings of the whole test run."""

from hypothesis import settings

# One seed, one result: a test that fails on one machine fails on all of them.
settings.register_profile("dln", deadline=None, derandomize=True)
settings.load_profile("dln")
