"""The demo's supervisor: one process that starts every process of the portal and ends with all of them."""
