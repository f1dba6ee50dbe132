"""A closed-loop HTTP load on one loopback server: `measure` answers requests per second and latencies."""

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count

Request = Callable[[int], bytes]


@dataclass(frozen=True)
class Measured:
    """One run: requests per second, and the 50th and 95th percentile in milliseconds."""

    rate: float
    p50: float
    p95: float


def http(method: str, path: str, headers: dict[str, str], body: bytes = b"") -> bytes:
    """One HTTP/1.1 request as bytes, on a kept connection."""
    fields = {"Host": "127.0.0.1", "Content-Length": str(len(body)), **headers}
    head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return head.encode() + b"\r\n" + body


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> int:
    """Sends it and reads the whole answer; its status."""
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    lengths = [int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    if lengths:
        await reader.readexactly(lengths[0])
    else:
        while size := int(await reader.readline(), 16):
            await reader.readexactly(size + 2)
        await reader.readexactly(2)
    return int(head[9:12])


async def one_connection(port: int, numbers: Iterator[int], request: Request, latencies: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for number in numbers:
            content = request(number)
            started = time.perf_counter()
            status = await exchange(reader, writer, content)
            latencies.append(time.perf_counter() - started)
            if status >= 300:
                raise RuntimeError(f"the server answered {status}")
    finally:
        writer.close()


def measure(port: int, request: Request, *, requests: int, concurrency: int, serial: Iterator[int]) -> Measured:
    """Sends `requests` requests over `concurrency` connections; each is built from the next number of `serial`."""
    numbers = iter([next(serial) for _ in range(requests)])
    latencies: list[float] = []

    async def all_connections() -> None:
        await asyncio.gather(*(one_connection(port, numbers, request, latencies) for _ in range(concurrency)))

    started = time.perf_counter()
    asyncio.run(all_connections())
    took = time.perf_counter() - started
    return Measured(len(latencies) / took, percentile(latencies, 0.50), percentile(latencies, 0.95))


def percentile(latencies: list[float], share: float) -> float:
    ordered = sorted(latencies)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000


def numbers() -> Iterator[int]:
    return count(1)
