"""Arrays, ratings, results and rows that every statistic shares."""
