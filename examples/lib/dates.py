"""What people write for dates, read by the standard library of Python."""
import datetime

FORMS = ("%Y-%m-%d", "%d.%m.%Y", "%d %B %Y", "%B %d, %Y", "%m/%d/%y")


def day(text: str) -> datetime.date:
    for form in FORMS:
        try:
            return datetime.datetime.strptime(text.strip(), form).date()
        except ValueError:
            pass
    raise ValueError("no date in any of %d forms: %r" % (len(FORMS), text))


class Weeks:
    """Weeks since 1970. A process makes one object, as it would load one model."""

    def __init__(self):
        self.epoch = datetime.date(1970, 1, 1)

    def __call__(self, days):
        return [(each - self.epoch).days // 7 for each in days.to_pylist()]
