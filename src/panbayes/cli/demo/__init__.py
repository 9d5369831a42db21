"""The made-up hospitals of the demo, and its figure."""
