"""Turno's own metrics for Prometheus: counted in the process, or read from the database when scraped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

REGISTRY = CollectorRegistry(auto_describe=True)
REQUESTS = Counter("turno_http_requests_total", "Answers by status class.", ["method", "status"], registry=REGISTRY)
SECONDS = Histogram(
    "turno_http_request_seconds",
    "Seconds until the answer began.",
    ["method"],
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60),
    registry=REGISTRY,
)

# name, help, label names, and a query giving (label values, value) rows
Query = Callable[[], Iterable[tuple[tuple[str, ...], float]]]


class QueryCollector(Collector):
    """A gauge whose rows come from a selector at scrape time."""

    def __init__(self, name: str, text: str, labels: list[str], query: Query) -> None:
        self.name, self.text, self.labels, self.query = name, text, labels, query

    def describe(self) -> Iterable[Metric]:
        return [GaugeMetricFamily(self.name, self.text, labels=self.labels)]

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(self.name, self.text, labels=self.labels)
        for values, number in self.query():
            family.add_metric(list(values), number)
        yield family


class TotalCollector(QueryCollector):
    """A counter that is kept in the database, so that it goes on over restarts and is one for all processes."""

    def describe(self) -> Iterable[Metric]:
        return [CounterMetricFamily(self.name, self.text, labels=self.labels)]

    def collect(self) -> Iterator[Metric]:
        family = CounterMetricFamily(self.name, self.text, labels=self.labels)
        for values, number in self.query():
            family.add_metric(list(values), number)
        yield family


def total(name: str, text: str, labels: list[str], query: Query) -> None:
    """Registers a counter read from the database at each scrape; `name` without its `_total`."""
    REGISTRY.register(TotalCollector(name, text, labels, query))


def gauge(name: str, text: str, labels: list[str], query: Query) -> None:
    """Registers a gauge read from the database at each scrape."""
    REGISTRY.register(QueryCollector(name, text, labels, query))


def render() -> tuple[bytes, str]:
    """The exposition text and its media type."""
    return generate_latest(REGISTRY), CONTENT_TYPE_LATEST
