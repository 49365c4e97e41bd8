"""Sets of prompts: built from templates and from items of existing sets, filtered and measured.

After scrub.txt, sections 2, 4, 11, 12 and 15.3. What a SPEC may hold is in `spec`; the steps are
`templates`, `items`, `rewriting`, `quality`, `duplicates`, `diversity` and `draw`, put together in
`building`.
"""
