"""Subcommands: parse arguments, call a program, print."""
