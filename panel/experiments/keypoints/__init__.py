"""Key points: what judges give as reasons, summed up and counted.

A model states the points of each rationale with a quotation, sums up the points of all rationales
into key points, and assigns each point to one of them. Quotations are looked up in the rationales;
counts, shares and differences are the project's own statistics. After debate-speeches.txt, section
5.4 and Appendix G, which sums up judges' reasons by key point analysis (R. Bar-Haim et al. (2020),
"From arguments to key points").
"""
