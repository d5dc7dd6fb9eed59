"""Joro collects the web, keeps it fresh, archives every version, and makes it searchable."""

__version__ = "0.1.0"
