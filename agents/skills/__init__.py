"""Functions that act: what ASI and Voyager share. They use ``act``, ``last_observation`` and plain Python."""
