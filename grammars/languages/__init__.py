"""Regular languages as lazily determinised byte automata."""
