"""A model directory: records and arrays in, records and arrays out, with one commit point."""
