"""`python -m joro` is the same as `joro`."""

from joro.cli import main

if __name__ == "__main__":
    main()
