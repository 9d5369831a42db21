"""AN INTRUDER MAY READ THE STATE: state distributions, estimator, calibration, bounds, state file."""
