"""Languages to automata: JSON Schema, regular expressions and JSON text, without any tokenizer."""
