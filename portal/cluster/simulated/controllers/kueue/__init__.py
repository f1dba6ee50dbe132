"""Kueue 0.17 as the simulated cluster plays it: integrations, admission by `portal.admission`, evictions, statuses."""
