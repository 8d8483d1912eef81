"""What a search found, as rows that can be released: which, at which levels, and what that costs."""

from duckanon.recoding.recoding import Found, Recoding, find_recoding

__all__ = ["Found", "Recoding", "find_recoding"]
