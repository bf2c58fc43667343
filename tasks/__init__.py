"""Floor 4: the stages of an episode as plain async functions: act, learn, verify, commit, track.

They know Ray and MLflow, but not Prefect: flows wrap them where somebody wants to watch.
"""
