"""The model, which has never heard of privacy: scores, search, parameters, sampling, inference, files."""
