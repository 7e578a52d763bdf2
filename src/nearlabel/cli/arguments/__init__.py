"""The arguments of the commands, one file each, apart from the work.

These modules import neither numpy nor a library that does: help pages and refused arguments take a tenth of a second.
`registered` lists the names that they would otherwise import from the library.
"""
