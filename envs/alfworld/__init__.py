"""ALFWorld (arXiv 2010.03768): household tasks as text, played in the ``alfworld`` package's text engine."""
