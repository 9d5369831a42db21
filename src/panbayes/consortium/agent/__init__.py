"""TRUSTED: the holder's house: its configuration, its officers' consent, letters in and answers out."""
