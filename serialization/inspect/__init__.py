"""Looking into saved models: what is in a file, whether it is sound, what it computes."""
