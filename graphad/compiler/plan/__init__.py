"""From units to something that runs: which storage each value uses, in what order, at which tier."""
