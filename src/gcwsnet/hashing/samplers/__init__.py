"""The other consistent samplers of the paper in plain NumPy, to which their native versions are tested to be equal.

``docs/samplers-specification.md`` specifies them.
"""
