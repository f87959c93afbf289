"""The other consistent samplers of the paper, in plain NumPy: the judges of their native versions.

``docs/samplers-specification.md`` says them in words.
"""
