"""PoE-World (arXiv 2505.10819): many small programmatic experts, weighted, foresee what an action does."""
