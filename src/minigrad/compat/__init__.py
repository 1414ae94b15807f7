"""Stand-ins for other packages: import a module here, and the other name resolves to minigrad."""
