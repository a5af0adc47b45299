"""`python -m constrain.cli`: the same as the command `constrain`."""

from constrain.cli.app import main

if __name__ == "__main__":
    main()
