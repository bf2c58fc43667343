"""``python -m flows.cli`` is ``ocm``."""

from flows.cli import main

main()
