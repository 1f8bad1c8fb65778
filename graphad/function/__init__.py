"""`@function`: Python functions that are traced once per kind of arguments and then run as graphs."""
