"""Tests of the JSON Schema front end."""
