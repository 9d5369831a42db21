"""Make the access log of one day of a web site: ``python3 make_log.py DAY VISITORS``.

Visitors are drawn from a public that comes back, so that days share many of them; each has an address and a browser.
The number of distinct visitors of the day, which only a made log can tell, goes to standard error.
"""

from __future__ import annotations

import random
import sys
from datetime import UTC, datetime, timedelta
from functools import cache

PUBLIC = 200_000
BROWSERS = [
    f"Mozilla/5.0 ({system}) {engine}/{version}.0"
    for system in ("X11; Linux x86_64", "Windows NT 10.0; Win64; x64", "Macintosh; Intel Mac OS X 14_7", "Android 15")
    for engine, version in (("Firefox", 143), ("Chrome", 141), ("Safari", 18))
]
PATHS = ["/", "/prices", "/about", "/blog/", "/blog/counting-without-cookies?from=feed", "/contact", "/robots.txt"]


@cache
def visitor(number: int) -> tuple[str, str]:
    """Return the address and the browser of a visitor; several may share an address."""
    drawn = random.Random(number)
    household = number // 2 if number % 5 == 0 else number
    return f"198.{18 + household % 2}.{household // 500 % 250}.{household // 2 % 250}", drawn.choice(BROWSERS)


def main(day: int, visitors: int) -> None:
    """Write the log, in the order of time."""
    drawn = random.Random(f"day {day}")
    came = drawn.sample(range(PUBLIC), visitors)
    begin = datetime(2026, 11, 2, tzinfo=UTC) + timedelta(days=day)
    requests = sorted((drawn.random() * 86_400, who) for who in came for _ in range(drawn.choice((1, 1, 2, 3))))
    for seconds, who in requests:
        address, browser = visitor(who)
        when = (begin + timedelta(seconds=seconds)).strftime("%d/%b/%Y:%H:%M:%S +0000")
        path = drawn.choice(PATHS)
        print(f'{address} - - [{when}] "GET {path} HTTP/1.1" 200 {drawn.randrange(300, 9_000)} "-" "{browser}"')
    print(len({visitor(who) for _, who in requests}), file=sys.stderr)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
