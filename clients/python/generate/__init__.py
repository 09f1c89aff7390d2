"""Writes the generated modules of the client."""
