"""UNTRUSTED: the analyst's house: its roster, letters out and answers in, who took part, the mailbox."""
