"""The command line: one module a verb, and what those need of the system."""
