"""A process that feeds states from where events come from, and shows what was released."""
