"""Objects with state: variables and random generators."""
