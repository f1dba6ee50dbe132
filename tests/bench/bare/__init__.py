"""What the portal is measured against: one DRF view that inserts one row, and one that lists one indexed page."""
