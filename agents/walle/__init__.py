"""WALL-E (arXiv 2410.07484): code rules that foresee failures hold actions back."""
