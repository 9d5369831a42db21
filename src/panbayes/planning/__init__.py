"""What a study will cost and how wrong its result will be, before anything is spent; knows no records."""
