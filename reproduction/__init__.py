"""The experiments of the thesis, one file per figure."""
