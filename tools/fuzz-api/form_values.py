"""Makes the fields of a form post from a seed: values that no browser sends, and CSRF tokens that are not valid."""

ALL_CSRF = ("valid", "valid", "valid", "wrong", "empty", "missing", "cross-site")

LONG = 1 << 20
LONG_IN_QUERY = 4000

TIMES = ["2026-01-31T14:30", "-262143-01-01T00:00", "+262142-12-31T23:59", "9999-12-31T23:59:59", "0000-00-00T00:00"]
NUMBERS = ["0", "-1", "-9223372036854775809", "99999999999999999999999", "1e309", "NaN", "0x10", "１２"]
TEXTS = [
    "",
    " ",
    "\0",
    "\x01\x02\x1b\x7f",
    "\r\nX-Fuzz: 1",
    "é\u0301\u202e\u200b\ufffe\U0001f6a2",
    "../../../../etc/passwd",
    "%00%ff%",
    "'; drop table control.person; --",
    "{{7*7}}${7*7}<%= 7*7 %>",
    "true",
    "null",
    "[]",
    '{"params": {}}',
    b"\xff\xfe\xc3(",
]

MARKUP = ("<script>fuzz", "<img src=x onerror=fuzz")
"""What no page may contain as it was sent."""


class FormValues:
    def __init__(self, random):
        self.random = random
        self.count = 0

    def value(self, current):
        """A value instead of the one that the page has."""
        self.count += 1
        markup = [f"{MARKUP[0]}{self.count}</script>", f"\"'>{MARKUP[1]}{self.count}>"]
        from_current = [current + "\0", current + "\x01", current * 2, current[::-1], f" {current} ", current.upper()]
        return self.random.choice(self.random.choice([TEXTS, TEXTS, NUMBERS, TIMES, markup, markup, from_current]))

    def fields(self, form):
        """Pairs of names and values, without the CSRF token. At most one value is long."""
        pairs = []
        # Some posts change one field, so that the others do not hide it.
        names = [name for name in form.fields if name not in ("csrf", "seal")]
        only = self.random.choice(names) if names and self.random.random() < 0.5 else None
        for name in names:
            current = form.fields[name]
            if only is not None and name != only:
                pairs.append((name, current))
                continue
            fate = self.random.random()
            if fate < 0.1:
                continue
            pairs.append((name, current if fate < 0.2 else self.value(current)))
            if fate > 0.95:
                pairs.append((name, self.value(current)))
        if pairs and self.random.random() < 0.05:
            place = self.random.randrange(len(pairs))
            size = LONG if form.method == "post" else LONG_IN_QUERY
            pairs[place] = (pairs[place][0], "a" * size)
        if self.random.random() < 0.1:
            pairs.append(("fuzz", self.value("x")))
        return pairs

    def csrf_mode(self, form):
        if form.method != "post":
            return "valid"
        mode = self.random.choice(ALL_CSRF)
        return mode if form.has_csrf() or mode == "cross-site" else "valid"
