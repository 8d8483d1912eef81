"""Reads typed keys out of parsed TOML, and gathers every fault on the way."""

from duckanon.toml.section import Section

__all__ = ["Section"]
