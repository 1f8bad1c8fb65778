"""What shows and checks a program, and where it runs: `explain`, `profile`, checks of numbers and gradients, plots, the doctor,
settings, strategies of one replica."""
