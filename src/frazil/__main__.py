"""`python -m frazil`: the command line where its program is not on the PATH."""

from frazil.cli.entry import main

if __name__ == "__main__":
    main()
