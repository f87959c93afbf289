"""The command `gcwsnet`, as ``python -m gcwsnet``."""

from gcwsnet.cli import main

if __name__ == "__main__":
    main()
