"""From units to executables: storage of values, schedule, tiers."""
