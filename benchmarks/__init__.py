"""Speed and accuracy of gcwsnet, next to other libraries: ``python -m benchmarks SUBJECT``.

A subject is a module of this package, or a package where it needs several files. It has

- a docstring that says what is measured,
- ``add_options(parser)``, which adds its options to an `argparse` parser, and
- ``run(options)``, which measures and returns a `benchmarks.subject.Section`.
"""
