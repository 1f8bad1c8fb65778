"""Every op with all its rules, one family per folder, one idea per file."""
