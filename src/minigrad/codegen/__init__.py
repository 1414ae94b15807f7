"""The op table as C; for the build alone."""
