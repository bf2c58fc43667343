"""What runs inside the sandbox's own processes: standard library only, relative imports only.

The zygote is started as a script with this package on its path and nothing else of the project, so
nothing here may import from outside this package. Once the zygote is up, nothing here may import at
all: the file system is gone.
"""
