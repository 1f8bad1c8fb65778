"""What shows and checks a program: `explain`, `profile`, checks of numbers and gradients, plots, the doctor, and settings."""
