import asyncio
import struct
from typing import Any, cast

from joro.fetch.txt import texts_of
from joro.testweb.dns import read_name


class TxtServer(asyncio.DatagramProtocol):
    """Answers every question with TXT records that say what they were told to."""

    def __init__(self, *texts: bytes) -> None:
        self._texts = texts

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        _, end = read_name(data, 12)
        records = b"".join(
            struct.pack("!HHHIH", 0xC00C, 16, 1, 60, len(text) + 1) + bytes([len(text)]) + text
            for text in self._texts
        )
        header = data[:2] + struct.pack("!HHHHH", 0x8580, 1, len(self._texts), 0, 0)
        self._transport.sendto(header + data[12 : end + 4] + records, addr)


async def asked(*texts: bytes) -> list[str]:
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: TxtServer(*texts), local_addr=("127.0.0.1", 0))
    port = transport.get_extra_info("sockname")[1]
    try:
        return await texts_of("_joro.a.example", [f"127.0.0.1:{port}"])
    finally:
        transport.close()


def test_every_record_of_a_name_is_read() -> None:
    assert asyncio.run(asked(b"one", b"joro-abc")) == ["one", "joro-abc"]


def test_a_name_without_records_says_nothing() -> None:
    assert asyncio.run(asked()) == []
