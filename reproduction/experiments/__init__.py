"""The experiments of the thesis, one file each. A file that defines an ``Experiment`` here is found by its name."""
