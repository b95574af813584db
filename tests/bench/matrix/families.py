"""All members of the matrix. A family is a file family_*.py and a program by hand in hand/."""

import family_forms
import family_groups
import family_sinks
import family_sort
import family_texts
import family_types

FAMILIES = (family_types, family_forms, family_texts, family_groups, family_sort, family_sinks)
MEMBERS = tuple(member for family in FAMILIES for member in family.MEMBERS)
