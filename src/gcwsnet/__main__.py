"""The command `gcwsnet`, as ``python -m gcwsnet``."""

from gcwsnet.cli._app import main

if __name__ == "__main__":
    main()
