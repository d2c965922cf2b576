"""What a study's page holds."""

import re
from html.parser import HTMLParser


class Page(HTMLParser):
    """Tags, attributes and text of a page, with a check that every tag is closed in its turn."""

    VOID = ("meta", "use", "path", "rect", "wbr")

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.words, self._open = [], [], [], []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self._open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.words))

    def check_that_it_loads_nothing(self):
        for name, value in self.attributes:
            if name in ("src", "href", "xlink:href", "action", "data", "srcset"):
                assert value.startswith(
                    ("#", "data:text/plain;charset=utf-8;base64,")
                ), (name, value)
        assert not {"link", "img", "iframe", "object"} & set(self.tags)
