"""ScienceWorld (arXiv 2203.07540): school science in a simulated house; the simulator runs in a JVM."""
