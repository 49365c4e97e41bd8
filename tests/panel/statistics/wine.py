"""Published ratings that several models are checked on."""

from __future__ import annotations

WINE = "23344455 12132354 23325544 32323253 23433333 32322454 11222323 22233334 12323244"
"""Bitterness, 1 to 5, of eight bottles by nine judges: R. H. B. Christensen (2022), `wine` of the
package ordinal, after J. H. Randall (1989)."""
