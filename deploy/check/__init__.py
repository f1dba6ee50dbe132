"""The gate: everything that is checked without running the product (`make check`)."""
