"""From the columns of tables to the numbers that are hashed: schema, categories, scalings, relevance."""

__all__ = []
