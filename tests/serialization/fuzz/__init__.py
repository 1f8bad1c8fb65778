"""A structured fuzzer of models: right checksums, wrong contents.

programs   models that graphad would write: every op case, and control flow, gradients, variables, keys
mutants    changes of their decoded manifests that mostly still load
child      a process that loads a mutant and calls, compiles and differentiates all that is in it, in both modes
run        keeps the processes going, watches them die, hang or grow, and counts

python -m tests.serialization.fuzz --mutants 50000 --jobs 2
"""
