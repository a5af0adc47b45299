"""JSON Schema: loading, normal form and lowering to the automaton."""
