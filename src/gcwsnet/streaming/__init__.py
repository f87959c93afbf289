"""Learning from rows that do not fit in memory: files become codes, and codes are learned from as they come."""
