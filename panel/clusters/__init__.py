"""A run over several machines: workers judge parts of a batch, and the process that started the
run holds what they share.

That process, the driver, has the cache, the rate limits, the budget and the run's folder, as in a
run on one machine. Workers have none of these: they ask for each by letters, through a mailbox that
both can reach. So a limit or a cap is kept exactly, however many workers there are, and a reply is
in the driver's cache whichever worker asked for it. The systems that start workers and carry
letters are in `persona_panel.clusters.engines`.
"""
