"""The panel plan: who judges by what, checked when made, without open clients or secrets."""
