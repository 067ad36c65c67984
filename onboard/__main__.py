"""`python -m onboard` is `onboard`."""

from onboard.cli import main

if __name__ == "__main__":
    main()
