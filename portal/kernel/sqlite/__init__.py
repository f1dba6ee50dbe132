"""Django's SQLite backend with an orderly queue for the one write lock."""
