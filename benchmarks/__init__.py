"""Speed as ratios, each pair measured in one run. ``python -m benchmarks`` runs all."""
