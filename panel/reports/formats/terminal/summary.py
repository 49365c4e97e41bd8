"""What the short table of a command says of the rest."""

WHERE_THE_REST_IS = "--full has every table, --json every statistic."
