"""Memory in a table of a PostgreSQL server (the extra `postgres`)."""
