# Generated from _async by `python -m generate`. Do not edit.
"""The client."""
