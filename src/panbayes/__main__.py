"""Run the command line: ``python -m panbayes``."""

from panbayes.cli.main import run

if __name__ == "__main__":
    run()
